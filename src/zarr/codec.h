/* Codecs of Zarr: how a store keeps the samples of a chunk as bytes.

   An array has one chain of codecs for all of its chunks. The chain transposes samples, puts them into an
   order of bytes, and compresses them or adds a checksum, in this order; decoding goes backwards. Zarr v2
   says the same in other words: its order F is a transposition of all axes, and its compressor a codec.

   The size of a decoded chunk is known before, and no bytes of a damaged one can ask for more. Faults say
   what is wrong without a name; the caller adds the chunk's. */
#ifndef CODEC_H
#define CODEC_H

#include "base/diag.h"
#include "model/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEC_MOST      8 /* codecs of a chain */
#define CODEC_MOST_AXES 8

enum codec_kind {
    CODEC_TRANSPOSE,
    CODEC_BYTES, /* once in every chain: behind transpositions, and before all others */
    CODEC_GZIP,
    CODEC_ZLIB,
    CODEC_ZSTD,
    CODEC_BLOSC, /* a chunk tells by itself which compressor and which shuffle it has */
    CODEC_CRC32C
};

struct codec {
    enum codec_kind kind;
    unsigned char
        order[CODEC_MOST_AXES]; /* transpose: axis `order[i]` of the samples is the i-th of the bytes */
    bool big;                   /* bytes: the order in a sample; else little-endian */
    int level;                  /* zstd, when encoding */
};

/* The chunks of an array, or of a shard: all of one shape, with their last axis running fastest. */
struct codec_chain {
    enum sample_type type;
    size_t axes, extents[CODEC_MOST_AXES];
    size_t count;
    struct codec codecs[CODEC_MOST];
};

/* Load the libraries that a chain needs. Where one is missing, the fault has this status, and names the
   package to install. */
bool codec_load(const struct codec_chain *chain, enum status status, struct fault *fault);

/* Bytes of a chunk's samples, which must fit into size_t. */
size_t codec_plain_bytes(const struct codec_chain *chain);

/* The most bytes that a chunk is encoded to. A longer one need not be read: codec_decode would refuse it. */
size_t codec_coded_bytes(const struct codec_chain *chain);

/* What one thread needs to encode or decode chunks of a chain, which has been loaded and stays where it is;
   and about how much memory that takes. */
struct codec_worker;
bool codec_worker_create(struct codec_worker **worker, const struct codec_chain *chain, struct fault *fault);
size_t codec_worker_bytes(const struct codec_chain *chain);
void codec_worker_free(struct codec_worker *worker); /* NULL is fine */

/* Decode a chunk. Samples get this machine's order of bytes, and their last axis runs fastest. */
bool codec_decode(struct codec_worker *worker, const void *coded, size_t size, void *samples,
                  struct fault *fault);

/* Encode samples that have the order of bytes of the chain, which has no other codecs than bytes, zstd and
   crc32c, each once at most, in this order; `coded` has room for codec_coded_bytes. */
bool codec_encode(struct codec_worker *worker, const void *samples, void *coded, size_t *size,
                  struct fault *fault);

/* ---- shards: several chunks of one file, with an index of where each of them is ---- */

/* Both are CODEC_ABSENT where a chunk is not there. */
struct codec_place {
    uint64_t offset, size;
};
#define CODEC_ABSENT UINT64_MAX

/* Bytes of the index of so many chunks, little-endian and perhaps with a checksum. */
size_t codec_index_bytes(size_t chunks, bool checksum);

/* Decode an index, and refuse places that reach beyond a shard of so many bytes or the size that a chunk can
   have; and encode one. */
bool codec_index_decode(const unsigned char *bytes, size_t chunks, bool checksum, uint64_t shard_bytes,
                        size_t most_bytes, struct codec_place *places, struct fault *fault);
void codec_index_encode(const struct codec_place *places, size_t chunks, bool checksum, unsigned char *bytes);

#endif
