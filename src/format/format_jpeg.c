/* JPEG: gray or RGB of 8 bits, by libjpeg, which is loaded when the first such picture is read or written.

   Rows are decoded one by one, but for pictures in several scans, as progressive ones are: there libjpeg
   holds the coefficients of all blocks before the first row is known. Decoding is exact as far as JPEG is: by
   the accurate transform, and with chroma interpolated. Whatever libjpeg warns of is damage, since it fills
   in samples of its own there.

   What a file tells besides its samples is held as the chunks that a PNG has for the same (png/png_chunks.h),
   so that an output of either format can have it. Here it becomes chunks when the header has been read, and
   markers again when one is written: the resolution, a colour profile, Exif, XMP and a comment.

   libjpeg leaves by longjmp. Each function that calls it sets the jump itself, and reads nothing after a jump
   that it has changed before. */
#include "base/library.h"
#include "base/mem.h"
#include "base/number.h"
#include "model/limits.h"
#include "png/icc.h"
#include "format_jpeg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char picture_name[] = "a JPEG picture";

/* ---- chunks that have markers ---- */

enum { MARKER_BYTES_MOST = 65533 };

/* What APP markers begin with. That of Exif ends in two zeros. */
#define XMP_ID  "http://ns.adobe.com/xap/1.0/"
#define EXIF_ID "Exif\0"

/* How the chunks begin: that of XMP, which is neither compressed nor in a language; the keyword of a
   comment. */
static const unsigned char xmp_head[] = "XML:com.adobe.xmp\0\0\0\0", comment_head[] = "Comment";

/* A profile comes in pieces, each behind this name, its number from 1 on, and how many there are. */
#define ICC_ID "ICC_PROFILE"
enum { ICC_HEAD_BYTES = sizeof ICC_ID + 2, ICC_PIECE_MOST = MARKER_BYTES_MOST - ICC_HEAD_BYTES };

#define PROFILE_BYTES_MOST ((size_t)255 * ICC_PIECE_MOST)

#define METRES_IN_INCH 0.0254
#define DENSITY_MOST   65535

/* The marker that a chunk becomes. */
enum carrier {
    CARRIER_NONE,
    CARRIER_PROFILE,
    CARRIER_EXIF,
    CARRIER_XMP,
    CARRIER_COMMENT,
    CARRIER_RESOLUTION /* a field of the header */
};

static const struct {
    const char *type;
    enum carrier carrier;
    const unsigned char *head; /* of a chunk of this type that has a marker; NULL: all of them do */
    size_t head_size;
    size_t most; /* bytes of a chunk that fit */
} carriers[] = {
    {"iCCP", CARRIER_PROFILE, NULL, 0, SIZE_MAX},
    {"eXIf", CARRIER_EXIF, NULL, 0, MARKER_BYTES_MOST - sizeof EXIF_ID},
    {"iTXt", CARRIER_XMP, xmp_head, sizeof xmp_head - 1, MARKER_BYTES_MOST - sizeof XMP_ID},
    {"tEXt", CARRIER_COMMENT, comment_head, sizeof comment_head, MARKER_BYTES_MOST},
    {"pHYs", CARRIER_RESOLUTION, NULL, 0, SIZE_MAX},
};

/* Markers stand before the picture, so that a chunk that comes after it is too late. */
static enum carrier carrier_of(const struct png_chunk *chunk)
{
    for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++) {
        if (strcmp(chunk->type, carriers[i].type) == 0 && chunk->section != PNG_CHUNKS_AFTER_IMAGE &&
            chunk->size <= carriers[i].most && chunk->size >= carriers[i].head_size &&
            (carriers[i].head == NULL || memcmp(chunk->bytes, carriers[i].head, carriers[i].head_size) == 0))
            return carriers[i].carrier;
    }
    return CARRIER_NONE;
}

/* The resolution in whole dots per inch (unit 1) or centimetre (2), whichever is nearer, or the shape of a
   pixel (0); false where a JPEG has no number for it. */
static bool density_of(const struct png_chunk *chunk, unsigned *unit, double densities[2])
{
    const double inch = METRES_IN_INCH;

    for (size_t i = 0; i < 2; i++)
        densities[i] = (double)endian_get(ENDIAN_BIG, chunk->bytes + 4 * i, 4);
    *unit = chunk->bytes[8] != 1 ? 0
            : fabs(densities[0] * inch - round(densities[0] * inch)) / inch <=
                    fabs(densities[0] / 100 - round(densities[0] / 100)) * 100
                ? 1
                : 2;
    for (size_t i = 0; i < 2 && *unit > 0; i++)
        densities[i] = round(*unit == 1 ? densities[i] * inch : densities[i] / 100);
    return densities[0] >= 1 && densities[0] <= DENSITY_MOST && densities[1] >= 1 &&
           densities[1] <= DENSITY_MOST;
}

/* Whether a JPEG can have what the chunk says. */
static bool is_carried(const struct png_chunk *chunk)
{
    enum carrier carrier = carrier_of(chunk);
    unsigned char *profile;
    double densities[2];
    unsigned unit;
    size_t size;

    if (carrier == CARRIER_RESOLUTION)
        return density_of(chunk, &unit, densities);
    if (carrier != CARRIER_PROFILE)
        return carrier != CARRIER_NONE;
    profile = icc_chunk_inflate(chunk, PROFILE_BYTES_MOST, &size);
    mem_free(profile);
    return profile != NULL;
}

/* Without a profile, the colours of a JPEG are taken for sRGB. */
void jpeg_list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct png_chunks *chunks = source->chunks;
    bool told = png_chunks_find(chunks, "sRGB") != NULL || png_chunks_find(chunks, "iCCP") != NULL;

    if (to->format->family != FAMILY_JPEG)
        return;
    for (const struct png_chunk *chunk = chunks->first; chunk != NULL; chunk = chunk->next) {
        bool is_space = strcmp(chunk->type, "gAMA") == 0 || strcmp(chunk->type, "cHRM") == 0;
        if (!is_carried(chunk) && strcmp(chunk->type, "sRGB") != 0 && !(is_space && told))
            format_drop(dropped, "%s", chunk->type);
    }
}

#ifdef HAVE_JPEG
#include <setjmp.h>
#include <zlib.h>

#include <jpeglib.h>

#include <jerror.h>

enum {
    BUFFER_BYTES = 64 << 10,
    HEAD_BYTES_MOST = 64 << 20, /* that a hostile file can make libjpeg hold before the picture begins */
    SCANS_MOST = 1000           /* each may cost as much time as a whole picture */
};

/* ---- libjpeg ---- */

#define LIBJPEG_FUNCTIONS                                                                                    \
    FUNCTION(jpeg_CreateCompress)                                                                            \
    FUNCTION(jpeg_CreateDecompress)                                                                          \
    FUNCTION(jpeg_destroy_compress)                                                                          \
    FUNCTION(jpeg_destroy_decompress)                                                                        \
    FUNCTION(jpeg_finish_compress)                                                                           \
    FUNCTION(jpeg_finish_decompress)                                                                         \
    FUNCTION(jpeg_has_multiple_scans)                                                                        \
    FUNCTION(jpeg_read_header)                                                                               \
    FUNCTION(jpeg_read_scanlines)                                                                            \
    FUNCTION(jpeg_resync_to_restart)                                                                         \
    FUNCTION(jpeg_save_markers)                                                                              \
    FUNCTION(jpeg_set_defaults)                                                                              \
    FUNCTION(jpeg_set_quality)                                                                               \
    FUNCTION(jpeg_start_compress)                                                                            \
    FUNCTION(jpeg_start_decompress)                                                                          \
    FUNCTION(jpeg_std_error)                                                                                 \
    FUNCTION(jpeg_write_marker)                                                                              \
    FUNCTION(jpeg_write_scanlines)

static struct {
#define FUNCTION(name) __typeof__(name) *name;
    LIBJPEG_FUNCTIONS
#undef FUNCTION
} libjpeg;

static const struct library_function functions[] = {
#define FUNCTION(name) {#name, &libjpeg.name},
    LIBJPEG_FUNCTIONS
#undef FUNCTION
};

static bool load(const char *file, enum status status, struct fault *fault)
{
    static struct library library = {JPEG_LIBRARY, functions, sizeof functions / sizeof *functions, NULL,
                                     false};
    const char *failure = library_load(&library);

    return failure == NULL ||
           fault_set_for(fault, status, file, "%s, but libjpeg cannot be loaded: %s", picture_name, failure);
}

/* How libjpeg's errors become the fault of the call under way. */
struct trap {
    struct jpeg_error_mgr manager; /* first: libjpeg's pointer leads to all of it */
    jmp_buf jump;
    const char *name; /* of the file */
    enum status status;
    struct fault *fault;
};

/* Leave with the fault, which has been set. */
_Noreturn static void leave(j_common_ptr jpeg)
{
    longjmp(((struct trap *)jpeg->err)->jump, 1);
}

static void raise_error(j_common_ptr jpeg)
{
    struct trap *trap = (struct trap *)jpeg->err;
    bool starved = trap->manager.msg_code == JERR_OUT_OF_MEMORY;
    char text[JMSG_LENGTH_MAX];

    trap->manager.format_message(jpeg, text);
    fault_set_for(trap->fault, starved ? STATUS_LIMIT : trap->status, trap->name, "%s", text);
    leave(jpeg);
}

/* Level −1 is a warning, others are chatter. */
static void heed_message(j_common_ptr jpeg, int level)
{
    if (level < 0)
        raise_error(jpeg);
}

static struct jpeg_error_mgr *set_trap(struct trap *trap, const char *name, enum status status)
{
    libjpeg.jpeg_std_error(&trap->manager);
    trap->manager.error_exit = raise_error;
    trap->manager.emit_message = heed_message;
    trap->name = name;
    trap->status = status;
    return &trap->manager;
}

/* ---- markers that have chunks ---- */

static bool is_app(const struct jpeg_marker_struct *marker, int number, const char *id, size_t size)
{
    return marker->marker == JPEG_APP0 + number && marker->data_length > size &&
           memcmp(marker->data, id, size) == 0;
}

static bool is_profile_piece(const struct jpeg_marker_struct *marker)
{
    return is_app(marker, 2, ICC_ID, sizeof ICC_ID) && marker->data_length > ICC_HEAD_BYTES;
}

/* Keep a chunk of two pieces. */
static bool keep(struct png_chunks *chunks, const char *type, const unsigned char *head, size_t head_size,
                 const unsigned char *bytes, size_t size, struct fault *fault)
{
    unsigned char *both = mem_alloc(head_size + size, 1, "metadata", fault);
    bool done;

    if (both == NULL)
        return fault_prefix(fault, chunks->file_name);
    memcpy(both, head, head_size);
    memcpy(both + head_size, bytes, size);
    done = png_chunks_offer(chunks, type, PNG_CHUNKS_BEFORE_PALETTE, both, head_size + size, fault);
    mem_free(both);
    return done;
}

/* The pieces of a profile by their numbers, as many as the last one says. */
static unsigned find_pieces(const struct jpeg_marker_struct *marker,
                            const struct jpeg_marker_struct *pieces[256], size_t *size)
{
    unsigned count = 0;

    for (; marker != NULL; marker = marker->next) {
        if (is_profile_piece(marker)) {
            count = marker->data[sizeof ICC_ID + 1];
            pieces[marker->data[sizeof ICC_ID]] = marker;
        }
    }
    *size = 0;
    for (unsigned i = 1; i <= count && pieces[i] != NULL; i++)
        *size += pieces[i]->data_length - ICC_HEAD_BYTES;
    return count;
}

/* Deflate a profile into a chunk iCCP, behind a name and the method of compression. */
static bool keep_profile(struct png_chunks *chunks, const unsigned char *profile, size_t size,
                         struct fault *fault)
{
    static const unsigned char head[] = "ICC profile\0";
    uLongf deflated_size = compressBound(size);
    unsigned char *deflated = mem_alloc(deflated_size, 1, "a colour profile", fault);
    bool done;

    if (deflated == NULL)
        return fault_prefix(fault, chunks->file_name);
    done = compress(deflated, &deflated_size, profile, size) == Z_OK
               ? keep(chunks, "iCCP", head, sizeof head, deflated, deflated_size, fault)
               : fault_set_for(fault, STATUS_LIMIT, chunks->file_name, "ICC_PROFILE: out of memory");
    mem_free(deflated);
    return done;
}

/* A profile comes in pieces, each a marker. */
static bool join_profile(struct png_chunks *chunks, const struct jpeg_marker_struct *first,
                         struct fault *fault)
{
    const struct jpeg_marker_struct *pieces[256] = {NULL};
    size_t size, used = 0;
    unsigned count = find_pieces(first, pieces, &size);
    unsigned char *profile;
    bool done;

    for (unsigned i = 1; i <= count; i++) {
        if (pieces[i] == NULL) {
            png_chunks_drop(chunks, "iCCP", "a piece of it is missing");
            return true;
        }
    }
    if (count == 0)
        return true;
    profile = mem_alloc(size, 1, "a colour profile", fault);
    if (profile == NULL)
        return fault_prefix(fault, chunks->file_name);
    for (unsigned i = 1; i <= count; used += pieces[i++]->data_length - ICC_HEAD_BYTES)
        memcpy(profile + used, pieces[i]->data + ICC_HEAD_BYTES, pieces[i]->data_length - ICC_HEAD_BYTES);
    done = keep_profile(chunks, profile, size, fault);
    mem_free(profile);
    return done;
}

/* The resolution in dots per inch or centimetre, or the shape of a pixel, which is told where it is no
 * square. */
static bool keep_resolution(struct png_chunks *chunks, const struct jpeg_decompress_struct *jpeg,
                            struct fault *fault)
{
    const double metre = jpeg->density_unit == 1 ? 1 / METRES_IN_INCH : jpeg->density_unit == 2 ? 100.0 : 1.0;
    const double densities[2] = {jpeg->X_density * metre, jpeg->Y_density * metre};
    unsigned char bytes[9] = {0};

    if (!jpeg->saw_JFIF_marker || jpeg->density_unit > 2 || jpeg->X_density == 0 || jpeg->Y_density == 0 ||
        (jpeg->density_unit == 0 && jpeg->X_density == jpeg->Y_density))
        return true;
    for (size_t i = 0; i < 2; i++)
        endian_put(ENDIAN_BIG, bytes + 4 * i, 4, (uint64_t)lround(densities[i]));
    bytes[8] = jpeg->density_unit > 0;
    return png_chunks_offer(chunks, "pHYs", PNG_CHUNKS_BEFORE_PALETTE, bytes, sizeof bytes, fault);
}

#define LOST_COMMENT (1U << 16)

/* Keep a marker that has a chunk; of others remember the number, unless libjpeg has used all that they say.
 */
static bool keep_marker(struct png_chunks *chunks, const struct jpeg_marker_struct *marker, unsigned *lost,
                        struct fault *fault)
{
    const unsigned char *bytes = marker->data;
    size_t size = marker->data_length;

    if (marker->marker == JPEG_COM && memchr(bytes, 0, size) == NULL)
        return keep(chunks, "tEXt", comment_head, sizeof comment_head, bytes, size, fault);
    if (is_app(marker, 1, EXIF_ID, sizeof EXIF_ID))
        return png_chunks_offer(chunks, "eXIf", PNG_CHUNKS_BEFORE_PALETTE, bytes + sizeof EXIF_ID,
                                size - sizeof EXIF_ID, fault);
    if (is_app(marker, 1, XMP_ID, sizeof XMP_ID))
        return keep(chunks, "iTXt", xmp_head, sizeof xmp_head - 1, bytes + sizeof XMP_ID,
                    size - sizeof XMP_ID, fault);
    if (!is_app(marker, 0, "JFIF", 4) && marker->marker != JPEG_APP0 + 14 && !is_profile_piece(marker))
        *lost |= marker->marker == JPEG_COM ? LOST_COMMENT : 1U << (marker->marker - JPEG_APP0);
    return true;
}

/* ---- reading ---- */

/* A picture that is being read. */
struct reader {
    struct jpeg_decompress_struct jpeg;
    struct trap trap;
    struct jpeg_source_mgr input;
    struct jpeg_progress_mgr progress;
    struct file_in *file;
    struct png_chunks chunks;
    unsigned lost;   /* markers that are left out: a bit for each APP, and LOST_COMMENT */
    size_t head;     /* bytes read before the picture begins */
    bool has_head;   /* it has begun */
    bool is_decoded; /* jpeg_start_decompress has been called */
    unsigned char buffer[BUFFER_BYTES];
};

static void do_nothing(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static boolean fill_buffer(j_decompress_ptr jpeg)
{
    struct reader *reader = jpeg->client_data;
    size_t got;

    if (!file_in_read(reader->file, reader->buffer, sizeof reader->buffer, &got, reader->trap.fault))
        leave((j_common_ptr)jpeg);
    reader->head += reader->has_head ? 0 : got;
    if (got == 0)
        fault_set_for(reader->trap.fault, STATUS_INPUT, reader->trap.name, "the file ends early");
    if (reader->head > HEAD_BYTES_MOST)
        fault_set_for(reader->trap.fault, STATUS_LIMIT, reader->trap.name, "more than %d bytes of metadata",
                      HEAD_BYTES_MOST);
    if (got == 0 || reader->head > HEAD_BYTES_MOST)
        leave((j_common_ptr)jpeg);
    reader->input.next_input_byte = reader->buffer;
    reader->input.bytes_in_buffer = got;
    return TRUE;
}

static void skip_bytes(j_decompress_ptr jpeg, long count)
{
    struct jpeg_source_mgr *input = jpeg->src;
    size_t left = count > 0 ? (size_t)count : 0;

    while (left > input->bytes_in_buffer) {
        left -= input->bytes_in_buffer;
        fill_buffer(jpeg);
    }
    input->next_input_byte += left;
    input->bytes_in_buffer -= left;
}

/* Called again and again while a picture is decoded. */
static void watch_scans(j_common_ptr common)
{
    struct jpeg_decompress_struct *jpeg = (struct jpeg_decompress_struct *)common;
    struct reader *reader = jpeg->client_data;

    if (jpeg->input_scan_number <= SCANS_MOST)
        return;
    fault_set_for(reader->trap.fault, STATUS_LIMIT, reader->trap.name, "SOS: more than %d scans", SCANS_MOST);
    leave(common);
}

static void start_libjpeg(struct reader *reader)
{
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;

    libjpeg.jpeg_CreateDecompress(jpeg, JPEG_LIB_VERSION, sizeof *jpeg);
    jpeg->client_data = reader;
    reader->input = (struct jpeg_source_mgr){.init_source = do_nothing,
                                             .fill_input_buffer = fill_buffer,
                                             .skip_input_data = skip_bytes,
                                             .resync_to_restart = libjpeg.jpeg_resync_to_restart,
                                             .term_source = do_nothing};
    jpeg->src = &reader->input;
    reader->progress.progress_monitor = watch_scans;
    jpeg->progress = &reader->progress;
    libjpeg.jpeg_save_markers(jpeg, JPEG_COM, MARKER_BYTES_MOST);
    for (int app = 0; app < 16; app++)
        libjpeg.jpeg_save_markers(jpeg, JPEG_APP0 + app, MARKER_BYTES_MOST);
}

/* What libjpeg turns into gray or RGB without a choice of ours. */
static bool check_colours(const struct reader *reader, struct fault *fault)
{
    const struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    J_COLOR_SPACE space = jpeg->jpeg_color_space;

    if (jpeg->data_precision != 8)
        return fault_set_for(fault, STATUS_INPUT, reader->trap.name,
                             "SOF: %d bits a sample, which are not supported", jpeg->data_precision);
    if (space == JCS_GRAYSCALE || space == JCS_YCbCr || space == JCS_RGB)
        return true;
    return fault_set_for(fault, STATUS_INPUT, reader->trap.name,
                         "SOF: %d channel%s%s, which are not supported", jpeg->num_components,
                         number_plural((size_t)jpeg->num_components),
                         space == JCS_CMYK || space == JCS_YCCK ? ": CMYK" : "");
}

/* The blocks of 8 x 8 samples, and what libjpeg needs to hold their coefficients. Each takes a bit of the
   file at least. */
static bool measure(const struct reader *reader, struct source *source, struct fault *fault)
{
    struct jpeg_decompress_struct *jpeg = (struct jpeg_decompress_struct *)&reader->jpeg;
    uint64_t blocks = 0, file_bytes;

    for (int i = 0; i < jpeg->num_components; i++)
        blocks += (uint64_t)jpeg->comp_info[i].width_in_blocks * jpeg->comp_info[i].height_in_blocks;
    if (file_in_remaining(reader->file, &file_bytes) && blocks / 8 > file_bytes + reader->head)
        return fault_set_for(fault, STATUS_INPUT, reader->trap.name,
                             "the file is too short for the size that SOF gives");
    if (libjpeg.jpeg_has_multiple_scans(jpeg))
        source->beside_bytes = (size_t)blocks * sizeof(JBLOCK);
    return true;
}

static bool keep_markers(struct reader *reader, struct fault *fault)
{
    struct png_chunks *chunks = &reader->chunks;

    for (const struct jpeg_marker_struct *marker = reader->jpeg.marker_list; marker != NULL;
         marker = marker->next) {
        if (!keep_marker(chunks, marker, &reader->lost, fault))
            return false;
    }
    return join_profile(chunks, reader->jpeg.marker_list, fault) &&
           keep_resolution(chunks, &reader->jpeg, fault);
}

static bool read_header(struct reader *reader, struct fault *fault)
{
    reader->trap.fault = fault;
    if (setjmp(reader->trap.jump) != 0)
        return false;
    start_libjpeg(reader);
    libjpeg.jpeg_read_header(&reader->jpeg, TRUE);
    reader->has_head = true;
    return true;
}

static void describe(const struct reader *reader, struct header *header)
{
    const struct jpeg_decompress_struct *jpeg = &reader->jpeg;

    header->grid = grid_make(2, jpeg->image_width, jpeg->image_height, 1);
    header->grid.channels = jpeg->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    header->type = SAMPLE_U8;
    header->endian = endian_native();
    header_describe_colour(header, &reader->chunks);
}

static void close_source(struct source *source)
{
    struct reader *reader = source->state;

    if (reader == NULL)
        return;
    libjpeg.jpeg_destroy_decompress(&reader->jpeg);
    png_chunks_release(&reader->chunks);
    mem_free(reader);
    source->state = NULL;
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    const char *name = file_in_name(source->file);
    struct reader *reader =
        load(name, STATUS_INPUT, fault) ? mem_zeroed(1, sizeof *reader, "JPEG reader", fault) : NULL;

    (void)request;
    if (reader == NULL)
        return false;
    source->state = reader;
    source->chunks = &reader->chunks;
    reader->file = source->file;
    reader->chunks.file_name = name;
    reader->jpeg.err = set_trap(&reader->trap, name, STATUS_INPUT);
    if (read_header(reader, fault) && check_colours(reader, fault) && measure(reader, source, fault) &&
        keep_markers(reader, fault)) {
        describe(reader, &source->header);
        return true;
    }
    close_source(source);
    return false;
}

static bool read_rows(struct source *source, void *samples, size_t rows, struct fault *fault)
{
    struct reader *reader = source->state;
    size_t row_bytes = header_plane_bytes(&source->header);

    reader->trap.fault = fault;
    if (setjmp(reader->trap.jump) != 0)
        return false;
    if (!reader->is_decoded) {
        reader->jpeg.dct_method = JDCT_ISLOW;
        reader->jpeg.do_fancy_upsampling = TRUE;
        reader->is_decoded = true;
        libjpeg.jpeg_start_decompress(&reader->jpeg);
    }
    for (size_t row = 0; row < rows; row++) {
        JSAMPROW to = (JSAMPROW)samples + row * row_bytes;
        libjpeg.jpeg_read_scanlines(&reader->jpeg, &to, 1);
    }
    return true;
}

static bool finish_decompress(struct reader *reader, struct fault *fault)
{
    reader->trap.fault = fault;
    if (setjmp(reader->trap.jump) != 0)
        return false;
    libjpeg.jpeg_finish_decompress(&reader->jpeg);
    return true;
}

/* What follows the end of a picture belongs to none of its own: a second picture, for example. */
static bool count_rest(struct reader *reader, uint64_t *bytes, struct fault *fault)
{
    size_t got;

    *bytes = reader->input.bytes_in_buffer;
    do {
        if (!file_in_read(reader->file, reader->buffer, sizeof reader->buffer, &got, fault))
            return false;
        *bytes += got;
    } while (got > 0);
    return true;
}

static bool end_source(struct source *source, struct fault *fault)
{
    struct reader *reader = source->state;
    uint64_t rest;

    if (!finish_decompress(reader, fault) || !count_rest(reader, &rest, fault))
        return false;
    png_chunks_list_dropped(&reader->chunks, source->dropped.names, sizeof source->dropped.names);
    for (int app = 0; app < 16; app++) {
        if ((reader->lost & 1U << app) != 0)
            format_drop(&source->dropped, "APP%d", app);
    }
    if ((reader->lost & LOST_COMMENT) != 0)
        format_drop(&source->dropped, "COM");
    if (rest > 0)
        format_drop(&source->dropped, "%llu byte%s after the picture", (unsigned long long)rest,
                    number_plural(rest));
    return true;
}

/* ---- writing ---- */

/* A picture that is being written. */
struct writer {
    struct jpeg_compress_struct jpeg;
    struct trap trap;
    struct jpeg_destination_mgr output;
    struct file_out *file;
    unsigned char *profile; /* while it is being written; else NULL */
    unsigned char buffer[BUFFER_BYTES];
};

static void begin_buffer(j_compress_ptr jpeg)
{
    struct writer *writer = jpeg->client_data;

    writer->output.next_output_byte = writer->buffer;
    writer->output.free_in_buffer = sizeof writer->buffer;
}

/* Write what the buffer holds. */
static void flush_buffer(struct writer *writer, size_t bytes)
{
    if (!file_out_write(writer->file, writer->buffer, bytes, writer->trap.fault))
        leave((j_common_ptr)&writer->jpeg);
    begin_buffer(&writer->jpeg);
}

/* libjpeg calls this only once the buffer is full. */
static boolean empty_buffer(j_compress_ptr jpeg)
{
    flush_buffer(jpeg->client_data, BUFFER_BYTES);
    return TRUE;
}

static void end_buffer(j_compress_ptr jpeg)
{
    flush_buffer(jpeg->client_data, BUFFER_BYTES - jpeg->dest->free_in_buffer);
}

static bool check_writable(const struct sink *sink, struct fault *fault)
{
    const struct header *header = &sink->header;
    const char *name = file_out_name(sink->file);

    if (header->type != SAMPLE_U8)
        return fault_set_for(fault, STATUS_USAGE, name, "a JPEG holds u8, not %s", sample_name(header->type));
    if (header->grid.channels != 1 && header->grid.channels != 3)
        return fault_set_for(fault, STATUS_USAGE, name, "a JPEG holds gray or RGB, and no alpha");
    if (header->grid.nx > JPEG_MAX_DIMENSION || header->grid.ny > JPEG_MAX_DIMENSION)
        return fault_set_for(fault, STATUS_LIMIT, name, "a JPEG is at most %ld samples wide and high",
                             JPEG_MAX_DIMENSION);
    return true;
}

/* A marker of two pieces. */
static void write_marker(struct writer *writer, int code, const void *head, size_t head_size,
                         const unsigned char *bytes, size_t size)
{
    unsigned char both[MARKER_BYTES_MOST];

    memcpy(both, head, head_size);
    memcpy(both + head_size, bytes, size);
    libjpeg.jpeg_write_marker(&writer->jpeg, code, both, (unsigned)(head_size + size));
}

static void write_profile(struct writer *writer, const unsigned char *profile, size_t size)
{
    size_t count = (size + ICC_PIECE_MOST - 1) / ICC_PIECE_MOST;
    unsigned char head[ICC_HEAD_BYTES];

    memcpy(head, ICC_ID, sizeof ICC_ID);
    head[sizeof ICC_ID + 1] = (unsigned char)count;
    for (size_t i = 0; i < count; i++) {
        size_t first = i * ICC_PIECE_MOST, piece = size - first;
        head[sizeof ICC_ID] = (unsigned char)(i + 1);
        write_marker(writer, JPEG_APP0 + 2, head, sizeof head, profile + first,
                     piece < ICC_PIECE_MOST ? piece : ICC_PIECE_MOST);
    }
}

/* Write the marker that a chunk stands for. */
static void write_chunk(struct writer *writer, const struct png_chunk *chunk)
{
    size_t size;

    switch (carrier_of(chunk)) {
    case CARRIER_PROFILE:
        writer->profile = icc_chunk_inflate(chunk, PROFILE_BYTES_MOST, &size);
        if (writer->profile != NULL)
            write_profile(writer, writer->profile, size);
        mem_free(writer->profile);
        writer->profile = NULL;
        return;
    case CARRIER_EXIF:
        write_marker(writer, JPEG_APP0 + 1, EXIF_ID, sizeof EXIF_ID, chunk->bytes, chunk->size);
        return;
    case CARRIER_XMP:
        write_marker(writer, JPEG_APP0 + 1, XMP_ID, sizeof XMP_ID, chunk->bytes + sizeof xmp_head - 1,
                     chunk->size - (sizeof xmp_head - 1));
        return;
    case CARRIER_COMMENT:
        write_marker(writer, JPEG_COM, comment_head, 0, chunk->bytes + sizeof comment_head,
                     chunk->size - sizeof comment_head);
        return;
    default:
        return;
    }
}

static void set_density(struct jpeg_compress_struct *jpeg, const struct png_chunk *chunk)
{
    double densities[2];
    unsigned unit;

    if (!density_of(chunk, &unit, densities))
        return;
    jpeg->density_unit = (UINT8)unit;
    jpeg->X_density = (UINT16)densities[0];
    jpeg->Y_density = (UINT16)densities[1];
}

static void start_compress(struct writer *writer, const struct header *header, int quality,
                           const struct png_chunks *chunks)
{
    struct jpeg_compress_struct *jpeg = &writer->jpeg;
    const struct png_chunk *first = chunks != NULL ? chunks->first : NULL;

    jpeg->image_width = (JDIMENSION)header->grid.nx;
    jpeg->image_height = (JDIMENSION)header->grid.ny;
    jpeg->input_components = (int)header->grid.channels;
    jpeg->in_color_space = header->grid.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    libjpeg.jpeg_set_defaults(jpeg);
    libjpeg.jpeg_set_quality(jpeg, quality > 0 ? quality : JPEG_QUALITY, TRUE);
    for (int i = 0; i < jpeg->num_components; i++)
        jpeg->comp_info[i].h_samp_factor = jpeg->comp_info[i].v_samp_factor = 1;
    jpeg->dct_method = JDCT_ISLOW;
    for (const struct png_chunk *chunk = first; chunk != NULL; chunk = chunk->next) {
        if (carrier_of(chunk) == CARRIER_RESOLUTION)
            set_density(jpeg, chunk);
    }
    libjpeg.jpeg_start_compress(jpeg, TRUE);
    for (const struct png_chunk *chunk = first; chunk != NULL; chunk = chunk->next)
        write_chunk(writer, chunk);
}

static bool begin(struct writer *writer, const struct sink *sink, const struct sink_request *request,
                  struct fault *fault)
{
    struct jpeg_compress_struct *jpeg = &writer->jpeg;

    writer->trap.fault = fault;
    if (setjmp(writer->trap.jump) != 0)
        return false;
    libjpeg.jpeg_CreateCompress(jpeg, JPEG_LIB_VERSION, sizeof *jpeg);
    jpeg->client_data = writer;
    writer->output = (struct jpeg_destination_mgr){.init_destination = begin_buffer,
                                                   .empty_output_buffer = empty_buffer,
                                                   .term_destination = end_buffer};
    jpeg->dest = &writer->output;
    start_compress(writer, &sink->header, request->quality,
                   request->origin != NULL ? request->origin->chunks : NULL);
    return true;
}

static void discard_sink(struct sink *sink)
{
    struct writer *writer = sink->state;

    libjpeg.jpeg_destroy_compress(&writer->jpeg);
    mem_free(writer->profile);
    mem_free(writer);
    sink->state = NULL;
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const char *name = file_out_name(sink->file);
    struct writer *writer = check_writable(sink, fault) && load(name, STATUS_USAGE, fault)
                                ? mem_zeroed(1, sizeof *writer, "JPEG writer", fault)
                                : NULL;

    if (writer == NULL)
        return false;
    sink->state = writer;
    writer->file = sink->file;
    writer->jpeg.err = set_trap(&writer->trap, name, STATUS_IO);
    if (begin(writer, sink, request, fault))
        return true;
    discard_sink(sink);
    return false;
}

static bool write_rows(struct sink *sink, const void *samples, size_t rows, struct fault *fault)
{
    struct writer *writer = sink->state;
    size_t row_bytes = header_plane_bytes(&sink->header);

    writer->trap.fault = fault;
    if (setjmp(writer->trap.jump) != 0)
        return false;
    for (size_t row = 0; row < rows; row++) {
        /* libjpeg reads the row, and has no const. */
        union {
            const JSAMPLE *from;
            JSAMPROW row;
        } place = {.from = (const JSAMPLE *)samples + row * row_bytes};
        libjpeg.jpeg_write_scanlines(&writer->jpeg, &place.row, 1);
    }
    return true;
}

static bool finish_sink(struct sink *sink, struct fault *fault)
{
    struct writer *writer = sink->state;

    writer->trap.fault = fault;
    if (setjmp(writer->trap.jump) != 0)
        return false;
    libjpeg.jpeg_finish_compress(&writer->jpeg);
    return true;
}

#else

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    (void)request;
    return fault_set_for(fault, STATUS_INPUT, file_in_name(source->file),
                         "%s: this program was built without libjpeg", picture_name);
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    (void)request;
    return fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                         "%s: this program was built without libjpeg", picture_name);
}
#endif

static bool sniff(const unsigned char *start, size_t size)
{
    return size >= 3 && memcmp(start, "\xff\xd8\xff", 3) == 0;
}

#ifdef HAVE_JPEG
#define JPEG_READING .read = read_rows, .end = end_source, .close = close_source
#define JPEG_WRITING .write = write_rows, .finish = finish_sink, .discard = discard_sink
#define JPEG_CODEC   , JPEG_READING, JPEG_WRITING
#else
#define JPEG_CODEC
#endif

#define JPEG_TRAITS                                                                                          \
    .family = FAMILY_JPEG, .picture = picture_name, .in_turn = true, .has_quality = true,                    \
    .open = open_source, .list_dropped = jpeg_list_dropped, .create = create_sink JPEG_CODEC

const struct format format_jpg = {.name = "jpg", .summary = "JPEG pictures", .sniff = sniff, JPEG_TRAITS};
const struct format format_jpeg = {.name = "jpeg", .summary = "the same", JPEG_TRAITS};
