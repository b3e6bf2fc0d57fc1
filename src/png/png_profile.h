/* The colour profile of a PNG, as iCCP has it: a name, then the profile, deflated. */
#ifndef PNG_PROFILE_H
#define PNG_PROFILE_H

#include "icc.h"
#include "png_chunks.h"

#include <stdbool.h>

/* Whether it says what sRGB says, for samples of that kind. Profiles over 64 KiB, which hold tables, do not.
 */
bool png_profile_is_srgb(const struct png_chunk *chunk, enum icc_space space);

#endif
