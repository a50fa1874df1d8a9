/* The tables that each command prints of its result tree, by paths into the tree (render.h). Tables
 * of schedules are in shown_schedule_tables.c. Columns whose path begins with "page/" show values
 * that --json does not print. */
#include "cli/shown_tables.h"

/* Columns of what a whole training takes.  at: path to their object, such as "estimate/", or "".
 * of: beginning of the headings. */
#define TRAINING(at, of)                                                                           \
    {at "training_days", of "days", MS_SHOWN_NUMBER},                                              \
        {at "training_gpu_hours", "GPU-hours", MS_SHOWN_NUMBER},                                   \
        {at "training_cost", of "USD", MS_SHOWN_NUMBER}, {                                         \
        at "training_energy_MWh", of "MWh", MS_SHOWN_NUMBER                                        \
    }

/* Facts about the GPU that needs most memory. */
#define MEMORY_PEAK                                                                                \
    {"memory/peak_B", "peak of memory", MS_SHOWN_BYTES},                                           \
        {"memory/peak_rank", "on rank", MS_SHOWN_COUNT},                                           \
        {"memory/capacity_B", "capacity", MS_SHOWN_BYTES}, {                                       \
        "memory/fits", "fits", MS_SHOWN_TEXT                                                       \
    }

/* The part of a tensor that each rank holds.  at: path to its object. */
#define HELD(at)                                                                                   \
    {at "spec", "spec", MS_SHOWN_TEXT}, {at "local_shape", "each rank holds", MS_SHOWN_TEXT}, {    \
        at "local_B", "that is", MS_SHOWN_BYTES                                                    \
    }

/* ---- run ---- */

/* Facts about a job, which run and check print first. */
static const ms_shown_column JOB_FACTS[] = {
    {"page/framework", "framework", MS_SHOWN_TEXT},
    {"platform", "platform", MS_SHOWN_TEXT},
    {"page/nodes", "nodes", MS_SHOWN_TEXT},
    {"placement", "placement", MS_SHOWN_TEXT},
    {"mesh", "mesh", MS_SHOWN_TEXT},
    {"gpus", "GPUs", MS_SHOWN_COUNT},
    {"mesh_tiers", "tiers", MS_SHOWN_TEXT},
    {"expert_mesh", "experts", MS_SHOWN_TEXT},
    {"expert_mesh_tiers", "tiers of experts", MS_SHOWN_TEXT},
    {"schedule", "schedule", MS_SHOWN_TEXT},
    {"page/stages", "stages", MS_SHOWN_COUNT},
    {"page/replicas", "copies of parameters", MS_SHOWN_COUNT},
    {"num_microbatches", "microbatches", MS_SHOWN_COUNT},
    {"page/micro_batch", "sequences in one", MS_SHOWN_COUNT},
    {"global_batch", "batch", MS_SHOWN_COUNT},
    {0}};
static const ms_shown_column RUN_FACTS[] = {
    {"page/updates", "updates", MS_SHOWN_TEXT},
    {"steps", "steps", MS_SHOWN_COUNT},
    {"step_time_s", "step time", MS_SHOWN_TIME},
    {"page/mean", "mean of", MS_SHOWN_TEXT},
    {"step_time_bounds_s", "step at least, at most", MS_SHOWN_TIME},
    {"page/inexact", "not exact, as", MS_SHOWN_TEXT},
    {"tokens_per_s", "tokens/s", MS_SHOWN_NUMBER},
    {"model_tflops_per_gpu", "model TFLOP/s per GPU", MS_SHOWN_NUMBER},
    {"mfu", "MFU", MS_SHOWN_SHARE},
    {"hfu", "HFU", MS_SHOWN_SHARE},
    {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
    {"compute_slowdown", "slow-down of compute", MS_SHOWN_SHARE},
    {"cost", "USD a step", MS_SHOWN_NUMBER},
    {"cost_per_million_tokens", "USD per million tokens", MS_SHOWN_NUMBER},
    {"energy_J", "energy a step", MS_SHOWN_ENERGY},
    TRAINING("", "training, "),
    MEMORY_PEAK,
    {0}};
static const ms_shown_column TIME_COLUMNS[] = {{"@", "what", MS_SHOWN_TEXT},
                                               {"", "time", MS_SHOWN_TIME_OF_STEP},
                                               {"", "share", MS_SHOWN_SHARE},
                                               {"", "", MS_SHOWN_BAR},
                                               {0}};
static const ms_shown_column STAGE_COLUMNS[] = {
    {"pp_rank", "pipeline rank", MS_SHOWN_COUNT}, {"compute_s", "compute", MS_SHOWN_TIME},
    {"bubble_s", "bubble", MS_SHOWN_TIME},        {"exposed_s", "exposed", MS_SHOWN_TIME},
    {"peak_B", "peak", MS_SHOWN_BYTES},           {0}};
static const ms_shown_column COMM_COLUMNS[] = {{"@", "axis", MS_SHOWN_TEXT},
                                               {"busy_s", "busy", MS_SHOWN_TIME},
                                               {"bytes_per_rank", "sent", MS_SHOWN_BYTES},
                                               {"exposed_s", "stalling", MS_SHOWN_TIME},
                                               {"overlapped_s", "overlapped", MS_SHOWN_TIME},
                                               {"in_idle_s", "in idle", MS_SHOWN_TIME},
                                               {"wait_s", "waiting", MS_SHOWN_TIME},
                                               {0}};
static const ms_shown_column COLLECTIVE_COLUMNS[] = {
    {"axis", "axis", MS_SHOWN_TEXT},
    {"kind", "kind", MS_SHOWN_TEXT},
    {"algorithm", "algorithm", MS_SHOWN_TEXT},
    {"size_B", "size", MS_SHOWN_BYTES},
    {"count_per_rank", "times per GPU", MS_SHOWN_NUMBER},
    {"alone_s", "alone", MS_SHOWN_TIME},
    {"time_s", "in the step", MS_SHOWN_TIME},
    {0}};
static const ms_shown_column MEMORY_FACTS[] = {
    {"memory/parameters_B", "parameters", MS_SHOWN_BYTES},
    {"memory/gradients_B", "gradients", MS_SHOWN_BYTES},
    {"memory/optimizer_B", "optimizer", MS_SHOWN_BYTES},
    {"memory/activations_B", "activations", MS_SHOWN_BYTES},
    {"memory/buffers_B", "buffers", MS_SHOWN_BYTES},
    {"memory/other_B", "other", MS_SHOWN_BYTES},
    {0}};
static const ms_shown_column RISK_COLUMNS[] = {{"pass", "pass", MS_SHOWN_TEXT},
                                               {"stage_first", "first stage", MS_SHOWN_COUNT},
                                               {"stage_last", "last stage", MS_SHOWN_COUNT},
                                               {"axis", "axis", MS_SHOWN_TEXT},
                                               {"kind", "kind", MS_SHOWN_TEXT},
                                               {"with", "traffic of", MS_SHOWN_TEXT},
                                               {"met", "shared links", MS_SHOWN_COUNT},
                                               {"pieces", "of all", MS_SHOWN_COUNT},
                                               {0}};
static const ms_shown_column ENGINE_FACTS[] = {
    {"engine/simulated_ranks", "ranks", MS_SHOWN_COUNT},
    {"page/folding", "folding", MS_SHOWN_TEXT},
    {"engine/fold_exact", "exact for the others", MS_SHOWN_TEXT},
    {"granularity", "granularity", MS_SHOWN_TEXT},
    {"engine/ops", "operations", MS_SHOWN_COUNT},
    {"engine/flows", "flows", MS_SHOWN_COUNT},
    {"engine/fast_forwarded", "microbatches not simulated", MS_SHOWN_COUNT},
    {"engine/wall_s", "wall time", MS_SHOWN_TIME},
    {0}};
static const ms_shown_column WHATIF_COLUMNS[] = {{"change", "change", MS_SHOWN_TEXT},
                                                 {"step_time_s", "step", MS_SHOWN_TIME},
                                                 {"gain", "saved", MS_SHOWN_SHARE},
                                                 {"settings", "settings", MS_SHOWN_COMMAND},
                                                 {0}};
const ms_shown_table MS_RUN_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = JOB_FACTS},
    {.title = "the step", .rows = MS_SHOWN_OF_FACTS, .columns = RUN_FACTS},
    {.title = "where the time goes",
     .path = "time_share",
     .columns = TIME_COLUMNS,
     .skips_zero = true},
    {.title = "parts of other", .path = "other_parts", .columns = TIME_COLUMNS, .skips_zero = true},
    {.title = "pipeline ranks", .path = "stages", .columns = STAGE_COLUMNS},
    {.title = "a GPU's own communication",
     .path = "comm",
     .columns = COMM_COLUMNS,
     .skips_zero = true},
    {.title = "collectives, alone and among other traffic",
     .path = "collectives",
     .columns = COLLECTIVE_COLUMNS},
    {.title = "memory at the peak", .rows = MS_SHOWN_OF_FACTS, .columns = MEMORY_FACTS},
    {.title = "collectives inside passes that shared links with other traffic, timed without it",
     .path = "granularity_risk",
     .columns = RISK_COLUMNS},
    {.title = "what one change would buy", .path = "whatif", .columns = WHATIF_COLUMNS},
    {.title = "what was simulated", .rows = MS_SHOWN_OF_FACTS, .columns = ENGINE_FACTS},
    {0}};

/* ---- check ---- */

static const ms_shown_column CHECK_FACTS[] = {
    {"parameters/total", "parameters", MS_SHOWN_LARGE},
    {"parameters/active", "of them active", MS_SHOWN_LARGE},
    {"parameters/total_without_mtp", "without prediction modules", MS_SHOWN_LARGE},
    {"slowest_gpu", "slowest GPU, x the typical one", MS_SHOWN_NUMBER},
    {"estimate/step_time_s", "estimated step", MS_SHOWN_TIME},
    {"estimate/lower_bound_s", "not less than", MS_SHOWN_TIME},
    {"ideal_bubble_fraction", "bubble without communication", MS_SHOWN_SHARE},
    {"estimate/cost", "USD a step", MS_SHOWN_NUMBER},
    {"estimate/energy_J", "energy a step", MS_SHOWN_ENERGY},
    TRAINING("estimate/", "training, "),
    MEMORY_PEAK,
    {0}};
static const ms_shown_column CHECK_STAGE_COLUMNS[] = {
    {"pp_rank", "pipeline rank", MS_SHOWN_COUNT},
    {"layers", "layers", MS_SHOWN_COUNT},
    {"compute_s", "compute", MS_SHOWN_TIME},
    {"static_B", "static", MS_SHOWN_BYTES},
    {"activations_B", "activations", MS_SHOWN_BYTES},
    {"buffers_B", "buffers", MS_SHOWN_BYTES},
    {"peak_B", "peak", MS_SHOWN_BYTES},
    {0}};
static const ms_shown_column OPTION_COLUMNS[] = {
    {"setting", "change", MS_SHOWN_COMMAND}, {"saved_B", "saves", MS_SHOWN_BYTES},
    {"peak_B", "peak", MS_SHOWN_BYTES},      {"fits", "fits", MS_SHOWN_TEXT},
    {"note", "note", MS_SHOWN_BELOW},        {0}};
static const ms_shown_column CHANGE_FACTS[] = {
    {"fitting_change/setting", "change", MS_SHOWN_COMMAND},
    {"fitting_change/peak_B", "peak", MS_SHOWN_BYTES},
    {"fitting_change/step_time_s", "estimated step", MS_SHOWN_TIME},
    {"smallest_peak_B", "smallest peak (no change fits)", MS_SHOWN_BYTES},
    {0}};
static const ms_shown_column NOTE_COLUMNS[] = {
    {"key", "key", MS_SHOWN_TEXT}, {"changes_nothing", "changes nothing, as", MS_SHOWN_BELOW}, {0}};
const ms_shown_table MS_CHECK_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = JOB_FACTS},
    {.title = "estimate", .rows = MS_SHOWN_OF_FACTS, .columns = CHECK_FACTS},
    {.title = "pipeline ranks", .path = "stages", .columns = CHECK_STAGE_COLUMNS},
    {.title = "what would save memory", .path = "memory_options", .columns = OPTION_COLUMNS},
    {.title = "the smallest change that fits", .rows = MS_SHOWN_OF_FACTS, .columns = CHANGE_FACTS},
    {.title = "notes", .path = "notes", .columns = NOTE_COLUMNS},
    {0}};

/* ---- search ---- */

static const ms_shown_column SEARCH_FACTS[] = {
    {"page/varied", "varied", MS_SHOWN_TEXT},
    {"untried_schedules", "schedules left out", MS_SHOWN_TEXT},
    {"objective", "objective", MS_SHOWN_TEXT},
    {"second_objective", "second objective", MS_SHOWN_TEXT},
    {"limits", "limits", MS_SHOWN_TEXT},
    {"partial", "interrupted", MS_SHOWN_TEXT},
    {"counts/enumerated", "candidates", MS_SHOWN_COUNT},
    {"counts/illegal", "illegal", MS_SHOWN_COUNT},
    {"counts/does_not_fit", "do not fit in memory", MS_SHOWN_COUNT},
    {"counts/beyond_limits", "beyond limits", MS_SHOWN_COUNT},
    {"counts/pruned", "pruned", MS_SHOWN_COUNT},
    {"counts/simulated", "simulated", MS_SHOWN_COUNT},
    {"equal_orders", "equal, other order", MS_SHOWN_COUNT},
    {"counts/failed", "failed", MS_SHOWN_COUNT},
    {"counts/of_other_shards", "of other shards", MS_SHOWN_COUNT},
    {"page/smallest_B", "least memory of a legal candidate", MS_SHOWN_BYTES},
    {0}};
static const ms_shown_column FOUND_COLUMNS[] = {
    {"@", "#", MS_SHOWN_COUNT},
    {"step_time_s", "step", MS_SHOWN_TIME},
    {"to_best", "to the best", MS_SHOWN_CHANGE},
    {"peak_B", "memory", MS_SHOWN_BYTES},
    {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
    {"exposed_fraction", "exposed", MS_SHOWN_SHARE},
    {"limited_by", "limited by", MS_SHOWN_TEXT},
    {"limit_share", "its share", MS_SHOWN_SHARE},
    {"varied/@", "", MS_SHOWN_TEXT},
    {"mesh", "mesh", MS_SHOWN_TEXT},
    {"schedule", "schedule", MS_SHOWN_TEXT},
    {"v", "v", MS_SHOWN_COUNT},
    {"micro_batch", "micro", MS_SHOWN_COUNT},
    {"recompute", "recompute", MS_SHOWN_TEXT},
    {"zero", "zero", MS_SHOWN_COUNT},
    {"gpus", "GPUs", MS_SHOWN_COUNT},
    {"platform", "platform", MS_SHOWN_TEXT},
    {"mfu", "MFU", MS_SHOWN_SHARE},
    {"tokens_per_s", "tokens/s", MS_SHOWN_NUMBER},
    {"cost", "USD a step", MS_SHOWN_NUMBER},
    {"cost_per_million_tokens", "USD per million tokens", MS_SHOWN_NUMBER},
    {"energy_J", "energy a step", MS_SHOWN_ENERGY},
    TRAINING("", ""),
    {0}};
static const ms_shown_column EXPLAINED_COLUMNS[] = {{"what", "what", MS_SHOWN_TEXT},
                                                    {"own_s", "its time", MS_SHOWN_TIME},
                                                    {"best_s", "time of rank 1", MS_SHOWN_TIME},
                                                    {"difference", "difference", MS_SHOWN_CHANGE},
                                                    {0}};
static const ms_shown_column EXPECTED_FACTS[] = {
    {"expected/estimate_s", "estimate", MS_SHOWN_TIME},
    {"expected/bound_s", "no less than", MS_SHOWN_TIME},
    {0}};
static const ms_shown_column EXPLAINED_FACTS[] = {
    {"page/explained_rank", "rank explained", MS_SHOWN_COUNT}, {0}};
static const ms_shown_column REASON_COLUMNS[] = {
    {"count", "candidates", MS_SHOWN_COUNT}, {"reason", "reason", MS_SHOWN_BELOW}, {0}};
const ms_shown_table MS_SEARCH_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "offers"},
    {.title = "", .path = "results", .columns = FOUND_COLUMNS},
    {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "page/notes"},
    {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "no_mesh"},
    {.title = "nothing was simulated before the interrupt; the best candidate by its estimate",
     .rows = MS_SHOWN_OF_FACTS,
     .columns = EXPECTED_FACTS},
    {.title = "to run the best candidate alone", .rows = MS_SHOWN_OF_NOTES, .path = "page/command"},
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = EXPLAINED_FACTS},
    {.title = "where the time goes", .path = "page/explained", .columns = EXPLAINED_COLUMNS},
    {.title = "what one change would save the best candidate",
     .path = "whatif",
     .columns = WHATIF_COLUMNS},
    {.title = "candidates", .rows = MS_SHOWN_OF_FACTS, .columns = SEARCH_FACTS},
    {.title = "illegal candidates, with an example of each reason",
     .path = "illegal",
     .columns = REASON_COLUMNS},
    {.title = "failed candidates, with an example of each reason",
     .path = "failed",
     .columns = REASON_COLUMNS},
    {0}};

/* ---- sweep ---- */

static const ms_shown_column SWEEP_COLUMNS[] = {{"@", "#", MS_SHOWN_COUNT},
                                                {"varied/@", "", MS_SHOWN_TEXT},
                                                {"step_time_s", "step", MS_SHOWN_TIME},
                                                {"tokens_per_s", "tokens/s", MS_SHOWN_NUMBER},
                                                {"mfu", "MFU", MS_SHOWN_SHARE},
                                                {"bubble_fraction", "bubble", MS_SHOWN_SHARE},
                                                {"exposed_fraction", "exposed", MS_SHOWN_SHARE},
                                                {"peak_B", "peak", MS_SHOWN_BYTES},
                                                {"fits", "fits", MS_SHOWN_TEXT},
                                                {"cost", "USD a step", MS_SHOWN_NUMBER},
                                                TRAINING("", ""),
                                                {0}};
static const ms_shown_column REFUSED_COLUMNS[] = {{"@", "#", MS_SHOWN_COUNT},
                                                  {"varied/@", "", MS_SHOWN_TEXT},
                                                  {"reason", "left out, as", MS_SHOWN_BELOW},
                                                  {0}};

static const ms_shown_column SWEEP_FACTS[] = {{"workload", "workload", MS_SHOWN_TEXT},
                                              {"counts/points", "points", MS_SHOWN_COUNT},
                                              {"counts/simulated", "simulated", MS_SHOWN_COUNT},
                                              {"counts/stored", "known already", MS_SHOWN_COUNT},
                                              {"counts/refused", "refused", MS_SHOWN_COUNT},
                                              {"counts/failed", "failed", MS_SHOWN_COUNT},
                                              {0}};
const ms_shown_table MS_SWEEP_TABLES[] = {
    {.title = "", .path = "rows", .columns = SWEEP_COLUMNS, .needs = "step_time_s"},
    {.title = "left out", .path = "rows", .columns = REFUSED_COLUMNS, .needs = "reason"},
    {.title = "what was simulated", .rows = MS_SHOWN_OF_FACTS, .columns = SWEEP_FACTS},
    {0}};

/* ---- validate ---- */

static const ms_shown_column VALIDATE_FACTS[] = {
    {"mean_of_groups", "mean of the groups' mean errors", MS_SHOWN_SHARE}, {0}};
static const ms_shown_column GROUP_COLUMNS[] = {{"@", "group", MS_SHOWN_TEXT},
                                                {"n", "rows", MS_SHOWN_COUNT},
                                                {"bias", "bias", MS_SHOWN_SHARE},
                                                {"mean_abs_error", "mean error", MS_SHOWN_SHARE},
                                                {"worst", "worst", MS_SHOWN_TEXT},
                                                {"worst_abs_error", "its error", MS_SHOWN_SHARE},
                                                {0}};
static const ms_shown_column ERROR_COLUMNS[] = {{"id", "case", MS_SHOWN_TEXT},
                                                {"quantity", "quantity", MS_SHOWN_TEXT},
                                                {"predicted_s", "predicted", MS_SHOWN_TIME},
                                                {"measured_s", "measured", MS_SHOWN_TIME},
                                                {"error", "error", MS_SHOWN_SHARE},
                                                {0}};
static const ms_shown_column SKIP_COLUMNS[] = {
    {"id", "case", MS_SHOWN_TEXT}, {"reason", "reason", MS_SHOWN_BELOW}, {0}};
static const ms_shown_column MECHANISM_COLUMNS[] = {
    {"mechanism", "mechanism", MS_SHOWN_TEXT},
    {"moved", "rows that move", MS_SHOWN_COUNT},
    {"mean_of_groups", "mean of groups without it", MS_SHOWN_SHARE},
    {"gain", "gain", MS_SHOWN_SHARE},
    {"unseen_gain", "on unseen rows", MS_SHOWN_SHARE},
    {0}};
const ms_shown_table MS_VALIDATE_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = VALIDATE_FACTS},
    {.title = "step time by group", .path = "groups", .columns = GROUP_COLUMNS},
    {.title = "what each mechanism buys", .path = "ablation", .columns = MECHANISM_COLUMNS},
    {.title = "step times", .path = "rows", .columns = ERROR_COLUMNS},
    {.title = "step time outside the score", .path = "apart", .columns = GROUP_COLUMNS},
    {.title = "memory by group", .path = "memory_groups", .columns = GROUP_COLUMNS},
    {.title = "layers", .path = "layers", .columns = ERROR_COLUMNS},
    {.title = "phases of steps", .path = "phases", .columns = ERROR_COLUMNS},
    {.title = "collectives by size", .path = "collective_sizes", .columns = GROUP_COLUMNS},
    {.title = "skipped", .path = "skipped", .columns = SKIP_COLUMNS},
    {.title = "skipped outside the score", .path = "skipped_apart", .columns = SKIP_COLUMNS},
    {0}};

/* ---- platform ---- */

static const ms_shown_column PLATFORM_FACTS[] = {
    {"gpus", "GPUs", MS_SHOWN_COUNT},
    {"nodes", "nodes", MS_SHOWN_COUNT},
    {"gpus_per_node", "GPUs a node", MS_SHOWN_COUNT},
    {"placement", "placement", MS_SHOWN_TEXT},
    {"fabric", "fabric", MS_SHOWN_TEXT},
    {"nics_per_node", "NICs a node", MS_SHOWN_COUNT},
    {"pxn", "cross-rail over NVLink (PXN)", MS_SHOWN_TEXT},
    {"gpu/name", "GPU", MS_SHOWN_TEXT},
    {"gpu/peak_flop_per_s", "peak", MS_SHOWN_FLOP_RATE},
    {"gpu/hbm_B", "memory of a GPU", MS_SHOWN_BYTES},
    {"gpu/reserve_B", "of it reserved", MS_SHOWN_BYTES},
    {"gpu/hbm_Bps", "its bandwidth", MS_SHOWN_RATE},
    {"upkeep/price_USD_per_h", "USD an hour, a GPU", MS_SHOWN_NUMBER},
    {"upkeep/gpu_load_W", "power of a GPU", MS_SHOWN_POWER},
    {"upkeep/gpu_idle_W", "while it waits", MS_SHOWN_POWER},
    {"upkeep/node_W", "rest of a node", MS_SHOWN_POWER},
    {"upkeep/network_W", "network, a GPU", MS_SHOWN_POWER},
    {"upkeep/pue", "PUE", MS_SHOWN_NUMBER},
    {"bisection_Bps", "bisection, each direction", MS_SHOWN_RATE},
    {0}};
static const ms_shown_column TIER_COLUMNS[] = {
    {"name", "tier", MS_SHOWN_TEXT},
    {"links", "links, one way", MS_SHOWN_COUNT},
    {"bandwidth_Bps", "nominal", MS_SHOWN_RATE},
    {"parallel", "parallel cables", MS_SHOWN_COUNT},
    {"capacity_Bps", "achieved, together", MS_SHOWN_RATE},
    {"latency_s", "latency", MS_SHOWN_TIME},
    {0}};
static const ms_shown_column ROUTE_FACTS[] = {{"route/source", "from GPU", MS_SHOWN_COUNT},
                                              {"route/destination", "to GPU", MS_SHOWN_COUNT},
                                              {"route/bottleneck_Bps", "bottleneck", MS_SHOWN_RATE},
                                              {"route/latency_s", "latency", MS_SHOWN_TIME},
                                              {"route/tier", "outermost tier", MS_SHOWN_TEXT},
                                              {0}};
static const ms_shown_column LINK_COLUMNS[] = {{"name", "link", MS_SHOWN_TEXT},
                                               {"tier", "tier", MS_SHOWN_TEXT},
                                               {"capacity_Bps", "achieved", MS_SHOWN_RATE},
                                               {"latency_s", "latency", MS_SHOWN_TIME},
                                               {0}};
const ms_shown_table MS_PLATFORM_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = PLATFORM_FACTS},
    {.title = "tiers", .path = "tiers", .columns = TIER_COLUMNS},
    {.title = "route", .rows = MS_SHOWN_OF_FACTS, .columns = ROUTE_FACTS},
    {.title = "links of the route", .path = "route/links", .columns = LINK_COLUMNS},
    {0}};

/* ---- mesh ---- */

static const ms_shown_column MESH_FACTS[] = {{"ranks", "ranks", MS_SHOWN_COUNT},
                                             {"page/gpus", "on GPUs", MS_SHOWN_TEXT},
                                             {"platform", "platform", MS_SHOWN_TEXT},
                                             {"placement", "placement", MS_SHOWN_TEXT},
                                             {"order", "axes, outermost first", MS_SHOWN_TEXT},
                                             {0}};
static const ms_shown_column AXIS_COLUMNS[] = {{"axis", "axis", MS_SHOWN_TEXT},
                                               {"size", "size", MS_SHOWN_COUNT},
                                               {"stride", "stride, ranks", MS_SHOWN_COUNT},
                                               {"groups", "groups", MS_SHOWN_COUNT},
                                               {"tier", "tier", MS_SHOWN_TEXT},
                                               {0}};
static const ms_shown_column GROUP_MEMBER_COLUMNS[] = {{"axis", "axis", MS_SHOWN_TEXT},
                                                       {"group", "group", MS_SHOWN_COUNT},
                                                       {"gpus", "GPUs", MS_SHOWN_BELOW},
                                                       {0}};
static const ms_shown_column TENSOR_FACTS[] = {{"tensor/shape", "shape", MS_SHOWN_TEXT},
                                               {"tensor/element_B", "an element", MS_SHOWN_BYTES},
                                               HELD("tensor/"),
                                               {0}};
static const ms_shown_column MOVE_FACTS[] = {
    HELD("redistribute/"),
    {"redistribute/bytes_per_rank", "a rank sends", MS_SHOWN_BYTES},
    {"redistribute/time_s", "time", MS_SHOWN_TIME},
    {0}};
static const ms_shown_column STEP_COLUMNS[] = {
    {"kind", "step", MS_SHOWN_TEXT},      {"axis", "axis", MS_SHOWN_TEXT},
    {"size_B", "buffer", MS_SHOWN_BYTES}, {"bytes_per_rank", "rank sends", MS_SHOWN_BYTES},
    {"time_s", "time", MS_SHOWN_TIME},    {"time_alone_s", "one alone", MS_SHOWN_TIME},
    {"tier", "tier", MS_SHOWN_TEXT},      {0}};
const ms_shown_table MS_MESH_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = MESH_FACTS},
    {.title = "", .path = "page/axes", .columns = AXIS_COLUMNS},
    {.title = "groups", .path = "page/groups", .columns = GROUP_MEMBER_COLUMNS},
    {.title = "tensor", .rows = MS_SHOWN_OF_FACTS, .columns = TENSOR_FACTS},
    {.title = "redistributed", .rows = MS_SHOWN_OF_FACTS, .columns = MOVE_FACTS},
    {.title = "steps", .path = "redistribute/steps", .columns = STEP_COLUMNS},
    {0}};

/* ---- compare ---- */

static const ms_shown_column COMPARE_FACTS[] = {{"a", "a", MS_SHOWN_TEXT},
                                                {"b", "b", MS_SHOWN_TEXT},
                                                {"guarded", "guarded", MS_SHOWN_TEXT},
                                                {"let_pass", "let pass", MS_SHOWN_TEXT},
                                                {"count", "verdict", MS_SHOWN_TEXT},
                                                {0}};
static const ms_shown_column OVERVIEW_COLUMNS[] = {{"trace", "trace", MS_SHOWN_TEXT},
                                                   {"step_a_s", "step a", MS_SHOWN_TIME},
                                                   {"step_b_s", "step b", MS_SHOWN_TIME},
                                                   {"change", "change", MS_SHOWN_CHANGE},
                                                   {"what", "", MS_SHOWN_TEXT},
                                                   {"mark", "", MS_SHOWN_TEXT},
                                                   {"broken", "breaks the guard", MS_SHOWN_BELOW},
                                                   {0}};
static const ms_shown_column DIFFERENCE_COLUMNS[] = {
    {"key", "key", MS_SHOWN_TEXT}, {"a", "a", MS_SHOWN_COUNT},
    {"b", "b", MS_SHOWN_COUNT},    {"change", "(b-a)/|a|", MS_SHOWN_COUNT},
    {"mark", "", MS_SHOWN_TEXT},   {0}};
static const ms_shown_table COMPARED_TABLES[] =
    {/* of one trace */
     {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "notes"},
     {.title = "defaults that changed", .path = "defaults", .columns = DIFFERENCE_COLUMNS},
     {.title = "inputs that differ", .path = "inputs", .columns = DIFFERENCE_COLUMNS},
     {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "versions"},
     {.title = "quantities that differ", .path = "differences", .columns = DIFFERENCE_COLUMNS},
     {0}};
const ms_shown_table MS_COMPARE_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = COMPARE_FACTS},
    {.title = "", .path = "overview", .columns = OVERVIEW_COLUMNS},
    {.title = "", .rows = MS_SHOWN_OF_GROUPS, .path = "traces", .tables = COMPARED_TABLES},
    {0}};

/* ---- textbook ---- */

static const ms_shown_column LEGAL_FACTS[] = {{"counts/legal", "meshes", MS_SHOWN_COUNT},
                                              {"counts/feasible", "of them fit", MS_SHOWN_COUNT},
                                              {0}};
static const ms_shown_column TEXTBOOK_COLUMNS[] = {
    {"dp", "dp", MS_SHOWN_COUNT},           {"pp", "pp", MS_SHOWN_COUNT},
    {"tp", "tp", MS_SHOWN_COUNT},           {"cost_s", "step", MS_SHOWN_TIME},
    {"tensor_s", "tensor", MS_SHOWN_TIME},  {"pipeline_s", "pipeline", MS_SHOWN_TIME},
    {"bubble_s", "bubble", MS_SHOWN_TIME},  {"data_s", "data", MS_SHOWN_TIME},
    {"memory_B", "memory", MS_SHOWN_BYTES}, {0}};
const ms_shown_table MS_TEXTBOOK_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = LEGAL_FACTS},
    {.title = "by closed forms", .path = "results", .columns = TEXTBOOK_COLUMNS},
    {.title = "best with all three", .path = "best_of_three", .columns = TEXTBOOK_COLUMNS},
    {0}};

/* ---- merge ---- */

static const ms_shown_column MERGE_FACTS[] = {
    {"store", "store", MS_SHOWN_TEXT},
    {"rows", "rows", MS_SHOWN_COUNT},
    {"shards", "shards", MS_SHOWN_COUNT},
    {"page/complete", "complete", MS_SHOWN_COUNT},
    {"page/missing", "missing", MS_SHOWN_TEXT},
    {"page/double", "jobs that two shards simulated (harmless)", MS_SHOWN_COUNT},
    {"page/programs", "versions of meshsim (they share no rows)", MS_SHOWN_COUNT},
    {0}};
const ms_shown_table MS_MERGE_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_FACTS, .columns = MERGE_FACTS}, {0}};

/* ---- collective ---- */

static const ms_shown_column SIZE_COLUMNS[] = {{"size_B", "size", MS_SHOWN_BYTES},
                                               {"time_s", "time", MS_SHOWN_TIME},
                                               {"algbw_Bps", "algbw", MS_SHOWN_RATE},
                                               {"busbw_Bps", "busbw", MS_SHOWN_RATE},
                                               {"algorithm", "algorithm", MS_SHOWN_TEXT},
                                               {"protocol", "protocol", MS_SHOWN_TEXT},
                                               {0}};
const ms_shown_table MS_COLLECTIVE_TABLES[] = {
    {.title = "", .path = "rows", .columns = SIZE_COLUMNS}, {0}};

/* ---- times ---- */

static const ms_shown_column VARIANT_COLUMNS[] = {
    {"variant", "variant", MS_SHOWN_COUNT}, {"overrides", "overrides", MS_SHOWN_BELOW}, {0}};
static const ms_shown_column POINT_COLUMNS[] = {{"variant", "variant", MS_SHOWN_COUNT},
                                                {"point", "point", MS_SHOWN_COUNT},
                                                {"kind", "kind", MS_SHOWN_TEXT},
                                                {"time_s", "time", MS_SHOWN_TIME},
                                                {0}};
const ms_shown_table MS_TIMES_TABLES[] = {
    {.title = "variants",
     .path = "page/variants",
     .columns = VARIANT_COLUMNS,
     .needs = "overrides"},
    {.title = "", .path = "page/points", .columns = POINT_COLUMNS},
    {0}};
