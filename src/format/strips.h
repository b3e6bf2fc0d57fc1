/* Strips of the code of a deflate stream, as it comes in: cut where one may begin that stands alone, and then
   inflated side by side. That is a guess, which only who has followed the stream up to there can confirm. */
#ifndef STRIPS_H
#define STRIPS_H

#include "base/diag.h"
#include "base/inflate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next bytes of code, less than so many only at the end. */
typedef bool strips_fetch(void *context, void *bytes, size_t size, size_t *got, struct fault *fault);

/* What inflating a strip by itself, as if a stream of deflate began there, has led to. */
enum strip_outcome {
    STRIP_UNTRIED,
    STRIP_FAILED, /* it does not stand alone, or is damaged */
    STRIP_WHOLE,  /* it ends where a block does */
    STRIP_ENDED   /* the stream ends within it */
};

struct strip {
    const unsigned char *code;
    size_t size;       /* 0 at the end of the code */
    bool marked;       /* it ends where a strip may begin */
    bool follows_mark; /* and begins so */
    enum strip_outcome outcome;
    size_t used; /* of the code; what follows is none of the stream's */
    const unsigned char *plain;
    size_t made;
    uint32_t checksum; /* of what was made, as the wrapper has it */
};

struct strips;

/* The calling thread counts as one of so many, and begins alone. */
bool strips_create(struct strips **strips, enum inflate_wrapper wrapper, size_t threads, strips_fetch *fetch,
                   void *context, struct fault *fault);

/* The next strip, valid until the next call. */
bool strips_next(struct strips *strips, struct strip *strip, struct fault *fault);

/* Strips do stand alone here: have those to come tried by all threads. Without memory for it, and after
   strips_give_up, nothing happens. */
void strips_spread(struct strips *strips);

/* Guesses were wrong: no longer try any. */
void strips_give_up(struct strips *strips);

/* Bytes of code that were fetched. */
uint64_t strips_fetched(const struct strips *strips);

/* Release, once the other threads have ended; NULL is fine. */
void strips_free(struct strips *strips);

#endif
