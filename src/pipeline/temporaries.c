/* Temporaries of rank 0 that the other ranks remove as well. */
#include "temporaries.h"

#include "base/mem.h"

#include <string.h>

/* What the others need memory for. */
struct extent {
    size_t count, bytes;
};

static bool list_own(struct temporaries *temporaries, struct extent *extent, struct fault *fault)
{
    sigset_t before;

    guard_enter(&before);
    extent->bytes = guard_list(NULL, 0, &extent->count);
    temporaries->paths = mem_alloc(extent->bytes, 1, "the temporary files", fault);
    if (temporaries->paths != NULL)
        guard_list(temporaries->paths, extent->bytes, &extent->count);
    guard_leave(&before);
    return temporaries->paths != NULL;
}

static bool make_room(struct temporaries *temporaries, const struct extent *extent, struct fault *fault)
{
    temporaries->paths = mem_alloc(extent->bytes, 1, "the temporary files", fault);
    temporaries->guarded =
        mem_alloc(extent->count, sizeof *temporaries->guarded, "the temporary files", fault);
    return temporaries->paths != NULL && temporaries->guarded != NULL;
}

static void guard_all(struct temporaries *temporaries, size_t count)
{
    const char *path = temporaries->paths;
    sigset_t before;

    guard_enter(&before);
    for (size_t i = 0; i < count; i++) {
        temporaries->guarded[i].path = path;
        guard_add(&temporaries->guarded[i]);
        path += strlen(path) + 1;
    }
    guard_leave(&before);
    temporaries->count = count;
}

bool temporaries_tell(struct temporaries *temporaries, struct peers *peers, struct fault *fault)
{
    struct extent extent = {.count = 0};
    bool first = peers_lead(peers), done;

    if (peers_count(peers) == 1)
        return true;
    done = !first || list_own(temporaries, &extent, fault);
    if (!peers_broadcast(peers, &extent, sizeof extent, fault) ||
        !peers_agree(peers, done && (first || make_room(temporaries, &extent, fault)), fault) ||
        !peers_broadcast(peers, temporaries->paths, extent.bytes, fault))
        return false;
    if (!first)
        guard_all(temporaries, extent.count);
    return true;
}

void temporaries_forget(struct temporaries *temporaries)
{
    sigset_t before;

    guard_enter(&before);
    for (size_t i = 0; i < temporaries->count; i++)
        guard_drop(&temporaries->guarded[i]);
    guard_leave(&before);
    mem_free(temporaries->paths);
    mem_free(temporaries->guarded);
    *temporaries = (struct temporaries){.count = 0};
}
