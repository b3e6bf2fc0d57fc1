/* How libpng's errors and its failed allocations become faults, for the reader and the encoder of PNG. libpng
   leaves a call by longjmp. */
#ifndef PNG_ERROR_H
#define PNG_ERROR_H

#include "base/diag.h"

#include <png.h>
#include <stdbool.h>

/* Give libpng one of these as its error pointer and its memory pointer. */
struct png_error_trap {
    const char *name;    /* of the file */
    enum status status;  /* of an error that is libpng's own */
    struct fault *fault; /* of the call under way */
    bool raised;         /* the fault is told already */
    bool starved;        /* libpng was refused memory */
};

/* Begin a call into libpng; setjmp(png_jmpbuf(png)) comes next. */
void png_error_begin(struct png_error_trap *trap, struct fault *fault);

/* libpng's error function: fill the fault, unless it is filled, and jump. */
_Noreturn void png_error_raise(png_structp png, png_const_charp message);

/* Jump out of a callback that has filled the fault itself. */
_Noreturn void png_error_leave(png_structp png);

/* libpng's memory functions. */
png_voidp png_error_malloc(png_structp png, png_alloc_size_t size);
void png_error_free(png_structp png, png_voidp pointer);

/* Fill the fault, unless it is filled, after libpng could not even start; return false. */
bool png_error_at_start(struct png_error_trap *trap);

#endif
