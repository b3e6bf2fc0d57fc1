/* Pipelines: one input through the stages of a job to one output.

   Opening settles the job for the input's header; meanwhile a thread starts the device that the request
   names. Planning chooses the ranks that make the run, and how they split the job; if memory is too short for
   that, another split is tried. While a plan waits for a device, the output is opened, and room on the disk
   is taken for it. A run writes all outputs under temporary names, looks whether the input has changed
   meanwhile, and then gives all files their names. Several ranks do this in step: after each part that may
   fail on one of them all agree, and all fail with the fault of the first; alone, that is nothing. If a
   device that nobody asked for fails before anyone has seen a byte of an output, the caller may retreat: back
   to the start of the input, to plan and run on the CPU. */
#include "pipeline.h"

#include "base/mem.h"
#include "base/memory_limits.h"
#include "base/size.h"
#include "base/threads.h"
#include "format/box.h"
#include "format/gray_slice.h"
#include "format/stack.h"
#include "run/output.h"

#include <math.h>
#include <string.h>

/* Tees whose files are compressed on all threads; of more, each has one. */
#define FEW_TEES 4

/* ---- the inputs ---- */

/* The device starts while the first of the input is being read, which may mean to wait for another program.
 */
static void *start_device(void *data)
{
    selection_warm_up(data);
    return NULL;
}

static size_t codec_threads(const struct pipeline *pipeline)
{
    return thread_count(pipeline->request->plan.threads);
}

/* What has gone into a pipe cannot be taken back. */
static bool looks_at_all(const struct pipeline *pipeline)
{
    return pipeline->request->will_run && !file_out_is_file(pipeline->request->output);
}

static struct input_request input_request_of(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    struct input_request input = {.path = request->input,
                                  .format = request->format,
                                  .pictures = request->pictures,
                                  .source = request->source};

    input.source.threads = codec_threads(pipeline);
    input.source.looks_at_all = looks_at_all(pipeline);
    return input;
}

/* The command line describes the input alone: the mask describes itself, or is like the input. */
static struct input_request mask_request_of(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;

    return (struct input_request){.path = request->mask,
                                  .pictures = request->pictures,
                                  .source = {.grid = grid_make(3, 1, 1, 1),
                                             .allow_outside = request->source.allow_outside,
                                             .threads = codec_threads(pipeline),
                                             .looks_at_all = looks_at_all(pipeline)},
                                  .like = &pipeline->input.source.header};
}

static void close_sources(struct pipeline *pipeline)
{
    job_free(&pipeline->job);
    input_close_source(&pipeline->mask);
    input_close_source(&pipeline->input);
}

/* Memory for what is read beside the samples of a box. */
static size_t beside_bytes(const struct pipeline *pipeline, struct source *source, size_t whole)
{
    const struct job *job = &pipeline->job;

    source->beside_bytes = whole;
    return region_has_whole_planes(&job->box, &job->in.grid)
               ? whole
               : box_beside_bytes(source, &job->box, thread_carriers(codec_threads(pipeline)));
}

/* That of the input and its mask, in a column. */
static size_t beside_column(struct pipeline *pipeline, size_t index)
{
    struct source *mask = &pipeline->mask.source;
    size_t bytes;

    job_go_to_column(&pipeline->job, index);
    bytes = beside_bytes(pipeline, &pipeline->input.source, pipeline->beside_bytes[0]);
    if (pipeline->job.mask_plane_bytes > 0)
        bytes += beside_bytes(pipeline, mask, pipeline->beside_bytes[1]) + mask->held_bytes;
    return bytes;
}

/* Of all columns, the first and the last may go around the grid. */
static void count_beside(struct pipeline *pipeline)
{
    const size_t last = beside_column(pipeline, job_columns(&pipeline->job) - 1);
    const size_t first = beside_column(pipeline, 0);

    pipeline->input.source.beside_bytes = size_most(first, last);
}

/* The headers of the input and of its mask, and the job for them. */
static bool open_sources(struct pipeline *pipeline, struct fault *fault)
{
    const struct input_request input = input_request_of(pipeline), mask = mask_request_of(pipeline);
    const bool masked = mask.path != NULL;
    struct source *source = &pipeline->input.source, *beside = &pipeline->mask.source;

    if (!input_open_source(&pipeline->input, &input, fault) ||
        (masked && !input_open_source(&pipeline->mask, &mask, fault)) ||
        !job_make(&pipeline->request->job, source, masked ? beside : NULL, &pipeline->job, fault))
        return false;
    pipeline->beside_bytes[0] = source->beside_bytes;
    pipeline->beside_bytes[1] = beside->beside_bytes;
    count_beside(pipeline);
    /* A mask is read in step with the input: in order, if one of the two can only be read so. */
    if (pipeline->job.mask_plane_bytes > 0) {
        source->random = source->random && beside->random;
        source->one_reader = source->one_reader || beside->one_reader;
    }
    return true;
}

/* Open the input and its mask on all ranks, compare what they see, and remember the state of the files. */
static bool open_inputs(struct pipeline *pipeline, struct fault *fault)
{
    const struct input_request input = input_request_of(pipeline), mask = mask_request_of(pipeline);
    const struct pipeline_request *request = pipeline->request;
    struct ranks *ranks = &pipeline->ranks;

    if (!input_open_file(&pipeline->input, &input, ranks, fault) ||
        (mask.path != NULL && !input_open_file(&pipeline->mask, &mask, ranks, fault)))
        return false;
    /* Start a device that is named; among other pipelines it has been started, or soon is. */
    pipeline->starts =
        request->budget == NULL && selection_names_device(&request->plan) &&
        thread_start(&pipeline->starter, THREAD_FULL_STACK, start_device, (void *)&request->plan);
    return peers_agree(ranks->all, open_sources(pipeline, fault), fault) &&
           input_watch(&pipeline->input, ranks, fault) &&
           (mask.path == NULL || input_watch(&pipeline->mask, ranks, fault));
}

bool pipeline_open(struct pipeline *pipeline, const struct pipeline_request *request, struct fault *fault)
{
    *pipeline = (struct pipeline){.request = request, .ranks.all = request->peers};
    if (open_inputs(pipeline, fault))
        return true;
    pipeline_close(pipeline);
    return false;
}

/* ---- the outputs ---- */

const struct format *pipeline_output_format(const struct pipeline *pipeline, const char *path)
{
    const struct pipeline_request *request = pipeline->request;
    const struct format *origin = pipeline->input.source.format;
    const struct format *named = path == NULL ? NULL : format_of_name(path);

    if (request->out_format != NULL)
        return request->out_format;
    if (origin->picture == NULL && stack_of_name(path) != NULL)
        return stack_of_name(path);
    /* Without numbers, the planes of a stack of volumes are those of one volume. */
    if (origin->slice != NULL && origin->slice->picture == NULL)
        origin = origin->slice;
    return named == NULL || (origin->picture == NULL) != (named->picture == NULL) ? origin : named;
}

/* Whether it is a piece, but not the first, which has the header. */
static bool goes_on(const struct job *job)
{
    return job->region_kind == REGION_PIECE && region_first_plane(&job->region, &job->in.grid) > 0;
}

/* The sink for an output: a slice may need more than the format of pictures, and all pieces but the first,
   which has the header, are raw. */
static const struct format *sink_format(const struct pipeline *pipeline, const char *path)
{
    const struct job *job = &pipeline->job;

    if (goes_on(job))
        return pipeline_output_format(pipeline, path)->compressed ? &format_raw_gz : &format_raw;
    return job->region_kind == REGION_SLICE && !gray_slice_is_plain(job->written.type)
               ? &format_gray_slice
               : pipeline_output_format(pipeline, path);
}

static struct target_request target_request_of(const struct pipeline *pipeline, const char *path,
                                               size_t threads)
{
    const struct job *job = &pipeline->job;
    const bool cut = job_columns(job) > 1;
    bool leads = job->region_kind == REGION_PIECE && !goes_on(job);
    bool is_part = job->region_kind == REGION_PART && job->written.grid.axes == 3;
    size_t end = job->planes.first + job->planes.count;
    bool stays_raw = goes_on(job) && pipeline_output_format(pipeline, path)->compresses &&
                     sink_format(pipeline, path) == &format_raw;

    return (struct target_request){
        .format = sink_format(pipeline, path),
        .header = &job->written,
        .sink = {.pattern = path,
                 .level = stays_raw ? -1 : pipeline->request->level,
                 .quality = pipeline->request->quality,
                 .planes_before = is_part ? job->planes.first : 0,
                 .planes_after = is_part ? grid_planes(&job->out.grid) - end : 0,
                 .whole = leads ? &job->out.grid : NULL,
                 .column = {cut ? job->columns.extent[0] : 0, cut ? job->columns.extent[1] : 0},
                 .threads = threads,
                 .mark = job->encode.marked ? &job->encode.mark : NULL,
                 .origin = &pipeline->input.source},
        .sync = pipeline->request->sync};
}

static bool make_targets(struct pipeline *pipeline, struct fault *fault)
{
    return pipeline->targets.list != NULL ||
           targets_make(&pipeline->targets, pipeline->request->tee_count + 1, &pipeline->ranks.team, fault);
}

/* Unless it has been opened before. */
static bool open_output(struct pipeline *pipeline, struct fault *fault)
{
    const struct target_request request =
        target_request_of(pipeline, pipeline->request->output, codec_threads(pipeline));

    return pipeline->targets.count > 0 || targets_add(&pipeline->targets, &request, fault);
}

/* Called while a device starts. If the output cannot be opened, it is left to the run, which says why. */
static void take_room(void *data)
{
    struct pipeline *pipeline = data;
    const struct pipeline_request *request = pipeline->request;
    bool early = request->will_run && request->budget == NULL && !ranks_are_several(&pipeline->ranks);
    struct fault refusal;

    if (!early || pipeline->targets.count > 0 || !file_out_is_file(request->output))
        return;
    if (make_targets(pipeline, &refusal) && open_output(pipeline, &refusal))
        sink_begin_to_reserve(&pipeline->targets.list[0].sink);
    else
        targets_close(&pipeline->targets);
}

/* ---- the plan ---- */

static void return_device(struct pipeline *pipeline)
{
    if (pipeline->holds_device)
        budget_return_device(pipeline->request->budget, pipeline->held_device);
    pipeline->holds_device = false;
}

static void close_plan(struct pipeline *pipeline)
{
    plan_free(&pipeline->plan);
    return_device(pipeline);
}

/* Within the share where that costs no pass over the data more, else within all the memory that there is. */
static bool make_plan(struct pipeline *pipeline, const struct plan_request *request, struct fault *fault)
{
    struct plan_request within_share = *request;
    struct plan *plan = &pipeline->plan;

    within_share.memory = pipeline->request->share;
    if (within_share.memory > 0 &&
        plan_make(&within_share, &pipeline->job, &pipeline->input.source, plan, fault)) {
        pipeline->fits_share = !plan->schedule.spooled && !plan->schedule.holds_in_spool;
        if (pipeline->fits_share)
            return true;
        plan_free(plan);
    }
    return plan_make(request, &pipeline->job, &pipeline->input.source, plan, fault);
}

static bool list_stops(struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;

    mem_free(pipeline->stops);
    mem_free(pipeline->tee_ends);
    pipeline->stops = mem_alloc(request->tee_count, sizeof *pipeline->stops, "the tees", fault);
    pipeline->tee_ends = mem_zeroed(request->tee_count, sizeof *pipeline->tee_ends, "the tees", fault);
    if (pipeline->stops == NULL || pipeline->tee_ends == NULL)
        return false;
    for (size_t i = 0; i < request->tee_count; i++)
        pipeline->stops[i] = request->tees[i].step;
    return true;
}

/* Some options would need an answer, or a file, for each volume of a series. */
static bool check_series(const struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    const struct job *job = &pipeline->job;
    const struct file_in *mask = pipeline->mask.file;
    const struct {
        bool wanted;
        const char *what;
    } refused[] = {{job->region_kind == REGION_SLICE || region_is_part(job->region_kind),
                    region_option(job->region_kind)},
                   {request->tee_count > 0, "--tee"},
                   {request->run.observers.count > 0, "--preview"},
                   {job_waits_for_change(job), "--until"},
                   {job->measures, "--out-range=auto"}};

    for (size_t i = 0; job->in.volumes > 1 && i < sizeof refused / sizeof *refused; i++) {
        if (refused[i].wanted)
            return fault_set_for(fault, STATUS_USAGE, file_in_name(pipeline->input.file),
                                 "a series of %zu volumes, of which %s needs one: --volume K chooses it",
                                 job->in.volumes, refused[i].what);
    }
    return job->in.volumes == 1 || mask == NULL || file_in_is_regular(mask) ||
           fault_set_for(fault, STATUS_USAGE, file_in_name(mask),
                         "a mask is read once for each of %zu volumes, so it must be a regular file",
                         job->in.volumes);
}

/* A part is read where it is, and so is its mask. */
static bool check_mask(const struct pipeline *pipeline, struct fault *fault)
{
    const struct job *job = &pipeline->job;

    return !region_is_part(job->region_kind) || job->mask_plane_bytes == 0 || pipeline->mask.source.random ||
           fault_set_for(fault, STATUS_USAGE, file_in_name(pipeline->mask.file),
                         "%s needs a mask with samples at fixed places in one file: a pipe, compressed "
                         "samples and lists of files have none",
                         region_option(job->region_kind));
}

/* The files of all pieces become one. */
static bool check_join(const struct pipeline *pipeline, const char *path, struct fault *fault)
{
    const struct format *format = pipeline_output_format(pipeline, path);

    if (!format->joins)
        return fault_raise(fault, STATUS_USAGE,
                           "--piece: cat cannot join files of the format %s; --part writes complete ones",
                           format->name);
    return format->compressed || !format->compresses || pipeline->request->level <= 0 ||
           fault_raise(fault, STATUS_USAGE,
                       "--piece: cat cannot join samples that are compressed behind the header of a file %s; "
                       "without --level they are not",
                       format->name);
}

/* Other parts read files that this one would replace. */
static bool check_part_name(const struct pipeline *pipeline, const char *path, struct fault *fault)
{
    const struct sink_request request = {.pattern = path, .origin = &pipeline->input.source};
    char name[PATTERN_NAME_MOST];

    if (pipeline->input.source.slice == NULL || stack_of_name(path) == NULL)
        return true;
    stack_name_first(&request, name);
    return !file_in_is_at(pipeline->input.file, name) ||
           fault_set_for(fault, STATUS_USAGE, path, "--part: it would replace files that other parts read");
}

static bool check_output(const struct pipeline *pipeline, const char *path, struct fault *fault)
{
    enum region_kind kind = pipeline->job.region_kind;

    /* A picture alone has no number that could stand in a name. */
    if (kind == REGION_SLICE && stack_of_name(path) != NULL)
        return fault_set_for(fault, STATUS_USAGE, path, "--slice writes one picture: its name has no %%d");
    return (kind != REGION_PART || check_part_name(pipeline, path, fault)) &&
           (kind != REGION_PIECE || check_join(pipeline, path, fault));
}

static bool check_outputs(const struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    const bool alone = request->will_run && !ranks_are_several(&pipeline->ranks);
    bool done = check_series(pipeline, fault) && check_mask(pipeline, fault) &&
                check_output(pipeline, request->output, fault);

    /* A folder that is there is refused before memory is asked for. Of several ranks, one might already see
       what another makes, so they find out later. */
    if (done && alone && pipeline_output_format(pipeline, request->output)->folder)
        done = file_out_check_folder(request->output, fault);
    for (size_t i = 0; done && i < request->tee_count; i++)
        done = check_output(pipeline, request->tees[i].path, fault);
    return done;
}

static size_t tee_threads(const struct pipeline *pipeline)
{
    return pipeline->request->tee_count > FEW_TEES ? 1 : codec_threads(pipeline);
}

/* The memory that writing an output takes, and the bytes of it that a rank keeps for rank 0 to write: none if
   its samples come in turn, or in files of their own. Some formats show that only when the file is open;
   their bytes are counted all the same. Every rank counts what the rank with the most planes keeps, since all
   plan alike. */
static size_t target_bytes(const struct pipeline *pipeline, const char *path, size_t threads)
{
    const struct target_request target = target_request_of(pipeline, path, threads);
    const struct format *format = target.format;
    const struct job *job = &pipeline->job;
    const size_t planes = split_most_planes(&pipeline->ranks.split, job) * job->written_planes;
    size_t bytes = 0;

    if (ranks_share_run(&pipeline->ranks) && !format->in_turn && format->slice == NULL)
        bytes += output_fringe_most((uint64_t)planes * header_plane_bytes(target.header));
    if (format->writing_bytes != NULL)
        bytes += format->writing_bytes(target.header, &target.sink);
    return bytes;
}

static size_t outputs_bytes(const struct pipeline *pipeline)
{
    const struct pipeline_request *request = pipeline->request;
    size_t bytes = target_bytes(pipeline, request->output, codec_threads(pipeline));

    for (size_t i = 0; i < request->tee_count; i++)
        bytes += target_bytes(pipeline, request->tees[i].path, tee_threads(pipeline));
    return bytes;
}

/* ---- columns ---- */

/* Bytes of samples a second that are read and written, decoding and encoding included. It weighs what a way
   reads or writes again against what it computes. */
#define ASSUMED_FILE_BYTES_PER_SECOND 2e9

/* Threads that read and write are started for each column, and for each pass over spool files. */
#define ASSUMED_PASS_SECONDS 1e-3

/* Where columns have a part of each row, each part is read and written by itself. */
#define ASSUMED_PART_SECONDS 7e-7

/* The next number of columns that is worth trying: a third more. */
static size_t more_columns(size_t count)
{
    return count + size_most(1, count / 3);
}

/* Samples along an axis that are read for a range of them: those of whole chunks, or of rows that end
   nearby. */
static size_t read_along(const struct source *source, unsigned axis, size_t first, size_t count)
{
    const size_t extent = grid_extent(&source->header.grid, axis);
    const size_t grain = size_most(1, source->grain[axis]), begin = first / grain * grain;
    const uint64_t pixel = source->header.grid.channels * sample_size(source->header.type);

    if (axis == 0 && grain == 1 && box_reads_between(extent * pixel, count * pixel))
        return extent;
    return size_least(size_rounded_up(first + count, grain), size_most(extent, first + count)) - begin;
}

/* For all columns along x or y. */
static uint64_t read_by_all(const struct pipeline *pipeline, unsigned axis)
{
    struct job job = pipeline->job;
    uint64_t sum = 0;

    for (size_t i = 0; i < job.columns.count[axis]; i++) {
        job_go_to_column(&job, axis == 0 ? i : i * job.columns.count[0]);
        sum += read_along(&pipeline->input.source, axis, job.box.first[axis], job.box.count[axis]);
    }
    return sum;
}

/* How many parts of rows are read and written by themselves. Chunks do not count, nor do parts that are read
   together. */
static uint64_t count_parts(const struct pipeline *pipeline, uint64_t rows_read)
{
    const struct source *source = &pipeline->input.source;
    const struct job *job = &pipeline->job;
    const size_t across = job->columns.count[0];
    const bool reads = source->grain[0] <= 1 &&
                       read_along(source, 0, job->box.first[0], job->box.count[0]) < job->in.grid.nx;
    const bool writes = !pipeline_output_format(pipeline, pipeline->request->output)->folder;

    return across == 1 ? 0
                       : job->in.volumes * across *
                             ((reads ? rows_read : 0) +
                              (writes ? (uint64_t)job->region.count[1] * job->region.count[2] : 0));
}

/* The plan as a way to run. */
static struct pipeline_way way_of(const struct pipeline *pipeline)
{
    const struct plan *plan = &pipeline->plan;
    const struct job *job = &pipeline->job;
    const struct schedule *schedule = &plan->schedule;
    const uint64_t spooled = (schedule->passes - 1) * job->in.volumes * schedule->spool_bytes;
    const size_t pixel = job->in.grid.channels * sample_size(job->in.type);
    uint64_t rows;
    struct pipeline_way way = {.columns = job->columns,
                               .passes = schedule->passes,
                               .together = schedule->together,
                               .memory_bytes = schedule->memory_bytes};

    rows =
        read_by_all(pipeline, 1) * read_along(&pipeline->input.source, 2, plan->read.first, plan->read.count);
    way.read_bytes = spooled + (uint64_t)job->in.volumes * pixel * rows * read_by_all(pipeline, 0);
    way.written_bytes = spooled + job_pixels(job) * job->out.grid.channels * sample_size(job->out.type);
    way.seconds = plan->seconds + (double)(schedule->passes * job_columns(job)) * ASSUMED_PASS_SECONDS +
                  (double)count_parts(pipeline, rows) * ASSUMED_PART_SECONDS +
                  (double)(way.read_bytes + way.written_bytes) / ASSUMED_FILE_BYTES_PER_SECOND;
    return way;
}

/* Plan the job as it is cut now. */
static bool plan_cut(struct pipeline *pipeline, const struct plan_request *request, struct fault *fault)
{
    struct plan_request own = *request;

    count_beside(pipeline);
    own.output_bytes = outputs_bytes(pipeline);
    return make_plan(pipeline, &own, fault);
}

/* Plan it in about so many columns along x and y. If they fit, `way` tells what that takes. */
static bool try_columns(struct pipeline *pipeline, const struct plan_request *request, const size_t unit[2],
                        size_t across, size_t down, struct pipeline_way *way, struct fault *fault)
{
    const size_t *extents = pipeline->job.region.count;
    const size_t counts[2] = {across, down};
    size_t column[2];
    bool done;

    for (unsigned axis = 0; axis < 2; axis++) {
        size_t units = size_divided_up(size_divided_up(extents[axis], unit[axis]), counts[axis]);
        column[axis] = size_least(extents[axis], units * unit[axis]);
    }
    done = job_cut(&pipeline->job, column, fault) && plan_cut(pipeline, request, fault);
    if (done)
        *way = way_of(pipeline);
    plan_free(&pipeline->plan);
    return done;
}

/* The search for the width of columns along x ends when so many in a row take more time than the best. One
   would not do: what is decoded twice depends on where chunks end. */
enum { WORSE_MOST = 4 };

/* Find the columns that take the least time. They are cut along y first, since then rows are read and written
   whole, and along x as far as that helps. Along y, the narrowest are tried first, and wider ones as long as
   they fit. If none fits, the fault is that of those that need the least memory, which request->least tells:
   the narrowest may need more, since each thread then has memory to read parts of rows together. */
static bool find_columns(struct pipeline *pipeline, const struct plan_request *request, const size_t unit[2],
                         struct pipeline_way *best, struct fault *fault)
{
    const size_t most[2] = {size_divided_up(pipeline->job.region.count[0], unit[0]),
                            size_divided_up(pipeline->job.region.count[1], unit[1])};
    size_t least = SIZE_MAX;

    *best = (struct pipeline_way){.seconds = INFINITY};
    for (size_t across = 1, before = 0, worse = 0; across > before && worse < WORSE_MOST;
         before = across, across = size_least(more_columns(across), most[0])) {
        struct pipeline_way here = {.seconds = INFINITY}, way;
        struct fault misfit;
        for (size_t down = most[1]; down > 0 && across * down > 1; down -= size_most(1, down / 4)) {
            *request->least = SIZE_MAX;
            if (!try_columns(pipeline, request, unit, across, down, &way, &misfit)) {
                if (*request->least < least) {
                    least = *request->least;
                    *fault = misfit;
                }
                break;
            }
            if (way.seconds < here.seconds)
                here = way;
        }
        worse = here.seconds > best->seconds ? worse + 1 : 0;
        if (worse == 0)
            *best = here;
    }
    *request->least = least;
    return best->seconds < INFINITY;
}

/* Find where the job may be cut into columns: samples are read and written in any order, and nobody looks at
   planes as a whole. Returns what is in the way; NULL: nothing. */
static const char *find_obstacle(const struct pipeline *pipeline, const struct plan_request *request,
                                 size_t unit[2])
{
    const struct pipeline_request *asked = pipeline->request;
    const struct job *job = &pipeline->job;
    const struct source *source = &pipeline->input.source;
    const struct target_request target = target_request_of(pipeline, asked->output, codec_threads(pipeline));
    const bool places =
        target.format->find_unit != NULL && (target.format->folder || file_out_is_file(asked->output));
    const struct {
        bool met;
        const char *what;
    } obstacles[] = {{job->region_kind == REGION_SLICE, "--slice"},
                     {job->measures, "--out-range=auto"},
                     {job_waits_for_change(job), "--until"},
                     {request->stats, "--stats"},
                     {asked->tee_count > 0, "--tee"},
                     {asked->run.observers.count > 0, "--preview"},
                     {ranks_are_several(&pipeline->ranks), "several ranks"},
                     {!source->random || source->held_bytes > 0, "an input that is read in order"},
                     {!places || !target.format->find_unit(target.format, target.header, &target.sink, unit),
                      "an output that is written in order"}};

    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
        if (obstacles[i].met)
            return obstacles[i].what;
    }
    return NULL;
}

/* Whether memory is too short for one pass over all planes, or for one of all steps that levels can take. */
static bool is_short(const struct pipeline *pipeline, bool planned, const struct fault *fault)
{
    const struct schedule *schedule = &pipeline->plan.schedule;

    return planned ? schedule->devices == 1 && (schedule->tight || schedule->passes > 1)
                   : fault->status == STATUS_LIMIT;
}

/* Where memory is short, see whether the run takes less time in columns, in which more steps fit at once. If
   nothing fits, the fault is that of the way that needs the least memory. */
static bool plan_ways(struct pipeline *pipeline, struct plan_request *request, struct fault *fault)
{
    struct pipeline_way *ways = pipeline->ways;
    const bool explains = request->explains;
    size_t unit[2], least = 0, least_cut = 0;
    struct fault misfit;
    bool planned, cut;

    pipeline->way_count = 0;
    pipeline->obstacle = NULL;
    request->least = &least;
    planned = make_plan(pipeline, request, fault);
    if (pipeline->job.in.grid.axes < 3 || !is_short(pipeline, planned, fault))
        return planned;
    pipeline->obstacle = find_obstacle(pipeline, request, unit);
    if (pipeline->obstacle != NULL)
        return planned;
    if (planned)
        ways[pipeline->way_count++] = way_of(pipeline);
    plan_free(&pipeline->plan);
    request->explains = false;
    request->least = &least_cut;
    /* Asking the machine takes longer than a plan does, and its answers vary. */
    request->limits.spare = memory_limits_spare();
    request->limits.whole = memory_limits_whole();
    mem_keep_none();
    cut = find_columns(pipeline, request, unit, &ways[pipeline->way_count], &misfit);
    pipeline->way_count += cut;
    cut = cut && (!planned || ways[1].seconds < ways[0].seconds);
    request->explains = explains;
    if (planned || cut)
        return job_cut(&pipeline->job,
                       cut ? ways[pipeline->way_count - 1].columns.extent : pipeline->job.region.count,
                       fault) &&
               plan_cut(pipeline, request, fault);
    if (least_cut > 0 && least_cut < least)
        *fault = misfit;
    return false;
}

/* Make this rank's plan: threads, stops, and the memory that goes to others than the plan itself. */
static bool plan_own(struct pipeline *pipeline, struct fault *fault)
{
    struct plan_request request = pipeline->request->plan;
    bool of_all = request.threads_of_all > request.threads && ranks_cannot_divide(&pipeline->ranks);
    bool done;

    /* One rank that computes for all may have the processors of all. */
    peers_take_processors(pipeline->ranks.all, of_all);
    if (of_all)
        request.threads = request.threads_of_all;
    if (!list_stops(pipeline, fault))
        return false;
    /* The plan stops at tees, and leaves room for what others hold in memory. */
    request.split = pipeline->ranks.split.kind;
    request.on_start = take_room;
    request.listener = pipeline;
    request.stops = pipeline->stops;
    request.stop_count = pipeline->request->tee_count;
    if (pipeline->device != NULL)
        request.device = pipeline->device;
    request.observer_bytes = observers_bytes(&pipeline->request->run.observers, &pipeline->job);
    if (request.stats)
        request.observer_bytes += observer_stats_bytes(&pipeline->job);
    request.output_bytes = outputs_bytes(pipeline);
    /* Pipelines beside this one leave it one device; the CPU needs none. Before a plan is made nobody knows
       whether it takes a device. */
    if (pipeline->request->budget != NULL && devices_backends[0] != &backend_cpu &&
        (selection_is_free(&request) || selection_names_device(&request))) {
        pipeline->held_device = budget_take_device(pipeline->request->budget);
        pipeline->holds_device = true;
        request.alone = true;
        request.member += pipeline->held_device;
    }
    done = plan_ways(pipeline, &request, fault);
    if (!done || pipeline->plan.lanes[0].backend == &backend_cpu)
        return_device(pipeline);
    return done;
}

/* After there was too little memory for the chosen split, or ranks had planned different levels. */
static bool another_split(struct pipeline *pipeline, struct fault *fault)
{
    close_plan(pipeline);
    job_divide(&pipeline->job, pipeline->job.planes, 0, 1);
    return ranks_step_down(&pipeline->ranks, fault);
}

/* All ranks of the split plan their parts. One that fails, or plans other levels, makes all of them fail. */
static bool plan_in_team(struct pipeline *pipeline, struct fault *fault)
{
    struct ranks *ranks = &pipeline->ranks;

    ranks_divide(ranks, &pipeline->job);
    return ranks_conclude(ranks, ranks->idle || plan_own(pipeline, fault), fault) &&
           ranks_agree_on_levels(ranks, &pipeline->plan, fault);
}

/* Plan, and while that takes too much memory, plan once more with another split of the job. */
bool pipeline_plan(struct pipeline *pipeline, struct fault *fault)
{
    const struct plan_request *request = &pipeline->request->plan;
    bool done =
        check_outputs(pipeline, fault) && ranks_choose_team(&pipeline->ranks, request, &pipeline->job, fault);

    if (!done)
        return false;
    do
        done = plan_in_team(pipeline, fault);
    while (!done && fault->status == STATUS_LIMIT && another_split(pipeline, fault));
    return done;
}

bool pipeline_would_fit(const struct pipeline_request *request)
{
    struct pipeline_request on_cpu = *request;
    struct pipeline pipeline;
    struct fault fault;
    bool done, fits;

    on_cpu.plan.device = backend_cpu.name;
    done = pipeline_open(&pipeline, &on_cpu, &fault) && pipeline_plan(&pipeline, &fault);
    fits = done ? pipeline.fits_share : fault.status != STATUS_LIMIT;
    pipeline_close(&pipeline);
    return fits;
}

/* ---- the run ---- */

/* The output, then the tees. */
static bool open_targets(struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    bool done = peers_agree(&pipeline->ranks.team, make_targets(pipeline, fault), fault) &&
                open_output(pipeline, fault);

    for (size_t i = 0; done && i < request->tee_count; i++) {
        const struct header header = job_written_after(&pipeline->job, request->tees[i].step);
        struct target_request target =
            target_request_of(pipeline, request->tees[i].path, tee_threads(pipeline));
        target.header = &header;
        done = targets_add(&pipeline->targets, &target, fault);
    }
    return done && targets_settle(&pipeline->targets, &pipeline->job, &pipeline->ranks.split, fault);
}

/* The mask of one volume is that of the next. What can be read anywhere need not go back. */
static bool begin_mask_again(struct pipeline *pipeline, struct fault *fault)
{
    const struct input_request request = mask_request_of(pipeline);
    struct input *mask = &pipeline->mask;

    if (pipeline->job.mask_plane_bytes == 0 || mask->source.random)
        return true;
    input_close_source(mask);
    if (!input_rewind(mask))
        return fault_set_for(fault, STATUS_IO, file_in_name(mask->file), "it cannot be read again");
    return input_open_source(mask, &request, fault);
}

/* Each volume of a series is a run of its own, into the same sink. */
static bool run_volumes(struct pipeline *pipeline, struct run_request *request, struct sink *sink,
                        struct fault *fault)
{
    if (!run_plan(&pipeline->plan, request, &pipeline->input.source, sink, &pipeline->summary, fault))
        return false;
    while (++request->volume < pipeline->job.in.volumes) {
        struct run_summary summary = {.seconds = {.start = 0.0}};
        bool done = peers_agree(&pipeline->ranks.team, begin_mask_again(pipeline, fault), fault) &&
                    run_plan(&pipeline->plan, request, &pipeline->input.source, sink, &summary, fault);
        run_summary_add(&pipeline->summary, &pipeline->job, request->volume, &summary);
        run_summary_free(&summary);
        if (!done)
            return false;
    }
    return true;
}

/* Keep what the targets say about themselves, before they are closed. */
static void keep_ends(struct pipeline *pipeline, const struct tee *tees)
{
    const struct target *targets = pipeline->targets.list;

    memcpy(pipeline->note, targets[0].sink.note, sizeof pipeline->note);
    for (size_t i = 0; i < pipeline->request->tee_count; i++) {
        struct pipeline_tee_end *end = &pipeline->tee_ends[i];
        end->outcomes = tees[i].outcomes;
        memcpy(end->note, targets[i + 1].sink.note, sizeof end->note);
    }
}

/* Run into the targets, which are open, and finish them. */
static bool run_own(struct pipeline *pipeline, struct fault *fault)
{
    struct run_request request = pipeline->request->run;
    struct targets *targets = &pipeline->targets;
    struct peers *team = &pipeline->ranks.team;
    struct tee *tees = mem_zeroed(pipeline->request->tee_count, sizeof *tees, "the tees", fault);
    bool done = peers_agree(team, tees != NULL, fault);

    if (done) {
        for (size_t i = 0; i < pipeline->request->tee_count; i++)
            tees[i] = (struct tee){.step = pipeline->request->tees[i].step,
                                   .sink = target_sink(&targets->list[i + 1])};
        request.peers = team;
        request.mask = &pipeline->mask.source;
        request.tees = tees;
        request.tee_count = pipeline->request->tee_count;
        done = peers_agree(team, run_volumes(pipeline, &request, target_sink(targets->list), fault), fault);
        done = targets_have_room(targets, done, fault) && done && targets_finish(targets, fault);
        keep_ends(pipeline, tees);
    }
    mem_free(tees);
    return done;
}

/* If others cannot be written, the outputs are complete all the same. */
static bool name_files(struct pipeline *pipeline, struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    struct file_set set = {.count = 0};
    bool others, named;

    pipeline->written = true;
    pipeline->status = pipeline->summary.unreached ? STATUS_UNREACHED : STATUS_DONE;
    others = request->add_files == NULL || request->add_files(request->listener, pipeline, &set, fault);
    named = targets_add_files(&pipeline->targets, &set, fault) && file_set_commit(&set, fault);
    file_set_free(&set);
    return others && named;
}

/* While names change, a temporary may be what replaced files were, so nobody but rank 0 may remove it. */
static bool name_by_first(struct pipeline *pipeline, struct fault *fault)
{
    struct peers *all = pipeline->ranks.all;

    if (!peers_lead(all))
        targets_close(&pipeline->targets);
    return peers_agree(all, true, fault) &&
           peers_follow(all, !peers_lead(all) || name_files(pipeline, fault), fault);
}

/* A change that any rank sees counts. */
static bool look_again(struct pipeline *pipeline, struct fault *fault)
{
    const char *of_input = input_find_change(&pipeline->input);
    const char *changed = of_input != NULL ? of_input : input_find_change(&pipeline->mask);
    uint64_t same = changed == NULL;
    bool done = !ranks_are_several(&pipeline->ranks) || peers_min(pipeline->ranks.all, &same, fault);

    if (same == 0)
        pipeline->changed = changed != NULL ? changed : file_in_name(pipeline->input.file);
    return done;
}

/* Idle ranks know of the files as well: until they have their names, whichever ends by a signal removes them.
 */
static bool run_all(struct pipeline *pipeline, struct fault *fault)
{
    struct ranks *ranks = &pipeline->ranks;

    return ranks_conclude(ranks, ranks->idle || open_targets(pipeline, fault), fault) &&
           targets_guard(&pipeline->targets, ranks->all, fault) &&
           ranks_conclude(ranks, ranks->idle || run_own(pipeline, fault), fault) &&
           look_again(pipeline, fault) && name_by_first(pipeline, fault);
}

bool pipeline_run(struct pipeline *pipeline, struct fault *fault)
{
    struct budget *budget = pipeline->request->budget;
    uint64_t bytes = budget_claim(budget, pipeline->plan.schedule.memory_bytes);
    bool done = run_all(pipeline, fault);

    pipeline->may_retreat = !done && !pipeline->written && pipeline->plan.selection.replaceable &&
                            !ranks_are_several(&pipeline->ranks) &&
                            (fault->status == STATUS_DEVICE || fault->status == STATUS_LIMIT) &&
                            targets_unseen(&pipeline->targets);
    targets_close(&pipeline->targets);
    budget_return(budget, bytes);
    return done && peers_broadcast(pipeline->ranks.all, &pipeline->status, sizeof pipeline->status, fault);
}

bool pipeline_retreat(struct pipeline *pipeline, struct fault *fault)
{
    const struct fault of_device = *fault;
    const struct input *passed = !input_rewind(&pipeline->input)  ? &pipeline->input
                                 : !input_rewind(&pipeline->mask) ? &pipeline->mask
                                                                  : NULL;

    if (passed != NULL)
        return fault_raise(fault, of_device.status, "%.4096s; %s cannot be read again for the CPU",
                           of_device.text, file_in_name(passed->file));
    run_summary_free(&pipeline->summary);
    close_plan(pipeline);
    close_sources(pipeline);
    pipeline->device = backend_cpu.name;
    return open_sources(pipeline, fault);
}

void pipeline_close(struct pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    run_summary_free(&pipeline->summary);
    targets_close(&pipeline->targets);
    close_plan(pipeline);
    close_sources(pipeline);
    if (pipeline->starts)
        pthread_join(pipeline->starter, NULL);
    input_close(&pipeline->mask);
    input_close(&pipeline->input);
    ranks_close(&pipeline->ranks);
    mem_free(pipeline->stops);
    mem_free(pipeline->tee_ends);
    *pipeline = (struct pipeline){.request = pipeline->request};
}
