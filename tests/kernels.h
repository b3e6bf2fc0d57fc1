/* The parts of the suite that tests kernels through the seam, in every way that the program has. */
#ifndef KERNELS_H
#define KERNELS_H

#include "assertions.h"

TCase *filters_case(void);
TCase *fluxes_case(void);
TCase *forms_case(void);
TCase *conversions_case(void);
TCase *sums_case(void);
TCase *windows_case(void);
TCase *volumes_case(void);
TCase *service_case(void);

#endif
