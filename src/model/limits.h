/* Limits and defaults that appear in options, help, refusals and the manual. Those of threads and of
   compression are in base/threads.h and base/deflate.h; tests hold the man pages to all of them. */
#ifndef LIMITS_H
#define LIMITS_H

#define MOST_CHANNELS 65536
#define MOST_TILE     65536 /* of a tile and of a coarsening, along an axis */

/* Squares of distances, and the ratios of those, are doubles still. */
#define LEAST_SPACING 1e-100
#define MOST_SPACING  1e100

#define MOST_FRAMES 900 /* that --frames writes: all are open at the same time */

/* Steps of a stage that is given none. */
#define HEAT_STEPS  10
#define UNTIL_STEPS 1000 /* the most, with --until */

/* Levels of compression, if none is given. */
#define PNG_LEVEL  6
#define GZIP_LEVEL 3

#define JPEG_QUALITY 90 /* if none is given */

/* A number of this list as text, in a string. */
#define TEXT(number)          TEXT_EXPANDED(number)
#define TEXT_EXPANDED(number) #number

#endif
