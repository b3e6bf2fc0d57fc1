/* Effects: options that were given and change nothing, in words. */
#ifndef EFFECT_H
#define EFFECT_H

#include "job.h"

/* A note on each option of a stage that changes nothing there, whatever the samples are; on a default where
   it changes none of the stages that take it. */
void effect_note_stages(const struct job *job);

/* A note on each option that changes nothing for this input, because of the channels that it has. */
void effect_note_input(const char *input, const struct job_request *request, const struct job *job);

#endif
