/* Units of length, as options and file formats know them. */
#ifndef UNIT_H
#define UNIT_H

/* Formats that number units: NIfTI in xyzt_units, and TIFF in ResolutionUnit. */
enum unit_code { UNIT_NIFTI, UNIT_RESOLUTION, UNIT_CODES };

struct length_unit {
    double millimetres;
    const char *symbol;         /* in ASCII */
    const char *udunits;        /* as UDUNITS names it, which OME-Zarr asks for */
    const char *const *names;   /* ends with NULL; descriptions are written with the first */
    unsigned codes[UNIT_CODES]; /* 0: none */
};

/* The unit of such a name or code; NULL: it is not known. */
const struct length_unit *unit_of_name(const char *name);
const struct length_unit *unit_of_code(enum unit_code format, unsigned code);

/* How many millimetres a unit is; 0 for NULL. */
double unit_millimetres(const struct length_unit *unit);

/* The symbol of the unit of this length, and its name in UDUNITS; NULL: there is no such unit. */
const char *unit_symbol(double millimetres);
const char *unit_udunits(double millimetres);

/* For formats that write millimetres. */
const struct length_unit *unit_millimetre(void);

#endif
