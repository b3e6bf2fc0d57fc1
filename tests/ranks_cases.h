/* The parts of the suite that tests runs by several ranks. */
#ifndef RANKS_CASES_H
#define RANKS_CASES_H

#include "assertions.h"

TCase *ranks_samples_case(void);
TCase *ranks_devices_case(void);
TCase *ranks_faults_case(void);

/* Not for emulated GPUs. */
TCase *ranks_splits_case(void);
TCase *ranks_links_case(void);
TCase *ranks_streams_case(void);
TCase *ranks_refusals_case(void);

#endif
