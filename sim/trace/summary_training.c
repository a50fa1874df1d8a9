/* What a whole training takes, from the figures of one of its steps. */
#include <math.h>

#include "trace/summary.h"

static const double DAY_S = 86400.0, HOUR_S = 3600.0, MWH_J = 3.6e9;

void ms_summary_add_training(double tokens, double gpus, ms_value *figures) {
    if (tokens <= 0.0) {
        return;
    }
    double step_s = ms_value_number(figures, "step_time_s", (double)NAN);
    double time_s = tokens / ms_value_number(figures, "tokens_per_s", (double)NAN);
    double steps = time_s / step_s;
    ms_value_add_double(figures, "training_tokens", tokens);
    ms_value_add_double(figures, "training_days", time_s / DAY_S);
    ms_value_add_double(figures, "training_gpu_hours", gpus * time_s / HOUR_S);
    ms_value_add_double(figures, "training_cost",
                        steps * ms_value_number(figures, "cost", (double)NAN));
    ms_value_add_double(figures, "training_energy_MWh",
                        steps * ms_value_number(figures, "energy_J", (double)NAN) / MWH_J);
}
