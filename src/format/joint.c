/* Joint sinks: places for samples in a file that several processes write. */
#include "joint.h"

static bool finish(struct sink *sink, struct fault *fault)
{
    (void)sink, (void)fault;
    return true;
}

static void discard(struct sink *sink)
{
    (void)sink;
}

static const struct format format_joint = {.name = "joint", .finish = finish, .discard = discard};

struct sink joint_sink(const struct header *header, struct sink_place place)
{
    return (struct sink){.format = &format_joint, .header = *header, .samples = place};
}
