/* Mesh, pipeline stages and batch of Megatron-LM's arguments.
 * Source: Megatron-LM, megatron.training.arguments (validate_args),
 * megatron.core.transformer.transformer_block (get_num_layers_to_build),
 * megatron.core.parallel_state (order of ranks: tp-cp-ep-dp-pp, innermost first). */
#include <stdlib.h>
#include <string.h>

#include "study/import/megatron_parts.h"

enum { STAGES_MAX = 100000, SIZE_MAX_RANKS = 1 << 24 };

/* ---- how many GPUs ---- */

/* What a launcher was told; 0 where it was not, or by a variable that nothing sets. */
static long launcher_count(ms_megatron_run *run, const char *name) {
    const char *value = ms_megatron_value(run, name);
    char *end = NULL;
    long count = value == NULL ? 0 : strtol(value, &end, 10);
    bool is_count =
        value != NULL && end != value && *end == '\0' && count > 0 && count <= SIZE_MAX_RANKS;
    if (value != NULL && !is_count) {
        const char *why = ms_arena_printf(
            run->arena, "'%s' is no number: --define NAME=VALUE says what the file does not",
            value);
        ms_megatron_differs(run, name, why == NULL ? "it is no number" : why);
    }
    return is_count ? count : 0;
}

/* Ranks that are started. torchrun starts some on each node, and is itself started once on each by
 * srun or mpirun; without it these start the ranks. */
static long launched_gpus(ms_megatron_run *run) {
    static const char OF_NODE[] = MS_MEGATRON_LAUNCHER "--nproc-per-node";
    bool has_nodes = ms_megatron_given(run, MS_MEGATRON_LAUNCHER "--nnodes");
    long nodes = has_nodes ? launcher_count(run, MS_MEGATRON_LAUNCHER "--nnodes") : 1;
    if (ms_megatron_given(run, OF_NODE)) {
        return launcher_count(run, OF_NODE) * nodes;
    }
    long tasks = launcher_count(run, MS_MEGATRON_LAUNCHER "--ntasks");
    return tasks > 0 ? tasks
                     : launcher_count(run, MS_MEGATRON_LAUNCHER "--ntasks-per-node") * nodes;
}

static long gpus_of(ms_megatron_run *run, long ranks_of_replica) {
    if (run->facts->gpus > 0) {
        return run->facts->gpus;
    }
    long replicas = ms_megatron_count(run, "--data-parallel-size", 1, 0);
    long world = ms_megatron_count(run, "--world-size", 1, 0);
    if (world > 0 || replicas > 0) {
        return world > 0 ? world : replicas * ranks_of_replica;
    }
    return launched_gpus(run);
}

/* ---- mesh ---- */

static void set_axis(ms_megatron_run *run, const char *key, const char *from, int size) {
    if (size > 1) {
        ms_megatron_set(run, key, from, "%d", size);
    }
}

static const char FROM_GPUS[] = "launcher --nnodes launcher --nproc-per-node launcher --ntasks "
                                "launcher --ntasks-per-node --world-size";

/* Whether the number of GPUs is what starts the job, which in examples is to be changed. */
static bool is_launched(ms_megatron_run *run) {
    return run->facts->gpus == 0 && !ms_megatron_given(run, "--world-size") &&
           !ms_megatron_given(run, "--data-parallel-size");
}

/* Replicas: what the GPUs of the job leave. */
static void set_replicas(ms_megatron_run *run, int experts_axis) {
    long ranks = (long)run->tp * run->pp * run->cp * experts_axis;
    long gpus = gpus_of(run, (long)run->tp * run->pp * run->cp);
    if (gpus == 0) {
        ms_megatron_require(run, "mesh.dp",
                            ms_arena_printf(run->arena, "GPUs of the job / %ld", ranks));
    } else if (gpus % ranks != 0 && is_launched(run)) {
        ms_megatron_require(run, "mesh.dp",
                            ms_arena_printf(run->arena,
                                            "GPUs of the job / %ld; it is started on %ld: --gpus, "
                                            "or --define of the variable that counts nodes",
                                            ranks, gpus));
    } else if (gpus % ranks != 0) {
        ms_megatron_fault(run, "--tensor-model-parallel-size",
                          "expected sizes of tp, pp, cp and ep that divide %ld GPUs, got %d x %d x "
                          "%d x %d",
                          gpus, run->tp, run->pp, run->cp, experts_axis);
    } else {
        ms_megatron_set(run, "mesh.dp", FROM_GPUS, "%ld", gpus / ranks);
        run->job->gpus = (int)gpus;
    }
}

/* Experts lie over the tp, cp and dp ranks of a stage. Where each of these holds its tokens alone,
 * ep is the inner part of the replicas; else the experts have a mesh of their own. */
static void set_expert_mesh(ms_megatron_run *run, int etp, bool is_dp_outermost) {
    ms_megatron_set(run, "expert_mesh.ep", "--expert-model-parallel-size", "%d", run->ep);
    set_axis(run, "expert_mesh.tp", "--expert-tensor-parallel-size", etp);
    if (is_dp_outermost) {
        ms_megatron_set(run, "expert_mesh.order", "--use-tp-pp-dp-mapping", "[dp, pp, ep, tp]");
    }
    if (!run->has_sequence && run->tp > 1) {
        ms_megatron_fault(run, "--expert-model-parallel-size",
                          "expected --sequence-parallel beside experts on %d tp ranks", run->tp);
    }
}

void ms_megatron_set_mesh(ms_megatron_run *run) {
    run->tp = ms_megatron_count(run, "--tensor-model-parallel-size", 1, 1);
    run->pp = ms_megatron_count(run, "--pipeline-model-parallel-size", 1, 1);
    run->cp = ms_megatron_count(run, "--context-parallel-size", 1, 1);
    run->ep = run->experts > 0 ? ms_megatron_count(run, "--expert-model-parallel-size", 1, 1) : 1;
    if (!ms_megatron_given(run, "--num-experts") &&
        ms_megatron_count(run, "--expert-model-parallel-size", 1, 1) > 1) {
        ms_megatron_fault(run, "--expert-model-parallel-size",
                          "expected --num-experts beside it, as Megatron-LM does");
    }
    run->has_sequence = ms_megatron_given(run, "--sequence-parallel") && run->tp > 1;
    int etp = run->experts > 0 ? ms_megatron_count(run, "--expert-tensor-parallel-size", 1, run->tp)
                               : run->tp;
    if (run->tp > SIZE_MAX_RANKS || run->pp > STAGES_MAX || run->cp > SIZE_MAX_RANKS ||
        run->ep > SIZE_MAX_RANKS || etp > SIZE_MAX_RANKS) {
        ms_megatron_fault(run, NULL, "expected sizes of tp, cp and ep up to %d, and of pp up to %d",
                          SIZE_MAX_RANKS, STAGES_MAX);
        run->tp = run->pp = run->cp = run->ep = 1;
        return;
    }
    bool is_dp_outermost = ms_megatron_given(run, "--use-tp-pp-dp-mapping");
    bool is_folded = run->ep > 1 ? run->tp > 1 || run->cp > 1 || etp > 1 : etp != run->tp;
    bool is_axis = run->ep > 1 && !is_folded;
    set_axis(run, "mesh.tp", "--tensor-model-parallel-size", run->tp);
    set_axis(run, "mesh.pp", "--pipeline-model-parallel-size", run->pp);
    set_axis(run, "mesh.cp", "--context-parallel-size", run->cp);
    set_axis(run, "mesh.ep", "--expert-model-parallel-size", is_axis ? run->ep : 1);
    set_replicas(run, is_axis ? run->ep : 1);
    ms_megatron_set(run, "mesh.order", "--use-tp-pp-dp-mapping", "[%s, %scp, tp]",
                    is_dp_outermost ? "dp, pp" : "pp, dp", is_axis ? "ep, " : "");
    if (is_folded) {
        set_expert_mesh(run, etp, is_dp_outermost);
    }
}

/* ---- pipeline stages ---- */

/* Layers of every virtual stage as a list; stage s is chunk s / pp of rank s mod pp. */
static void set_list(ms_megatron_run *run, const char *from, const int *layers, int stages) {
    ms_buffer list;
    ms_buffer_init(&list);
    for (int stage = 0; stage < stages; stage++) {
        ms_buffer_printf(&list, "%s%d", stage == 0 ? "" : ", ", layers[stage]);
    }
    ms_megatron_set(run, "schedule.stage_layers", from, "[%s]", ms_buffer_text(&list));
    ms_buffer_release(&list);
}

static const char LAYOUT[] = "--pipeline-model-parallel-layout";

static void set_layout(ms_megatron_run *run, const char *text) {
    const ms_megatron_argument *argument = ms_megatron_get(run, LAYOUT);
    ms_megatron_layout layout;
    ms_status status =
        ms_megatron_read_layout(text, &argument->mark, run->arena, run->diag, &layout);
    int modules = ms_megatron_count(run, "--mtp-num-layers", 0, 0);
    run->status = run->status == MS_OK ? status : run->status;
    if (status != MS_OK) {
        return;
    }
    if (layout.stages % run->pp != 0 || layout.stages > STAGES_MAX) {
        ms_megatron_fault(run, LAYOUT, "expected a multiple of %d stages, up to %d, got %d",
                          run->pp, STAGES_MAX, layout.stages);
    } else if (layout.total != run->layers || layout.mtp_layers != modules) {
        ms_megatron_fault(run, LAYOUT,
                          "expected %d layers and %d prediction modules, got %d and %d",
                          run->layers, modules, layout.total, layout.mtp_layers);
    } else {
        run->vpp = layout.stages / run->pp;
        set_list(run, LAYOUT, layout.layers, layout.stages);
    }
    if (layout.loss_stage != layout.stages - 1 ||
        (layout.mtp_stage >= 0 && layout.mtp_stage != layout.stages - 1)) {
        ms_megatron_differs(run, LAYOUT,
                            "prediction modules and output layer are on the last stage");
    }
}

/* Virtual stages of a rank by the layers of one, or by their number. */
static int count_chunks(ms_megatron_run *run, int counted_layers) {
    static const char PER_STAGE[] = "--num-layers-per-virtual-pipeline-stage";
    static const char NUMBER[] = "--num-virtual-stages-per-pipeline-rank";
    int per_stage = ms_megatron_count(run, PER_STAGE, 1, 0);
    int number = ms_megatron_count(run, NUMBER, 1, 0);
    if (per_stage > 0 && number > 0) {
        ms_megatron_fault(run, NUMBER, "expected one of it and %s, got both", PER_STAGE);
    }
    if (per_stage == 0) {
        return number > 0 ? number
                          : ms_megatron_count(run, "--virtual-pipeline-model-parallel-size", 1, 1);
    }
    int of_rank = counted_layers / run->pp;
    if (counted_layers % run->pp != 0 || of_rank % per_stage != 0) {
        ms_megatron_fault(run, PER_STAGE,
                          "expected a divisor of the %d layers on each of %d pipeline ranks, got "
                          "%d",
                          of_rank, run->pp, per_stage);
        return 1;
    }
    return of_rank / per_stage;
}

/* Layers of pipeline ranks of which the first and the last are said. */
typedef struct rank_layers {
    int first, last, others; /* of a whole rank */
} rank_layers;

static const char FIRST[] = "--decoder-first-pipeline-num-layers";
static const char LAST[] = "--decoder-last-pipeline-num-layers";

static bool share_rest(ms_megatron_run *run, rank_layers *out) {
    int first = ms_megatron_count(run, FIRST, 0, -1);
    int last = ms_megatron_count(run, LAST, 0, -1);
    int ranks = run->pp - (first >= 0) - (last >= 0);
    long rest = (long)run->layers - (first < 0 ? 0 : first) - (last < 0 ? 0 : last);
    bool is_even = ranks > 0 ? rest >= 0 && rest % ranks == 0 : rest == 0;
    if (!is_even || ranks < 0) {
        ms_megatron_fault(run, first >= 0 ? FIRST : LAST,
                          "expected a rest of the %d layers that %d pipeline ranks share evenly, "
                          "got %ld",
                          run->layers, ranks, rest);
        return false;
    }
    int share = ranks > 0 ? (int)(rest / ranks) : 0;
    *out = (rank_layers){first < 0 ? share : first, last < 0 ? share : last, share};
    return true;
}

static void set_ends(ms_megatron_run *run) {
    rank_layers of;
    int stages = run->pp * run->vpp;
    int *layers = NULL;
    if (!share_rest(run, &of)) {
        return;
    }
    if (of.first % run->vpp != 0 || of.last % run->vpp != 0 || of.others % run->vpp != 0) {
        ms_megatron_fault(run, FIRST,
                          "expected %d, %d and %d layers of ranks to be multiples of "
                          "%d virtual stages",
                          of.first, of.others, of.last, run->vpp);
        return;
    }
    layers = MS_NEW(run->arena, int, stages);
    for (int stage = 0; layers != NULL && stage < stages; stage++) {
        int rank = stage % run->pp;
        int of_rank = rank == 0 ? of.first : rank == run->pp - 1 ? of.last : of.others;
        layers[stage] = of_rank / run->vpp;
    }
    if (layers == NULL) {
        run->status = ms_diag_no_memory(run->diag);
        return;
    }
    set_list(run, "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers", layers,
             stages);
}

static const char FROM_BARE[] =
    "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
    "--pp-partition-method";

/* Stages of one layer, but for ends that have the embedding or the loss alone. */
static void set_bare_ends(ms_megatron_run *run, int embedding, int loss, int stages) {
    int *layers = MS_NEW(run->arena, int, stages);
    for (int stage = 0; layers != NULL && stage < stages; stage++) {
        layers[stage] = 1 - (stage == 0 ? embedding : 0) - (stage == stages - 1 ? loss : 0);
    }
    if (layers == NULL) {
        run->status = ms_diag_no_memory(run->diag);
        return;
    }
    set_list(run, FROM_BARE, layers, stages);
}

/* Embedding and loss may count as a layer each. */
static void set_even(ms_megatron_run *run, int embedding, int loss) {
    int counted = run->layers + embedding + loss;
    int stages = run->pp * run->vpp;
    int share = counted / stages;
    if (counted % stages != 0 || (share - embedding - (stages == 1 ? loss : 0)) < 0) {
        ms_megatron_fault(run, "--pipeline-model-parallel-size",
                          "expected a divisor of %d layers%s, got %d stages", counted,
                          embedding + loss > 0 ? " with embedding and loss" : "", stages);
        return;
    }
    if (share == 1 && embedding + loss > 0) {
        set_bare_ends(run, embedding, loss, stages);
        return;
    }
    if (embedding > 0) {
        ms_megatron_set(run, "schedule.first_stage_layers",
                        "--account-for-embedding-in-pipeline-split --pp-partition-method", "%d",
                        share - 1);
    }
    if (loss > 0) {
        ms_megatron_set(run, "schedule.last_stage_layers",
                        "--account-for-loss-in-pipeline-split --pp-partition-method", "%d",
                        share - 1);
    }
}

/* DeepSpeed shares out what a pattern names: "type:transformer|embedding" has the embedding at both
 * ends, where it is the output layer, too. Source: deepspeed.runtime.pipe.module,
 * _partition_layers. */
static bool counts_embeddings(ms_megatron_run *run) {
    const char *method = ms_megatron_value(run, "--pp-partition-method");
    return method != NULL && strncmp(method, "type:", 5) == 0 && strstr(method, "mbedding") != NULL;
}

static void set_stages(ms_megatron_run *run) {
    bool counts_both = counts_embeddings(run);
    int embedding =
        counts_both || ms_megatron_given(run, "--account-for-embedding-in-pipeline-split");
    int loss = counts_both || ms_megatron_given(run, "--account-for-loss-in-pipeline-split");
    const char *layout = ms_megatron_value(run, LAYOUT);
    bool has_ends = ms_megatron_given(run, FIRST) || ms_megatron_given(run, LAST);
    run->vpp = 1;
    if (layout != NULL) {
        set_layout(run, layout);
        return;
    }
    run->vpp = count_chunks(run, run->layers + embedding + loss);
    if ((long)run->pp * run->vpp > STAGES_MAX) {
        ms_megatron_fault(run, "--num-virtual-stages-per-pipeline-rank",
                          "expected at most %d virtual stages, got %ld", STAGES_MAX,
                          (long)run->pp * run->vpp);
        run->vpp = 1;
    } else if (has_ends && run->layers > 0) {
        set_ends(run);
    } else if (run->layers > 0) {
        set_even(run, embedding, loss);
    }
}

static const char FROM_CHUNKS[] =
    "--pipeline-model-parallel-layout --num-layers-per-virtual-pipeline-stage "
    "--num-virtual-stages-per-pipeline-rank --virtual-pipeline-model-parallel-size";

void ms_megatron_set_schedule(ms_megatron_run *run) {
    if (run->pp == 1) {
        ms_megatron_set(run, "schedule.kind", "", "1f1b");
        return; /* a stage alone has no order */
    }
    set_stages(run);
    ms_megatron_set(run, "schedule.kind", "", "%s", run->vpp > 1 ? "interleaved" : "1f1b");
    if (run->vpp <= 1) {
        return;
    }
    ms_megatron_set(run, "schedule.v", FROM_CHUNKS, "%d", run->vpp);
    int group = ms_megatron_count(run, "--microbatch-group-size-per-virtual-pipeline-stage", 1, 0);
    if (group > 0) {
        ms_megatron_set(run, "schedule.group", "--microbatch-group-size-per-virtual-pipeline-stage",
                        "%d", group);
    }
    if (ms_megatron_given(run, "--no-overlap-p2p-communication")) {
        ms_megatron_set(run, "schedule.sends", "--no-overlap-p2p-communication", "blocking");
    }
}

/* ---- batch ---- */

/* The largest of a schedule's batches: that of most of its steps. */
static int last_batch(ms_megatron_run *run, const char *text) {
    static const char NAME[] = "--step-batch-size-schedule";
    const ms_megatron_argument *argument = ms_megatron_get(run, NAME);
    ms_ints batches;
    ms_status status =
        ms_megatron_read_steps(text, &argument->mark, run->arena, run->diag, &batches);
    run->status = run->status == MS_OK ? status : run->status;
    int largest = 0;
    for (size_t i = 0; status == MS_OK && i < batches.count; i++) {
        largest = batches.items[i] > largest ? batches.items[i] : largest;
    }
    if (status == MS_OK && batches.count > 1) {
        ms_megatron_differs(run, NAME,
                            "a step of one of its batches, the largest unless batch.global "
                            "says another");
    }
    return largest;
}

static void set_global(ms_megatron_run *run, int micro) {
    const char *steps = ms_megatron_value(run, "--step-batch-size-schedule");
    int global = ms_megatron_count(run, "--global-batch-size", 1, 0);
    int of_steps = steps == NULL ? 0 : last_batch(run, steps);
    global = global > 0                     ? global
             : run->facts->global_batch > 0 ? run->facts->global_batch
                                            : of_steps;
    if (ms_megatron_given(run, "--rampup-batch-size")) {
        ms_megatron_differs(run, "--rampup-batch-size", "a step of the final batch");
    }
    if (global > 0) {
        ms_megatron_set(run, "batch.global", "--global-batch-size --step-batch-size-schedule", "%d",
                        global);
    } else if (micro > 0) {
        ms_megatron_set(run, "batch.microbatches", "", "1"); /* the default: one on each replica */
    }
}

void ms_megatron_set_batch(ms_megatron_run *run) {
    int micro = ms_megatron_count(run, "--micro-batch-size", 1, 0);
    if (micro > 0) {
        ms_megatron_set(run, "batch.micro", "--micro-batch-size", "%d", micro);
    } else if (!ms_megatron_given(run, "--micro-batch-size")) {
        ms_megatron_require(run, "batch.micro", "--micro-batch-size");
    }
    set_global(run, micro);
}
