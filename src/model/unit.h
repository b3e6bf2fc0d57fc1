/* Units of length, as options and file formats know them. */
#ifndef UNIT_H
#define UNIT_H

struct length_unit {
    double millimetres;
    const char *symbol;       /* in ASCII */
    const char *udunits;      /* as UDUNITS names it, which OME-Zarr asks for */
    unsigned nifti;           /* the code of xyzt_units; 0: none */
    unsigned resolution;      /* that of TIFF's ResolutionUnit; 0: none */
    const char *const *names; /* ends with NULL; descriptions are written with the first */
};

/* The unit of such a name or code; NULL: it is not known. */
const struct length_unit *unit_of_name(const char *name);
const struct length_unit *unit_of_nifti(unsigned code);
const struct length_unit *unit_of_resolution(unsigned code);

/* How many millimetres a unit is; 0 for NULL. */
double unit_millimetres(const struct length_unit *unit);

/* The symbol of the unit of this length, and its name in UDUNITS; NULL: there is no such unit. */
const char *unit_symbol(double millimetres);
const char *unit_udunits(double millimetres);

/* For formats that write millimetres. */
const struct length_unit *unit_millimetre(void);

#endif
