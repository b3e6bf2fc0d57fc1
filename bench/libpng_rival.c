/* libpng reading a picture whole and writing it with libpng's own defaults, for bench/png_rivals.sh: prints
   the seconds of both. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct picture {
    png_uint_32 width, height;
    int type, depth;
    png_bytepp rows;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static FILE *open_file(const char *name, const char *mode)
{
    FILE *file = fopen(name, mode);

    if (file == NULL) {
        perror(name);
        exit(EXIT_FAILURE);
    }
    return file;
}

/* Errors end the program: libpng's own handler says what is wrong, and a read struct without a jump aborts.
 */
static struct picture read_picture(const char *name)
{
    FILE *file = open_file(name, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    struct picture picture;

    png_init_io(png, file);
    png_read_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    picture.width = png_get_image_width(png, info);
    picture.height = png_get_image_height(png, info);
    picture.type = png_get_color_type(png, info);
    picture.depth = png_get_bit_depth(png, info);
    picture.rows = png_get_rows(png, info);
    fclose(file);
    return picture;
}

static void write_picture(const char *name, const struct picture *picture)
{
    FILE *file = open_file(name, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);

    png_init_io(png, file);
    png_set_IHDR(png, info, picture->width, picture->height, picture->depth, picture->type,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_rows(png, info, picture->rows);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

int main(int argc, char **argv)
{
    struct picture picture;
    double begun, between;

    if (argc != 3) {
        fprintf(stderr, "Usage: %s IN.png OUT.png\n", argv[0]);
        return EXIT_FAILURE;
    }
    begun = now();
    picture = read_picture(argv[1]);
    between = now();
    write_picture(argv[2], &picture);
    printf("libpng %.4f %.4f\n", between - begun, now() - between);
    return EXIT_SUCCESS;
}
