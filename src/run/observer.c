/* Observers: whoever looks at the planes of a run as files hold them. */
#include "observer.h"

size_t observers_bytes(const struct observers *observers, const struct job *job)
{
    size_t bytes = 0;

    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        bytes += observer->kind->bytes == NULL ? 0 : observer->kind->bytes(job);
    }
    return bytes;
}

bool observers_begin(const struct observers *observers, const struct plan *plan, struct fault *fault)
{
    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        if (!observer->kind->begin(observer->state, plan, fault))
            return false;
    }
    return true;
}

bool observers_see(const struct observers *observers, enum observer_end end, const void *samples,
                   struct range planes, struct fault *fault)
{
    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        if (!observer->kind->see(observer->state, end, samples, planes, fault))
            return false;
    }
    return true;
}

bool observers_finish(const struct observers *observers, struct peers *peers, struct fault *fault)
{
    for (size_t i = 0; i < observers->count; i++) {
        const struct observer *observer = &observers->list[i];
        if (!observer->kind->finish(observer->state, peers, fault))
            return false;
    }
    return true;
}
