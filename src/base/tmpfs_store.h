/* Bytes that go into a file of a file system in memory through its mapping. */
#ifndef TMPFS_STORE_H
#define TMPFS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether so many threads fill a file faster through mappings than by writes, which take turns at the file's
   lock. In tmpfs many do, because its pages are the file. */
bool tmpfs_store_is_faster(int descriptor, unsigned threads);

/* Store bytes into a file that may be read and written and is long enough: how many of them, from the first
   on. They are fewer where the system does not allow it, or where the file has lost pages by now; there is no
   signal. */
size_t tmpfs_store(int descriptor, uint64_t offset, const void *bytes, size_t size);

#endif
