/* Selections: the device that a plan takes, or several of them, and why.

   If no device is named, the CPU is compared with each other backend by predicted time. Looking for a GPU
   costs its start, so that is done only if the start and the way of the samples there and back take less time
   than the whole run on the CPU. Named devices are taken; of all devices of a kind, as many as are predicted
   to be done first. A caller may start the named devices ahead, each by a thread of its own, while it reads
   the input. */
#include "selection.h"

#include "base/memory_limits.h"
#include "base/number.h"
#include "base/threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first device of a backend. */
static struct devices first_of(const struct backend *backend)
{
    return (struct devices){.backend = backend, .count = 1};
}

/* Whether the backend has all rungs that are asked for by name. */
static bool knows_wishes(const struct plan_request *request, const struct backend *backend)
{
    return devices_has_rung(backend->rungs, request->wish.rung) &&
           devices_has_rung(backend->sum_rungs, request->sums.rung);
}

static void give_reason(struct selection *selection, const char *format, ...) DIAG_PRINTF(2, 3);

static void give_reason(struct selection *selection, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(selection->reason, sizeof selection->reason, format, arguments);
    va_end(arguments);
}

/* The listener may use the time. */
static void tell_of_start(const struct plan_request *request)
{
    if (request->on_start != NULL)
        request->on_start(request->listener);
}

/* Take a backend's first device if it should be done sooner than what was selected, or if it alone has the
   rung that is asked for. It is not looked for if its start, and moving the samples, take longer than the
   whole run on the other. */
static void consider(const struct plan_request *request, const struct prediction_case *expected,
                     const struct backend *backend, struct selection *selection)
{
    const bool needed = !knows_wishes(request, selection->devices.backend);
    const char *other = backend->name, *to_start = " to start and to move the samples";
    struct prediction_overhead overhead;
    double seconds, slower;
    struct number_printed first;

    if (!knows_wishes(request, backend))
        return;
    overhead = prediction_overhead(expected, backend);
    seconds = overhead.start + overhead.moving;
    if (needed || seconds < selection->seconds) {
        /* It reserves far more of them than it uses. */
        if (memory_limits_addresses()) {
            give_reason(selection, "%s is not started: the address space is limited", backend->name);
            return;
        }
        tell_of_start(request);
        if (backend->count() == 0)
            return;
        seconds = prediction_alone(expected, backend, 0);
        to_start = "";
    }
    slower = seconds;
    if (needed || seconds < selection->seconds) {
        other = selection->devices.backend->name;
        slower = selection->seconds;
        selection->devices = first_of(backend);
        selection->seconds = seconds;
        if (request->spread)
            selection->devices.indices[0] = (int)(request->member % backend->count());
    }
    first = number_format_seconds(selection->seconds);
    if (needed)
        give_reason(selection, "it has the requested rung; %s predicted", first.text);
    else
        give_reason(selection, "%s predicted; %s would take %s%s", first.text, other,
                    number_format_seconds(slower).text, to_start);
}

/* The cheapest device by predicted time. */
static void choose_automatically(const struct plan_request *request, const struct prediction_case *expected,
                                 struct selection *selection)
{
    selection->devices = first_of(&backend_cpu);
    selection->seconds = prediction_alone(expected, &backend_cpu, 0);
    give_reason(selection, "%s predicted", number_format_seconds(selection->seconds).text);
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        if (devices_backends[i] != &backend_cpu && !expected->job->copies)
            consider(request, expected, devices_backends[i], selection);
    }
    selection->replaceable =
        selection->devices.backend != &backend_cpu && knows_wishes(request, &backend_cpu);
}

/* Take the named device that the request says, or all that are named. */
static bool choose_by_name(const struct plan_request *request, struct devices *chosen, struct fault *fault)
{
    char all[64];

    if (!devices_find(request->device, chosen, fault))
        return false;
    if (request->spread && strchr(request->device, ':') == NULL) {
        snprintf(all, sizeof all, "%s:all", request->device);
        if (!devices_find(all, chosen, fault))
            return false;
    }
    if (request->alone) {
        chosen->indices[0] = chosen->indices[request->member % chosen->count];
        chosen->count = 1;
    }
    return true;
}

bool selection_is_free(const struct plan_request *request)
{
    return request->device == NULL || strcmp(request->device, "auto") == 0;
}

bool selection_names_device(const struct plan_request *request)
{
    return selection_expected(request) != &backend_cpu;
}

/* The devices start side by side, as turns of a parallel loop. */
static bool warm_up_one(void *context, size_t index, struct parallel_loop *loop, struct fault *fault)
{
    const struct devices *devices = context;

    (void)loop, (void)fault;
    devices->backend->warm_up(devices->indices[index]);
    return true;
}

void selection_warm_up(const struct plan_request *request)
{
    struct devices chosen;
    struct fault refusal;

    if (choose_by_name(request, &chosen, &refusal))
        (void)parallel_for(chosen.count, warm_up_one, &chosen, &refusal);
}

/* Why several devices cannot share the job; NULL where they can. */
static const char *keeps_alone(const struct prediction_case *expected)
{
    if (expected->job->copies)
        return "identity alone is copied: nothing is computed";
    return expected->shape->planes < 2 ? "there is only one plane" : NULL;
}

/* Take the number of devices that is predicted to be done first, where all may be taken. More than there are
   planes never help. */
static void choose_fastest(const struct prediction_case *expected, struct selection *selection)
{
    struct devices *devices = &selection->devices, some = *devices;
    double least = 0.0;

    for (some.count = 1; some.count <= devices->count; some.count++) {
        double seconds = prediction_together(expected, &some);
        if (some.count > 1 && seconds >= least)
            break;
        least = seconds;
    }
    give_reason(selection, "%s predicted for %zu of %zu", number_format_seconds(least).text, some.count - 1,
                devices->count);
    devices->count = some.count - 1;
}

/* How many of the devices that are named a run takes. */
static bool choose_count(const struct plan_request *request, const struct prediction_case *expected,
                         struct selection *selection, struct fault *fault)
{
    struct devices *devices = &selection->devices;
    const char *why = devices->count > 1 ? keeps_alone(expected) : NULL;
    bool part = region_is_part(expected->job->region_kind);

    if (devices->count > 1 && part && !devices->all)
        return fault_raise(fault, STATUS_USAGE, "--device: %s: %s takes one device", request->device,
                           region_option(expected->job->region_kind));
    if (why != NULL && !devices->all)
        snprintf(selection->alone, sizeof selection->alone, "%s", why);
    if (why != NULL || part)
        devices->count = 1;
    if (devices->count > expected->shape->planes)
        devices->count = expected->shape->planes;
    if (devices->all && devices->count > 1)
        choose_fastest(expected, selection);
    return true;
}

bool selection_make(const struct plan_request *request, const struct prediction_case *expected,
                    struct selection *selection, struct fault *fault)
{
    *selection = (struct selection){.replaceable = false};
    if (selection_names_device(request))
        tell_of_start(request);
    if (!selection_is_free(request))
        return choose_by_name(request, &selection->devices, fault) &&
               choose_count(request, expected, selection, fault);
    choose_automatically(request, expected, selection);
    return true;
}

void selection_retreat(struct selection *selection)
{
    const char *failed = selection->devices.backend->name;

    *selection = (struct selection){.devices = first_of(&backend_cpu)};
    give_reason(selection, "%s failed", failed);
}

const struct backend *selection_expected(const struct plan_request *request)
{
    const struct backend *named = selection_is_free(request) ? NULL : devices_backend(request->device);

    return named != NULL ? named : &backend_cpu;
}

bool selection_find_devices(const struct plan_request *request, struct devices *devices, struct fault *fault)
{
    if (!selection_is_free(request))
        return devices_find(request->device, devices, fault);
    *devices = first_of(&backend_cpu);
    for (size_t i = 0; devices_backends[i] != NULL && devices->backend == &backend_cpu; i++) {
        if (devices_backends[i]->count() > 0)
            devices->backend = devices_backends[i];
    }
    return true;
}
