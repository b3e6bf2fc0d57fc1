/* Plans as JSON: the members that the report of a run and the plan of one have in common. */
#ifndef PLAN_JSON_H
#define PLAN_JSON_H

#include "base/json.h"
#include "pipeline/pipeline.h"
#include "options.h"

#include <stdio.h>

/* The first members: between what and what. */
void plan_json_ends(struct json *json, const struct pipeline_request *request);

/* Further members: by which program, and what was asked of it. */
void plan_json_command(struct json *json, const struct options *options);

/* The data, the stages, the device and the kernels. */
void plan_json_members(struct json *json, const struct pipeline *pipeline);

/* All of a pipeline that is planned, on a line. */
void plan_json_print(FILE *stream, const struct options *options, const struct pipeline *pipeline);

#endif
