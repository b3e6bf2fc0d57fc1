/* Parsing: where a command line has been taken up to, and what options share. */
#ifndef PARSING_H
#define PARSING_H

#include "base/choice.h"
#include "base/diag.h"
#include "model/stage.h"
#include "plan/plan.h"
#include "options.h"

#include <stdbool.h>

struct parsing {
    struct options *options;
    struct stage_request defaults;
    struct stage_request *stage; /* that stage options belong to: the defaults before the first --filter */
    struct rung_wish *wish; /* that --tile and --coarsen belong to: the stages' before the first --rung */
    bool has_cube;
    const struct choice *choices; /* of the option that is being taken */
    struct fault *fault;
};

/* Functions of options raise the reason alone; the name of the option is put before it where they are called.
 */
bool parsing_refuse(struct parsing *parsing, const char *value, const char *expected);

/* The same, and what may have been meant; NULL: nobody knows. */
bool parsing_refuse_for(struct parsing *parsing, const char *value, const char *expected, const char *meant);

bool parsing_refuse_twice(struct parsing *parsing);

/* One of the option's choices, by its place among them. */
bool parsing_read_choice(struct parsing *parsing, const char *value, int *place);

/* The file of an option that is given once: of two one would be left out in silence. */
bool parsing_keep_file(struct parsing *parsing, const char **file, const char *value);

#endif
