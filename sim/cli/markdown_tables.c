#include "cli/markdown_tables.h"

#define TEXT(path_, heading_)                                                                      \
    { (path_), (heading_), MS_MARKDOWN_TEXT }
#define COUNT(path_, heading_)                                                                     \
    { (path_), (heading_), MS_MARKDOWN_COUNT }
#define NUMBER(path_, heading_)                                                                    \
    { (path_), (heading_), MS_MARKDOWN_NUMBER }
#define SHARE(path_, heading_)                                                                     \
    { (path_), (heading_), MS_MARKDOWN_SHARE }
#define TIME(path_, heading_)                                                                      \
    { (path_), (heading_), MS_MARKDOWN_TIME }
#define BYTES(path_, heading_)                                                                     \
    { (path_), (heading_), MS_MARKDOWN_BYTES }
#define RATE(path_, heading_)                                                                      \
    { (path_), (heading_), MS_MARKDOWN_RATE }
#define ENERGY(path_, heading_)                                                                    \
    { (path_), (heading_), MS_MARKDOWN_ENERGY }

#define FACTS(title_, fields_)                                                                     \
    { .title = (title_), .rows = MS_MARKDOWN_OF_FACTS, .fields = (fields_) }
#define LIST(title_, path_, fields_)                                                               \
    { .title = (title_), .path = (path_), .fields = (fields_) }
/* Without the rows whose second field is 0. */
#define USED(title_, path_, fields_)                                                               \
    { .title = (title_), .path = (path_), .fields = (fields_), .skips_zero = true }

/* ---- run ---- */

static const ms_markdown_field RUN_FACTS[] = {
    TEXT("platform", "platform"),
    TEXT("mesh", "mesh"),
    COUNT("gpus", "GPUs"),
    TEXT("schedule", "schedule"),
    COUNT("num_microbatches", "microbatches"),
    TIME("step_time_s", "step time"),
    NUMBER("tokens_per_s", "tokens/s"),
    NUMBER("model_tflops_per_gpu", "model TFLOP/s per GPU"),
    SHARE("mfu", "MFU"),
    SHARE("hfu", "HFU"),
    SHARE("bubble_fraction", "bubble"),
    NUMBER("cost", "USD a step"),
    ENERGY("energy_J", "energy a step"),
    BYTES("memory/peak_B", "peak of memory"),
    BYTES("memory/capacity_B", "capacity"),
    TEXT("memory/fits", "fits"),
    {0},
};
static const ms_markdown_field SHARE_FIELDS[] = {TEXT("@", "what"), SHARE("", "share"), {0}};
static const ms_markdown_field COMM_FIELDS[] = {
    TEXT("@", "axis"),
    TIME("busy_s", "busy"),
    BYTES("bytes_per_rank", "sent"),
    TIME("exposed_s", "stalling"),
    TIME("overlapped_s", "overlapped"),
    TIME("in_idle_s", "in idle"),
    TIME("wait_s", "waiting"),
    {0},
};
static const ms_markdown_field STAGE_FIELDS[] = {
    COUNT("pp_rank", "pipeline rank"), TIME("compute_s", "compute"), TIME("bubble_s", "bubble"),
    TIME("exposed_s", "exposed"),      BYTES("peak_B", "peak"),      {0}};
static const ms_markdown_field WHATIF_FIELDS[] = {
    TEXT("change", "change"), TIME("step_time_s", "step"), SHARE("gain", "saved"), {0}};
const ms_markdown_table MS_RUN_TABLES[] = {
    FACTS("", RUN_FACTS),
    USED("where the time goes", "time_share", SHARE_FIELDS),
    USED("a GPU's own communication", "comm", COMM_FIELDS),
    LIST("pipeline ranks", "stages", STAGE_FIELDS),
    LIST("what one change would buy", "whatif", WHATIF_FIELDS),
    {0},
};

/* ---- check ---- */

static const ms_markdown_field CHECK_FACTS[] = {
    TEXT("platform", "platform"),
    TEXT("mesh", "mesh"),
    COUNT("gpus", "GPUs"),
    TEXT("schedule", "schedule"),
    COUNT("num_microbatches", "microbatches"),
    COUNT("parameters/total", "parameters"),
    COUNT("parameters/active", "of them active"),
    TIME("estimate/step_time_s", "estimated step"),
    TIME("estimate/lower_bound_s", "not less than"),
    SHARE("ideal_bubble_fraction", "bubble without communication"),
    NUMBER("estimate/cost", "USD a step"),
    ENERGY("estimate/energy_J", "energy a step"),
    BYTES("memory/peak_B", "peak of memory"),
    BYTES("memory/capacity_B", "capacity"),
    TEXT("memory/fits", "fits"),
    {0},
};
static const ms_markdown_field CHECK_STAGE_FIELDS[] = {
    COUNT("pp_rank", "pipeline rank"),
    COUNT("layers", "layers"),
    TIME("compute_s", "compute"),
    BYTES("static_B", "static"),
    BYTES("activations_B", "activations"),
    BYTES("buffers_B", "buffers"),
    BYTES("peak_B", "peak"),
    {0},
};
static const ms_markdown_field OPTION_FIELDS[] = {
    TEXT("setting", "change"), BYTES("saved_B", "saves"), BYTES("peak_B", "peak"),
    TEXT("fits", "fits"),      TEXT("note", "note"),      {0}};
static const ms_markdown_field CHANGE_FACTS[] = {
    TEXT("fitting_change/setting", "change"),
    BYTES("fitting_change/peak_B", "peak"),
    TIME("fitting_change/step_time_s", "estimated step"),
    BYTES("smallest_peak_B", "smallest peak (no change fits)"),
    {0}};
static const ms_markdown_field NOTE_FIELDS[] = {
    TEXT("key", "key"), TEXT("changes_nothing", "changes nothing, as"), {0}};
const ms_markdown_table MS_CHECK_TABLES[] = {
    FACTS("", CHECK_FACTS),
    LIST("pipeline ranks", "stages", CHECK_STAGE_FIELDS),
    LIST("what would save memory", "memory_options", OPTION_FIELDS),
    FACTS("the smallest change that fits", CHANGE_FACTS),
    LIST("notes", "notes", NOTE_FIELDS),
    {0},
};

/* ---- search ---- */

static const ms_markdown_field SEARCH_FACTS[] = {
    TEXT("objective", "objective"),
    TEXT("second_objective", "second objective"),
    TEXT("partial", "interrupted"),
    COUNT("counts/enumerated", "candidates"),
    COUNT("counts/illegal", "illegal"),
    COUNT("counts/does_not_fit", "do not fit in memory"),
    COUNT("counts/beyond_limits", "beyond limits"),
    COUNT("counts/pruned", "pruned"),
    COUNT("counts/simulated", "simulated"),
    COUNT("counts/failed", "failed"),
    {0},
};
static const ms_markdown_field FOUND_FIELDS[] = {
    COUNT("@", "#"),
    TEXT("mesh", "mesh"),
    TEXT("schedule", "schedule"),
    COUNT("v", "v"),
    COUNT("micro_batch", "micro"),
    TEXT("recompute", "recompute"),
    COUNT("zero", "zero"),
    TIME("step_time_s", "step"),
    BYTES("peak_B", "memory"),
    SHARE("bubble_fraction", "bubble"),
    SHARE("mfu", "MFU"),
    NUMBER("cost", "USD a step"),
    TEXT("limited_by", "limited by"),
    SHARE("limit_share", "its share"),
    {0},
};
static const ms_markdown_field REASON_FIELDS[] = {
    COUNT("count", "candidates"), TEXT("reason", "reason"), {0}};
const ms_markdown_table MS_SEARCH_TABLES[] = {
    LIST("", "results", FOUND_FIELDS),
    LIST("what one change would buy the best one", "whatif", WHATIF_FIELDS),
    FACTS("what was looked at", SEARCH_FACTS),
    LIST("illegal", "illegal", REASON_FIELDS),
    LIST("failed", "failed", REASON_FIELDS),
    {0},
};

/* ---- sweep ---- */

const ms_markdown_field MS_SWEEP_COLUMNS_SHOWN[] = {
    TIME("step_time_s", "step"),
    NUMBER("tokens_per_s", "tokens/s"),
    SHARE("mfu", "MFU"),
    SHARE("bubble_fraction", "bubble"),
    SHARE("exposed_fraction", "exposed"),
    BYTES("peak_B", "peak"),
    TEXT("fits", "fits"),
    NUMBER("cost", "USD a step"),
    TEXT("reason", "left out, as"),
    {0},
};

/* ---- validate ---- */

static const ms_markdown_field VALIDATE_FACTS[] = {
    SHARE("mean_of_groups", "mean of the groups' mean errors"), {0}};
static const ms_markdown_field GROUP_FIELDS[] = {TEXT("@", "group"),
                                                 COUNT("n", "rows"),
                                                 SHARE("bias", "bias"),
                                                 SHARE("mean_abs_error", "mean error"),
                                                 TEXT("worst", "worst"),
                                                 SHARE("worst_abs_error", "its error"),
                                                 {0}};
static const ms_markdown_field ERROR_FIELDS[] = {TEXT("id", "case"),
                                                 TEXT("quantity", "quantity"),
                                                 TIME("predicted_s", "predicted"),
                                                 TIME("measured_s", "measured"),
                                                 SHARE("error", "error"),
                                                 {0}};
static const ms_markdown_field SKIP_FIELDS[] = {TEXT("id", "case"), TEXT("reason", "reason"), {0}};
static const ms_markdown_field MECHANISM_FIELDS[] = {
    TEXT("mechanism", "mechanism"),
    COUNT("moved", "rows that move"),
    SHARE("mean_of_groups", "mean of groups without it"),
    SHARE("gain", "gain"),
    SHARE("unseen_gain", "on unseen rows"),
    {0}};
const ms_markdown_table MS_VALIDATE_TABLES[] = {
    FACTS("", VALIDATE_FACTS),
    LIST("step time by group", "groups", GROUP_FIELDS),
    LIST("what each mechanism buys", "ablation", MECHANISM_FIELDS),
    LIST("step times", "rows", ERROR_FIELDS),
    LIST("step time outside the score", "apart", GROUP_FIELDS),
    LIST("memory by group", "memory_groups", GROUP_FIELDS),
    LIST("layers", "layers", ERROR_FIELDS),
    LIST("phases of steps", "phases", ERROR_FIELDS),
    LIST("collectives by size", "collective_sizes", GROUP_FIELDS),
    LIST("skipped", "skipped", SKIP_FIELDS),
    LIST("skipped outside the score", "skipped_apart", SKIP_FIELDS),
    {0},
};

/* ---- schedule ---- */

static const ms_markdown_field SCHEDULE_FACTS[] = {
    TEXT("workload", "workload"),
    COUNT("p", "pipeline ranks"),
    COUNT("v", "stages a rank"),
    COUNT("m", "microbatches"),
    COUNT("group", "group"),
    COUNT("splits", "slices of a sequence"),
    COUNT("makespan", "makespan"),
    COUNT("formula_makespan", "closed form"),
    SHARE("bubble_fraction", "bubble"),
    COUNT("max_span", "longest span of a rank"),
    COUNT("period", "steady period"),
    COUNT("msgs_total", "messages"),
    COUNT("param_replicas", "copies of parameters"),
    COUNT("search/span_bound", "lower bound of the search"),
    TEXT("search/is_optimal", "optimal"),
    {0},
};
static const ms_markdown_field SCHEDULE_RANK_FIELDS[] = {
    COUNT("@", "rank"),
    COUNT("peak_inflight", "in flight"),
    COUNT("busy", "busy"),
    COUNT("idle/warmup", "idle, warm-up"),
    COUNT("idle/steady", "steady"),
    COUNT("idle/cooldown", "cool-down"),
    COUNT("exposed_p2p", "exposed p2p"),
    COUNT("msgs_sent", "messages"),
    {0},
};
const ms_markdown_table MS_SCHEDULE_TABLES[] = {
    FACTS("", SCHEDULE_FACTS),
    {.title = "ranks",
     .rows = MS_MARKDOWN_OF_LISTS,
     .fields = SCHEDULE_RANK_FIELDS,
     .dust_of = "makespan"},
    {0},
};

static const ms_markdown_field PAPER_FIELDS[] = {
    TEXT("schedule", "schedule"),
    COUNT("v", "v"),
    COUNT("makespan", "makespan, T of a stage"),
    COUNT("rank_makespan", "makespan, T of a rank"),
    SHARE("bubble_fraction", "bubble"),
    COUNT("max_span", "longest span"),
    COUNT("peak_inflight", "in flight"),
    COUNT("param_replicas", "copies of parameters"),
    COUNT("msgs_total", "messages"),
    COUNT("formula_makespan", "closed form"),
    {0},
};
static const ms_markdown_field LEFT_OUT_FIELDS[] = {
    TEXT("schedule", "schedule"), TEXT("reason", "reason"), {0}};
const ms_markdown_table MS_SCHEDULES_TABLES[] = {
    LIST("", "rows", PAPER_FIELDS), LIST("left out", "left_out", LEFT_OUT_FIELDS), {0}};

static const ms_markdown_field SIMULATED_FIELDS[] = {
    TEXT("schedule", "schedule"),
    COUNT("v", "v"),
    TIME("step_time_s", "step"),
    SHARE("mfu", "MFU"),
    SHARE("bubble_fraction", "bubble"),
    SHARE("exposed_fraction", "exposed"),
    BYTES("peak_B", "peak"),
    TEXT("fits", "fits"),
    COUNT("param_replicas", "copies of parameters"),
    {0},
};
const ms_markdown_table MS_SIMULATED_SCHEDULE_TABLES[] = {
    LIST("", "rows", SIMULATED_FIELDS), LIST("left out", "left_out", LEFT_OUT_FIELDS), {0}};

/* ---- collective ---- */

static const ms_markdown_field SIZE_FIELDS[] = {BYTES("size_B", "size"),
                                                TIME("time_s", "time"),
                                                RATE("algbw_Bps", "algbw"),
                                                RATE("busbw_Bps", "busbw"),
                                                TEXT("algorithm", "algorithm"),
                                                TEXT("protocol", "protocol"),
                                                {0}};
const ms_markdown_table MS_COLLECTIVE_TABLES[] = {LIST("", "rows", SIZE_FIELDS), {0}};
