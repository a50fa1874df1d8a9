/* Columns of the tables of a trace. */
#include <stddef.h>

#include "meshsim/kineto.h"

#define TIME(row, key, field)                                                                      \
    {                                                                                              \
        .name = (key), .type = MS_COLUMN_NUMBER, .offset = offsetof(row, field),                   \
        .sort = MS_SORT_HIGHEST, .print = MS_PRINT_UNIT, .dim = MS_DIM_TIME                        \
    }
#define WORD(row, key, field)                                                                      \
    {                                                                                              \
        .name = (key), .type = MS_COLUMN_TEXT, .offset = offsetof(row, field),                     \
        .sort = MS_SORT_LOWEST                                                                     \
    }
#define WHOLE(row, key, field)                                                                     \
    {                                                                                              \
        .name = (key), .type = MS_COLUMN_INT, .offset = offsetof(row, field),                      \
        .sort = MS_SORT_HIGHEST                                                                    \
    }

const ms_table_column MS_KINETO_KERNEL_COLUMNS[] = {
    WORD(ms_kineto_kernel, "name", name),
    WORD(ms_kineto_kernel, "class", class_name),
    WHOLE(ms_kineto_kernel, "count", count),
    TIME(ms_kineto_kernel, "total_s", total_s),
    TIME(ms_kineto_kernel, "mean_s", mean_s),
    TIME(ms_kineto_kernel, "min_s", min_s),
    TIME(ms_kineto_kernel, "max_s", max_s),
    WORD(ms_kineto_kernel, "streams", streams),
    {0},
};

const ms_table_column MS_KINETO_COLLECTIVE_COLUMNS[] = {
    WORD(ms_kineto_collective, "collective", collective),
    WORD(ms_kineto_collective, "kind", kind),
    WORD(ms_kineto_collective, "group", group),
    WHOLE(ms_kineto_collective, "group_size", group_size),
    WORD(ms_kineto_collective, "type", type),
    {.name = "size_B",
     .type = MS_COLUMN_NUMBER,
     .offset = offsetof(ms_kineto_collective, size_B),
     .sort = MS_SORT_HIGHEST,
     .print = MS_PRINT_UNIT,
     .dim = MS_DIM_BYTES},
    WHOLE(ms_kineto_collective, "count", count),
    TIME(ms_kineto_collective, "total_s", total_s),
    TIME(ms_kineto_collective, "mean_s", mean_s),
    TIME(ms_kineto_collective, "min_s", min_s),
    TIME(ms_kineto_collective, "max_s", max_s),
    {0},
};

const ms_table_column MS_KINETO_CHANNEL_COLUMNS[] = {
    WORD(ms_kineto_channel, "kind", kind),
    WORD(ms_kineto_channel, "group", group),
    WHOLE(ms_kineto_channel, "group_size", group_size),
    {.name = "count",
     .type = MS_COLUMN_NUMBER,
     .offset = offsetof(ms_kineto_channel, count),
     .sort = MS_SORT_HIGHEST,
     .print = MS_PRINT_DIGITS,
     .digits = 4},
    TIME(ms_kineto_channel, "busy_s", busy_s),
    TIME(ms_kineto_channel, "exposed_s", exposed_s),
    {0},
};

#define CLASS(key, class) TIME(ms_kineto_step, "class_s." key, class_s[class])

const ms_table_column MS_KINETO_STEP_COLUMNS[] = {
    WHOLE(ms_kineto_step, "rank", rank),
    WHOLE(ms_kineto_step, "step", number),
    TIME(ms_kineto_step, "wall_s", wall_s),
    TIME(ms_kineto_step, "busy_s", busy_s),
    TIME(ms_kineto_step, "compute_s", compute_s),
    TIME(ms_kineto_step, "communication_s", communication_s),
    TIME(ms_kineto_step, "exposed_s", exposed_s),
    TIME(ms_kineto_step, "copy_s", copy_s),
    TIME(ms_kineto_step, "idle_s", idle_s),
    CLASS("gemm", MS_KINETO_GEMM),
    CLASS("attention", MS_KINETO_ATTENTION),
    CLASS("elementwise", MS_KINETO_ELEMENTWISE),
    CLASS("embedding", MS_KINETO_EMBEDDING),
    CLASS("loss", MS_KINETO_LOSS),
    CLASS("optimizer", MS_KINETO_OPTIMIZER),
    CLASS("other", MS_KINETO_OTHER),
    {0},
};

const ms_table_column MS_KINETO_SHAPE_COLUMNS[] = {
    WORD(ms_kineto_shape, "kernel", kernel),  WORD(ms_kineto_shape, "shape", shape),
    WORD(ms_kineto_shape, "type", type),      WHOLE(ms_kineto_shape, "count", count),
    WHOLE(ms_kineto_shape, "beside", beside), TIME(ms_kineto_shape, "mean_s", mean_s),
    WORD(ms_kineto_shape, "left_out", why),   {0},
};

const ms_table_column MS_KINETO_PART_COLUMNS[] = {
    WORD(ms_kineto_part, "part", part),
    WHOLE(ms_kineto_part, "level", level),
    TIME(ms_kineto_part, "measured_s", measured_s),
    TIME(ms_kineto_part, "predicted_s", predicted_s),
    TIME(ms_kineto_part, "difference_s", difference_s),
    {.name = "ratio",
     .type = MS_COLUMN_NUMBER,
     .offset = offsetof(ms_kineto_part, ratio),
     .print = MS_PRINT_DIGITS,
     .digits = 3},
    {0},
};

#define CALLS(key, field)                                                                          \
    {                                                                                              \
        .name = (key), .type = MS_COLUMN_NUMBER, .offset = offsetof(ms_kineto_matched, field),     \
        .sort = MS_SORT_HIGHEST, .print = MS_PRINT_DIGITS, .digits = 4                             \
    }

const ms_table_column MS_KINETO_MATCHED_COLUMNS[] = {
    WORD(ms_kineto_matched, "axis", axis),
    WORD(ms_kineto_matched, "kind", kind),
    WORD(ms_kineto_matched, "groups", groups),
    CALLS("measured_calls", measured_calls),
    CALLS("predicted_calls", predicted_calls),
    TIME(ms_kineto_matched, "measured_busy_s", measured_busy_s),
    TIME(ms_kineto_matched, "predicted_busy_s", predicted_busy_s),
    TIME(ms_kineto_matched, "measured_exposed_s", measured_exposed_s),
    TIME(ms_kineto_matched, "predicted_exposed_s", predicted_exposed_s),
    {0},
};

const ms_table_column MS_KINETO_RANK_COLUMNS[] = {
    WORD(ms_kineto_rank, "file", file),
    WHOLE(ms_kineto_rank, "rank", rank),
    WHOLE(ms_kineto_rank, "world_size", world_size),
    WORD(ms_kineto_rank, "device", device),
    WHOLE(ms_kineto_rank, "kernels", kernels),
    WHOLE(ms_kineto_rank, "steps", steps),
    TIME(ms_kineto_rank, "outside_s", outside_s),
    {.name = "gpu_steps",
     .type = MS_COLUMN_BOOL,
     .offset = offsetof(ms_kineto_rank, has_gpu_steps)},
    {0},
};
