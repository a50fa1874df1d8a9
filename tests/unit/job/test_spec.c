/* Specs: written and read again, derived and checked. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "spec_equal.h"
#include "spec_fixture.h"
#include "workload_names.h"

/* What the written text of a spec reads as. */
static ms_job_spec write_and_read(spec_fixture *f, const ms_job_spec *spec) {
    ms_buffer text;
    ms_buffer_init(&text);
    cr_assert_eq(ms_job_spec_write(spec, &text), MS_OK);
    ms_job_spec again = spec_fixture_read_text(f, ms_buffer_text(&text));
    ms_buffer_release(&text);
    return again;
}

/* ---- changes: as an override, and in the struct ---- */

static const char *DP[] = {"dp"};
static const char *DP_CP[] = {"dp", "cp"};
static int NODES[] = {0, 1, 3};
static int LAYERS[] = {1, 2, 0, 5};

#define CHANGES(X)                                                                                 \
    X(name, "name='a: name'", s->name = "a: name")                                                 \
    X(number_name, "name='12'", s->name = "12")                                                    \
    X(description, "description='two # words'", s->description = "two # words")                    \
    X(framework, "framework={name: theirs, expanded: true}",                                       \
      s->framework = ((ms_spec_framework){.name = "theirs", .is_expanded = true}))                 \
    X(tp, "mesh.tp=4", spec_set_axis(s, "tp", 4))                                                  \
    X(pp, "mesh.pp=16", spec_set_axis(s, "pp", 16))                                                \
    X(nodes, "placement.nodes=[0-1, 3]",                                                           \
      (s->placement.is_given = true, s->placement.nodes = ((ms_ints){NODES, 3})))                  \
    X(spares, "placement.spares=2", (s->placement.is_given = true, s->placement.spare_count = 2))  \
    X(cyclic, "placement.order=[gpu, node]",                                                       \
      (s->placement.is_given = true, s->placement.is_cyclic = true))                               \
    X(tree, "collectives.algorithms.all_reduce=tree",                                              \
      s->algorithms.of[MS_COLL_ALL_REDUCE] = MS_ALGORITHM_TREE)                                    \
    X(kind, "schedule.kind=zbv", s->schedule.kind = MS_SCHEDULE_ZBV)                               \
    X(csv, "schedule.kind='csv:a b.csv'",                                                          \
      (s->schedule.kind = MS_SCHEDULE_CUSTOM, s->schedule.csv = "a b.csv"))                        \
    X(v, "schedule.v=3", s->schedule.chunks = 3)                                                   \
    X(group, "schedule.group=7", s->schedule.group = 7)                                            \
    X(splits, "schedule.splits=4", s->schedule.slices = 4)                                         \
    X(reorder, "schedule.reorder=true", s->schedule.is_reordered = true)                           \
    X(pairs, "schedule.overlap=serial", s->schedule.overlap = MS_OVERLAP_SERIAL)                   \
    X(held, "schedule.communication_sms=20", s->schedule.communication_sms = 20)                   \
    X(sends, "schedule.sends=blocking", s->schedule.sends = MS_SENDS_BLOCKING)                     \
    X(step_end, "schedule.step_end=post_validation",                                               \
      s->schedule.step_end = MS_STEP_END_POST_VALIDATION)                                          \
    X(even, "schedule.partition=even", s->schedule.partition.kind = MS_PARTITION_EVEN)             \
    X(balanced, "schedule.partition=balanced", s->schedule.partition.kind = MS_PARTITION_BALANCED) \
    X(first, "schedule.first_stage_layers=2", s->schedule.partition.first_stage_layers = 2)        \
    X(last, "schedule.last_stage_layers=1", s->schedule.partition.last_stage_layers = 1)           \
    X(stages, "schedule.stage_layers=[1, 2, 0, 5]",                                                \
      s->schedule.partition.stage_layers = ((ms_ints){LAYERS, 4}))                                 \
    X(global, "batch.global=4096", s->batch.global = 4096)                                         \
    X(micro, "batch.micro=2", s->batch.micro = 2)                                                  \
    X(microbatches, "batch.microbatches=12", s->batch.microbatches = 12)                           \
    X(fp16, "precision.parameters=fp16", s->precision.parameters = MS_DTYPE_FP16)                  \
    X(fp32, "precision.parameters=fp32", s->precision.parameters = MS_DTYPE_FP32)                  \
    X(bf16, "precision.gradients=bf16", s->precision.gradients = MS_DTYPE_BF16)                    \
    X(optimizer, "precision.optimizer=6.1 B", s->precision.optimizer_B = 6.1)                      \
    X(fp8, "precision.products=fp8", s->precision.products.format = MS_PRODUCT_FP8)                \
    X(nvfp4, "precision.products=nvfp4", s->precision.products.format = MS_PRODUCT_NVFP4)          \
    X(scaling, "precision.scaling=rowwise", s->precision.products.scaling = MS_SCALING_ROWWISE)    \
    X(amax_group, "precision.amax_group=tensor", s->precision.products.amax = MS_AMAX_TENSOR)      \
    X(casts, "precision.casts=transformer_engine_1",                                               \
      s->precision.products.casts = MS_CASTS_TRANSFORMER_ENGINE_1)                                 \
    X(products_of, "precision.products_of=[mlp, head]",                                            \
      s->precision.products.kinds = MS_PRODUCT_MLP | MS_PRODUCT_HEAD)                              \
    X(weight_gradients, "precision.weight_gradients=parameters",                                   \
      s->precision.products.weight_gradients = MS_TYPE_OF_PARAMETERS)                              \
    X(kept, "precision.kept=parameters", s->precision.products.kept = MS_TYPE_OF_PARAMETERS)       \
    X(second_form, "precision.second_form=backward",                                               \
      s->precision.products.second_form = MS_SECOND_FORM_BACKWARD)                                 \
    X(tensor_gathers, "precision.tensor_gathers=parameters",                                       \
      s->precision.products.tensor_gathers = MS_TYPE_OF_PARAMETERS)                                \
    X(parameter_gathers, "precision.parameter_gathers=products",                                   \
      s->precision.products.parameter_gathers = MS_TYPE_OF_PRODUCTS)                               \
    X(attention_fp8, "precision.attention=fp8_multi_head",                                         \
      s->precision.products.attention = MS_ATTENTION_FP8_MULTI_HEAD)                               \
    X(first_plain, "precision.first_plain_layers=2", s->precision.products.first_plain_layers = 2) \
    X(last_plain, "precision.last_plain_layers=1", s->precision.products.last_plain_layers = 1)    \
    X(sequence, "tensor_parallel.sequence=true", s->choices.has_sequence_parallel = true)          \
    X(no_sequence, "tensor_parallel.sequence=false", s->choices.has_sequence_parallel = false)     \
    X(tp_overlap, "tensor_parallel.overlap=bulk", s->choices.tp_overlap = MS_TP_OVERLAP_BULK)      \
    X(tp_style, "tensor_parallel.style=dtensor", s->choices.tp_style = MS_TP_DTENSOR)              \
    X(chunks, "tensor_parallel.chunks=8", s->choices.tp_chunks = 8)                                \
    X(slow, "tensor_parallel.allow_slow=true", s->allows_slow_tp = true)                           \
    X(cp_kind, "context_parallel.kind=all_to_all", s->choices.cp_kind = MS_CP_ALL_TO_ALL)          \
    X(cp_on, "context_parallel.overlap=true", s->cp_overlap = 1)                                   \
    X(cp_off, "context_parallel.overlap=false", s->cp_overlap = 0)                                 \
    X(zero_1, "data_parallel.zero=1", s->choices.zero = 1)                                         \
    X(zero_3, "data_parallel.zero=3", s->choices.zero = 3)                                         \
    X(shard, "data_parallel.shard=[dp]", s->shard = ((ms_words){DP, 1}))                           \
    X(shard_two, "data_parallel.shard=[dp, cp]", s->shard = ((ms_words){DP_CP, 2}))                \
    X(copies, "data_parallel.copies=3", s->choices.state_copies = 3)                               \
    X(keep, "data_parallel.keep_parameters=true", s->choices.keeps_parameters = true)              \
    X(gather_0, "data_parallel.gather_stages=0", s->gather_stages = 0)                             \
    X(gather_2, "data_parallel.gather_stages=2", s->gather_stages = 2)                             \
    X(last_mb, "data_parallel.reduce=last", s->reduce = MS_REDUCE_LAST)                            \
    X(every_mb, "data_parallel.reduce=every", s->reduce = MS_REDUCE_EVERY)                         \
    X(overlap_reduce, "data_parallel.overlap_reduce=true", s->choices.has_reduce_overlap = true)   \
    X(overlap_gather, "data_parallel.overlap_gather=true", s->choices.has_gather_overlap = true)   \
    X(all_reduce, "data_parallel.all_reduce=true", s->choices.all_reduces_gradients = true)        \
    X(units, "data_parallel.units=parameters", s->choices.units = MS_UNITS_PARAMETERS)             \
    X(bucketing, "data_parallel.bucketing=capped", s->choices.bucketing = MS_BUCKETS_CAPPED)       \
    X(bucket, "data_parallel.bucket=40.3 MB", s->choices.bucket_B = 40.3e6)                        \
    X(operations, "data_parallel.update=operations", s->choices.update = MS_UPDATE_OPERATIONS)     \
    X(update, "data_parallel.update=separate", s->choices.update = MS_UPDATE_SEPARATE)             \
    X(offload, "data_parallel.offload=true", s->choices.is_offloaded = true)                       \
    X(messages, "pipeline.communicator=world", s->algorithms.messages = MS_MESSAGES_WORLD)         \
    X(scatter, "pipeline.scatter_gather=true", s->choices.has_scatter_gather = true)               \
    X(allocator, "memory.allocator_overhead=0.07", s->choices.allocator_overhead = 0.07)           \
    X(launch, "host.launch=5.3 us", s->host.launch_s = 5.3e-6)                                     \
    X(replaces_slow_nodes, "host.replaces_slow_nodes=true", s->host.replaces_slow_nodes = true)    \
    X(sync, "host.sync=[messages, norm, batch, experts]",                                          \
      s->host.syncs = MS_SYNC_MESSAGES | MS_SYNC_NORM | MS_SYNC_BATCH | MS_SYNC_EXPERTS)           \
    X(libraries, "memory.libraries=torch",                                                         \
      s->choices.framework_memory.libraries = MS_LIBRARIES_TORCH)                                  \
    X(cublas, "memory.cublas_workspace=32 MiB",                                                    \
      s->choices.framework_memory.cublas_B = 32.0 * 1048576)                                       \
    X(buffers, "memory.buffers=[gather, scores]",                                                  \
      s->choices.framework_memory.buffers = MS_BUFFER_GATHER | MS_BUFFER_SCORES)                   \
    X(offloaded, "memory.offload=[norms, experts]",                                                \
      s->choices.offloaded = MS_OFFLOAD_NORMS | MS_OFFLOAD_EXPERTS)                                \
    X(full, "recompute=full", s->choices.recompute = MS_RECOMPUTE_FULL)                            \
    X(selective, "recompute=selective", s->choices.recompute = MS_RECOMPUTE_SELECTIVE)             \
    X(parts, "recompute_parts=[norms, activations]",                                               \
      s->choices.recompute_parts = MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS)                  \
    X(recompute_layers, "recompute_layers=3", s->choices.recompute_layers = 3)                     \
    X(steps, "steps=5", s->simulation.steps = 5)                                                   \
    X(analytic, "fidelity=analytic", s->simulation.fidelity = MS_FIDELITY_ANALYTIC)                \
    X(passes, "granularity=pass", s->simulation.granularity = MS_GRANULARITY_PASS)                 \
    X(layers, "model.layers=200", s->model.layers = 200)                                           \
    X(vocab, "model.vocab=256", s->model.vocab = 256)                                              \
    X(tokens, "model.sequence=3072", s->model.sequence = 3072)                                     \
    X(dropout, "model.dropout=0.3", s->model.dropout = 0.3)                                        \
    X(positions, "model.positions=learned",                                                        \
      (s->model.has_positions = true, s->model.has_alibi = false))                                 \
    X(rotary, "model.positions=rotary",                                                            \
      (s->model.has_positions = false, s->model.has_alibi = false))                                \
    X(alibi, "model.positions=alibi", (s->model.has_positions = false, s->model.has_alibi = true)) \
    X(parallel_block, "model.parallel_block=true", s->model.has_parallel_block = true)             \
    X(biases, "model.biases=[attention_output, head]",                                             \
      s->model.parts.biases = MS_BIAS_ATTENTION_OUTPUT | MS_BIAS_HEAD)                             \
    X(qk_norm, "model.qk_norm=true", s->model.parts.has_qk_norms = true)                           \
    X(qk_gains, "model.qk_gains=own", s->model.parts.has_own_qk_gains = true)                      \
    X(window_skip_freq, "model.window_skip_freq=4", s->model.parts.window_skip_freq = 4)           \
    X(post_norms, "model.post_norms=true", s->model.parts.has_post_norms = true)                   \
    X(branch_norms, "model.branch_norms=true", s->model.parts.has_branch_norms = true)             \
    X(window, "model.window=512", s->model.window = 512)                                           \
    X(metrics, "model.loss_metrics=2", s->model.loss_metrics = 2)                                  \
    X(repeats, "model.repeat_key_values=true", s->model.repeats_key_values = true)                 \
    X(projections, "model.projections=separate", s->model.projections = MS_PROJECTIONS_SEPARATE)   \
    X(plain_loss, "model.loss=plain", s->model.loss = MS_LOSS_PLAIN)                               \
    X(eager, "model.kernels=eager", s->model.kernels = MS_KERNELS_EAGER)                           \
    X(two_pass, "model.two_pass_norms=true", s->model.kernel_traits.has_two_pass_norms = true)     \
    X(separate, "model.separate_dropout=true", s->model.kernel_traits.has_separate_dropout = true) \
    X(complex, "model.complex_rotary=true", s->model.kernel_traits.has_complex_rotary = true)      \
    X(cast, "model.cast_gradients=true", s->model.kernel_traits.has_cast_gradients = true)         \
    X(attention, "model.attention=flash2", s->model.attention = MS_ATTENTION_FLASH2)               \
    X(parameters, "model.parameters_override=1.23e11", s->model.parameters_override = 1.23e11)

#define APPLY(name, set, statement)                                                                \
    static void apply_##name(ms_job_spec *s) {                                                     \
        statement;                                                                                 \
    }
CHANGES(APPLY)

typedef struct change {
    const char *set;
    void (*apply)(ms_job_spec *spec);
} change;

#define ROW(name, set, statement) {set, apply_##name},
static const change TABLE[] = {CHANGES(ROW)};
enum { CHANGE_COUNT = sizeof TABLE / sizeof TABLE[0], CHANGES_MAX = 12 };

static bool has_change(const char *key, size_t length) {
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        if (strncmp(TABLE[i].set, key, length) == 0 && TABLE[i].set[length] == '=') {
            return true;
        }
    }
    return false;
}

/* Whether a line of the list is about a mapping. */
static bool is_mapping(const char *line) {
    static const char REQUIRED[] = "required, ";
    const char *kind = strstr(line, "  # ") + 4;
    kind += strncmp(kind, REQUIRED, strlen(REQUIRED)) == 0 ? strlen(REQUIRED) : 0;
    return strncmp(kind, "mapping", 7) == 0;
}

/* A new key without a line above would be neither written nor compared here. The mappings below
 * have readers of their own, and no line for each of their keys. */
Test(spec, every_key_has_a_change) {
    static const char *const OTHERS[] = {"platform.",    "mesh.",           "model.",    "costs.",
                                         "expert_mesh.", "placement.file ", "framework."};
    ms_buffer keys;
    ms_buffer_init(&keys);
    ms_job_spec_write_keys(&keys);
    int count = 0;
    for (const char *line = ms_buffer_text(&keys); *line != '\0'; line = strchr(line, '\n') + 1) {
        bool is_other = is_mapping(line);
        for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
            is_other = is_other || strncmp(line, OTHERS[i], strlen(OTHERS[i])) == 0;
        }
        size_t length = strcspn(line, " ");
        count += !is_other;
        cr_assert(is_other || has_change(line, length), "%.*s", (int)length, line);
    }
    cr_assert_gt(count, 40);
    ms_buffer_release(&keys);
}

/* ---- round trips ---- */

Test(spec, every_workload_is_read_as_it_is_written) {
    workload_name names[WORKLOADS_MAX];
    size_t count = find_workloads(names);
    for (size_t i = 0; i < count; i++) {
        spec_fixture f;
        spec_fixture_init(&f);
        ms_job_spec spec = spec_fixture_read(&f, names[i].text, NULL, 0);
        ms_job_spec again = write_and_read(&f, &spec);
        cr_assert(spec_is_equal(&spec, &again), "%s", names[i].text);
        cr_assert_str_eq(spec.platform.text, again.platform.text);
        spec_fixture_release(&f);
    }
}

Test(spec, given_costs_are_read_as_they_are_written) {
    static const char TEXT[] =
        "platform: {file: flat, nodes: 4}\n"
        "mesh: {pp: 4}\n"
        "costs: {forward: [1.1 ms, 2 ms, 3 ms, 4e-7 s], input_gradient: 1 ms,"
        " optimizer: 0.1 s}\n"
        "batch: {microbatches: 8}\n";
    spec_fixture f;
    spec_fixture_init(&f);
    char path[] = "/tmp/meshsim-spec-XXXXXX";
    int file = mkstemp(path);
    cr_assert_eq(write(file, TEXT, strlen(TEXT)), (ssize_t)strlen(TEXT));
    close(file);
    ms_job_spec spec = spec_fixture_read_path(&f, path, NULL, 0);
    unlink(path);
    ms_job_spec again = write_and_read(&f, &spec);
    cr_assert(spec_is_equal(&spec, &again));
    double *items = again.costs.forward.items;
    cr_assert_eq(items[3], 4e-7);
    items[3] = nextafter(4e-7, 1);
    cr_assert_not(spec_is_equal(&spec, &again), "the last bit counts");
    spec_fixture_release(&f);
}

/* A spec changed in a number of fields at random, and the same changes as overrides. */
static ms_job_spec change_at_random(spec_fixture *f, ms_random *random, const char *name,
                                    const char **sets, size_t *count_out) {
    ms_job_spec base = spec_fixture_read(f, name, NULL, 0);
    ms_job_spec spec = ms_job_spec_derive(&base);
    size_t count = (size_t)ms_random_range(random, 1, CHANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        const change *c = &TABLE[ms_random_range(random, 0, CHANGE_COUNT - 1)];
        bool has_axis = true;
        if (strncmp(c->set, "mesh.", 5) == 0) {
            has_axis = spec_set_axis(&spec, (char[]){c->set[5], c->set[6], '\0'}, 1) == MS_OK;
        }
        if (strstr(c->set, "kind=zbv") != NULL) {
            spec.schedule.csv = NULL;
        }
        c = has_axis ? c : &TABLE[0];
        c->apply(&spec);
        sets[i] = c->set;
    }
    *count_out = count;
    return spec;
}

Test(spec, random_specs_are_read_as_they_are_written) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 20261122 : strtoull(given, NULL, 10);
    ms_random random = {.state = seed};
    workload_name names[WORKLOADS_MAX];
    int workloads = (int)find_workloads(names);
    for (int round = 0; round < 200; round++) {
        spec_fixture f;
        spec_fixture_init(&f);
        const char *sets[CHANGES_MAX];
        size_t count = 0;
        const char *name = names[ms_random_range(&random, 0, workloads - 1)].text;
        ms_job_spec spec = change_at_random(&f, &random, name, sets, &count);
        ms_job_spec again = write_and_read(&f, &spec);
        cr_assert(spec_is_equal(&spec, &again), "seed %llu, round %d: %s", (unsigned long long)seed,
                  round, name);
        ms_job_spec set = spec_fixture_read(&f, name, sets, count);
        cr_assert(spec_is_equal(&spec, &set), "seed %llu, round %d: %s, derived and --set",
                  (unsigned long long)seed, round, name);
        spec_fixture_release(&f);
    }
}

/* ---- derivation ---- */

Test(spec, each_field_counts_and_derives_as_its_override) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec base = spec_fixture_read(&f, "gpt3-175b-1024", NULL, 0);
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        ms_job_spec derived = ms_job_spec_derive(&base), before;
        memcpy(&before, &derived, sizeof before);
        TABLE[i].apply(&derived);
        bool is_changed =
            memcmp(&before, &derived, sizeof before) != 0; /* else it is the default */
        cr_assert_eq(spec_is_equal(&base, &derived), !is_changed, "%s is not written",
                     TABLE[i].set);
        ms_job_spec set = spec_fixture_read(&f, "gpt3-175b-1024", &TABLE[i].set, 1);
        cr_assert(spec_is_equal(&derived, &set), "%s", TABLE[i].set);
        ms_job_spec again = write_and_read(&f, &derived);
        cr_assert(spec_is_equal(&derived, &again), "%s", TABLE[i].set);
        const char *one[] = {TABLE[i].set};
        ms_job_spec overridden;
        cr_assert_eq(
            ms_job_spec_read_again(&base, &(ms_words){one, 1}, &f.arena, &f.diag, &overridden),
            MS_OK, "%s", TABLE[i].set);
        derived.simulation.fidelity = base.simulation.fidelity; /* which stays */
        cr_assert(spec_is_equal(&derived, &overridden), "%s, overridden", TABLE[i].set);
        cr_assert_eq(overridden.platform.cluster, base.platform.cluster);
    }
    spec_fixture_release(&f);
}

Test(spec, equality_sees_every_field) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec base = spec_fixture_read(&f, "gpt3-175b-1024", NULL, 0);
    int same = 0;
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        ms_job_spec derived = ms_job_spec_derive(&base);
        TABLE[i].apply(&derived);
        same += spec_is_equal(&base, &derived);
    }
    /* what the workload says already: an even partition, learned positions, ... */
    cr_assert_leq(same, 6, "%d of %d changes are not seen", same, (int)CHANGE_COUNT);
    spec_fixture_release(&f);
}

/* Both are laid out alike, defaults that follow from other fields included. */
Test(spec, derived_degrees_are_laid_out_as_overrides_are) {
    static const char *const SETS[] = {"mesh.tp=4", "mesh.dp=32", "mesh.pp=8",
                                       "data_parallel.zero=3", "batch.global=1536"};
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec base = spec_fixture_read(&f, "gpt3-175b-1024", NULL, 0);
    ms_job_spec derived = ms_job_spec_derive(&base);
    cr_assert_eq(spec_set_axis(&derived, "tp", 4), MS_OK);
    cr_assert_eq(spec_set_axis(&derived, "dp", 32), MS_OK);
    cr_assert_eq(spec_set_axis(&derived, "pp", 8), MS_OK);
    cr_assert_eq(spec_set_axis(&derived, "qp", 8), MS_E_RANGE);
    derived.choices.zero = 3;
    derived.batch.global = 1536;
    ms_job_spec set = spec_fixture_read(&f, "gpt3-175b-1024", SETS, 5);
    ms_job one, two;
    cr_assert_eq(ms_job_lay_out(&derived, &f.arena, &f.diag, &one), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_lay_out(&set, &f.arena, &f.diag, &two), MS_OK);
    cr_assert_eq(one.layout.tp, 4);
    cr_assert_eq(one.layout.zero, 3);
    cr_assert_eq(one.layout.reduce, two.layout.reduce);
    cr_assert_eq(one.microbatches, two.microbatches);
    cr_assert_eq(one.mesh.ranks, two.mesh.ranks);
    cr_assert_eq(ms_program_crc32(&one.program), ms_program_crc32(&two.program));
    spec_fixture_release(&f);
}

/* ---- checks ---- */

static void break_shares(ms_job_spec *s) {
    s->model.layers = 9;
}
static void break_stages(ms_job_spec *s) {
    s->schedule.partition.kind = MS_PARTITION_BALANCED;
    s->schedule.kind = MS_SCHEDULE_INTERLEAVED;
    s->schedule.chunks = 6;
}
static void break_ends(ms_job_spec *s) {
    s->schedule.partition.first_stage_layers = 9;
}
static void break_list(ms_job_spec *s) {
    s->schedule.partition.stage_layers = (ms_ints){LAYERS, 4};
}
static void break_sum(ms_job_spec *s) {
    s->schedule.partition.stage_layers = (ms_ints){LAYERS, 2};
}
static void break_degree(ms_job_spec *s) {
    s->model.heads = s->model.kv_heads = 1;
    s->schedule.partition.kind = MS_PARTITION_BALANCED;
}
static void break_ranks(ms_job_spec *s) {
    spec_set_axis(s, "tp", 4);
}
static void break_batch(ms_job_spec *s) {
    s->batch.global = 15;
}
static void break_zero(ms_job_spec *s) {
    s->choices.zero = 4;
}
static void break_micro(ms_job_spec *s) {
    s->batch.micro = 0;
}
static void break_model(ms_job_spec *s) {
    s->model.kv_heads = 3;
}
static void break_heads(ms_job_spec *s) {
    s->model.heads = 0;
}
static void break_kind(ms_job_spec *s) {
    s->schedule.kind = (ms_schedule_kind)99;
}
static void break_overlap(ms_job_spec *s) {
    s->choices.tp_overlap = (ms_tp_overlap)7;
}
static void break_mesh(ms_job_spec *s) {
    s->mesh.axes = 0;
}
static void break_platform(ms_job_spec *s) {
    s->platform.cluster = NULL;
}
static void break_steps(ms_job_spec *s) {
    s->schedule.step_end = MS_STEP_END_POST_VALIDATION;
}
static void break_optimizer(ms_job_spec *s) {
    s->precision.optimizer_B = (double)NAN;
}
static void break_products(ms_job_spec *s) {
    s->precision.products.format = MS_PRODUCT_FP8; /* of an A100 */
}
static void break_single(ms_job_spec *s) {
    s->precision.parameters = MS_DTYPE_FP32;
    s->model.attention = MS_ATTENTION_FUSED;
}
static void break_parts(ms_job_spec *s) {
    s->choices.recompute_parts = 1U << 9;
}

Test(spec, a_derived_spec_is_checked_as_a_file_is) {
    static const struct {
        void (*apply)(ms_job_spec *spec);
        const char *says;
    } CASES[] = {
        {break_ranks, "error: mesh: pp 2 x dp 2 x tp 4 needs 16 GPUs"},
        {break_batch, "error: batch.global: 15 sequences do not divide"},
        {break_zero, "error: data_parallel.zero: expected 0 to 3, got '4'"},
        {break_micro, "error: batch.micro: "},
        {break_model, "error: model.kv_heads: '3' key/value heads do not divide"},
        {break_heads, "error: model.heads: "},
        {break_kind, "error: schedule.kind: "},
        {break_overlap, "error: tensor_parallel.overlap: is none of the words"},
        {break_mesh, "error: mesh: this key is required"},
        {break_platform, "error: platform: this key is required"},
        {break_steps, "error: schedule.step_end: post_validation is measured"},
        {break_optimizer, "error: precision.optimizer: expected 0 B to 64 B, got 'nan'"},
        {break_products, "error: precision.products: fp8: the GPU 'a100-sxm4-80gb' has no"},
        {break_single, "error: precision.parameters: fp32: fused kernels of attention take bf16"},
        {break_parts, "error: recompute_parts: has more than the words"},
        {break_shares, "error: schedule: 9 layers do not divide among 2 virtual stages"},
        {break_stages, "error: schedule: 8 layers for 12 virtual stages: more stages"},
        {break_ends, "error: schedule: 8 layers do not divide among 2 virtual stages"},
        {break_list, "error: schedule.stage_layers: expected 2 entries (pp x v), got 4"},
        {break_sum, "error: model: the layers of the 2 virtual stages sum to '3'"},
        {break_degree, "error: model: tensor-parallel degree '2' does not fit 1 att"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        spec_fixture f;
        spec_fixture_init(&f);
        ms_job_spec base = spec_fixture_read(&f, "tiny", NULL, 0);
        ms_job_spec derived = ms_job_spec_derive(&base);
        CASES[i].apply(&derived);
        ms_job layout;
        cr_assert_eq(ms_job_lay_out(&derived, &f.arena, &f.diag, &layout), MS_E_INPUT, "case %zu",
                     i);
        const char *said = ms_buffer_text(&f.messages);
        cr_assert(strstr(said, CASES[i].says) != NULL, "case %zu: %s", i, said);
        cr_assert(strncmp(said, "meshsim: error: ", 16) == 0, "no place: %s", said);
        spec_fixture_release(&f);
    }
}

/* With its source kept, a fault of the same spec points into the file. */
Test(spec, faults_point_into_the_file_where_there_is_one) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec spec = spec_fixture_read(&f, "tiny", NULL, 0);
    ms_job layout;
    spec.batch.global = 15;
    cr_assert_eq(ms_job_lay_out(&spec, &f.arena, &f.diag, &layout), MS_E_INPUT);
    cr_assert(strstr(ms_buffer_text(&f.messages), "tiny.yaml:8:17: error: batch.global: 15") !=
                  NULL,
              "%s", ms_buffer_text(&f.messages));
    spec_fixture_release(&f);
}

/* What is reported of a key that the user left out stands at the mapping around it. */
Test(spec, faults_of_absent_keys_stand_at_their_mapping) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec spec = spec_fixture_read(&f, "tiny", NULL, 0);
    cr_assert_eq(ms_spec_fault(&spec, &f.diag, "batch.microbatches", "wrong"), MS_E_INPUT);
    cr_assert(
        strstr(ms_buffer_text(&f.messages), "tiny.yaml:8:8: error: batch.microbatches: wrong"),
        "%s", ms_buffer_text(&f.messages));
    spec_fixture_release(&f);
}

/* Keys without an effect are those that the user gave: a derived spec, which says the same, has
 * none. */
Test(spec, idle_keys_are_those_of_the_file) {
    static const char *const SETS[] = {"tensor_parallel.chunks=8",
                                       "context_parallel.kind=all_to_all", "data_parallel.zero=1"};
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job job = spec_fixture_lay_out(&f, spec_fixture_read(&f, "tiny", SETS, 3));
    ms_idle_keys keys;
    cr_assert_eq(ms_idle_keys_find(&job, &f.arena, &f.diag, &keys), MS_OK);
    cr_assert_eq(keys.count, 2);
    cr_assert_str_eq(keys.items[0].key, "tensor_parallel.chunks");
    cr_assert_str_eq(keys.items[0].why,
                     "only 'tensor_parallel.overlap: chunks' cuts products into them");
    cr_assert_str_eq(keys.items[1].key, "context_parallel.kind");
    job.spec = ms_job_spec_derive(&job.spec);
    cr_assert_eq(ms_idle_keys_find(&job, &f.arena, &f.diag, &keys), MS_OK);
    cr_assert_eq(keys.count, 0);
    spec_fixture_release(&f);
}

Test(spec, a_bad_override_is_told_and_changes_nothing) {
    static const char *const BAD[] = {"modl.layers=2", "model.layers=two", "batch", "mesh.tp=0",
                                      "model.hf=nowhere.json"};
    spec_fixture f;
    spec_fixture_init(&f);
    const ms_job_spec base = spec_fixture_read(&f, "tiny", NULL, 0);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const char *one[] = {BAD[i]};
        ms_job_spec spec = base;
        int before = f.diag.errors;
        cr_assert_neq(ms_job_spec_read_again(&base, &(ms_words){one, 1}, &f.arena, &f.diag, &spec),
                      MS_OK, "%s", BAD[i]);
        cr_assert_eq(memcmp(&spec, &base, sizeof spec), 0, "%s", BAD[i]);
        cr_assert_gt(f.diag.errors, before, "%s", BAD[i]);
    }
    spec_fixture_release(&f);
}

/* A host that waits for every kernel runs ahead of none: its launches are in the kernels' times. */
Test(spec, hosts_that_wait_for_kernels_launch_nothing_beside_them) {
    static const char *const SETS[] = {"host.launch=5 us", "host.sync=[norm]",
                                       "host.sync=[norm, kernels]"};
    spec_fixture f;
    spec_fixture_init(&f);
    for (int is_blocking = 0; is_blocking < 2; is_blocking++) {
        ms_job_spec spec = spec_fixture_read(&f, "tiny", SETS, is_blocking ? 3 : 2);
        ms_job job;
        cr_assert_eq(ms_job_lay_out(&spec, &f.arena, &f.diag, &job), MS_OK);
        cr_assert_float_eq(ms_spec_host_of(&spec).launch_s, is_blocking ? 0 : 5e-6, 1e-18);
        cr_assert_float_eq(job.layout.blocking_launch_s, is_blocking ? 5e-6 : 0, 1e-18);
    }
    spec_fixture_release(&f);
}
