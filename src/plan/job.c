/* Jobs: a chain of stages from a source to a sink, with every choice made that the data's header decides. */
#include "job.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/size.h"
#include "format/gray_slice.h"
#include "lower.h"
#include "model/arith.h"

#include <math.h>
#include <string.h>

/* Room for each stage, and for two that may be inserted before it. */
static bool build_stages(const struct job_request *request, struct job *job, struct fault *fault)
{
    job->stages = mem_zeroed(3 * request->stage_count + 1, sizeof *job->stages, "the stages", fault);
    if (job->stages == NULL)
        return false;
    for (; job->stage_count < request->stage_count; job->stage_count++) {
        if (!stage_build(&request->stages[job->stage_count], &job->in.grid, request->force,
                         &job->stages[job->stage_count], fault))
            return false;
    }
    return true;
}

static void insert_stage(struct job *job, size_t place, struct stage stage)
{
    memmove(&job->stages[place + 1], &job->stages[place], (job->stage_count - place) * sizeof stage);
    job->stages[place] = stage;
    job->stage_count++;
}

/* Alpha weighs colour for the stages that filter alpha, too, and for no others. Those that take no step do
   not count. What samples are scaled by while they are converted is applied to colour as it stands. A file's
   colour that is times alpha already is taken so from it, and written so. */
static void settle_cover(struct job *job, bool premultiplies)
{
    bool associated = job->in.associated, begun = associated, covered = associated, scaled = false;

    job->field.premultiply = associated;
    for (size_t i = 0; i < job->stage_count; i++) {
        bool wanted = premultiplies && !job->stages[i].leaves_alpha;
        if (job->stages[i].steps == 0)
            continue;
        if (job->stages[i].converted) {
            scaled = true;
            continue;
        }
        /* The first stage takes colour as decoding gives it; between others it is turned. */
        if (!begun)
            job->decode.premultiply = wanted;
        else if (wanted != covered)
            insert_stage(job, i++, stage_between(wanted ? &filter_cover : &filter_uncover));
        begun = true;
        covered = wanted;
        job->field.premultiply |= covered;
    }
    if (!begun && scaled)
        job->decode.premultiply = false;
    job->encode.associated = associated && (scaled || !covered);
    if (begun || scaled)
        job->encode.premultiply = covered && (!associated || scaled);
    else
        job->field.premultiply = job->decode.premultiply;
}

/* Whether no stage changes a sample. */
static bool all_identity(const struct job *job)
{
    for (size_t i = 0; i < job->stage_count; i++) {
        if (!stage_is_identity(&job->stages[i]))
            return false;
    }
    return true;
}

/* A stage that does not keep a constant would leave nothing to see of a full alpha. Where nothing is
   filtered, colour is not rounded on its way through alpha and back. */
static void settle_alpha(struct job *job, enum alpha_mode mode)
{
    for (size_t i = 0; i < job->stage_count; i++)
        job->stages[i].leaves_alpha = job->in.alpha && !stage_keeps_constants(&job->stages[i]);
    if (all_identity(job))
        job->decode.premultiply = job->encode.premultiply = false;
    job->field = job->decode;
    if (job->decode.premultiply || (job->in.associated && !all_identity(job)))
        settle_cover(job, mode == ALPHA_PREMULTIPLY);
}

/* Whether samples may be missing. */
static bool leaves_out(const struct job *job, const struct job_request *request)
{
    return request->has_missing || job->masked;
}

/* Colour that is missing has no alpha that could weigh it. */
static enum alpha_mode alpha_mode_of(const struct job *job, const struct job_request *request)
{
    return leaves_out(job, request) ? ALPHA_SEPARATE : request->alpha_mode;
}

/* The encoding of samples that come from a file of this type. */
static struct encoding encoding_of(const struct job *job, const struct header *header, enum sample_type type,
                                   const struct job_request *request)
{
    struct encoding encoding = {
        .type = header->type,
        .swapped = header->endian != endian_native() && sample_size(header->type) > 1,
        .channels = header->grid.channels,
        .alpha = header->alpha,
        .opaque = sample_opaque(type),
        .premultiply =
            header->alpha && !header->associated && alpha_mode_of(job, request) == ALPHA_PREMULTIPLY,
        .transfer = TRANSFER_NONE,
        .gamma = 1.0,
        .missing = leaves_out(job, request),
    };

    if (request->linear_light && header->file_gamma > 0.0) {
        encoding.transfer = TRANSFER_GAMMA;
        encoding.gamma = 1.0 / header->file_gamma;
    } else if (request->linear_light) {
        encoding.transfer = TRANSFER_SRGB;
    }
    return encoding;
}

static bool can_be_converted(const struct stage *stage)
{
    return stage->filter->kind == FILTER_POINT && stage->until == 0.0;
}

static bool convert(struct job *job, struct stage *stage, struct point *point, struct fault *fault)
{
    stage->converted = true;
    return lower_point(stage, job->work, job->decode.missing, point, fault);
}

/* A stage that takes samples one by one at the start or at the end of the chain costs no level: samples are
   converted there as it is. At the start, that is not what becomes of colour times alpha. */
static bool convert_points(struct job *job, struct fault *fault)
{
    struct encoding *out = &job->encode, *in = &job->decode;
    size_t end = job->stage_count, first, next = 0;

    while (end > 0 && job->stage_count - end < ENCODING_POINTS && can_be_converted(&job->stages[end - 1]))
        end--;
    for (first = end; first < job->stage_count; first++) {
        if (!convert(job, &job->stages[first], &out->points[out->point_count++], fault))
            return false;
    }
    for (; !job->in.associated && next < end && in->point_count < ENCODING_POINTS &&
           can_be_converted(&job->stages[next]);
         next++) {
        if (!convert(job, &job->stages[next], &in->points[in->point_count++], fault))
            return false;
    }
    return true;
}

void job_divide(struct job *job, struct range window, size_t member, size_t members)
{
    job->window = window;
    job->member = member;
    job->members = members;
}

uint64_t job_pixels(const struct job *job)
{
    const size_t *count = job->region.count;

    return (uint64_t)job->in.volumes * count[0] * count[1] * count[2];
}

const struct stage *job_last_stage(const struct job *job)
{
    return &job->stages[job->stage_count - 1];
}

bool job_waits_for_change(const struct job *job)
{
    return job->stage_count > 0 && job_last_stage(job)->until > 0.0;
}

/* A slice keeps two of three axes; the slower one becomes that of rows. */
static void make_picture(struct grid *grid, unsigned axis)
{
    const struct grid volume = *grid;
    unsigned across = axis == 0 ? 1 : 0, down = axis == 2 ? 1 : 2;

    grid->axes = 2;
    grid->nx = grid_extent(&volume, across);
    grid->ny = grid_extent(&volume, down);
    grid->nz = 1;
    grid->spacing[0] = volume.spacing[across];
    grid->spacing[1] = volume.spacing[down];
    grid->spacing[2] = 1.0;
}

/* Settle what is written: the region of the grid, and the header of its file. */
static bool settle_region(const struct region_request *request, struct job *job, struct fault *fault)
{
    const struct grid *grid = &job->in.grid;

    if (!region_settle(request, grid, &job->region, fault))
        return false;
    job->region_kind = request->kind;
    job->written = job->out;
    job->written.grid = region_grid(&job->region, &job->out.grid);
    memcpy(job->written.first, job->region.first, sizeof job->written.first);
    if (request->kind == REGION_SLICE)
        make_picture(&job->written.grid, request->axis);
    job->planes = (struct range){region_first_plane(&job->region, grid), region_planes(&job->region, grid)};
    job->written_planes = grid_planes(&job->written.grid) / job->planes.count;
    job_divide(job, job->planes, 0, 1);
    return true;
}

/* Fractions that no slope stands for would be lost in an integer. */
static bool check_values(const struct job *job, const struct stage *stage, const struct source *source,
                         struct fault *fault)
{
    return !stage_makes_fractions(stage) || !sample_is_integer(job->out.type) ||
           fault_set_for(fault, STATUS_USAGE, file_in_name(source->file),
                         "%s: a sample v stands for %g v + %g, and %s would round what becomes of values: "
                         "give --out-type f32",
                         stage->spec, job->intensity.slope, job->intensity.intercept,
                         sample_name(job->out.type));
}

/* Whether samples of two kinds would be mixed: those that the stage makes, and those that it leaves alone. */
static bool mixes_intensities(const struct job *job, const struct stage *stage)
{
    const struct intensity after = stage_intensity(stage, stage->steps);

    return stage_mixes_intensities(stage) || (job->masked && !intensity_is_same(&after, &stage->intensity));
}

/* Numbers in units of the data are values, and so become samples as each stage takes them. */
static bool settle_intensities(struct job *job, const struct source *source, struct fault *fault)
{
    job->intensity = job->in.intensity;
    for (size_t i = 0; i < job->stage_count; i++) {
        struct stage *stage = &job->stages[i];
        stage->intensity = job->intensity;
        if (stage_takes_values(stage)) {
            if (!check_values(job, stage, source, fault))
                return false;
            insert_stage(job, i, stage_values(&job->intensity));
            job->intensity = (struct intensity){1.0, 0.0};
            continue;
        }
        /* First try to leave the intensity alone, else make samples proportional to values. */
        if (mixes_intensities(job, stage))
            stage_keep_intensity(stage);
        if (mixes_intensities(job, stage)) {
            insert_stage(job, i, stage_proportion(&job->intensity));
            job->intensity = (struct intensity){intensity_unit(&job->intensity), 0.0};
            continue;
        }
        job->intensity = stage_intensity(stage, stage->steps);
    }
    return true;
}

/* How values of the result relate to those of the input, if the last stage takes `last_steps` steps. */
static enum values values_of(const struct job *job, uint64_t last_steps)
{
    /* Whether the file that is written, or that pieces are joined into, has all samples of the input. */
    bool keeps_grid = job->in.choice.count == 0 && (job->region_kind == REGION_PIECE ||
                                                    grid_same_extents(&job->in.grid, &job->written.grid));
    enum values values = job->copies && keeps_grid ? VALUES_COPIED : VALUES_FILTERED;

    if (job->encode.ranged)
        return VALUES_MAPPED;
    for (size_t i = 0; i < job->stage_count; i++) {
        const struct stage *stage = &job->stages[i];
        uint64_t steps = i + 1 < job->stage_count ? stage->steps : last_steps;
        if (steps > 0 && !(stage_keeps_constants(stage) && stage_weight(stage) == 1.0))
            values = VALUES_DERIVED;
    }
    return values;
}

struct header job_written_after(const struct job *job, uint64_t steps)
{
    struct header header = job->written;

    header.values = values_of(job, steps);
    header.intensity = header.values == VALUES_MAPPED ? (struct intensity){0.0, 0.0}
                                                      : stage_intensity(job_last_stage(job), steps);
    return header;
}

/* The sample of a type that is nearest to a value. */
static double nearest_sample(enum sample_type type, double value)
{
    if (sample_is_integer(type))
        return rint(value);
    return type == SAMPLE_F16   ? arith_load_f16_f64(arith_store_f16_f64(value))
           : type == SAMPLE_F32 ? work_round(WORK_F32, value)
                                : value;
}

/* An integer that differs from the value's sample by more than rounding stands for another value. */
#define MARK_TOLERANCE 1e-6

/* The sample that says in a file that one is missing. */
static bool settle_mark(const struct job_request *request, const char *file,
                        const struct intensity *intensity, struct encoding *encoding, struct fault *fault)
{
    enum sample_type type = encoding->type;
    double sample = intensity_sample(intensity, request->missing), mark = nearest_sample(type, sample);
    bool integer = sample_is_integer(type);

    if (isnan(request->missing))
        return !integer || fault_set_for(fault, STATUS_USAGE, file,
                                         "--missing=nan: %s has no NaN: give the value that stands for it",
                                         sample_name(type));
    if (!isfinite(mark) || (integer && (mark < sample_min(type) || mark > sample_max(type) ||
                                        fabs(mark - sample) > MARK_TOLERANCE * fmax(1.0, fabs(sample)))))
        return fault_set_for(fault, STATUS_USAGE, file, "--missing=%.9g: no sample of %s stands for it",
                             request->missing, sample_name(type));
    encoding->marked = true;
    encoding->mark = mark;
    return true;
}

/* What missing samples are in the files, and what stages need to average those that are there. */
static bool settle_missing(const struct job_request *request, const struct source *source, struct job *job,
                           struct fault *fault)
{
    const char *file = file_in_name(source->file), *option = request->has_missing ? "--missing" : "--mask";

    if (!leaves_out(job, request))
        return true;
    if (request->has_alpha_mode && request->alpha_mode == ALPHA_PREMULTIPLY && job->in.alpha)
        return fault_set_for(fault, STATUS_USAGE, file,
                             "%s takes colour as --alpha-mode=separate does, not times alpha", option);
    if (request->has_missing && request->ranged && !isnan(request->missing))
        return fault_set_for(fault, STATUS_USAGE, file,
                             "--missing=%.9g would be written into the range of --out-range",
                             request->missing);
    for (size_t i = 0; i < job->stage_count; i++) {
        const struct stage *stage = &job->stages[i];
        job->field.weighs |= stage->steps > 0 && !stage->converted && stage_averages(stage);
    }
    if (!request->has_missing)
        return true;
    if (!settle_mark(request, file, &job->in.intensity, &job->decode, fault) ||
        !settle_mark(request, file, &job->intensity, &job->encode, fault))
        return false;
    /* Rounded, it would be the mark of other samples as well, and be written as another number. */
    if (job->work == WORK_F32 && job->decode.marked &&
        work_round(WORK_F32, job->decode.mark) != job->decode.mark)
        return fault_set_for(fault, STATUS_USAGE, file,
                             "--missing=%.10g: no sample of %s stands for it (--work f64)", request->missing,
                             work_name(WORK_F32));
    return true;
}

/* Whether a mask can say of each pixel of the input on which side it is. */
static bool check_mask(const struct source *mask, const struct source *source, struct fault *fault)
{
    const struct grid *grid = &mask->header.grid, *of_input = &source->header.grid;

    if (grid->axes != of_input->axes || !grid_same_extents(grid, of_input))
        return source_refuse(mask, fault, "a mask of %s, but %s is %s", grid_format_extents(grid).text,
                             file_in_name(source->file), grid_format_extents(of_input).text);
    if (mask->header.volumes > 1)
        return source_refuse(mask, fault, "a series of %zu volumes: a mask is one, for all of the input",
                             mask->header.volumes);
    return !mask->header.alpha ||
           source_refuse(mask, fault, "a mask has no alpha: what is 0, or black, is outside");
}

/* Originals are written as samples of the result, which may stand for other values than those of the input.
   Where bits are copied, all samples stay as they are anyway. */
static void settle_mask(const struct source *mask, struct job *job)
{
    const struct intensity *in = &job->in.intensity, *out = &job->intensity;
    double none = intensity_sample(out, intensity_value(in, 0.0));

    if (!job->masked || job->copies)
        return;
    job->mask_pixel_bytes = mask->header.grid.channels * sample_size(mask->header.type);
    job->decode.masked = job->encode.masked = job->field.masked = true;
    job->decode.original.scale = 1.0;
    job->decode.original.mark = job->encode.mark;
    if (intensity_is_same(in, out)) {
        job->decode.original.rests = job->encode.original.rests = job->field.original.rests =
            (job->in.type == SAMPLE_U64 || job->in.type == SAMPLE_I64) && job->out.type == job->in.type &&
            job->work == WORK_F64 && !job->encode.ranged;
        return;
    }
    job->decode.original.scale = intensity_sample(out, intensity_value(in, 1.0)) - none;
    job->decode.original.shift = none;
}

/* Where the column is in the box. */
static struct region place_in_box(const struct job *job)
{
    struct region place = job->region;

    for (unsigned axis = 0; axis < HALO_AXES; axis++) {
        place.first[axis] += job->columns.written.first[axis];
        place.count[axis] = job->columns.written.count[axis];
    }
    for (unsigned axis = 0; axis < 3; axis++) {
        const size_t extent = grid_extent(&job->in.grid, axis);
        place.first[axis] = (place.first[axis] + extent - job->box.first[axis]) % extent;
    }
    return place;
}

/* What becomes of samples that are not written does not count. */
static void count_kept(const struct job *job, struct encoding *encoding)
{
    encoding->counted_columns = (struct range){job->kept.first[0], job->kept.count[0]};
    if (job->in.grid.axes == 3)
        encoding->counted_rows = (struct range){job->kept.first[1], job->kept.count[1]};
}

size_t job_columns(const struct job *job)
{
    return job->columns.count[0] * job->columns.count[1];
}

/* The axes of a plane. */
static unsigned plane_axes(const struct grid *grid)
{
    return grid->axes == 3 ? 2 : 1;
}

/* Along an axis: the indices of a column, and those of its box as far as it needs them. */
static struct range column_along(const struct job *job, unsigned axis, size_t index)
{
    const size_t before = index * job->columns.extent[axis];

    return (struct range){job->region.first[axis] + before,
                          size_least(job->columns.extent[axis], job->region.count[axis] - before)};
}

static struct range box_along(const struct job *job, unsigned axis, size_t index)
{
    return halo_widen(&job->columns.halos[axis], column_along(job, axis, index),
                      grid_extent(&job->in.grid, axis));
}

void job_go_to_column(struct job *job, size_t index)
{
    const size_t at[HALO_AXES] = {index % job->columns.count[0], index / job->columns.count[0]};
    const struct region region = job->region;
    struct columns *columns = &job->columns;

    columns->index = index;
    columns->written = (struct region){{0, 0, 0}, {region.count[0], region.count[1], region.count[2]}};
    for (unsigned axis = 0; axis < plane_axes(&job->in.grid); axis++) {
        const struct range column = column_along(job, axis, at[axis]), box = box_along(job, axis, at[axis]);
        const size_t extent = grid_extent(&job->in.grid, axis);
        const bool goes_around = box.first + box.count > extent;
        /* A box that needs less than the largest one begins earlier where the grid ends. */
        columns->written.first[axis] = column.first - region.first[axis];
        columns->written.count[axis] = column.count;
        job->box.first[axis] = goes_around ? box.first : size_least(box.first, extent - job->box.count[axis]);
    }
    job->kept = place_in_box(job);
    count_kept(job, &job->decode);
    count_kept(job, &job->encode);
}

bool job_cut(struct job *job, const size_t extent[HALO_AXES], struct fault *fault)
{
    const struct grid *grid = &job->in.grid;
    const struct halo_request halo = {job->stages, job->stage_count, grid, &job->field, job->work};
    const unsigned axes = plane_axes(grid);
    struct columns *columns = &job->columns;
    bool whole = region_has_whole_planes(&job->region, grid);

    for (unsigned axis = 0; axis < HALO_AXES; axis++) {
        columns->extent[axis] = axis < axes ? extent[axis] : job->region.count[axis];
        columns->count[axis] = size_divided_up(job->region.count[axis], columns->extent[axis]);
        whole = whole && columns->count[axis] == 1;
    }
    if (job_waits_for_change(job) || job->measures)
        columns->halos[0] = columns->halos[1] = (struct halo){.reach = size_most(grid->nx, grid->ny)};
    else if (!whole && !halo_find(&halo, columns->halos, fault))
        return false;
    job->box = region_of_planes(grid, 0, grid_planes(grid));
    for (unsigned axis = 0; axis < axes; axis++) {
        job->box.count[axis] = 0;
        for (size_t i = 0; i < columns->count[axis]; i++)
            job->box.count[axis] = size_most(job->box.count[axis], box_along(job, axis, i).count);
    }
    job->computed = region_grid(&job->box, grid);
    job->in_plane_bytes = grid_plane_samples(&job->computed) * sample_size(job->in.type);
    job->out_plane_bytes = grid_plane_samples(&job->computed) * sample_size(job->out.type);
    job->mask_plane_bytes =
        grid_plane_samples(&job->computed) / job->computed.channels * job->mask_pixel_bytes;
    job_go_to_column(job, 0);
    return true;
}

/* Settle all of a job; where that fails, the stages so far are left. */
static bool settle(const struct job_request *request, const struct source *source, const struct source *mask,
                   struct job *job, struct fault *fault)
{
    const struct header *in = &source->header;

    *job = (struct job){.in = *in, .out = *in, .masked = mask != NULL};
    for (unsigned axis = 0; axis < 3 && in->for_print; axis++)
        job->in.grid.spacing[axis] = 1.0;
    job->in.grid.millimetres = in->for_print ? 0.0 : in->millimetres;
    /* Light is linear only by a curve that is known. */
    if (request->linear_light && in->profile != NULL)
        return fault_set_for(fault, STATUS_INPUT, file_in_name(source->file),
                             "%s: --linear supports sRGB and gAMA, not this profile", in->profile);
    if (request->linear_light && in->damaged != NULL && in->damaged[0] != '\0')
        return fault_set_for(fault, STATUS_INPUT, file_in_name(source->file),
                             "%s: damaged, and --linear depends on it", in->damaged);
    /* Types: what computes, and what is written. */
    job->work = request->has_work ? request->work : sample_work_type(in->type);
    if (request->has_out_type)
        job->out.type = request->out_type;
    else if (request->region.kind == REGION_SLICE && request->ranged)
        job->out.type = gray_slice_type(in->type);
    if (request->has_out_endian)
        job->out.endian = request->out_endian;
    job->decode = encoding_of(job, &job->in, job->in.type, request);
    job->encode = encoding_of(job, &job->out, job->in.type, request);
    if ((mask != NULL && !check_mask(mask, source, fault)) || !settle_region(&request->region, job, fault) ||
        !build_stages(request, job, fault) || !settle_intensities(job, source, fault) ||
        !convert_points(job, fault))
        return false;
    /* Stages are there: what they do to alpha, to the range, and whether they do anything at all. */
    settle_alpha(job, alpha_mode_of(job, request));
    if (!settle_missing(request, source, job, fault))
        return false;
    job->encode.ranged = request->ranged;
    job->encode.low = intensity_sample(&job->intensity, request->low);
    job->encode.high = intensity_sample(&job->intensity, request->high);
    job->measures = request->ranged && request->auto_range;
    job->copies = all_identity(job) && job->in.type == job->out.type && !request->ranged;
    settle_mask(mask, job);
    if (!job_cut(job, job->region.count, fault))
        return false;
    job->written = job_written_after(job, job_last_stage(job)->steps);
    return true;
}

bool job_make(const struct job_request *request, const struct source *source, const struct source *mask,
              struct job *job, struct fault *fault)
{
    if (settle(request, source, mask, job, fault))
        return true;
    job_free(job);
    return false;
}

void job_free(struct job *job)
{
    for (size_t i = 0; i < job->stage_count; i++)
        stage_free(&job->stages[i]);
    mem_free(job->stages);
    *job = (struct job){0};
}
