/* Losses in words. */
#include "loss_text.h"

#include "base/diag.h"
#include "base/number.h"

#include <math.h>

#define SENTENCE 200

/* "1 sample (0.3 %)" */
static const char *count(const struct loss *loss, uint64_t samples, char *text, size_t size)
{
    char share[32];

    snprintf(text, size, "%llu sample%s%s (%s)", (unsigned long long)samples, number_plural(samples),
             loss->of_planes ? " of whole planes" : "",
             number_format_share(samples, loss->samples, share, sizeof share));
    return text;
}

static const char *were(uint64_t samples)
{
    return samples == 1 ? "was" : "were";
}

/* False where none were. */
static bool tell_cut_off(const struct loss *loss, char *text, size_t size)
{
    char below[64], above[64];

    count(loss, loss->below, below, sizeof below);
    count(loss, loss->above, above, sizeof above);
    if (loss->below > 0 && loss->above > 0)
        snprintf(text, size, "%s %s cut off at %.10g, and %s at %.10g", below, were(loss->below), loss->least,
                 above, loss->greatest);
    else if (loss->below > 0)
        snprintf(text, size, "%s %s cut off at %.10g", below, were(loss->below), loss->least);
    else if (loss->above > 0)
        snprintf(text, size, "%s %s cut off at %.10g", above, were(loss->above), loss->greatest);
    return loss->below > 0 || loss->above > 0;
}

/* False where there are no more than the input had. */
static bool tell_strays(const struct loss *loss, char *text, size_t size)
{
    char samples[64];

    count(loss, loss->strays_out, samples, sizeof samples);
    if (loss->strays_in == 0)
        snprintf(text, size, "%s %s NaN or infinite, but none of the input", samples,
                 loss->strays_out == 1 ? "is" : "are");
    else
        snprintf(text, size, "%s %s NaN or infinite, and %llu of the input", samples,
                 loss->strays_out == 1 ? "is" : "are", (unsigned long long)loss->strays_in);
    return loss->strays_out > loss->strays_in;
}

static bool tell_nans(const struct loss *loss, char *text, size_t size)
{
    snprintf(text, size, "%llu NaN%s written as 0", (unsigned long long)loss->nans,
             number_plural(loss->nans));
    return loss->nans > 0;
}

/* False where values were not put into a range. */
static bool tell_range(const struct loss *loss, const struct job *job, const struct run_summary *summary,
                       char *text, size_t size)
{
    if (isnan(summary->low))
        snprintf(text, size, "no value is finite; -inf became %.10g, inf %.10g, and NaN %s", loss->least,
                 loss->greatest, loss->integers ? "0" : "stayed NaN");
    else if (summary->low == summary->high)
        snprintf(text, size, "%.9g, the only value, became %.10g", summary->low, loss->least);
    else
        snprintf(text, size, "%.9g to %.9g became %.10g to %.10g", summary->low, summary->high, loss->least,
                 loss->greatest);
    return job->encode.ranged;
}

void loss_text_note_range(const char *output, const struct job *job, const struct run_summary *summary)
{
    struct loss loss = loss_of(job, summary);
    char text[SENTENCE];

    if (job->measures && tell_range(&loss, job, summary, text, sizeof text))
        diag_note("%s: %s", output, text);
}

void loss_text_note(const char *output, const struct loss *loss)
{
    char text[SENTENCE];

    if (tell_nans(loss, text, sizeof text))
        diag_note("%s: %s", output, text);
    if (tell_cut_off(loss, text, sizeof text))
        diag_note("%s: %s", output, text);
    if (tell_strays(loss, text, sizeof text))
        diag_note("%s: %s", output, text);
}

void loss_text_print(FILE *stream, const struct job *job, const struct run_summary *summary)
{
    struct loss loss = loss_of(job, summary);
    char text[SENTENCE];

    if (tell_range(&loss, job, summary, text, sizeof text))
        fprintf(stream, "range     %s\n", text);
    if (tell_nans(&loss, text, sizeof text))
        fprintf(stream, "NaN       %s\n", text);
    if (tell_cut_off(&loss, text, sizeof text))
        fprintf(stream, "cut off   %s\n", text);
    if (tell_strays(&loss, text, sizeof text))
        fprintf(stream, "strays    %s\n", text);
}
