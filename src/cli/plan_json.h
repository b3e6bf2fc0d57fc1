/* Plans as JSON: the members that the report of a run and the plan of one have in common. */
#ifndef PLAN_JSON_H
#define PLAN_JSON_H

#include "pipeline/pipeline.h"
#include "options.h"

#include <stdio.h>

/* The beginning of an object: between what and what. */
void plan_json_begin(FILE *stream, const struct pipeline_request *request);

/* Further members: by which program, and what was asked of it. */
void plan_json_command(FILE *stream, const struct options *options);

/* The data, the stages, the device and the kernels. */
void plan_json_members(FILE *stream, const struct pipeline *pipeline);

/* All of a pipeline that is planned, on a line. */
void plan_json_print(FILE *stream, const struct options *options, const struct pipeline *pipeline);

#endif
