/* From DeepSpeed's configuration to keys of a workload. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/import/deepspeed_parts.h"

/* A value that a trainer fills in; none is below 0. */
enum { AUTO = -1, NONE = -2, COUNT_MAX = 100000000 };

/* A key that decided something. */
typedef struct deepspeed_use {
    const ms_node *node;
    const char *keys; /* of the workload */
} deepspeed_use;

/* One translation. */
typedef struct deepspeed_run {
    const ms_node *config;
    int hidden;
    ms_arena *arena;
    ms_diag *diag;
    ms_deepspeed_job *job;
    ms_status status; /* of the first fault */
    ms_vector uses;   /* deepspeed_use */
    ms_source_keys assumed;
    int stage;
    bool has_replicas;              /* mesh.dp is said */
    bool is_fp16, is_bf16, is_open; /* open: a trainer decides the type */
    double gradient_B;
} deepspeed_run;

void ms_deepspeed_job_init(ms_deepspeed_job *job) {
    *job = (ms_deepspeed_job){.keys = {.count = 0}};
    ms_vector_init(&job->settings, sizeof(ms_deepspeed_setting));
    ms_buffer_init(&job->remarks);
}

void ms_deepspeed_job_release(ms_deepspeed_job *job) {
    ms_vector_release(&job->settings);
    ms_buffer_release(&job->remarks);
}

/* ---- what stands there ---- */

static void note(deepspeed_run *run, ms_status status) {
    run->status = run->status == MS_OK ? status : run->status;
}

static void lack_memory(deepspeed_run *run) {
    if (run->status != MS_E_NOMEM) {
        run->status = ms_diag_no_memory(run->diag);
    }
}

/* The value at a path; NULL: it is not there, or null. */
static const ms_node *find(const deepspeed_run *run, const char *path) {
    bool is_there = false;
    const ms_node *node = ms_node_at(run->config, path, &is_there);
    bool is_null = is_there && node->type == MS_NODE_SCALAR && !node->is_quoted &&
                   strcmp(node->text, "null") == 0;
    return is_there && !is_null ? node : NULL;
}

static bool is_word(const ms_node *node, const char *word) {
    return node != NULL && node->type == MS_NODE_SCALAR && strcmp(node->text, word) == 0;
}

static void fault(deepspeed_run *run, const ms_node *node, const char *path, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));

static void fault(deepspeed_run *run, const ms_node *node, const char *path, const char *format,
                  ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    note(run, ms_config_fault(run->diag, node, path, "%s", text));
}

static const char *got(const ms_node *node) {
    return node->type == MS_NODE_SCALAR    ? node->text
           : node->type == MS_NODE_MAPPING ? "an object"
                                           : "a list";
}

/* A number, which JSON may write as 5e8; AUTO; `fallback` where it is not given or wrong. */
static double number(deepspeed_run *run, const char *path, double least, double fallback) {
    const ms_node *node = find(run, path);
    if (node == NULL) {
        return fallback;
    }
    if (is_word(node, "auto")) {
        return AUTO;
    }
    char *end = NULL;
    bool is_number = node->type == MS_NODE_SCALAR && !node->is_quoted;
    double value = is_number ? strtod(node->text, &end) : 0;
    is_number = is_number && end != node->text && *end == '\0';
    if (!is_number || !(value >= least) || value > 1e15) {
        fault(run, node, path, "expected a number from %g or \"auto\", got '%s'", least, got(node));
        return fallback;
    }
    return value;
}

/* A count of at least `least`; AUTO; NONE where it is not given or wrong. */
static int count(deepspeed_run *run, const char *path, int least) {
    double value = number(run, path, least, NONE);
    if (value > COUNT_MAX || (value >= 0 && (value < floor(value) || value > floor(value)))) {
        fault(run, find(run, path), path, "expected a whole number from %d to %d, got '%s'", least,
              COUNT_MAX, got(find(run, path)));
        return NONE;
    }
    return (int)value;
}

/* true or false; AUTO; `fallback` where it is not given or wrong. */
static int truth(deepspeed_run *run, const char *path, int fallback) {
    const ms_node *node = find(run, path);
    bool is_plain = node != NULL && node->type == MS_NODE_SCALAR && !node->is_quoted;
    if (node == NULL || is_word(node, "auto")) {
        return node == NULL ? fallback : AUTO;
    }
    if (!is_plain || (!is_word(node, "true") && !is_word(node, "false"))) {
        fault(run, node, path, "expected true, false or \"auto\", got '%s'", got(node));
        return fallback;
    }
    return is_word(node, "true");
}

/* ---- what it says ---- */

/* Remember that the keys of a list of paths, with blanks between, decide one of the workload.
 * Returns where the first of them stands. */
static ms_mark use(deepspeed_run *run, const char *paths, const char *key) {
    ms_mark mark = {.file = NULL};
    while (*paths != '\0') {
        char path[96];
        size_t length = strcspn(paths, " ");
        snprintf(path, sizeof path, "%.*s", (int)length, paths);
        const ms_node *node = find(run, path);
        const deepspeed_use row = {.node = node, .keys = key};
        if (node != NULL && ms_vector_add(&run->uses, &row, 1) == NULL) {
            lack_memory(run);
        }
        mark = node != NULL && mark.file == NULL ? node->mark : mark;
        paths += length + (paths[length] == ' ');
    }
    return mark;
}

static void add(deepspeed_run *run, ms_deepspeed_setting setting, bool has_value) {
    bool is_fine = !has_value || setting.value != NULL;
    if (!is_fine || ms_vector_add(&run->job->settings, &setting, 1) == NULL) {
        lack_memory(run);
    }
}

static void set(deepspeed_run *run, const char *key, const char *from, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void set(deepspeed_run *run, const char *key, const char *from, const char *format, ...) {
    char value[64];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    add(run,
        (ms_deepspeed_setting){
            .key = key, .value = ms_arena_strdup(run->arena, value), .mark = use(run, from, key)},
        true);
}

static void set_bool(deepspeed_run *run, const char *key, const char *from, bool value) {
    set(run, key, from, "%s", value ? "true" : "false");
}

static void require(deepspeed_run *run, const char *key, const char *from, const char *what) {
    add(run, (ms_deepspeed_setting){.key = key, .what = what, .mark = use(run, from, key)}, false);
}

/* Tell of a default. */
static void assume(deepspeed_run *run, const char *path, const char *value, const char *whose) {
    const ms_source_key key = {
        .key = path, .value = value, .fate = MS_SOURCE_ASSUMED, .why = whose};
    if (ms_source_keys_add(&run->assumed, &key, run->arena) != MS_OK) {
        lack_memory(run);
    }
}

static const char IS_DEFAULT[] = "DeepSpeed's default";

/* ---- mesh and batch ---- */

/* Size of an axis; 1 where nothing is said, or a trainer or the model's code says it. */
static int axis(deepspeed_run *run, const char *path, const char *key, int least) {
    int size = count(run, path, least);
    if (size > 1) {
        set(run, key, path, "%d", size);
    }
    return size > 1 ? size : 1;
}

/* Sequences per step, per microbatch, and microbatches: of the three two say the third, and all
 * three how many replicas there are. */
static void set_batch(deepspeed_run *run) {
    static const char THREE[] = MS_DEEPSPEED_GLOBAL " " MS_DEEPSPEED_MICRO " " MS_DEEPSPEED_STEPS;
    int global = count(run, MS_DEEPSPEED_GLOBAL, 1);
    int micro = count(run, MS_DEEPSPEED_MICRO, 1);
    int steps = count(run, MS_DEEPSPEED_STEPS, 1);
    if (global == NONE && micro == NONE && run->status == MS_OK) {
        fault(run, run->config, MS_DEEPSPEED_GLOBAL,
              "key is missing: DeepSpeed needs it or " MS_DEEPSPEED_MICRO ", or \"auto\" for them");
        return;
    }
    if (global <= 0 && micro <= 0 && steps <= 0) {
        use(run, THREE, "batch");
        return; /* the whole of it is required */
    }
    if (global > 0 && micro > 0 && steps > 0) {
        long product = (long)micro * steps;
        if (global % product != 0) {
            fault(run, find(run, MS_DEEPSPEED_GLOBAL), MS_DEEPSPEED_GLOBAL,
                  "expected a multiple of %d x %d (" MS_DEEPSPEED_MICRO " x " MS_DEEPSPEED_STEPS
                  "), got '%d'",
                  micro, steps, global);
            return;
        }
        set(run, "mesh.dp", THREE, "%ld", global / product);
        run->has_replicas = true;
    }
    if (global > 0) {
        set(run, "batch.global", MS_DEEPSPEED_GLOBAL, "%d", global);
    } else if (steps > 0 || micro > 0) {
        set(run, "batch.microbatches", MS_DEEPSPEED_STEPS, "%d", steps > 0 ? steps : 1);
        if (steps <= 0) {
            assume(run, MS_DEEPSPEED_STEPS, "1", IS_DEFAULT);
        }
    }
    if (micro > 0) {
        set(run, "batch.micro", MS_DEEPSPEED_MICRO, "%d", micro);
    } else {
        require(run, "batch.micro", MS_DEEPSPEED_MICRO " " MS_DEEPSPEED_STEPS,
                MS_DEEPSPEED_GLOBAL " / " MS_DEEPSPEED_STEPS " / replicas");
    }
}

static void set_axes(deepspeed_run *run) {
    int sequence = axis(run, MS_DEEPSPEED_SEQUENCE, "mesh.cp", 1);
    int tensor = axis(run, MS_DEEPSPEED_TENSOR, "mesh.tp", 0);
    int stages = axis(run, MS_DEEPSPEED_PIPELINE, "mesh.pp", 1);
    double others = (double)sequence * tensor * stages;
    if (others > 1 && !run->has_replicas) {
        require(run, "mesh.dp", "", ms_arena_printf(run->arena, "GPUs of the job / %.0f", others));
    }
    if (sequence > 1) { /* Ulysses: tokens of all heads for all tokens of some */
        set(run, "context_parallel.kind", MS_DEEPSPEED_SEQUENCE, "all_to_all");
    }
}

/* ---- types ---- */

static const char TYPE_FROM[] = MS_DEEPSPEED_BF16 " " MS_DEEPSPEED_FP16 " bfloat16.enabled";

static void set_parameters(deepspeed_run *run) {
    int bf16 = truth(run, MS_DEEPSPEED_BF16, truth(run, "bfloat16.enabled", 0));
    int fp16 = truth(run, MS_DEEPSPEED_FP16, 0);
    if (bf16 == 1 && fp16 == 1) {
        fault(run, find(run, MS_DEEPSPEED_FP16), MS_DEEPSPEED_FP16,
              "expected one of it and " MS_DEEPSPEED_BF16 ", got both");
    }
    run->is_bf16 = bf16 == 1;
    run->is_fp16 = fp16 == 1;
    run->is_open = !run->is_bf16 && !run->is_fp16 && (bf16 == AUTO || fp16 == AUTO);
    if (run->is_open) {
        require(run, "precision.parameters", TYPE_FROM, "bf16, fp16 or fp32, as the trainer runs");
    } else {
        set(run, "precision.parameters", TYPE_FROM, "%s",
            run->is_bf16   ? "bf16"
            : run->is_fp16 ? "fp16"
                           : "fp32");
    }
}

/* Gradients are kept in the type of parameters, but for bf16 without ZeRO.
 * Source: deepspeed.runtime.engine, get_data_types. */
static void set_gradients(deepspeed_run *run) {
    static const char *const TYPES[] = {"fp32", "fp16", "bf16"};
    const ms_node *node = find(run, MS_DEEPSPEED_GRADIENTS);
    bool is_short = truth(run, MS_DEEPSPEED_MASTER, 0) == 1;
    const char *type = run->is_fp16                                   ? "fp16"
                       : run->is_open                                 ? NULL
                       : run->is_bf16 && (run->stage > 0 || is_short) ? "bf16"
                                                                      : "fp32";
    for (size_t i = 0; node != NULL && i < 3; i++) {
        type = is_word(node, TYPES[i]) ? TYPES[i] : type;
    }
    if (node != NULL && (type == NULL || !is_word(node, type))) {
        fault(run, node, MS_DEEPSPEED_GRADIENTS, "expected fp32, fp16 or bf16, got '%s'",
              got(node));
    }
    run->gradient_B = type != NULL && strcmp(type, "fp32") == 0 ? 4 : 2;
    if (type != NULL) {
        set(run, "precision.gradients", MS_DEEPSPEED_GRADIENTS " " MS_DEEPSPEED_MASTER, "%s", type);
    }
    if (type != NULL && is_word(find(run, "communication_data_type"), type)) {
        use(run, "communication_data_type", "precision.gradients");
    }
    if (node == NULL && type != NULL) {
        assume(run, MS_DEEPSPEED_GRADIENTS, type, IS_DEFAULT);
    }
}

/* Moments of the optimizer; the trainer's own is taken for Adam's. */
static int moments_of(deepspeed_run *run) {
    const ms_node *node = find(run, MS_DEEPSPEED_OPTIMIZER);
    char type[32] = "";
    if (node == NULL) {
        assume(run, MS_DEEPSPEED_OPTIMIZER, "AdamW", "the trainer's usual one");
        return 2;
    }
    for (size_t i = 0; node->type == MS_NODE_SCALAR && node->text[i] != '\0' && i < 31; i++) {
        bool is_capital = node->text[i] >= 'A' && node->text[i] <= 'Z';
        type[i] = (char)(is_capital ? node->text[i] - 'A' + 'a' : node->text[i]);
        type[i + 1] = '\0';
    }
    for (const ms_deepspeed_optimizer *row = MS_DEEPSPEED_OPTIMIZERS; row->type != NULL; row++) {
        if (strcmp(row->type, type) == 0) {
            return row->moments;
        }
    }
    fault(run, node, MS_DEEPSPEED_OPTIMIZER,
          "expected an optimizer whose bytes are known (Adam, AdamW, Lamb, Lion, Muon, SGD, "
          "Adagrad, OneBitAdam, ZeroOneAdam), got '%s'",
          got(node));
    return 2;
}

/* Master copy and moments, in fp32 unless said otherwise; parameters in fp32 are their own copy. */
static void set_optimizer(deepspeed_run *run) {
    bool has_half_master = truth(run, MS_DEEPSPEED_MASTER, 0) == 1 ||
                           truth(run, "fp16.fp16_master_weights_and_grads", 0) == 1;
    bool has_half_states = truth(run, MS_DEEPSPEED_STATES, 0) == 1;
    bool is_single = !run->is_fp16 && !run->is_bf16 && !run->is_open;
    double master_B = is_single ? 0 : has_half_master ? 2 : 4;
    set(run, "precision.optimizer",
        MS_DEEPSPEED_OPTIMIZER " " MS_DEEPSPEED_MASTER " " MS_DEEPSPEED_STATES
                               " fp16.fp16_master_weights_and_grads",
        "%g B", master_B + moments_of(run) * (has_half_states ? 2.0 : 4.0));
}

/* ---- ZeRO ---- */

static void find_stage(deepspeed_run *run) {
    const ms_node *section = find(run, "zero_optimization");
    int stage = count(run, MS_DEEPSPEED_STAGE, 0);
    bool is_old = is_word(section, "true") || is_word(section, "false");
    if (section != NULL && section->type != MS_NODE_MAPPING && !is_old) {
        fault(run, section, "zero_optimization", "expected an object, got '%s'", got(section));
    }
    if (stage > 3) {
        fault(run, find(run, MS_DEEPSPEED_STAGE), MS_DEEPSPEED_STAGE, "expected 0 to 3, got '%d'",
              stage);
    }
    if (stage < 0 && !is_old) {
        assume(run, MS_DEEPSPEED_STAGE, "0", IS_DEFAULT);
    }
    /* before it had stages, it was one or none */
    run->stage = is_old ? is_word(section, "true") : stage < 0 || stage > 3 ? 0 : stage;
    set(run, "data_parallel.zero", MS_DEEPSPEED_STAGE " zero_optimization", "%d", run->stage);
}

/* Elements of a bucket; a trainer takes the square of the model's size. Source: Transformers,
 * transformers.integrations.deepspeed (trainer_config_finalize). */
static void set_bucket(deepspeed_run *run) {
    double elements = number(run, MS_DEEPSPEED_BUCKET, 0, NONE);
    if (elements >= NONE && elements < AUTO) {
        elements = MS_DEEPSPEED_BUCKET_ELEMENTS;
        assume(run, MS_DEEPSPEED_BUCKET, "5e8", IS_DEFAULT);
    } else if (elements < 0) {
        elements =
            run->hidden > 0 ? (double)run->hidden * run->hidden : MS_DEEPSPEED_BUCKET_ELEMENTS;
        assume(run, MS_DEEPSPEED_BUCKET, run->hidden > 0 ? "hidden size squared" : "5e8",
               run->hidden > 0 ? "as Transformers fills it in"
                               : "without the model's config, which Transformers fills it in by");
    }
    set(run, "data_parallel.bucket", MS_DEEPSPEED_BUCKET, "%.15g B", elements * run->gradient_B);
}

/* By default stage 3 reduces beside the backward pass, the others behind it. Parameters are
 * fetched ahead with stage 3, and gathered behind the update with stages 1 and 2.
 * Source: deepspeed.runtime.zero.config, overlap_comm_valid. */
static void set_overlap(deepspeed_run *run) {
    int given = truth(run, MS_DEEPSPEED_OVERLAP, NONE);
    bool overlaps = run->stage > 0 && (given < 0 ? run->stage == 3 : given == 1);
    if (given < 0) {
        assume(run, MS_DEEPSPEED_OVERLAP, overlaps ? "true" : "false", IS_DEFAULT);
    }
    set_bool(run, "data_parallel.overlap_reduce", MS_DEEPSPEED_OVERLAP, overlaps);
    set_bool(run, "data_parallel.overlap_gather", MS_DEEPSPEED_STAGE, run->stage == 3);
    set_bucket(run);
}

/* Stage 1 sums whole gradients on all replicas where it is told to, and where it accumulates those
 * of bf16 in fp32, which is another optimizer of its own (BF16_Optimizer). */
static void set_all_reduce(deepspeed_run *run) {
    bool scatters = truth(run, MS_DEEPSPEED_SCATTER, 1) != 0;
    bool is_own = run->is_bf16 && run->gradient_B > 2;
    if (run->stage == 1 && (!scatters || is_own)) {
        set_bool(run, "data_parallel.all_reduce", MS_DEEPSPEED_SCATTER " " MS_DEEPSPEED_GRADIENTS,
                 true);
    }
}

static void set_offload(deepspeed_run *run) {
    static const char OLD[] = "zero_optimization.cpu_offload";
    const ms_node *device = find(run, MS_DEEPSPEED_OFFLOAD);
    bool is_host = is_word(device, "cpu") || is_word(device, "nvme");
    if (device != NULL && !is_host && !is_word(device, "none")) {
        fault(run, device, MS_DEEPSPEED_OFFLOAD, "expected cpu, nvme or none, got '%s'",
              got(device));
    }
    if (is_word(device, "nvme")) {
        ms_buffer_puts(&run->job->remarks,
                       "# " MS_DEEPSPEED_OFFLOAD
                       ": simulated otherwise: the optimizer's state is in the host's memory\n");
    }
    if (run->stage > 0 && (is_host || truth(run, OLD, 0) == 1)) {
        set_bool(run, "data_parallel.offload",
                 MS_DEEPSPEED_OFFLOAD " zero_optimization.cpu_offload", true);
    }
}

/* Layers are repeated where the model's code says so; of a pipeline the configuration does. */
static void set_recompute(deepspeed_run *run) {
    int interval = count(run, MS_DEEPSPEED_CHECKPOINT, 0);
    if (interval > 0) {
        set(run, "recompute", MS_DEEPSPEED_CHECKPOINT, "full");
    }
}

/* ---- what became of the keys ---- */

static void remark(deepspeed_run *run, const char *path, const char *what, const char *why) {
    ms_buffer_puts(&run->job->remarks, "# ");
    ms_buffer_puts_inline(&run->job->remarks, path);
    ms_buffer_printf(&run->job->remarks, ": %s%s\n", what, why);
}

/* The workload's keys that a key decided; NULL: none. */
static const char *keys_of(deepspeed_run *run, const ms_node *node) {
    const char *keys = NULL;
    for (size_t i = 0; i < run->uses.count; i++) {
        const deepspeed_use *row = &MS_AT(&run->uses, deepspeed_use, i);
        if (row->node == node) {
            keys =
                keys == NULL ? row->keys : ms_arena_printf(run->arena, "%s, %s", keys, row->keys);
        }
    }
    return keys;
}

/* Whether a value asks for nothing. */
static bool is_off(const ms_node *node) {
    static const char *const WORDS[] = {"false", "0", "1", "-1", "none", "null", "auto"};
    const ms_node *enabled = ms_node_get(node, "enabled");
    node = node->type == MS_NODE_MAPPING && enabled != NULL ? enabled : node;
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (is_word(node, WORDS[i])) {
            return true;
        }
    }
    return false;
}

static void tell(deepspeed_run *run, const ms_node *node, const char *path) {
    const char *keys = keys_of(run, node);
    const ms_deepspeed_key *row = ms_deepspeed_find_key(path);
    ms_source_key key = {.key = path,
                         .value = node->type == MS_NODE_SCALAR ? node->text : NULL,
                         .fate = keys != NULL  ? MS_SOURCE_USED
                                 : row != NULL ? MS_SOURCE_IGNORED
                                               : MS_SOURCE_UNKNOWN,
                         .why = keys,
                         .mark = node->key_mark};
    bool is_other = keys == NULL && row != NULL && row->is_different && !is_off(node);
    if (keys == NULL && ms_deepspeed_is_asked(path)) {
        key.fate = MS_SOURCE_IGNORED;
        key.why = "it changes nothing in this job";
    } else if (is_other) {
        key.why = ms_arena_printf(run->arena, "simulated otherwise: %s", row->why);
        remark(run, path, "simulated otherwise: ", row->why);
    } else if (keys == NULL && row != NULL) {
        key.why = row->is_different ? "it is simulated so in any case" : row->why;
    } else if (keys == NULL) {
        remark(run, path, "not known", "");
    }
    if ((key.fate != MS_SOURCE_UNKNOWN && key.why == NULL) ||
        ms_source_keys_add(&run->job->keys, &key, run->arena) != MS_OK) {
        lack_memory(run);
    }
}

/* As deep as sections go. */
static void tell_all(deepspeed_run *run, const ms_node *mapping, const char *path) {
    for (const ms_node *node = mapping->first; node != NULL; node = node->next) {
        const char *below =
            ms_arena_printf(run->arena, "%s%s%s", path, path[0] == '\0' ? "" : ".", node->key);
        if (below == NULL) {
            lack_memory(run);
            return;
        }
        if (node->type == MS_NODE_MAPPING && ms_deepspeed_is_section(below)) {
            tell_all(run, node, below);
        } else {
            tell(run, node, below);
        }
    }
}

static void tell_assumed(deepspeed_run *run) {
    for (const ms_source_key *key = run->assumed.first; key != NULL; key = key->next) {
        if (ms_source_keys_add(&run->job->keys, key, run->arena) != MS_OK) {
            lack_memory(run);
        }
    }
}

/* ---- all ---- */

ms_status ms_deepspeed_translate(const ms_node *config, int hidden, ms_arena *arena, ms_diag *diag,
                                 ms_deepspeed_job *job) {
    static void (*const PARTS[])(deepspeed_run *) = {
        find_stage,    set_batch,   set_axes,       set_parameters, set_gradients,
        set_optimizer, set_overlap, set_all_reduce, set_offload,    set_recompute};
    deepspeed_run run = {
        .config = config, .hidden = hidden, .arena = arena, .diag = diag, .job = job};
    ms_vector_init(&run.uses, sizeof(deepspeed_use));
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        PARTS[i](&run);
    }
    if (run.status == MS_OK) {
        tell_all(&run, config, "");
        tell_assumed(&run);
    }
    ms_vector_release(&run.uses);
    return job->remarks.failed && run.status == MS_OK ? ms_diag_no_memory(diag) : run.status;
}
