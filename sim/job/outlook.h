/* What other files of the layer ask of the outlook. */
#ifndef MS_JOB_OUTLOOK_H
#define MS_JOB_OUTLOOK_H

#include "meshsim/outlook.h"

/* Highest memory peak of any pipeline rank.  Returns MS_OK; MS_E_NOMEM (not reported).  O(passes).
 */
ms_status ms_outlook_peak_B(const ms_job *job, ms_arena *scratch, double *peak_B_out);

#endif
