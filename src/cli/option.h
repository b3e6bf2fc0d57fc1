/* The options one by one: what their table says of each, and how far a command line has been parsed. */
#ifndef OPTION_H
#define OPTION_H

#include "base/keyword.h"
#include "base/diag.h"
#include "model/region.h"
#include "model/stage_request.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many rows there are. An option that differs between the two programs has two. */
enum {
    OPTIONS = 0
#define OPTION(letter, name, argument, programs, help, ...) +1
#include "options.def"
};

/* The kinds of values that options take, each of which is stored in its own way. */
enum option_kind {
    OPTION_FLAG,
    OPTION_COUNT,
    OPTION_BYTES,
    OPTION_NUMBER,
    OPTION_WORD,
    OPTION_FORMAT,
    OPTION_NAME,
    OPTION_ACTION,
    OPTION_CALL
};

struct parsing;

/* Take a value, which is NULL if it was left out. A refusal has the reason alone; the caller puts the name of
   the option before it. */
typedef bool option_function(struct parsing *parsing, const char *value);

/* An option: how it is written, what its value may be, and where that goes. options.def explains kinds and
   places. */
struct option_row {
    char letter;          /* 0: none */
    const char *name;     /* without dashes; NULL: none */
    const char *argument; /* NULL: none */
    unsigned programs;
    const char *help;

    enum option_kind kind;
    uint64_t least, most; /* limits of a count */
    double bound;         /* the least number that is allowed, or, */
    bool beyond;          /* if this is set, the bound that it must exceed */
    const struct keyword *keywords;
    int action;
    option_function *call;
    enum region_kind region; /* the part of the result that the option asks for */
    bool once;               /* given twice, it is refused */

    size_t at, size; /* the member of struct options or, if it has a stage, of struct stage_request */
    size_t has_at;   /* the member that says that the option is given; 0: none */
    unsigned stage;  /* a bit of enum stage_option; 0: it belongs to no stage */
};

extern const struct option_row option_table[OPTIONS];

/* Whether the argument may be left out. If it is given, it follows "=". */
bool option_argument_is_optional(const struct option_row *row);

/* The values that an option takes, in words, for a refusal: "a whole number above 0". Returns text. */
const char *option_expected(const struct option_row *row, char *text, size_t size);

/* A command line that is being parsed. */
struct parsing {
    struct options *options;
    struct stage_request defaults;
    /* Where options of stages and of kernels go: before the first --filter and the first --rung, to the
       defaults and to the wish of all stages. */
    struct stage_request *stage;
    struct rung_wish *wish;

    const struct option_row *row; /* of the option that is being parsed */
    bool given[OPTIONS];          /* rows that have been given */
    bool has_cube;                /* the extents are those of -n */
    struct fault *fault;
};

option_function option_cube, option_dims, option_spacing, option_region;
option_function option_filter, option_edge, option_axes, option_sigma;
option_function option_rung, option_tile, option_coarsen;
option_function option_out_range, option_missing, option_report, option_tee, option_frames;
option_function option_messages, option_program;

/* Refuse a value; `expected` says what it should be. */
bool option_refuse(struct parsing *parsing, const char *value, const char *expected);

#endif
