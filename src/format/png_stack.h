/* Stacks of PNG pictures: files whose names differ in a number, each a plane. */
#ifndef PNG_STACK_H
#define PNG_STACK_H

#include "format.h"
#include "pattern.h"
#include "png/png_encoder.h"

/* Members of struct format that are alike in all formats of PNG pictures. */
#define PNG_TRAITS                                                                                           \
    .name = "png", .family = FAMILY_PNG, .in_turn = true, .alpha = FORMAT_UNASSOCIATED, .compresses = true

/* Sources and sinks are given the file of the first picture, and in the request the pattern. */
extern const struct format format_png_stack;

/* Find the first picture, which has the number 0 or 1, and its name. */
bool png_stack_find(const char *pattern, uint64_t *first, char name[PATTERN_NAME_MOST], struct fault *fault);

/* The number of the first picture to write: that of the origin if it is a stack, else 0. */
uint64_t png_stack_first(const struct source *origin);

/* The description of a picture for the encoder, of a stack or alone. */
struct png_encoder_picture png_stack_picture(const struct header *header, const struct sink_request *request);

#endif
