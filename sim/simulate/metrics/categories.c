/* Names of the categories of time, and the category of each axis. */
#include "simulate/metrics/metrics.h"

const char *ms_time_category_name(ms_time_category category) {
    static const char *const NAMES[] = {
        [MS_TIME_COMPUTE] = "compute",
        [MS_TIME_OPTIMIZER] = "optimizer",
        [MS_TIME_BUBBLE_WARMUP] = "bubble_warmup",
        [MS_TIME_BUBBLE_STEADY] = "bubble_steady",
        [MS_TIME_BUBBLE_COOLDOWN] = "bubble_cooldown",
        [MS_TIME_IMBALANCE] = "imbalance",
        [MS_TIME_EXPOSED_TP] = "exposed_tp",
        [MS_TIME_EXPOSED_CP] = "exposed_cp",
        [MS_TIME_EXPOSED_EP] = "exposed_ep",
        [MS_TIME_EXPOSED_PP] = "exposed_pp",
        [MS_TIME_EXPOSED_DP] = "exposed_dp",
        [MS_TIME_OTHER] = "other",
    };
    return category >= 0 && category < MS_TIME_COUNT ? NAMES[category] : "unknown";
}

const char *ms_other_part_name(ms_other_part part) {
    return part == MS_OTHER_HOST ? "host" : part == MS_OTHER_NORM ? "norm" : "unknown";
}

ms_time_category ms_time_category_of_axis(ms_axis axis) {
    /* both enumerations list the axes in the same order */
    bool is_known = axis >= MS_AXIS_TP && axis <= MS_AXIS_DP;
    return is_known ? MS_TIME_EXPOSED_TP + (axis - MS_AXIS_TP) : MS_TIME_OTHER;
}
