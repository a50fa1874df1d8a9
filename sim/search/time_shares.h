/* The parts of a step's time (computing, bubble, exposed communication) as columns of tables. */
#ifndef MS_STUDY_TIME_SHARES_H
#define MS_STUDY_TIME_SHARES_H

#include "simulate/metrics/metrics.h"

/* All shares of a step, each by its word in tables and its index in an array of shares. share,
 * bubble: macros (word, index) that make a column; `bubble` makes those of the three parts of the
 * bubble, whose sum has a column of its own. */
#define MS_TIME_SHARES(share, bubble)                                                              \
    share("compute", MS_TIME_COMPUTE), share("optimizer", MS_TIME_OPTIMIZER),                      \
        bubble("bubble_warmup", MS_TIME_BUBBLE_WARMUP),                                            \
        bubble("bubble_steady", MS_TIME_BUBBLE_STEADY),                                            \
        bubble("bubble_cooldown", MS_TIME_BUBBLE_COOLDOWN), share("imbalance", MS_TIME_IMBALANCE), \
        share("exposed_tp", MS_TIME_EXPOSED_TP), share("exposed_cp", MS_TIME_EXPOSED_CP),          \
        share("exposed_ep", MS_TIME_EXPOSED_EP), share("exposed_pp", MS_TIME_EXPOSED_PP),          \
        share("exposed_dp", MS_TIME_EXPOSED_DP), share("other", MS_TIME_OTHER)

#endif
