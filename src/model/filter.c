/* Filters: the names that --filter takes, their arguments, and the stencils that they make on a grid.

   Each row of filters.def becomes an entry of filter_list and a builder, whose body is the expression of the
   row: a call of one of the makers below. A call is parsed once, before any input is open; a taps file is
   read then, too. For each grid the builder makes the stencils of a filter_body, with the spacing of that
   grid in the weights. */
#include "filter.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/keyword.h"
#include "arith.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAUSS_TRUNCATE     4.0 /* the radius in standard deviations, as in scipy.ndimage */
#define BILATERAL_TRUNCATE 2.0
#define BILATERAL_REACH    64   /* the largest radius */
#define MOST_ORDER         8    /* of a derivative of a Gaussian */
#define MATRIX_SIDE        1024 /* the most rows or columns of a matrix */

/* The state of a builder, which the expressions of filters.def call b. */
struct building {
    const struct filter_call *call;
    const struct grid *grid;
    bool fwhm;
    struct filter_body *body;
    struct fault *fault;
};

static double number(const struct building *b, size_t index)
{
    return b->call->numbers[index];
}

/* Whether the filter acts along an axis. */
static bool acts_along(const struct building *b, unsigned axis)
{
    return axis < b->grid->axes && isfinite(b->grid->spacing[axis]);
}

static size_t axes(const struct building *b)
{
    return (size_t)acts_along(b, 0) + acts_along(b, 1) + acts_along(b, 2);
}

/* Refuse an axis that the grid does not have, or that --axes leaves out. */
static bool check_axis(const struct building *b, unsigned axis)
{
    if (axis >= b->grid->axes)
        return fault_raise(b->fault, STATUS_USAGE, "this grid has no %c axis", "xyz"[axis]);
    return acts_along(b, axis) || fault_raise(b->fault, STATUS_USAGE, "--axes leaves out %c", "xyz"[axis]);
}

/* The radius is a double here, since a large deviation has one that no int holds. */
static bool check_radius(const struct building *b, double radius, int most)
{
    if (radius < 0.0 || radius != floor(radius))
        return fault_raise(b->fault, STATUS_USAGE, "the radius is a whole number, 0 or more");
    return radius <= most ||
           fault_raise(b->fault, STATUS_USAGE, "a radius of %.10g is more than %d", radius, most);
}

/* A number for each axis that the filter acts along: one for all, or one each. */
static bool spread_numbers(const struct building *b, double numbers[3])
{
    size_t next = 0;

    if (b->call->count > 1 && b->call->count != axes(b))
        return fault_raise(b->fault, STATUS_USAGE,
                           "%zu numbers for %zu ax%s: give one for all, or one for each", b->call->count,
                           axes(b), axes(b) == 1 ? "is" : "es");
    for (unsigned axis = 0; axis < 3; axis++)
        numbers[axis] = number(b, b->call->count > 1 && acts_along(b, axis) ? next++ : 0);
    return true;
}

static bool add(const struct building *b, int dx, int dy, int dz, double weight)
{
    return stencil_add(&b->body->taps, dx, dy, dz, weight, b->fault);
}

/* The next offset of a box that reaches so far to either side, x first; false behind the last. */
static bool next_offset(const int reach[3], int offset[3])
{
    for (unsigned axis = 0; axis < 3; axis++) {
        if (offset[axis]++ < reach[axis])
            return true;
        offset[axis] = -reach[axis];
    }
    return false;
}

/* The centre, and one weight for all neighbours along the axes that the grid has. */
static bool star(const struct building *b, double centre, double face)
{
    const double faces[3] = {face, face, face};

    return add(b, 0, 0, 0, centre) && stencil_add_faces(&b->body->taps, b->grid->axes, 1, faces, b->fault);
}

/* The sum of second derivatives by central differences of even order. */
static bool laplacian(const struct building *b, double order)
{
    /* Weights of the samples at a distance of 1, 2, 3, 4 on one axis, for each order, from Taylor's series;
       those of the centre make each sum 0. */
    static const double rings[4][4] = {
        {1.0},
        {4.0 / 3.0, -1.0 / 12.0},
        {3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0},
        {8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0},
    };
    static const double centres[4] = {-2.0, -5.0 / 2.0, -49.0 / 18.0, -205.0 / 72.0};
    const double *h = b->grid->spacing;
    double curvature[3], ring[3], curvatures = grid_curvatures(b->grid, curvature);
    int radius;

    if (order != 2.0 && order != 4.0 && order != 6.0 && order != 8.0)
        return fault_raise(b->fault, STATUS_USAGE, "the order is 2, 4, 6 or 8");
    radius = (int)order / 2;
    for (int distance = 1; distance <= radius; distance++) {
        for (unsigned axis = 0; axis < 3; axis++)
            ring[axis] = rings[radius - 1][distance - 1] / (h[axis] * h[axis]);
        if (!stencil_add_faces(&b->body->taps, b->grid->axes, distance, ring, b->fault))
            return false;
    }
    return add(b, 0, 0, 0, centres[radius - 1] * curvatures);
}

/* −1 0 1 along the axis of the call, divided by its spacing, 1 s 1 along the others. */
static bool derivative(const struct building *b, double middle)
{
    const int reach[3] = {acts_along(b, 0), acts_along(b, 1), acts_along(b, 2)};
    int offset[3] = {-reach[0], -reach[1], -reach[2]};
    double h = b->grid->spacing[b->call->axis];

    if (!check_axis(b, (unsigned)b->call->axis))
        return false;
    do {
        double weight = 1.0;
        /* The product of a difference along the axis and smoothing along the others. */
        for (int axis = 0; axis < 3; axis++) {
            if (!acts_along(b, (unsigned)axis))
                continue;
            double across = offset[axis] == 0 ? middle : 1.0;
            weight *= axis == b->call->axis ? (double)offset[axis] / h : across;
        }
        if (!add(b, offset[0], offset[1], offset[2], weight))
            return false;
    } while (next_offset(reach, offset));
    return true;
}

/* The centre, then the neighbours before and behind along x, y and z. */
static bool seven_taps(const struct building *b)
{
    return add(b, 0, 0, 0, number(b, 0)) && add(b, -1, 0, 0, number(b, 1)) && add(b, 1, 0, 0, number(b, 2)) &&
           add(b, 0, -1, 0, number(b, 3)) && add(b, 0, 1, 0, number(b, 4)) &&
           add(b, 0, 0, -1, number(b, 5)) && add(b, 0, 0, 1, number(b, 6));
}

/* Four weights go by the number of axes along which a tap is off the centre. */
static bool twentyseven_taps(const struct building *b)
{
    static const int reach[3] = {1, 1, 1};
    int offset[3] = {-1, -1, -1};
    size_t given = b->call->count, next = 0;

    if (given != 4 && given != 27)
        return fault_raise(b->fault, STATUS_USAGE, "%zu weights: there are 4 or 27", given);
    do {
        size_t distance = (size_t)(abs(offset[0]) + abs(offset[1]) + abs(offset[2]));
        double weight = number(b, given == 4 ? distance : next++);
        if (!add(b, offset[0], offset[1], offset[2], weight))
            return false;
    } while (next_offset(reach, offset));
    return true;
}

static bool set_amount(const struct building *b, double amount)
{
    b->body->amount = amount;
    return true;
}

static bool point(const struct building *b, enum point_kind kind)
{
    double last = b->call->count < POINT_NUMBERS ? 1.0 : number(b, 2);

    b->body->point = (struct point){.kind = kind, .numbers = {number(b, 0), number(b, 1), last}, .times = 1};
    if (kind == POINT_CLAMP && number(b, 0) > number(b, 1))
        return fault_raise(b->fault, STATUS_USAGE, "%.10g is above %.10g: nothing lies between", number(b, 0),
                           number(b, 1));
    return kind != POINT_THRESHOLD || b->call->count != 2 ||
           fault_raise(b->fault, STATUS_USAGE, "BELOW has no ABOVE: expected threshold:T[,BELOW,ABOVE]");
}

/* A tap along one axis of a chain. */
static bool add_along(const struct building *b, size_t chain, unsigned axis, int distance, double weight)
{
    int dx = axis == 0 ? distance : 0, dy = axis == 1 ? distance : 0, dz = axis == 2 ? distance : 0;

    return stencil_add(&b->body->along[3 * chain + axis], dx, dy, dz, weight, b->fault);
}

/* The same weight for all samples from −radius to radius along an axis. */
static bool add_even(const struct building *b, unsigned axis, int radius, double weight)
{
    for (int i = -radius; i <= radius; i++) {
        if (!add_along(b, 0, axis, i, weight))
            return false;
    }
    return true;
}

/* The derivative of a Gaussian of such a value at x: each order follows from the two below it. */
static double gauss_derivative(double sigma, double x, unsigned order, double value)
{
    double below = 0.0;

    for (unsigned n = 0; n < order; n++) {
        double next = -(x * value + n * below) / (sigma * sigma);
        below = value;
        value = next;
    }
    return value;
}

/* The exponential is the project's own, so that the weights are the same wherever they are made. Taps
   correlate, so the weight of a sample is the derivative on the other side of the centre. */
static void gauss_weights(double sigma, int radius, unsigned order, double *weights)
{
    double sum = 0.0;

    for (int i = -radius; i <= radius; i++) {
        weights[i + radius] =
            radius == 0 ? 1.0 : arith_exp_f64(-0.5 / (sigma * sigma) * ((double)i * (double)i));
        sum += weights[i + radius];
    }
    for (int i = -radius; i <= radius; i++)
        weights[i + radius] = gauss_derivative(sigma, -i, order, weights[i + radius] / sum);
}

/* A sigma in samples along an axis. */
static bool sigma_in_samples(const struct building *b, double given, unsigned axis, double *sigma)
{
    double unit = b->grid->millimetres, own = b->call->millimetres;

    if (given < 0.0)
        return fault_raise(b->fault, STATUS_USAGE, "a standard deviation of %g is below 0", given);
    if (own > 0.0 && unit == 0.0)
        return fault_raise(b->fault, STATUS_USAGE,
                           "the input has no unit of length; u instead of it is a unit of the spacing");
    *sigma = b->fwhm ? given / FILTER_WIDTHS : given;
    if (b->call->in_spacing)
        *sigma = (own > 0.0 ? *sigma * (own / unit) : *sigma) / b->grid->spacing[axis];
    return true;
}

/* A Gaussian along an axis, or its derivative, of which each order is divided by the spacing once. */
static bool gauss_along(const struct building *b, size_t chain, unsigned axis, double sigma, double order)
{
    double radius = floor(GAUSS_TRUNCATE * sigma + 0.5), *weights;
    bool added = true;

    if (!check_radius(b, radius, STENCIL_REACH))
        return false;
    weights = mem_alloc(2 * (size_t)radius + 1, sizeof *weights, "the weights", b->fault);
    if (weights == NULL)
        return false;
    gauss_weights(sigma, (int)radius, (unsigned)order, weights);
    for (int i = -(int)radius; added && i <= (int)radius; i++)
        added = add_along(b, chain, axis, i, weights[i + (int)radius] / pow(b->grid->spacing[axis], order));
    mem_free(weights);
    return added &&
           (order == 0.0 || radius > 0.0 ||
            fault_raise(b->fault, STATUS_USAGE,
                        "a derivative along %c of a standard deviation of %.10g samples has no taps: it "
                        "takes 0.125 or more",
                        "xyz"[axis], sigma));
}

/* A chain of Gaussians along each axis. */
static bool gauss_chain(const struct building *b, const double given[3], const double orders[3])
{
    size_t chain = b->body->chains++;
    double sigma = 0.0;

    for (unsigned axis = 0; axis < 3; axis++) {
        if (acts_along(b, axis) && !(sigma_in_samples(b, given[axis], axis, &sigma) &&
                                     gauss_along(b, chain, axis, sigma, orders[axis])))
            return false;
    }
    return true;
}

static bool gauss_along_axes(const struct building *b, double sigma)
{
    static const double none[3] = {0.0, 0.0, 0.0};
    const double sigmas[3] = {sigma, sigma, sigma};

    return gauss_chain(b, sigmas, none);
}

/* A Gaussian, or the derivative that is asked for. */
static bool gauss_of_orders(const struct building *b)
{
    const double *orders = b->call->orders;
    double sigmas[3];

    if (b->call->order_count > 0 && b->call->order_count < b->grid->axes)
        return fault_raise(b->fault, STATUS_USAGE, "order= takes a number for each of the %u axes",
                           b->grid->axes);
    for (unsigned axis = 0; axis < 3; axis++) {
        if (orders[axis] < 0.0 || orders[axis] > MOST_ORDER || orders[axis] != floor(orders[axis]))
            return fault_raise(b->fault, STATUS_USAGE,
                               "the order of a derivative is a whole number from 0 to %d", MOST_ORDER);
        if (orders[axis] > 0.0 && !check_axis(b, axis))
            return false;
    }
    return spread_numbers(b, sigmas) && gauss_chain(b, sigmas, orders);
}

/* A chain for each axis: the derivative of a Gaussian along it. */
static bool gauss_derivatives(const struct building *b, double sigma, double order)
{
    const double sigmas[3] = {sigma, sigma, sigma};
    bool built = true;

    for (unsigned axis = 0; axis < 3 && built; axis++) {
        double orders[3] = {0.0, 0.0, 0.0};
        orders[axis] = order;
        built = !acts_along(b, axis) || gauss_chain(b, sigmas, orders);
    }
    return built;
}

/* The Gaussian of distance of a bilateral window; the rest of its weights follows from the samples. */
static bool bilateral_window(const struct building *b, double given, double range)
{
    double sigma[3];
    int reach[3] = {0, 0, 0}, offset[3] = {0, 0, 0};

    if (given <= 0.0 || range <= 0.0)
        return fault_raise(b->fault, STATUS_USAGE, "both standard deviations are above 0");
    for (unsigned axis = 0; axis < b->grid->axes; axis++) {
        double radius;
        sigma[axis] = 1.0;
        if (!acts_along(b, axis))
            continue;
        if (!sigma_in_samples(b, given, axis, &sigma[axis]))
            return false;
        radius = floor(BILATERAL_TRUNCATE * sigma[axis] + 0.5);
        if (!check_radius(b, radius, BILATERAL_REACH))
            return false;
        reach[axis] = (int)radius;
        offset[axis] = -reach[axis];
    }
    do {
        double square = 0.0;
        for (unsigned axis = 0; axis < b->grid->axes; axis++)
            square += offset[axis] / sigma[axis] * (offset[axis] / sigma[axis]);
        if (!add(b, offset[0], offset[1], offset[2], arith_exp_f64(-0.5 * square)))
            return false;
    } while (next_offset(reach, offset));
    return set_amount(b, range);
}

/* The mean of a box, along each axis. */
static bool box_along_axes(const struct building *b)
{
    double radii[3];

    if (!spread_numbers(b, radii))
        return false;
    b->body->chains = 1;
    for (unsigned axis = 0; axis < 3; axis++) {
        if (acts_along(b, axis) && !(check_radius(b, radii[axis], STENCIL_REACH) &&
                                     add_even(b, axis, (int)radii[axis], 1.0 / (2.0 * radii[axis] + 1.0))))
            return false;
    }
    return true;
}

/* ---- windows ---- */

/* The radius along each axis of the grid; along axes that the window has not, 0. */
static bool measure_window(const struct building *b, int radius[3])
{
    enum filter_window window = b->call->window;

    if (!check_radius(b, number(b, 0), STENCIL_REACH) ||
        (window >= WINDOW_X && !check_axis(b, window - WINDOW_X)))
        return false;
    for (unsigned axis = 0; axis < 3; axis++) {
        bool has = acts_along(b, axis) && (window < WINDOW_X || window - WINDOW_X == axis);
        radius[axis] = has ? (int)number(b, 0) : 0;
    }
    return true;
}

/* All of the window. */
static bool whole_window(const struct building *b)
{
    int radius[3], offset[3];
    double square = number(b, 0) * number(b, 0), samples = 1.0;

    if (!measure_window(b, radius))
        return false;
    for (unsigned axis = 0; axis < 3; axis++) {
        offset[axis] = -radius[axis];
        samples *= 2.0 * radius[axis] + 1.0;
    }
    if (samples > FILTER_WINDOW)
        return fault_raise(b->fault, STATUS_USAGE,
                           "a radius of %.10g is too large: the box around a window has at most %d samples",
                           number(b, 0), FILTER_WINDOW);
    do {
        double away = 0.0;
        for (unsigned axis = 0; axis < 3; axis++)
            away += (double)offset[axis] * offset[axis];
        if ((b->call->window != WINDOW_BALL || away <= square) &&
            !add(b, offset[0], offset[1], offset[2], 1.0))
            return false;
    } while (next_offset(radius, offset));
    return true;
}

/* A window for its least or its greatest sample: a box is as good as its sides, one after another. */
static bool extreme_window(const struct building *b)
{
    int radius[3];
    bool built;

    if (b->call->window == WINDOW_BALL)
        return whole_window(b);
    built = measure_window(b, radius);
    for (unsigned axis = 0; axis < 3 && built; axis++)
        built = add_even(b, axis, radius[axis], 1.0);
    return built;
}

/* One more rank, which is taken after those before it. */
static bool choose_rank(const struct building *b, size_t rank)
{
    b->body->ranks[b->body->rank_count++] = rank;
    return true;
}

/* Each rank is one of the step's input. */
static bool set_apart(const struct building *b)
{
    b->body->apart = true;
    return true;
}

static bool choose_order(const struct building *b, double rank)
{
    const size_t samples = b->body->taps.count;

    if (!(rank >= 0.0 && rank < (double)samples) || rank != floor(rank))
        return fault_raise(b->fault, STATUS_USAGE, "a window of %zu samples has those from 0 to %zu in order",
                           samples, samples - 1);
    return choose_rank(b, (size_t)rank);
}

/* As in scipy.ndimage. */
static bool choose_percentile(const struct building *b, double percentile)
{
    if (!(percentile >= 0.0 && percentile <= 100.0))
        return fault_raise(b->fault, STATUS_USAGE, "a percentile of %.10g is not from 0 to 100", percentile);
    b->body->percent = percentile;
    return choose_rank(b, arith_rank_among((uint32_t)b->body->taps.count, percentile, 0));
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* One weight, ended by a blank, a comma, a semicolon, a slash or the end. */
static bool read_weight(const char **text, double *weight)
{
    char item[64];
    size_t length = strcspn(*text, " \t,;/");

    if (length == 0 || length >= sizeof item)
        return false;
    memcpy(item, *text, length);
    item[length] = '\0';
    *text = skip_blanks(*text + length);
    if (**text == ',')
        *text = skip_blanks(*text + 1);
    return number_parse_double(item, weight);
}

/* Count rows and columns of "1 2 1; 2 4 2", and find where its rows end. */
static bool measure_matrix(const struct building *b, int *rows, int *columns, const char **end)
{
    const char *text = skip_blanks(b->call->text);
    double weight;

    *rows = *columns = 0;
    for (;;) {
        int row_columns = 0;
        /* Weights are read twice, here to count them and then to place them: where the centre is follows from
           the counts. */
        while (*text != '\0' && *text != ';' && *text != '/') {
            if (!read_weight(&text, &weight))
                return fault_raise(b->fault, STATUS_USAGE, "row %d of the matrix: not a number", *rows + 1);
            row_columns++;
        }
        /* All rows have as many weights as the first. */
        if (*rows > 0 && row_columns != *columns)
            return fault_raise(b->fault, STATUS_USAGE,
                               "row %d of the matrix has %d weight%s, the first has %d", *rows + 1,
                               row_columns, number_plural((uint64_t)row_columns), *columns);
        *columns = row_columns;
        (*rows)++;
        *end = text;
        if (*columns == 0 || *columns > MATRIX_SIDE || *rows > MATRIX_SIDE)
            return fault_raise(b->fault, STATUS_USAGE, "a matrix has 1 to %d rows and columns", MATRIX_SIDE);
        if (*text != ';')
            return true;
        text = skip_blanks(text + 1);
    }
}

/* The taps of a matrix, which was measured before: read it once more, and divide. */
static bool matrix_taps(const struct building *b)
{
    const char *text, *end = NULL;
    double divisor = 1.0, weight;
    int rows, columns;

    if (!measure_matrix(b, &rows, &columns, &end))
        return false;
    if (*end == '/' && (!number_parse_double(skip_blanks(end + 1), &divisor) || divisor == 0.0))
        return fault_raise(b->fault, STATUS_USAGE, "the divisor of the matrix must be a number, and not 0");
    text = skip_blanks(b->call->text);
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++) {
            read_weight(&text, &weight);
            if (!add(b, column - columns / 2, row - rows / 2, 0, weight / divisor))
                return false;
        }
        text = skip_blanks(text + (*text == ';'));
    }
    return true;
}

/* A taps file was read into the call; each grid gets a copy. */
static bool given_taps(const struct building *b)
{
    const struct stencil *given = &b->call->taps;

    for (size_t i = 0; i < given->count; i++) {
        const struct tap *tap = &given->taps[i];
        if (!add(b, tap->dx, tap->dy, tap->dz, tap->weight))
            return false;
    }
    return true;
}

/* A builder for each row of the list, and the list itself. */
#define FILTER(name, syntax, kind, unit, arguments, least, most, summary, expression)                        \
    static bool build_##name(const struct building *b)                                                       \
    {                                                                                                        \
        (void)b;                                                                                             \
        return expression;                                                                                   \
    }
#include "filters.def"

const struct filter filter_list[] = {
#define FILTER(name, syntax, kind, unit, arguments, least, most, summary, expression)                        \
    {#name, syntax, kind, unit, arguments, least, most, summary, build_##name},
#include "filters.def"
    {NULL, NULL, FILTER_TAPS, UNIT_SAMPLE, ARGUMENTS_NONE, 0, 0, NULL, NULL},
};

/* Names of filters in other programs, and ours. */
static const struct alias filter_aliases[] = {
    {"absolute", "abs"},   {"average", "box"},    {"binarize", "threshold"}, {"blur", "gauss"},
    {"boxcar", "box"},     {"clip", "clamp"},     {"convolve", "matrix"},    {"copy", "identity"},
    {"diffuse", "heat"},   {"diffusion", "heat"}, {"edges", "gradient"},     {"gamma", "power"},
    {"gaussian", "gauss"}, {"kernel", "matrix"},  {"laplacian", "laplace"},  {"magnitude", "gradient"},
    {"maximum", "max"},    {"mean", "box"},       {"minimum", "min"},        {"pow", "power"},
    {"rank", "order"},     {"smooth", "gauss"},   {"stencil", "taps"},       {"uniform", "box"},
    {"usm", "unsharp"},    {NULL, NULL},
};

static const char *meant_filter(const char *spec, size_t length)
{
    struct suggestion suggestion = suggest_for(spec, length);

    for (const struct filter *filter = filter_list; filter->name != NULL; filter++)
        suggest_name(&suggestion, filter->name);
    suggest_aliases(&suggestion, filter_aliases);
    return suggestion.meant;
}

const struct filter filter_proportion = {.name = "proportion", .kind = FILTER_POINT};
const struct filter filter_values = {.name = "values", .kind = FILTER_POINT};
const struct filter filter_cover = {.name = "cover", .kind = FILTER_COVER};
const struct filter filter_uncover = {.name = "uncover", .kind = FILTER_UNCOVER};

static const struct filter *find(const char *spec, size_t length)
{
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        if (strlen(filter->name) == length && strncmp(filter->name, spec, length) == 0)
            return filter;
    }
    return NULL;
}

/* "2mm,1mm" → "2,1" and the unit of both. It stands behind the first sigma at least. An amount and a
   deviation of differences have none. */
static bool take_unit(char *plain, struct filter_call *call)
{
    bool alone = call->filter->kind == FILTER_UNSHARP || call->filter->kind == FILTER_BILATERAL;
    const struct length_unit *length;
    char unit[16] = "", *item = plain, *end;

    for (size_t index = 0;; index++, item = end + 1) {
        size_t letters;
        strtod(item, &end);
        letters = strcspn(end, ",");
        if (index == 0 && letters < sizeof unit)
            memcpy(unit, end, letters);
        else if (letters > 0 && (alone || letters != strlen(unit) || strncmp(end, unit, letters) != 0))
            return false;
        memmove(end, end + letters, strlen(end + letters) + 1);
        if (*end == '\0')
            break;
    }
    call->in_spacing = unit[0] != '\0';
    length = unit_of_name(unit);
    call->millimetres = unit_millimetres(length);
    return length != NULL || !call->in_spacing || strcmp(unit, "u") == 0;
}

/* "2,order=1,0,0" → "2" and the orders. */
static bool take_orders(char *plain, struct filter_call *call)
{
    static const char mark[] = ",order=";
    char *orders = strstr(plain, mark);

    if (orders == NULL)
        return true;
    *orders = '\0';
    return number_parse_list(orders + strlen(mark), ',', 1, 3, call->orders, &call->order_count);
}

/* "2,ball" → "2" and a window; what is no window is left for a number. */
static void take_window(char *plain, enum filter_window *window)
{
    static const char *const names[] = {
        [WINDOW_BALL] = "ball", [WINDOW_X] = "x", [WINDOW_Y] = "y", [WINDOW_Z] = "z"};
    char *last = strrchr(plain, ',');

    for (*window = WINDOW_Z; *window > WINDOW_BOX; --*window) {
        if (last != NULL && strcmp(last + 1, names[*window]) == 0) {
            *last = '\0';
            break;
        }
    }
}

static bool parse_numbers(const char *text, struct filter_call *call)
{
    const struct filter *filter = call->filter;
    char plain[256];

    if (filter->arguments != ARGUMENTS_NUMBERS) {
        if (strlen(text) >= sizeof plain)
            return false;
        text = strcpy(plain, text);
    }
    if (filter->arguments == ARGUMENTS_WINDOW)
        take_window(plain, &call->window);
    if (filter->arguments == ARGUMENTS_ORDERS && !take_orders(plain, call))
        return false;
    if (filter_has_sigma(filter) && !take_unit(plain, call))
        return false;
    return number_parse_list(text, ',', filter->least, filter->most, call->numbers, &call->count);
}

/* Read what follows the colon, as the filter takes it. */
static bool parse_arguments(const char *text, struct filter_call *call)
{
    switch (call->filter->arguments) {
    case ARGUMENTS_NONE:
        return text == NULL;
    case ARGUMENTS_NUMBERS:
    case ARGUMENTS_SIGMA:
    case ARGUMENTS_ORDERS:
    case ARGUMENTS_WINDOW:
        return text != NULL && parse_numbers(text, call);
    case ARGUMENTS_AXIS:
        if (text == NULL || strlen(text) != 1 || *text < 'x' || *text > 'z')
            return false;
        call->axis = *text - 'x';
        return true;
    case ARGUMENTS_TEXT:
    case ARGUMENTS_FILE:
        call->text = text;
        return text != NULL && *text != '\0';
    }
    return false;
}

bool filter_parse(const char *spec, struct filter_call *call, struct fault *fault)
{
    size_t length = strcspn(spec, ":");

    *call = (struct filter_call){.filter = find(spec, length), .spec = spec};
    if (call->filter == NULL) {
        fault_raise(fault, STATUS_USAGE, "%.*s: no such filter", (int)length, spec);
        return suggest_add(fault, meant_filter(spec, length), " (--list names them)");
    }
    if (!parse_arguments(spec[length] == ':' ? spec + length + 1 : NULL, call))
        return fault_raise(fault, STATUS_USAGE, "%s: expected %s%s", spec, call->filter->name,
                           call->filter->syntax);
    return call->filter->arguments != ARGUMENTS_FILE || stencil_read(call->text, &call->taps, fault);
}

void filter_call_free(struct filter_call *call)
{
    stencil_free(&call->taps);
}

bool filter_uses_spacing(const struct filter_call *call)
{
    return call->filter->unit == UNIT_SPACING || call->in_spacing || call->order_count > 0;
}

bool filter_has_sigma(const struct filter *filter)
{
    return filter->arguments == ARGUMENTS_SIGMA || filter->arguments == ARGUMENTS_ORDERS;
}

/* Not where taps are given, nor where each sample is taken by itself. */
bool filter_chooses_axes(const struct filter *filter)
{
    return filter->kind != FILTER_POINT && (filter->kind != FILTER_TAPS || filter->unit == UNIT_SPACING);
}

bool filter_build(const struct filter_call *call, const struct grid *grid, struct filter_manner manner,
                  struct filter_body *body, struct fault *fault)
{
    const struct building building = {call, grid, manner.fwhm, body, fault};
    unsigned needed;
    bool built;

    *body = (struct filter_body){0};
    built = call->filter->build(&building);
    needed = stencil_axes(&body->taps);
    /* A picture has no use for taps along z, and dropping them would change what the filter is. */
    if (built && needed > grid->axes)
        built = fault_raise(fault, STATUS_USAGE, "it has taps along %c, and this grid has no %c axis",
                            "xyz"[needed - 1], "xyz"[needed - 1]);
    if (!built) {
        filter_body_free(body);
        fault_prefix(fault, call->spec);
        /* A taps file that cannot be had or read is not a matter of usage; the line names the file already.
         */
        return fault->status == STATUS_USAGE ? fault_prefix(fault, "--filter") : false;
    }
    if (manner.flipped) {
        stencil_flip(&body->taps);
        for (size_t i = 0; i < FILTER_PASSES; i++)
            stencil_flip(&body->along[i]);
    }
    return true;
}

void filter_body_free(struct filter_body *body)
{
    stencil_free(&body->taps);
    for (size_t i = 0; i < FILTER_PASSES; i++)
        stencil_free(&body->along[i]);
}
