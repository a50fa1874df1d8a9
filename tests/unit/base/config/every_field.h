/* One struct with a field of every type, and its table: for the tests and the fuzz target of the
 * config layer. */
#ifndef MESHSIM_TESTS_EVERY_FIELD_H
#define MESHSIM_TESTS_EVERY_FIELD_H

#include <limits.h>

#include "base/config/config.h"

typedef struct every_link {
    double bandwidth_Bps, latency_s;
    int width;
} every_link;

typedef struct every_field {
    int gpus_per_node;
    double efficiency, bandwidth_Bps, latency_s, memory_B, peak_flop_per_s, work_flop;
    bool pxn;
    const char *name;
    int schedule;
    const ms_node *model;
    every_link link;
    ms_ints layers;
    ms_numbers weights, forward_s;
    ms_words order;
} every_field;

static const char *const EVERY_SCHEDULES[] = {"gpipe", "1f1b", "interleaved", NULL};

static const ms_field EVERY_LINK_FIELDS[] = {
    {.key = "bandwidth",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_link, bandwidth_Bps),
     .dimension = MS_DIM_BANDWIDTH,
     .is_required = true,
     .help = "of one direction"},
    {.key = "latency",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_link, latency_s),
     .dimension = MS_DIM_TIME,
     .fallback = "2 us",
     .minimum = 0,
     .maximum = 1},
    {.key = "width",
     .former = "number_of_lanes",
     .type = MS_FIELD_INT,
     .offset = offsetof(every_link, width),
     .fallback = "4",
     .minimum = 1,
     .maximum = INT_MAX,
     .help = "lanes"},
    {.former = "duplex", .help = "every link has both directions"},
};

static const ms_field EVERY_FIELDS[] = {
    {.key = "gpus_per_node",
     .type = MS_FIELD_INT,
     .offset = offsetof(every_field, gpus_per_node),
     .is_required = true,
     .minimum = 1,
     .maximum = 65536,
     .help = "GPUs in one node [count]"},
    {.key = "efficiency",
     .type = MS_FIELD_NUMBER,
     .offset = offsetof(every_field, efficiency),
     .fallback = "50 %",
     .minimum = 1e-300,
     .maximum = 1},
    {.key = "bandwidth",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_field, bandwidth_Bps),
     .dimension = MS_DIM_BANDWIDTH,
     .fallback = "25 GB/s"},
    {.key = "latency",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_field, latency_s),
     .dimension = MS_DIM_TIME,
     .fallback = "1 us",
     .minimum = 0,
     .maximum = 2},
    {.key = "memory",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_field, memory_B),
     .dimension = MS_DIM_BYTES,
     .fallback = "80 GiB"},
    {.key = "peak",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_field, peak_flop_per_s),
     .dimension = MS_DIM_FLOP_RATE,
     .fallback = "312 TFLOP/s"},
    {.key = "work",
     .type = MS_FIELD_QUANTITY,
     .offset = offsetof(every_field, work_flop),
     .dimension = MS_DIM_FLOP,
     .fallback = "1e9 FLOP"},
    {.key = "pxn", .type = MS_FIELD_BOOL, .offset = offsetof(every_field, pxn), .fallback = "true"},
    {.key = "name", .type = MS_FIELD_STRING, .offset = offsetof(every_field, name), .fallback = ""},
    {.key = "schedule",
     .type = MS_FIELD_ENUM,
     .offset = offsetof(every_field, schedule),
     .words = EVERY_SCHEDULES,
     .fallback = "1f1b"},
    {.key = "model", .type = MS_FIELD_NODE, .offset = offsetof(every_field, model)},
    {.key = "link",
     .type = MS_FIELD_MAP,
     .offset = offsetof(every_field, link),
     .fields = EVERY_LINK_FIELDS},
    {.key = "layers",
     .type = MS_FIELD_INTS,
     .offset = offsetof(every_field, layers),
     .fallback = "[1, 2]",
     .minimum = 1,
     .maximum = 0},
    {.key = "weights", .type = MS_FIELD_NUMBERS, .offset = offsetof(every_field, weights)},
    {.key = "forward",
     .type = MS_FIELD_QUANTITIES,
     .offset = offsetof(every_field, forward_s),
     .dimension = MS_DIM_TIME,
     .fallback = "1 ms"},
    {.key = "order",
     .type = MS_FIELD_WORDS,
     .offset = offsetof(every_field, order),
     .fallback = "[pp, dp, tp]"},
    {0},
};

#endif
