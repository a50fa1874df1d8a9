/* The tables that `meshsim schedule` prints of its result tree: for one schedule, for many on
 * paper, and for many simulated in a workload (render.h). */
#include "cli/shown_tables.h"

static const ms_shown_column SCHEDULE_FACTS[] = {
    {"workload", "workload", MS_SHOWN_TEXT},
    {"p", "pipeline ranks", MS_SHOWN_COUNT},
    {"v", "stages a rank", MS_SHOWN_COUNT},
    {"m", "microbatches", MS_SHOWN_COUNT},
    {"group", "group", MS_SHOWN_COUNT},
    {"splits", "slices of a sequence", MS_SHOWN_COUNT},
    {"page/unit", "times in", MS_SHOWN_TEXT},
    {"makespan", "makespan", MS_SHOWN_COUNT},
    {"formula_makespan", "closed form", MS_SHOWN_COUNT},
    {"page/rank_makespan", "makespan in T of a rank's stages", MS_SHOWN_COUNT},
    {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
    {"max_span", "longest span of a rank", MS_SHOWN_COUNT},
    {"max_span_bubble", "most idle in a span", MS_SHOWN_COUNT},
    {"formula_span_bubble", "closed form of it", MS_SHOWN_COUNT},
    {"period", "steady period", MS_SHOWN_COUNT},
    {"msgs_total", "messages", MS_SHOWN_COUNT},
    {"param_replicas", "copies of parameters", MS_SHOWN_COUNT},
    {"order_crc32", "CRC-32 of the order", MS_SHOWN_TEXT},
    {0}};
static const ms_shown_column GAP_FACTS[] = {
    {"gap/closed_form", "closed form, equal stages, no latency", MS_SHOWN_COUNT},
    {"gap/work", "work of a rank", MS_SHOWN_COUNT},
    {"gap/order", "order", MS_SHOWN_COUNT},
    {"gap/imbalance", "unequal stages", MS_SHOWN_COUNT},
    {"gap/latency", "latency", MS_SHOWN_COUNT},
    {0}};
static const ms_shown_column FOUND_FACTS[] = {
    {"search/heuristic_span", "span of the heuristic", MS_SHOWN_COUNT},
    {"search/start", "heuristic", MS_SHOWN_TEXT},
    {"search/variant", "variant", MS_SHOWN_COUNT},
    {"search/span_bound", "lower bound", MS_SHOWN_COUNT},
    {"search/bound_rank", "bound of rank", MS_SHOWN_COUNT},
    {"page/above_bound", "above the bound at most", MS_SHOWN_SHARE},
    {"search/is_optimal", "optimal", MS_SHOWN_TEXT},
    {"search/is_cut_short", "cut short, as too large", MS_SHOWN_TEXT},
    {0}};
static const ms_shown_column SCHEDULE_RANK_COLUMNS[] = {
    {"rank", "rank", MS_SHOWN_COUNT},
    {"busy", "busy", MS_SHOWN_COUNT},
    {"idle/warmup", "idle, warm-up", MS_SHOWN_COUNT},
    {"idle/steady", "steady", MS_SHOWN_COUNT},
    {"idle/cooldown", "cool-down", MS_SHOWN_COUNT},
    {"exposed_p2p", "exposed p2p", MS_SHOWN_COUNT},
    {"peak_inflight", "in flight to W", MS_SHOWN_COUNT},
    {"peak_inflight_I", "to I", MS_SHOWN_COUNT},
    {"msgs_sent", "messages", MS_SHOWN_COUNT},
    {0}};
const ms_shown_table MS_SCHEDULE_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = SCHEDULE_FACTS, .dust_of = "makespan"},
    {.title = "what the makespan consists of",
     .rows = MS_SHOWN_OF_FACTS,
     .columns = GAP_FACTS,
     .dust_of = "makespan"},
    {.title = "search", .rows = MS_SHOWN_OF_FACTS, .columns = FOUND_FACTS},
    {.title = "ranks",
     .path = "page/ranks",
     .columns = SCHEDULE_RANK_COLUMNS,
     .dust_of = "makespan"},
    {.title = "", .rows = MS_SHOWN_OF_TEXT, .path = "page/picture"},
    {0}};

static const ms_shown_column PAPER_FACTS[] = {
    {"p", "pipeline ranks", MS_SHOWN_COUNT},
    {"m", "microbatches", MS_SHOWN_COUNT},
    {"memory_cap", "in flight per rank, at most", MS_SHOWN_COUNT},
    {"sorted_by", "sorted by", MS_SHOWN_TEXT},
    {0}};
static const ms_shown_column PAPER_COLUMNS[] = {
    {"schedule", "schedule", MS_SHOWN_TEXT},
    {"v", "v", MS_SHOWN_COUNT},
    {"makespan", "makespan, T of a stage", MS_SHOWN_NUMBER},
    {"rank_makespan", "makespan, T of a rank", MS_SHOWN_NUMBER},
    {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
    {"max_span_bubble", "idle in span", MS_SHOWN_NUMBER},
    {"peak_inflight", "in flight", MS_SHOWN_NUMBER},
    {"param_replicas", "copies of parameters", MS_SHOWN_COUNT},
    {"msgs_total", "messages", MS_SHOWN_COUNT},
    {"max_span", "longest span", MS_SHOWN_NUMBER},
    {"formula_makespan", "closed form", MS_SHOWN_NUMBER},
    {"period", "steady period", MS_SHOWN_NUMBER},
    {0}};
static const ms_shown_column GAP_COLUMNS[] = {{"schedule", "schedule", MS_SHOWN_TEXT},
                                              {"makespan", "makespan", MS_SHOWN_NUMBER},
                                              {"gap/closed_form", "closed form", MS_SHOWN_NUMBER},
                                              {"gap/work", "work of a rank", MS_SHOWN_NUMBER},
                                              {"gap/order", "order", MS_SHOWN_NUMBER},
                                              {"gap/imbalance", "unequal stages", MS_SHOWN_NUMBER},
                                              {"gap/latency", "latency", MS_SHOWN_NUMBER},
                                              {0}};
static const ms_shown_column LEFT_OUT_COLUMNS[] = {
    {"schedule", "schedule", MS_SHOWN_TEXT}, {"reason", "reason", MS_SHOWN_BELOW}, {0}};
const ms_shown_table MS_SCHEDULES_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = PAPER_FACTS},
    {.title = "times in T of one virtual stage, or of a rank's stages together",
     .path = "rows",
     .columns = PAPER_COLUMNS,
     .dust_of = "makespan"},
    {.title = "makespan: equal stages and free messages, and what the rest adds",
     .path = "rows",
     .columns = GAP_COLUMNS,
     .dust_of = "makespan"},
    {.title = "left out", .path = "left_out", .columns = LEFT_OUT_COLUMNS},
    {0}};

static const ms_shown_column SIMULATED_FACTS[] = {
    {"workload", "workload", MS_SHOWN_TEXT},
    {"platform", "platform", MS_SHOWN_TEXT},
    {"gpus", "GPUs", MS_SHOWN_COUNT},
    {"page/mesh", "mesh", MS_SHOWN_TEXT},
    {"m", "microbatches", MS_SHOWN_COUNT},
    {"capacity_B", "capacity", MS_SHOWN_BYTES},
    {"memory_cap_B", "memory per GPU, at most", MS_SHOWN_BYTES},
    {"sorted_by", "sorted by", MS_SHOWN_TEXT},
    {0}};
static const ms_shown_column SIMULATED_COLUMNS[] = {
    {"schedule", "schedule", MS_SHOWN_TEXT},
    {"v", "v", MS_SHOWN_COUNT},
    {"step_time_s", "step", MS_SHOWN_TIME},
    {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
    {"idle_fraction", "idle", MS_SHOWN_SHARE},
    {"exposed_fraction", "exposed", MS_SHOWN_SHARE},
    {"peak_B", "peak", MS_SHOWN_BYTES},
    {"fits", "fits", MS_SHOWN_TEXT},
    {"mfu", "MFU", MS_SHOWN_SHARE},
    {"param_replicas", "copies of parameters", MS_SHOWN_COUNT},
    {"repartitioned", "layers partitioned anew", MS_SHOWN_TEXT},
    {0}};
static const ms_shown_column SHARE_COLUMNS[] = {
    {"schedule", "schedule", MS_SHOWN_TEXT},
    {"time_share/compute", "compute", MS_SHOWN_SHARE},
    {"time_share/optimizer", "optimizer", MS_SHOWN_SHARE},
    {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
    {"time_share/imbalance", "imbalance", MS_SHOWN_SHARE},
    {"time_share/exposed_tp", "exposed tp", MS_SHOWN_SHARE},
    {"time_share/exposed_cp", "cp", MS_SHOWN_SHARE},
    {"time_share/exposed_ep", "ep", MS_SHOWN_SHARE},
    {"time_share/exposed_pp", "pp", MS_SHOWN_SHARE},
    {"time_share/exposed_dp", "dp", MS_SHOWN_SHARE},
    {"time_share/other", "other", MS_SHOWN_SHARE},
    {0}};
const ms_shown_table MS_SIMULATED_SCHEDULE_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = SIMULATED_FACTS},
    {.title = "", .path = "rows", .columns = SIMULATED_COLUMNS},
    {.title = "where the time goes", .path = "rows", .columns = SHARE_COLUMNS},
    {.title = "left out", .path = "left_out", .columns = LEFT_OUT_COLUMNS},
    {0}};
