/* The command line: words become requests, or are refused. */
#include "fuzz.h"

#include "cli/command_line.h"

void fuzz_options(const uint8_t *bytes, size_t size)
{
    struct fuzz_line line;
    struct options options;
    struct fault fault;

    fuzz_split(&line, bytes, fuzz_line_length(bytes, size));
    if (!command_line_parse(line.count, line.words, line.program, &options, &fault))
        fuzz_check_fault(&fault);
    options_free(&options);
    diag_set_level(DIAG_NORMAL);
}
