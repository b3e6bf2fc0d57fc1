/* Options together: what they mean for each other, and what may not be given at once. */
#ifndef OPTIONS_CHECK_H
#define OPTIONS_CHECK_H

#include "base/diag.h"
#include "options.h"

#include <stdbool.h>

/* Of options that are all taken, with their stages settled. What one option leaves to another is filled in.
 */
bool options_check(struct options *options, struct fault *fault);

#endif
