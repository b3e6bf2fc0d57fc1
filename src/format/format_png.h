/* What formats that write PNG pictures have in common. */
#ifndef FORMAT_PNG_H
#define FORMAT_PNG_H

#include "format.h"
#include "png/png_encoder.h"

/* Members of struct format that are alike in all of them. */
#define PNG_TRAITS                                                                                           \
    .name = "png", .family = FAMILY_PNG, .in_turn = true, .alpha = FORMAT_UNASSOCIATED, .compresses = true

#endif
