/* The parameters that can be calibrated, as values of one working copy of a platform. */
#ifndef MS_CALIBRATE_KEYS_H
#define MS_CALIBRATE_KEYS_H

#include "meshsim/calibrate.h"

enum { MS_CALIBRATED_MAX = 2 * MS_TIER_MAX + 16 };

/* A platform whose parameters may be changed. */
typedef struct ms_calibrated_platform {
    ms_platform platform;
    ms_library library;
} ms_calibrated_platform;

/* A parameter of it. */
typedef struct ms_calibrated_value {
    const char *key;
    double *value; /* in the working copy */
    ms_dimension dimension;
    double low, high;
    bool is_logarithmic; /* looked for by its logarithm */
} ms_calibrated_value;

/* List the parameters of a working copy.  values_out: [MS_CALIBRATED_MAX]; keys in `arena`.
 *  Returns how many; 0 when memory runs out. */
size_t ms_calibrated_values(ms_calibrated_platform *copy, ms_arena *arena,
                            ms_calibrated_value *values_out);

/* Between the bounds of a parameter its place in 0..1, and back. */
double ms_calibrated_place(const ms_calibrated_value *value);
void ms_calibrated_set(const ms_calibrated_value *value, double place);

/* A value with its unit, as a platform's file has it, in `arena`; NULL when memory runs out. */
const char *ms_calibrated_text(double value, ms_dimension dimension, ms_arena *arena);

#endif
