/* The edges of the star's walk: where the grid's edges are in a block's tile, and the values that each level
 * reads outside them. They come from registers at the time of the fold: no level stores a sample outside the
 * grid. A grid that wraps is continued as it is fetched, and has no edge here. */
#ifndef CUDA_FUSED_STAR_ANY_EDGES_CUH
#define CUDA_FUSED_STAR_ANY_EDGES_CUH

#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

/* Edge rules at radius 1, where `reflect` and `nearest` are the same. */
enum star_rule { STAR_NEAREST, STAR_MIRROR, STAR_CONSTANT, STAR_WRAP };

static inline enum star_rule star_rule_of(enum edge_rule rule, long long extent)
{
    switch (rule) {
    case EDGE_MIRROR:
        return extent > 1 ? STAR_MIRROR : STAR_NEAREST;
    case EDGE_WRAP:
        return STAR_WRAP;
    case EDGE_CONSTANT:
        return STAR_CONSTANT;
    default:
        return STAR_NEAREST; /* hold: no result from outside is ever stored */
    }
}

/* The edges of a launch. */
struct star_rules {
    enum star_rule x, row, plane;
    bool hold;
    struct reach reach_x, reach_row, reach_plane; /* for hold */
};

/* The edges of a thread and its tile. Planes are numbered from the first that the walk reads. */
template <typename Form> struct star_edges {
    using T = typename Form::T;
    static constexpr int Pack = Form::Pack, Rows = Form::Rows;
    using plane_part = T[Rows][Pack];

    const star_rules &rules;
    const int nx, rows;
    const int lane, first_x, first_row; /* of the thread's first pack */
    const T outside;

    bool beside, above_or_below; /* the tile has columns outside the grid; the thread has rows at an edge */
    bool top;                    /* its first row is the grid's */
    unsigned bottom;             /* a bit for the row that is the grid's last one */
    int before_x, past_x;        /* columns of the tile just outside the grid; negative: none */
    bool tile_holds;             /* some sample of every plane is held */

    int first_plane,
        last_plane; /* of the grid; numbers that no plane has, if the walk does not come to them */

    CUDA_INLINE star_edges(const star_rules &rules_, const cuda_view<T> &grid, int lane_, int warp,
                           int tile_x, int tile_row, T outside_)
        : rules(rules_), nx(grid.nx), rows(grid.rows), lane(lane_), first_x(tile_x + lane_ * Pack),
          first_row(tile_row + warp * Rows), outside(outside_)
    {
        const int last_row = rows - 1 - first_row;

        top = rules.row != STAR_WRAP && first_row == 0;
        bottom = rules.row != STAR_WRAP && last_row >= 0 && last_row < Rows ? 1u << last_row : 0;
        above_or_below = top || bottom != 0;
        before_x = rules.x != STAR_WRAP && tile_x < 0 ? -1 - tile_x : -1;
        past_x = rules.x != STAR_WRAP && tile_x + Form::Width > nx ? nx - tile_x : -1;
        beside = before_x >= 0 || past_x >= 0;
        tile_holds =
            Form::Keeps && rules.hold &&
            (tile_x <= 0 || tile_x + Form::Width >= nx || tile_row == 0 || tile_row + Form::Height >= rows);
    }

    /* Find the numbers of the grid's first and last plane, in a walk that reads from plane `first` on. */
    CUDA_INLINE void place_planes(long long first, long long planes)
    {
        const int never = 0x40000000;

        first_plane = rules.plane == STAR_WRAP || first > 0 ? -never : 0;
        last_plane = rules.plane == STAR_WRAP || planes - 1 - first > never
                         ? never
                         : static_cast<int>(planes - 1 - first);
    }

    /* ---- hold: samples with a tap outside the grid keep the value of the level before ---- */

    /* Some sample of the block is held in the plane. */
    CUDA_INLINE bool held(int plane) const
    {
        return rules.hold && (tile_holds || plane <= first_plane || plane >= last_plane);
    }

    CUDA_INLINE void hold_old(plane_part &fresh, const plane_part &old, int plane) const
    {
        const bool whole =
            plane + rules.reach_plane.low < first_plane || plane + rules.reach_plane.high > last_plane;

#pragma unroll
        for (int r = 0; r < Rows; r++) {
            const int row = first_row + r;
            const bool whole_row =
                whole || row + rules.reach_row.low < 0 || row + rules.reach_row.high >= rows;
#pragma unroll
            for (int j = 0; j < Pack; j++) {
                const int x = first_x + j;
                if (whole_row || x + rules.reach_x.low < 0 || x + rules.reach_x.high >= nx)
                    fresh[r][j] = old[r][j];
            }
        }
    }

    /* ---- the other rules: samples outside the grid ---- */

    /* The sample outside beside `own`, whose neighbour inside is `opposite`. */
    CUDA_INLINE T ghost(enum star_rule rule, T own, T opposite) const
    {
        return rule == STAR_CONSTANT ? outside : rule == STAR_MIRROR ? opposite : own;
    }

    /* Fill the columns of the tile just outside the grid: a lane gets the samples inside by warp shuffles. */
    CUDA_INLINE void fill_x(plane_part &part) const
    {
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            if (before_x >= 0) {
                const T own = __shfl_down_sync(CUDA_ALL_LANES, part[r][0], 1);
                const T opposite = __shfl_down_sync(CUDA_ALL_LANES, part[r][1], 1);
                if (lane == before_x / Pack)
                    part[r][Pack - 1] = ghost(rules.x, own, opposite);
            }
            if (past_x >= 0) {
                const T own = __shfl_up_sync(CUDA_ALL_LANES, part[r][Pack - 1], 1);
                const T opposite = __shfl_up_sync(CUDA_ALL_LANES, part[r][Pack - 2], 1);
                if (lane == past_x / Pack)
                    fill_past(part[r], own, opposite);
            }
        }
    }

    /* Fill the column behind the grid's last one in a pack; left and farther are the two samples before the
     * pack. */
    CUDA_INLINE void fill_past(T (&pack)[Pack], T left, T farther) const
    {
        const unsigned column = 1u << past_x % Pack;

#pragma unroll
        for (int j = 0; j < Pack; j++) {
            const T own = j >= 1 ? pack[j >= 1 ? j - 1 : 0] : left;
            const T opposite = j >= 2 ? pack[j >= 2 ? j - 2 : 0] : j == 1 ? left : farther;
            if ((column >> j & 1) != 0)
                pack[j] = ghost(rules.x, own, opposite);
        }
    }

    /* Fill the row above the grid's first one, and the one below its last, which may be among the thread's
     * rows. */
    CUDA_INLINE void fill_rows(plane_part &part, T (&above)[Pack], T (&below)[Pack]) const
    {
#pragma unroll
        for (int j = 0; j < Pack; j++) {
            if (top)
                above[j] = ghost(rules.row, part[0][j], part[1][j]);
            if ((bottom >> (Rows - 1) & 1) != 0)
                below[j] = ghost(rules.row, part[Rows - 1][j], part[Rows - 2][j]);
#pragma unroll
            for (int r = 0; r < Rows - 1; r++) {
                if ((bottom >> r & 1) != 0)
                    part[r + 1][j] =
                        ghost(rules.row, part[r][j], r > 0 ? part[r > 0 ? r - 1 : 0][j] : above[j]);
            }
        }
    }

    /* Fill what a plane that has arrived lacks, with the rows above and below the thread's. */
    CUDA_INLINE void fill(plane_part &part, T (&above)[Pack], T (&below)[Pack]) const
    {
        if (above_or_below)
            fill_rows(part, above, below);
        if (beside)
            fill_x(part);
    }

    /* The plane before the grid's first one, but for a mirror, which has it from the second. */
    CUDA_INLINE T before_first(T own) const
    {
        return rules.plane == STAR_CONSTANT ? outside : own;
    }

    /* The plane after the grid's last one. */
    CUDA_INLINE T after_last(T own, T opposite) const
    {
        return ghost(rules.plane, own, opposite);
    }

    /* Whether the second plane arrives, which a mirror also has before the first one. */
    CUDA_INLINE bool mirrors_first(int arriving) const
    {
        return rules.plane == STAR_MIRROR && arriving == first_plane + 1;
    }
};

#endif
