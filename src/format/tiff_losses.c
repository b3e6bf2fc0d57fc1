/* Dropped fields of TIFF files: what the tags of a page tell that no output has. */
#include "tiff_losses.h"

#include "dropped_fields.h"

#ifdef HAVE_TIFF
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What tells how the samples lie, what they are and how far apart, in the output in its own words. */
static const uint16_t carried[] = {
    TIFFTAG_SUBFILETYPE,     TIFFTAG_OSUBFILETYPE,   TIFFTAG_IMAGEWIDTH,      TIFFTAG_IMAGELENGTH,
    TIFFTAG_IMAGEDEPTH,      TIFFTAG_BITSPERSAMPLE,  TIFFTAG_COMPRESSION,     TIFFTAG_PHOTOMETRIC,
    TIFFTAG_FILLORDER,       TIFFTAG_STRIPOFFSETS,   TIFFTAG_SAMPLESPERPIXEL, TIFFTAG_ROWSPERSTRIP,
    TIFFTAG_STRIPBYTECOUNTS, TIFFTAG_MINSAMPLEVALUE, TIFFTAG_MAXSAMPLEVALUE,  TIFFTAG_XRESOLUTION,
    TIFFTAG_YRESOLUTION,     TIFFTAG_PLANARCONFIG,   TIFFTAG_RESOLUTIONUNIT,  TIFFTAG_PAGENUMBER,
    TIFFTAG_PREDICTOR,       TIFFTAG_TILEWIDTH,      TIFFTAG_TILELENGTH,      TIFFTAG_TILEOFFSETS,
    TIFFTAG_TILEBYTECOUNTS,  TIFFTAG_SAMPLEFORMAT,   TIFFTAG_SMINSAMPLEVALUE, TIFFTAG_SMAXSAMPLEVALUE};

static bool is_turned(const struct tiff_losses_page *page)
{
    uint16_t orientation = ORIENTATION_TOPLEFT;

    return page->libtiff->TIFFGetField(page->tiff, TIFFTAG_ORIENTATION, &orientation) == 1 &&
           orientation != ORIENTATION_TOPLEFT;
}

/* Channels beyond the colours are written as channels of which nothing is known, but for alpha. */
static bool has_alpha(const struct tiff_losses_page *page)
{
    uint16_t count = 0, *meanings = NULL;

    if (page->libtiff->TIFFGetField(page->tiff, TIFFTAG_EXTRASAMPLES, &count, &meanings) != 1)
        return false;
    for (uint16_t i = 0; i < count; i++) {
        if (meanings[i] != EXTRASAMPLE_UNSPECIFIED)
            return true;
    }
    return false;
}

static bool is_carried(const struct tiff_losses_page *page, unsigned tag)
{
    if (tag == TIFFTAG_IMAGEDESCRIPTION)
        return page->text->is_stack;
    if (tag == TIFFTAG_ORIENTATION)
        return !is_turned(page);
    if (tag == TIFFTAG_EXTRASAMPLES)
        return page->alpha || !has_alpha(page);
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++) {
        if (carried[i] == tag)
            return true;
    }
    return false;
}

/* A tag that libtiff does not know either has its number for a name. */
static void name_tag(const struct tiff_losses_page *page, unsigned tag, char *name, size_t size)
{
    const TIFFField *field = page->libtiff->TIFFFieldWithTag(page->tiff, tag);

    if (field == NULL)
        snprintf(name, size, "tag %u", tag);
    else
        snprintf(name, size, "%s", page->libtiff->TIFFFieldName(field));
}

void tiff_losses_tell(const struct tiff_losses_page *page, char *text, size_t size)
{
    text[0] = '\0';
    for (uint64_t i = 0; i < page->directory->count; i++) {
        unsigned tag = tiff_directory_tag(page->directory, i);
        char name[48];
        if (is_carried(page, tag))
            continue;
        name_tag(page, tag, name, sizeof name);
        dropped_fields_add(text, size, name);
    }
    if (page->text->is_stack && page->text->others[0] != '\0')
        dropped_fields_add(text, size, page->text->others);
}
#endif
