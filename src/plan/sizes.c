/* Sizes: how much a run takes at a time, from roomy to tight. */
#include "sizes.h"

#include "base/size.h"

/* Levels advance by slabs of about this size. */
#define SLAB_BYTES ((size_t)64 << 20)

/* Planes pass between files and device in batches of about this size: large enough for the loops over them to
   run in parallel, small beside any field. */
#define BATCH_BYTES ((size_t)16 << 20)

/* The same for fields in this process's own memory, where what is small enough is found in the caches. */
#define CACHED_SLAB_BYTES  ((size_t)32 << 20)
#define CACHED_BATCH_BYTES ((size_t)8 << 20)

/* One over the share of the work that may be lost where slabs meet, and of the bytes of planes that levels
   need that may be moved for nothing but to make room. */
#define SEAM_SHARE  20
#define SLIDE_SHARE 10

/* Buffers on each side: one is moved from or to the file, one from or to the fields, and one waits. */
#define BUFFERS 3

static size_t planes_of(size_t bytes, size_t plane_bytes, size_t planes)
{
    return size_most(1, size_least(bytes / size_most(1, plane_bytes), planes));
}

bool sizes_are_worth_seams(const struct schedule_request *request, const struct levels_walk *survey,
                           size_t slab)
{
    return request->limits.slab > 0 || survey->depth >= request->levels->planes ||
           slab >= SIZES_LEAST_SEAMS * survey->seam;
}

struct schedule_size sizes_tightest(void)
{
    return (struct schedule_size){.slab = 1, .batch = 1, .buffers = 1, .readers = 1, .writers = 1};
}

/* Whether fields are in this process's own memory. There a window slides without moving anything. */
static bool is_cached(const struct schedule_request *request)
{
    return request->device_memory == 0;
}

static size_t batch_bytes(const struct schedule_request *request)
{
    return is_cached(request) ? CACHED_BATCH_BYTES : BATCH_BYTES;
}

/* Where nothing is computed twice, a level finds in the caches what the one before has left. Planes too large
   for that are read again by the next slab, which is why it is no shorter than what lies between the levels.
 */
static size_t cached_slab(const struct schedule_request *request, const struct levels_walk *survey)
{
    size_t slab = planes_of(CACHED_SLAB_BYTES, request->field_plane_bytes, request->levels->planes);

    return size_most(slab, survey->count == 0 ? 1 : (size_t)(survey->depth / survey->count));
}

size_t sizes_roomy_slab(const struct schedule_request *request, const struct levels_walk *survey)
{
    size_t planes = request->levels->planes;

    if (request->limits.slab > 0)
        return size_least(request->limits.slab, planes);
    if (survey->seam == 0 && is_cached(request))
        return size_least(planes, cached_slab(request, survey));
    return size_least(planes, size_most(planes_of(SLAB_BYTES, request->field_plane_bytes, planes),
                                        SEAM_SHARE * survey->seam));
}

/* Planes that a window has beyond what levels need: a slab that leaves while the next one comes, and so many
   that it seldom has to slide. */
static size_t roomy_slack(const struct schedule_request *request, const struct levels_walk *survey,
                          size_t slab)
{
    uint64_t count = survey->count == 0 ? 1 : survey->count;

    if (is_cached(request))
        return 0;
    if (request->limits.slab > 0)
        return slab;
    return slab + size_most(slab, SLIDE_SHARE * 2 * survey->depth / count);
}

struct schedule_size sizes_roomy(const struct schedule_request *request, const struct levels_walk *survey)
{
    size_t planes = request->levels->planes;
    struct schedule_size size = {
        .slab = sizes_roomy_slab(request, survey), .readers = request->readers, .writers = request->writers};

    size.batch = request->limits.batch > 0
                     ? size_least(request->limits.batch, planes)
                     : planes_of(batch_bytes(request), request->file_plane_bytes, planes);
    size.batch = size_least(size.batch, size.slab);
    size.slack = roomy_slack(request, survey, size.slab);
    size.buffers = BUFFERS;
    return size;
}

bool sizes_tighten(struct schedule_size *size)
{
    if (size->slab == 1 && size->batch == 1 && size->slack == 0 && size->buffers == 1)
        return false;
    if (size->slack > size->slab) {
        size->slack = size->slab;
        return true;
    }
    size->slab = size_most(1, size->slab / 2);
    size->slack = size->slab == 1 ? 0 : size_least(size->slack, size->slab);
    size->batch = size_most(1, size_least(size->batch / 2, size->slab));
    size->readers = size->writers = 1;
    size->buffers = size->slab == 1 ? 1 : BUFFERS;
    return true;
}
