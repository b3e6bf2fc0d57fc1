/* A vector that glides along a row, and the two that stand a sample before it and behind it. Where samples
   can be shifted from one register to another, whole vectors are loaded, each of them once: also one before
   those that the row has, and one behind them. */

struct glide {
    vector centre;
#ifdef ISA_SHIFTS
    vector before, behind;
#endif
};

#ifdef ISA_SHIFTS

/* One vector before the first. */
ISA_INLINE void glide_start(struct glide *glide, const real *first)
{
    glide->centre = vector_load(first - LANES);
    glide->behind = vector_load(first);
}

ISA_INLINE void glide_on(struct glide *glide, const real *samples)
{
    glide->before = glide->centre;
    glide->centre = glide->behind;
    glide->behind = vector_load(samples + LANES);
}

ISA_INLINE vector glide_left(const struct glide *glide, const real *samples)
{
    (void)samples;
    return OF_WORK(isa_left)(glide->before, glide->centre);
}

ISA_INLINE vector glide_right(const struct glide *glide, const real *samples)
{
    (void)samples;
    return OF_WORK(isa_right)(glide->centre, glide->behind);
}

#else

ISA_INLINE void glide_start(struct glide *glide, const real *first)
{
    (void)glide, (void)first;
}

ISA_INLINE void glide_on(struct glide *glide, const real *samples)
{
    glide->centre = vector_load(samples);
}

ISA_INLINE vector glide_left(const struct glide *glide, const real *samples)
{
    (void)glide;
    return vector_load(samples - 1);
}

ISA_INLINE vector glide_right(const struct glide *glide, const real *samples)
{
    (void)glide;
    return vector_load(samples + 1);
}

#endif
