/* What the tables of a validation hold, as columns. */
#include <stddef.h>

#include "meshsim/validate.h"
#include "study/time_shares.h"

#define ROW(member)   offsetof(ms_validate_row, member)
#define POINT(member) offsetof(ms_validate_point, member)
#define GROUP(member) offsetof(ms_validate_group, member)
#define SHARE(word, place)                                                                         \
    { "time_share." word, MS_COLUMN_NUMBER, .offset = ROW(figures.share[place]) }

const ms_table_column MS_VALIDATE_ROW_COLUMNS[] = {
    {"id", MS_COLUMN_TEXT, .offset = ROW(id), .sort = MS_SORT_LOWEST, .is_of_left_out = true},
    {"group", MS_COLUMN_TEXT, .offset = ROW(group), .sort = MS_SORT_LOWEST, .is_of_left_out = true},
    {"reason", MS_COLUMN_TEXT, .offset = ROW(reason), .is_optional = true, .is_of_left_out = true},
    {"core", MS_COLUMN_BOOL, .offset = ROW(is_core)},
    {"predicted_s", MS_COLUMN_NUMBER, .offset = ROW(predicted_s), .sort = MS_SORT_LOWEST,
     .print = MS_PRINT_UNIT, .dim = MS_DIM_TIME},
    {"measured_s", MS_COLUMN_NUMBER, .offset = ROW(measured_s), .sort = MS_SORT_LOWEST,
     .print = MS_PRINT_UNIT, .dim = MS_DIM_TIME},
    {"error", MS_COLUMN_NUMBER, .offset = ROW(error), .sort = MS_SORT_LOWEST,
     .print = MS_PRINT_PERCENT, .digits = 1},
    {"fits", MS_COLUMN_BOOL, .offset = ROW(fits)},
    {"suspect", MS_COLUMN_BOOL, .offset = ROW(is_suspect)},
    {"unseen", MS_COLUMN_BOOL, .offset = ROW(is_unseen)},
    {"recompute_stated", MS_COLUMN_BOOL, .offset = ROW(is_stated)},
    {"mark", MS_COLUMN_TEXT, .offset = ROW(mark), .is_page_only = true},
    {"framework", MS_COLUMN_TEXT, .offset = ROW(framework)},
    {"platform", MS_COLUMN_TEXT, .offset = ROW(platform)},
    {"differs", MS_COLUMN_TEXT, .offset = ROW(differs), .is_optional = true},
    {"mfu", MS_COLUMN_NUMBER, .offset = ROW(figures.mfu)},
    {"bubble_fraction", MS_COLUMN_NUMBER, .offset = ROW(figures.bubble_fraction)},
    {"peak_B", MS_COLUMN_NUMBER, .offset = ROW(figures.peak_B)},
    MS_TIME_SHARES(SHARE, SHARE),
    {0},
};

const ms_table_column MS_VALIDATE_MEMORY_COLUMNS[] = {
    {"id", MS_COLUMN_TEXT, .offset = POINT(id)},
    {"group", MS_COLUMN_TEXT, .offset = POINT(group)},
    {"quantity", MS_COLUMN_TEXT, .offset = POINT(quantity)},
    {"rank", MS_COLUMN_TEXT, .offset = POINT(rank)},
    {"predicted_B", MS_COLUMN_NUMBER, .offset = POINT(predicted), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_BYTES},
    {"measured_B", MS_COLUMN_NUMBER, .offset = POINT(measured), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_BYTES},
    {"error", MS_COLUMN_NUMBER, .offset = POINT(error), .print = MS_PRINT_PERCENT, .digits = 1},
    {0},
};

const ms_table_column MS_VALIDATE_LAYER_COLUMNS[] = {
    {"id", MS_COLUMN_TEXT, .offset = POINT(id)},
    {"quantity", MS_COLUMN_TEXT, .offset = POINT(quantity)},
    {"predicted_s", MS_COLUMN_NUMBER, .offset = POINT(predicted), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_TIME},
    {"measured_s", MS_COLUMN_NUMBER, .offset = POINT(measured), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_TIME},
    {"error", MS_COLUMN_NUMBER, .offset = POINT(error), .print = MS_PRINT_PERCENT, .digits = 1},
    {0},
};

const ms_table_column MS_VALIDATE_COLLECTIVE_COLUMNS[] = {
    {"system", MS_COLUMN_TEXT, .offset = POINT(id)},
    {"kind", MS_COLUMN_TEXT, .offset = POINT(quantity)},
    {"ranks", MS_COLUMN_INT, .offset = POINT(ranks)},
    {"nodes", MS_COLUMN_INT, .offset = POINT(nodes)},
    {"size_B", MS_COLUMN_NUMBER, .offset = POINT(size_B), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_BYTES},
    {"predicted_s", MS_COLUMN_NUMBER, .offset = POINT(predicted), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_TIME},
    {"measured_s", MS_COLUMN_NUMBER, .offset = POINT(measured), .print = MS_PRINT_UNIT,
     .dim = MS_DIM_TIME},
    {"error", MS_COLUMN_NUMBER, .offset = POINT(error), .print = MS_PRINT_PERCENT, .digits = 1},
    {0},
};

const ms_table_column MS_VALIDATE_GROUP_COLUMNS[] = {
    {"name", MS_COLUMN_TEXT, .offset = GROUP(name)},
    {"n", MS_COLUMN_INT, .offset = GROUP(n)},
    {"mean_abs_error", MS_COLUMN_NUMBER, .offset = GROUP(mean_abs_error), .print = MS_PRINT_PERCENT,
     .digits = 1},
    {"bias", MS_COLUMN_NUMBER, .offset = GROUP(bias), .print = MS_PRINT_PERCENT, .digits = 1},
    {"worst_abs_error", MS_COLUMN_NUMBER, .offset = GROUP(worst_abs_error),
     .print = MS_PRINT_PERCENT, .digits = 1},
    {"worst", MS_COLUMN_TEXT, .offset = GROUP(worst)},
    {0},
};
