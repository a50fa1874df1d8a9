/* The columns of a stored row (store.h): name in tables, JSON and the database, field of
 * ms_store_row, and which end of a sorted table is the best. */
#include "search/store.h"
#include "search/time_shares.h"

#define FIELD(name)  offsetof(ms_store_row, name)
#define FIGURE(name) FIELD(figures.name)
#define SHARE(word, index)                                                                         \
    { "time_share." word, MS_COLUMN_NUMBER, FIGURE(share[index]), .sort = MS_SORT_LOWEST }

const ms_table_column MS_STORE_COLUMNS[] = {
    {"workload", MS_COLUMN_TEXT, FIELD(workload), .is_of_left_out = true},
    {"platform", MS_COLUMN_TEXT, FIELD(platform), .is_of_left_out = true},
    {"gpus", MS_COLUMN_INT, FIELD(gpus), .is_of_left_out = true},
    {"status", MS_COLUMN_TEXT, FIELD(status), .is_of_left_out = true},
    {"reason", MS_COLUMN_TEXT, FIELD(reason), .is_optional = true, .is_of_left_out = true},
    {"step_time_s", MS_COLUMN_NUMBER, FIGURE(step_time_s), .sort = MS_SORT_LOWEST},
    {"samples_per_s", MS_COLUMN_NUMBER, FIGURE(samples_per_s), .sort = MS_SORT_HIGHEST},
    {"tokens_per_s", MS_COLUMN_NUMBER, FIGURE(tokens_per_s), .sort = MS_SORT_HIGHEST},
    {"tokens_per_s_per_gpu", MS_COLUMN_NUMBER, FIGURE(tokens_per_s_per_gpu),
     .sort = MS_SORT_HIGHEST},
    {"model_tflops_per_gpu", MS_COLUMN_NUMBER, FIGURE(model_tflops_per_gpu),
     .sort = MS_SORT_HIGHEST},
    {"mfu", MS_COLUMN_NUMBER, FIGURE(mfu), .sort = MS_SORT_HIGHEST},
    {"mfu_causal", MS_COLUMN_NUMBER, FIGURE(mfu_causal), .sort = MS_SORT_HIGHEST},
    {"hfu", MS_COLUMN_NUMBER, FIGURE(hfu), .sort = MS_SORT_HIGHEST},
    {"cost", MS_COLUMN_NUMBER, FIGURE(cost_USD), .sort = MS_SORT_LOWEST},
    {"cost_per_million_tokens", MS_COLUMN_NUMBER, FIGURE(cost_USD_per_million_tokens),
     .sort = MS_SORT_LOWEST},
    {"energy_J", MS_COLUMN_NUMBER, FIGURE(energy_J), .sort = MS_SORT_LOWEST},
    {"peak_B", MS_COLUMN_NUMBER, FIGURE(peak_B), .sort = MS_SORT_LOWEST},
    {"fits", MS_COLUMN_BOOL, .offset = FIGURE(fits)},
    {"bubble_fraction", MS_COLUMN_NUMBER, FIGURE(bubble_fraction), .sort = MS_SORT_LOWEST},
    {"idle_fraction", MS_COLUMN_NUMBER, FIGURE(idle_fraction), .sort = MS_SORT_LOWEST},
    {"exposed_fraction", MS_COLUMN_NUMBER, FIGURE(exposed_fraction), .sort = MS_SORT_LOWEST},
    MS_TIME_SHARES(SHARE, SHARE),
    {"v", MS_COLUMN_INT, FIGURE(chunks), .sort = MS_SORT_LOWEST},
    {"param_replicas", MS_COLUMN_INT, FIGURE(parameter_replicas), .sort = MS_SORT_LOWEST},
    {0},
};
