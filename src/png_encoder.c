/* Encoding of a PNG by libpng, on one thread. */
#include "png_encoder.h"

#include "mem.h"
#include "png_trap.h"

#include <setjmp.h>

enum { DEFAULT_LEVEL = 6, IDAT_BYTES = 256 << 10 };

struct png_encoder {
    struct png_trap trap;
    png_structp png;
    png_infop info;
    struct file_out *file;
    const struct png_notes *notes;
    size_t row_bytes;
};

static void write_bytes(png_structp png, png_bytep bytes, size_t size)
{
    struct png_encoder *encoder = png_get_io_ptr(png);
    if (!file_out_write(encoder->file, bytes, size, encoder->trap.fault))
        png_trap_leave(png);
}

/* libpng would call fflush in place of a flush function that is missing. */
static void flush_nothing(png_structp png)
{
    (void)png;
}

static void tell_warning(png_structp png, png_const_charp message)
{
    const struct png_trap *trap = png_get_error_ptr(png);
    diag_detail("%s: %s", trap->name, message);
}

static bool start_libpng(struct png_encoder *encoder)
{
    encoder->png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &encoder->trap, png_trap_spring, tell_warning,
                                  &encoder->trap, png_trap_allocate, png_trap_release);
    if (encoder->png == NULL)
        return png_trap_still_born(&encoder->trap);
    encoder->info = png_create_info_struct(encoder->png);
    if (encoder->info == NULL)
        return png_trap_still_born(&encoder->trap);
    png_set_write_fn(encoder->png, encoder, write_bytes, flush_nothing);
    return true;
}

static int color_type(unsigned channels)
{
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    return types[channels - 1];
}

/* Filters cost time and gain only what a compressor can make of them. */
static void set_effort(png_structp png, int level)
{
    int effort = level < 0 ? DEFAULT_LEVEL : level;
    png_set_compression_level(png, effort);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, effort > 0 ? PNG_ALL_FILTERS : PNG_FILTER_NONE);
    png_set_compression_buffer_size(png, IDAT_BYTES);
}

static void write_notes(struct png_encoder *encoder, bool after_image)
{
    if (encoder->notes == NULL)
        return;
    for (const struct png_note *note = encoder->notes->first; note != NULL; note = note->next)
        if ((note->place == PNG_NOTES_AFTER_IMAGE) == after_image)
            png_write_chunk(encoder->png, (png_const_bytep)note->type, note->bytes, note->size);
}

static void write_head(struct png_encoder *encoder, const struct png_encoder_picture *picture)
{
    png_structp png = encoder->png;
    png_set_user_limits(png, PNG_ENCODER_EXTENT_MOST, PNG_ENCODER_EXTENT_MOST);
    png_set_IHDR(png, encoder->info, (png_uint_32)picture->width, (png_uint_32)picture->height,
                 (int)picture->depth, color_type(picture->channels), PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    set_effort(png, picture->level);
    png_write_info(png, encoder->info);
    if (picture->little_endian)
        png_set_swap(png);
    write_notes(encoder, false);
}

static bool begin(struct png_encoder *encoder, const struct png_encoder_picture *picture, struct fault *fault)
{
    png_trap_set(&encoder->trap, fault);
    if (!start_libpng(encoder))
        return false;
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_head(encoder, picture);
    return true;
}

bool png_encoder_begin(struct png_encoder **encoder, struct file_out *file,
                       const struct png_encoder_picture *picture, struct fault *fault)
{
    struct png_encoder *made = mem_zeroed(1, sizeof *made, "PNG encoder", fault);
    if (made == NULL)
        return false;
    made->trap.name = file_out_name(file);
    made->trap.status = STATUS_FAILURE;
    made->file = file;
    made->notes = picture->notes;
    made->row_bytes = picture->width * picture->channels * (picture->depth / 8);
    if (!begin(made, picture, fault)) {
        png_encoder_free(made);
        return false;
    }
    *encoder = made;
    return true;
}

static void write_rows(struct png_encoder *encoder, const unsigned char *rows, size_t count)
{
    for (size_t row = 0; row < count; row++)
        png_write_row(encoder->png, rows + row * encoder->row_bytes);
}

bool png_encoder_rows(struct png_encoder *encoder, const void *rows, size_t count, struct fault *fault)
{
    png_trap_set(&encoder->trap, fault);
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_rows(encoder, rows, count);
    return true;
}

bool png_encoder_end(struct png_encoder *encoder, struct fault *fault)
{
    png_trap_set(&encoder->trap, fault);
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_notes(encoder, true);
    png_write_end(encoder->png, NULL);
    return true;
}

void png_encoder_free(struct png_encoder *encoder)
{
    if (encoder == NULL)
        return;
    png_destroy_write_struct(&encoder->png, &encoder->info);
    mem_free(encoder);
}
