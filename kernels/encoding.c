/* The encoding of a picture and the channels of its field, the same on every device: which channels there
   are, their value outside the grid, and stretching into a range. */
#include "base/size.h"
#include "model/arith.h"
#include "backend.h"

struct range encoding_counted(const struct encoding *encoding, size_t row, size_t nx)
{
    const struct range *columns = &encoding->counted_columns, *rows = &encoding->counted_rows;

    if (rows->count > 0 && row - rows->first >= rows->count)
        return (struct range){0, 0};
    return columns->count > 0 ? *columns : (struct range){0, nx};
}

unsigned encoding_work_channels(const struct encoding *encoding)
{
    return encoding->alpha && encoding->premultiply ? encoding->channels + encoding_colours(encoding)
                                                    : encoding->channels;
}

unsigned encoding_original_channels(const struct encoding *encoding)
{
    return encoding->masked ? encoding->channels * (encoding->original.rests ? 2 : 1) : 0;
}

unsigned encoding_field_channels(const struct encoding *encoding)
{
    return encoding_work_channels(encoding) * (encoding->weighs ? 2 : 1) +
           encoding_original_channels(encoding);
}

size_t encoding_mask_place(const struct encoding *encoding, size_t pixels)
{
    return size_rounded_up(pixels * encoding->channels * sample_size(encoding->type), MASK_ALIGNMENT);
}

unsigned encoding_colours(const struct encoding *encoding)
{
    return encoding->channels - (encoding->alpha ? 1 : 0);
}

bool encoding_is_marked(const struct encoding *encoding, unsigned channel, double value)
{
    return encoding->marked && channel < encoding_colours(encoding) && value == encoding->mark;
}

double encoding_alpha_factor(const struct encoding *encoding)
{
    return encoding->alpha ? sample_opaque(encoding->type) / encoding->opaque : 1.0;
}

/* A value through the transfer curve, in the arithmetic of the work type. */
static double decoded(const struct encoding *encoding, enum work_type work, double value)
{
    double max = sample_max(encoding->type);

    switch (encoding->transfer) {
    case TRANSFER_SRGB:
        return work == WORK_F32 ? (double)arith_srgb_to_linear_f32((float)value, (float)max)
                                : arith_srgb_to_linear_f64(value, max);
    case TRANSFER_GAMMA:
        return work == WORK_F32
                   ? (double)arith_gamma_scaled_f32((float)value, (float)max, (float)encoding->gamma)
                   : arith_gamma_scaled_f64(value, max, encoding->gamma);
    case TRANSFER_NONE:
        break;
    }
    return value;
}

/* Colour times alpha, likewise. */
static double covered(enum work_type work, double colour, double alpha, double max)
{
    return work == WORK_F32 ? (double)((float)colour * arith_cover_f32((float)alpha, (float)max))
                            : colour * arith_cover_f64(alpha, max);
}

void encoding_outside(const struct encoding *encoding, enum work_type work, double value, double *channels)
{
    unsigned colours = encoding_colours(encoding);
    double alpha = work_round(work, value);
    double colour = decoded(encoding, work, alpha);

    for (unsigned channel = 0; channel < colours; channel++)
        channels[channel] = colour;
    if (encoding->alpha)
        channels[colours] = alpha;
    if (encoding->alpha && encoding->premultiply) {
        for (unsigned channel = 0; channel < colours; channel++) {
            channels[channel] = covered(work, colour, alpha, encoding->opaque);
            channels[colours + 1 + channel] = colour;
        }
    }
}

/* If low is high, every value becomes the least. */
struct stretch encoding_stretch(const struct encoding *encoding)
{
    bool integer = sample_is_integer(encoding->type);
    double least = integer ? sample_min(encoding->type) : 0.0;
    double greatest = integer ? sample_max(encoding->type) : 1.0;

    return (struct stretch){
        .low = encoding->low,
        .span = encoding->high != encoding->low ? encoding->high - encoding->low : 1.0,
        .least = least,
        .width = greatest - least,
        .greatest = greatest,
    };
}

struct sample_limits encoding_stretched_limits(const struct encoding *encoding)
{
    if (sample_is_integer(encoding->type))
        return sample_limits(encoding->type, WORK_F64);
    return (struct sample_limits){0.0, 1.0};
}
