/* Explaining: the plan of a run, in words. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "pipeline/pipeline.h"

#include <stdio.h>

/* Print the plan of a pipeline that is planned. */
void explain_plan(FILE *stream, const struct pipeline *pipeline);

#endif
