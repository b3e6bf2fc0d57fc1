/* Slices: pictures of samples that no PNG holds as they are. Black and white are known only when the last
   sample has come, so that all are held until then; the picture is written by format_png.c when the sink is
   finished. */
#include "gray_slice.h"

#include "base/file_out.h"
#include "base/mem.h"
#include "model/arith.h"
#include "format_png.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A slice whose samples are collected until the sink is finished. */
struct slice {
    struct sink_request request;
    unsigned char *samples;
    size_t rows; /* that are there */
};

bool gray_slice_is_plain(enum sample_type type)
{
    return type == SAMPLE_U8 || type == SAMPLE_U16;
}

enum sample_type gray_slice_type(enum sample_type type)
{
    return gray_slice_is_plain(type) ? type : sample_size(type) == 1 ? SAMPLE_U8 : SAMPLE_U16;
}

size_t gray_slice_bytes(const struct header *header)
{
    return gray_slice_is_plain(header->type) ? 0 : grid_samples(&header->grid) * sample_size(header->type);
}

/* ---- shades ---- */

/* A sample; NaN if it is the mark of one that is missing. */
static double number_at(const unsigned char *samples, enum sample_type type, size_t index, const double *mark)
{
    double number = sample_number(type, false, samples + index * sample_size(type));

    return mark != NULL && number == *mark ? (double)NAN : number;
}

/* The least and the greatest finite sample; both are 0 if there is none. */
struct ends {
    double least, greatest;
    bool none;
};

static bool is_alpha(const struct header *header, size_t index)
{
    return header->alpha && (index + 1) % header->grid.channels == 0;
}

/* The range of the finite samples, alpha and what is missing left out. */
static struct ends find_ends(const unsigned char *samples, const struct header *header, const double *mark)
{
    struct ends ends = {.least = INFINITY, .greatest = -INFINITY};

    for (size_t i = 0; i < grid_samples(&header->grid); i++) {
        double number = is_alpha(header, i) ? NAN : number_at(samples, header->type, i, mark);
        if (isfinite(number) && number < ends.least)
            ends.least = number;
        if (isfinite(number) && number > ends.greatest)
            ends.greatest = number;
    }
    return ends.least <= ends.greatest ? ends : (struct ends){.none = true};
}

/* The shade of a number, mapped as --out-range would. */
static double shade_of(double number, const struct ends *ends, double white)
{
    /* One value everywhere is black, whatever it is. */
    double span = ends->greatest > ends->least ? ends->greatest - ends->least : 1.0;
    double shade = arith_stretch_f64(number, ends->least, span, 0.0, white);

    return isnan(shade) ? 0.0 : rint(arith_clamp_f64(shade, 0.0, white));
}

/* In place: no shade takes more bytes than its sample. */
static void shade(unsigned char *samples, const struct header *header, const struct ends *of_colour,
                  const double *mark)
{
    const struct ends of_alpha = {.greatest = sample_opaque(header->type)};
    enum sample_type shades = gray_slice_type(header->type);
    double white = sample_max(shades);

    for (size_t i = 0; i < grid_samples(&header->grid); i++) {
        const struct ends *ends = is_alpha(header, i) ? &of_alpha : of_colour;
        double value =
            shade_of(number_at(samples, header->type, i, is_alpha(header, i) ? NULL : mark), ends, white);
        uint16_t wide = (uint16_t)value;
        if (shades == SAMPLE_U8)
            samples[i] = (unsigned char)value;
        else
            memcpy(samples + i * sizeof wide, &wide, sizeof wide);
    }
}

/* ---- the picture ---- */

static bool create(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct slice *slice = mem_zeroed(1, sizeof *slice, "a slice", fault);

    sink->state = slice;
    if (slice == NULL)
        return false;
    slice->request = *request;
    slice->samples = mem_alloc(gray_slice_bytes(&sink->header), 1, "a slice", fault);
    if (slice->samples != NULL)
        return true;
    sink->format->discard(sink);
    return false;
}

static bool write(struct sink *sink, const void *samples, size_t rows, struct fault *fault)
{
    struct slice *slice = sink->state;
    size_t row = header_plane_bytes(&sink->header);

    (void)fault;
    memcpy(slice->samples + slice->rows * row, samples, rows * row);
    slice->rows += rows;
    return true;
}

/* All samples are there: find the range, make shades, and write the picture. */
static bool finish(struct sink *sink, struct fault *fault)
{
    struct slice *slice = sink->state;
    struct header header = sink->header;
    struct ends ends;

    if (header.endian != endian_native())
        sample_swap(header.type, slice->samples, grid_samples(&header.grid));
    ends = find_ends(slice->samples, &header, slice->request.mark);
    if (!isfinite(ends.greatest - ends.least))
        return fault_set_for(fault, STATUS_LIMIT, file_out_name(sink->file),
                             "%.9g and %.9g are too far apart for one range of gray (--out-range)",
                             ends.least, ends.greatest);
    shade(slice->samples, &header, &ends, slice->request.mark);
    header.type = gray_slice_type(header.type);
    header.endian = endian_native();
    sample_tell_range(sink->note, sizeof sink->note, ends.none ? NAN : ends.least, ends.greatest, 0.0,
                      sample_max(header.type), true);
    return sink_write_whole(sink->file, &format_png, &header, &slice->request, slice->samples, fault);
}

static void discard(struct sink *sink)
{
    struct slice *slice = sink->state;

    if (slice != NULL)
        mem_free(slice->samples);
    mem_free(slice);
    sink->state = NULL;
}

const struct format format_gray_slice = {
    PNG_TRAITS,       .summary = "Portable Network Graphics",
    .create = create, .write = write,
    .finish = finish, .discard = discard,
};
