/* A vector that glides along a row, and the two vectors that begin one sample before it and one behind it.
   With ISA_SHIFTS, these two are shifted out of registers, and each vector of the row is loaded once. Then
   the vector before the row and the vector behind it are loaded as well. */

struct glide {
    vector centre;
#ifdef ISA_SHIFTS
    vector before, behind;
#endif
};

#ifdef ISA_SHIFTS

/* Begin one vector before the first of the row. */
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
