/* What other files of the layer ask of the outlook. */
#ifndef MS_JOB_OUTLOOK_H
#define MS_JOB_OUTLOOK_H

#include "meshsim/outlook.h"

/* Highest memory peak of any pipeline rank. O(passes). */
double ms_outlook_peak_B(const ms_job *job);

#endif
