/* `export deepspeed`: a job as DeepSpeed's configuration. What it leaves unsaid is found by
 * importing it. */
#include <math.h>
#include <string.h>

#include "meshsim/value.h"
#include "study/export/kinds.h"
#include "study/import/deepspeed_parts.h"

static const char SOFTWARE[] = "DeepSpeed";
static const char FRAMEWORK[] = "deepspeed";
static const char ONE_MOMENT[] = "Lion"; /* an optimizer that keeps no second one */

static const ms_export_reason REASONS[] = {
    {"platform", "the cluster that the launcher starts the job on"},
    {"placement", "ranks fill the nodes in the launcher's order"},
    {"framework", "which software runs is not said by its configuration"},
    {"fidelity", "how the job is simulated, no part of it"},
    {"granularity", "how the job is simulated, no part of it"},
    {"steps", "how many steps are simulated, no part of the job"},
    {"host", "how fast hosts launch is found by running"},
    {"collectives", "the library chooses; the environment variable NCCL_ALGO says otherwise"},
    {"mesh", "the configuration has replicas, tp, sequence-parallel ranks and stages"},
    {"expert_mesh", "the model's code says which ranks have experts (deepspeed.moe)"},
    {"model", "the model's code and its config.json say it"},
    {"schedule", "pipelines are 1F1B, with stages that the PipelineModule cuts"},
    {"precision.products", "Transformer Engine's layers are the model's code"},
    {"precision.optimizer", "an optimizer's bytes follow from its kind and types"},
    {"tensor_parallel", "layers are cut by AutoTP, without sequence parallelism"},
    {"context_parallel", "sequences are parted by Ulysses, which exchanges tokens for heads"},
    {"data_parallel.overlap_reduce", "without ZeRO nothing overlaps"},
    {"data_parallel.overlap_gather", "ZeRO stage 3 fetches ahead, the others do not"},
    {"data_parallel.bucketing", "weights are reduced when the next one has no room beside them"},
    {"data_parallel.bucket", "buckets are counted in elements, and none is a layer"},
    {"data_parallel.all_reduce",
     "stage 1 with gradients in fp32 beside bf16 is an optimizer of its "
     "own, which sums them whole"},
    {"data_parallel.reduce", "ZeRO stages 2 and 3 reduce behind each microbatch"},
    {"data_parallel.shard", "state is sharded over all replicas"},
    {"data_parallel.update", "the optimizer is DeepSpeed's"},
    {"recompute_parts", "the model's code says which layers are repeated"},
    {"recompute", "the model's code, or the trainer, says which layers are repeated"},
    {"memory.allocator_overhead", "what the allocator loses is found by running"},
    {"memory", "what the software holds follows from its version"},
    {NULL, NULL}};

/* ---- the configuration ---- */

enum { SECTIONS_MAX = 16 };

/* One export. */
typedef struct deepspeed_export {
    const ms_export_source *source;
    const ms_job_spec *spec; /* settled */
    ms_arena *arena;
    ms_diag *diag;
    ms_value *root;
    const char *optimizer; /* that is named; NULL: the trainer's */
    struct {
        const char *path; /* [length] of it */
        size_t length;
        ms_value *object;
    } sections[SECTIONS_MAX];
    size_t section_count;
} deepspeed_export;

/* The object of a section, made where it is not there; NULL: no memory.  As deep as sections go. */
static ms_value *section(deepspeed_export *x, const char *path, size_t length) {
    size_t dot = length;
    for (size_t i = 0; i < x->section_count; i++) {
        if (x->sections[i].length == length && strncmp(x->sections[i].path, path, length) == 0) {
            return x->sections[i].object;
        }
    }
    if (length == 0 || x->section_count == SECTIONS_MAX) {
        return x->root;
    }
    while (dot > 0 && path[dot - 1] != '.') {
        dot--;
    }
    ms_value *parent = section(x, path, dot == 0 ? 0 : dot - 1);
    const char *name = ms_arena_strndup(x->arena, path + dot, length - dot);
    if (name == NULL || parent == NULL) {
        return NULL;
    }
    ms_value *object = ms_value_add(parent, name, MS_VALUE_OBJECT);
    size_t at = x->section_count++;
    x->sections[at].path = path;
    x->sections[at].length = length;
    x->sections[at].object = object;
    return object;
}

/* The object that a dotted path ends in; *name_out: its last word. */
static ms_value *holder_of(deepspeed_export *x, const char *path, const char **name_out) {
    const char *dot = strrchr(path, '.');
    *name_out = dot == NULL ? path : dot + 1;
    return section(x, path, dot == NULL ? 0 : (size_t)(dot - path));
}

static void say_count(deepspeed_export *x, const char *path, double count) {
    const char *name = NULL;
    ms_value *holder = holder_of(x, path, &name);
    if (holder != NULL) {
        ms_value_add_int(holder, name, (long)count);
    }
}

static void say_bool(deepspeed_export *x, const char *path, bool value) {
    const char *name = NULL;
    ms_value *holder = holder_of(x, path, &name);
    if (holder != NULL) {
        ms_value_add_bool(holder, name, value);
    }
}

static void say_word(deepspeed_export *x, const char *path, const char *word) {
    const char *name = NULL;
    ms_value *holder = holder_of(x, path, &name);
    if (holder != NULL) {
        ms_value_add_string(holder, name, word);
    }
}

static void say_batch(deepspeed_export *x) {
    say_count(x, MS_DEEPSPEED_GLOBAL, x->spec->batch.global);
    say_count(x, MS_DEEPSPEED_MICRO, x->spec->batch.micro);
    say_count(x, MS_DEEPSPEED_STEPS, x->source->job->microbatches);
}

static bool is_close(double a, double b) {
    return fabs(a - b) < 1e-6;
}

/* Adam in fp32 is the trainer's; of fewer bytes that with masters, or states, in bf16, or an
 * optimizer with one moment. */
static void say_optimizer(deepspeed_export *x) {
    const ms_spec_precision *precision = &x->spec->precision;
    double bytes = precision->optimizer_B;
    bool is_bf16 = precision->parameters == MS_DTYPE_BF16;
    double master_B = precision->parameters == MS_DTYPE_FP32 ? 0 : 4;
    bool has_half = is_bf16 && x->spec->data.zero > 0 &&
                    (is_close(bytes, 6) || (is_close(bytes, 10) && x->spec->data.is_offloaded));
    if (has_half) {
        say_bool(x, MS_DEEPSPEED_MASTER, true);
    }
    if (has_half && is_close(bytes, 6)) {
        say_bool(x, MS_DEEPSPEED_STATES, true);
    } else if (is_close(bytes, master_B + 4)) {
        x->optimizer = ONE_MOMENT;
        say_word(x, MS_DEEPSPEED_OPTIMIZER, x->optimizer);
    }
}

static void say_precision(deepspeed_export *x) {
    static const char *const WORDS[] = {"bf16", "fp16", "fp32"}; /* as ms_dtype */
    const ms_spec_precision *precision = &x->spec->precision;
    bool is_usual = precision->gradients == precision->parameters;
    if (precision->parameters == MS_DTYPE_BF16) {
        say_bool(x, MS_DEEPSPEED_BF16, true);
        is_usual = x->spec->data.zero > 0 ? is_usual : precision->gradients == MS_DTYPE_FP32;
    } else if (precision->parameters == MS_DTYPE_FP16) {
        say_bool(x, MS_DEEPSPEED_FP16, true);
    }
    if (!is_usual) {
        say_word(x, MS_DEEPSPEED_GRADIENTS, WORDS[precision->gradients]);
    }
    say_optimizer(x);
}

static void say_zero(deepspeed_export *x) {
    const ms_spec_data *data = &x->spec->data;
    double elements = data->bucket_B / ms_dtype_B(x->spec->precision.gradients);
    bool has_overlap = data->zero > 0 && data->has_reduce_overlap;
    bool is_whole = elements >= 1 && elements < 1e15 && is_close(elements, floor(elements));
    say_count(x, MS_DEEPSPEED_STAGE, data->zero);
    if (data->zero > 0) {
        say_bool(x, MS_DEEPSPEED_OVERLAP, has_overlap);
    }
    if (is_whole) {
        say_count(x, MS_DEEPSPEED_BUCKET, elements);
    }
    if (data->zero == 1 && data->all_reduces) {
        say_bool(x, MS_DEEPSPEED_SCATTER, false);
    }
    if (data->zero > 0 && data->is_offloaded) {
        say_word(x, MS_DEEPSPEED_OFFLOAD, "cpu");
    }
}

static void say_axes(deepspeed_export *x) {
    const ms_spec_mesh *mesh = &x->spec->mesh;
    int tp = ms_spec_axis_size(mesh, "tp"), cp = ms_spec_axis_size(mesh, "cp");
    int pp = ms_spec_axis_size(mesh, "pp");
    if (tp > 1) {
        say_count(x, MS_DEEPSPEED_TENSOR, tp);
    }
    if (cp > 1) {
        say_count(x, MS_DEEPSPEED_SEQUENCE, cp);
    }
    if (pp > 1) {
        say_count(x, MS_DEEPSPEED_PIPELINE, pp);
    }
    if (pp > 1 && x->spec->recompute.kind == MS_RECOMPUTE_FULL) {
        say_count(x, MS_DEEPSPEED_CHECKPOINT, 1);
    }
}

static const char *write_text(deepspeed_export *x) {
    ms_buffer text;
    x->root = ms_value_new_object(x->arena);
    ms_buffer_init(&text);
    say_batch(x);
    say_precision(x);
    say_zero(x);
    say_axes(x);
    ms_value_write_json(x->root, 2, &text);
    ms_buffer_puts(&text, "\n");
    bool has_failed = text.failed || x->arena->has_failed;
    const char *kept = has_failed ? NULL : ms_arena_strdup(x->arena, ms_buffer_text(&text));
    ms_buffer_release(&text);
    return kept;
}

/* ---- reading it back ---- */

/* What the configuration says as overrides; without experts on axes that it does not have. */
static ms_status list_sets(const deepspeed_export *x, const ms_deepspeed_job *job,
                           ms_words *sets_out) {
    size_t count = job->settings.count;
    ms_words sets = {.items = MS_NEW(x->arena, const char *, count + 1)};
    for (size_t i = 0; sets.items != NULL && i < count; i++) {
        const ms_deepspeed_setting *setting = &MS_AT(&job->settings, ms_deepspeed_setting, i);
        if (setting->value != NULL) {
            sets.items[sets.count++] = ms_export_override(x->arena, setting->key, setting->value);
        }
    }
    *sets_out = sets;
    return x->arena->has_failed || sets.items == NULL ? ms_diag_no_memory(x->diag) : MS_OK;
}

/* The model is code of the user's own, and which optimizer it is a workload does not say. */
static ms_status tell_own(const deepspeed_export *x, ms_vector *unsaid) {
    const ms_unsaid model = {
        .key = "model", .value = x->spec->model.name, .why = "its code and its config.json say it"};
    const ms_unsaid optimizer = {.key = MS_DEEPSPEED_OPTIMIZER,
                                 .value = x->optimizer,
                                 .why = "chosen by its bytes, all that a workload says of it"};
    bool is_fine = ms_vector_add(unsaid, &model, 1) != NULL &&
                   (x->optimizer == NULL || ms_vector_add(unsaid, &optimizer, 1) != NULL);
    return is_fine ? MS_OK : ms_diag_no_memory(x->diag);
}

static ms_status find_unsaid(deepspeed_export *x, const char *text, ms_deepspeed_job *job,
                             ms_vector *unsaid) {
    static const ms_export_reasons ALL = {REASONS, "no key of the configuration says it"};
    const ms_text file = {"export", text, strlen(text)};
    ms_export_pair pair = {.mine = *x->spec};
    ms_node *config = NULL;
    ms_words sets;
    ms_status status = ms_config_parse_json(&file, x->arena, x->diag, &config);
    status = status == MS_OK ? ms_deepspeed_translate(config, 0, x->arena, x->diag, job) : status;
    status = status == MS_OK ? list_sets(x, job, &sets) : status;
    const ms_export_software theirs = {
        .framework = FRAMEWORK, .data_folder = x->source->data_folder, .sets = &sets};
    status = status == MS_OK ? ms_export_adopt(&theirs, x->arena, x->diag, &pair) : status;
    status = status == MS_OK ? tell_own(x, unsaid) : status;
    return status == MS_OK ? ms_export_compare(&pair, &ALL, x->arena, x->diag, unsaid) : status;
}

static ms_status write_deepspeed(const ms_export_source *source, ms_arena *arena, ms_diag *diag,
                                 ms_exported *out) {
    ms_job_spec spec;
    ms_vector unsaid;
    ms_deepspeed_job job;
    ms_vector_init(&unsaid, sizeof(ms_unsaid));
    ms_deepspeed_job_init(&job);
    ms_status status = ms_export_settle(source->job, arena, diag, &spec);
    deepspeed_export x = {.source = source, .spec = &spec, .arena = arena, .diag = diag};
    if (status == MS_OK) {
        out->text = write_text(&x);
        status = out->text == NULL ? ms_diag_no_memory(diag) : MS_OK;
    }
    status = status == MS_OK ? find_unsaid(&x, out->text, &job, &unsaid) : status;
    status = status == MS_OK ? ms_export_keep(&unsaid, arena, diag, out) : status;
    ms_deepspeed_job_release(&job);
    ms_vector_release(&unsaid);
    return status;
}

const ms_export_kind ms_export_deepspeed = {
    .name = "deepspeed",
    .software = SOFTWARE,
    .summary = "DeepSpeed's configuration, JSON",
    .ending = ".json",
    .write = write_deepspeed,
};
