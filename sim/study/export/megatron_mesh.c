/* Mesh, pipeline stages and batch in Megatron-LM's arguments: what study/import/megatron_mesh.c
 * reads. */
#include <string.h>

#include "study/export/megatron.h"

/* ---- mesh ---- */

static bool is_dp_outermost(const ms_spec_mesh *mesh) {
    for (int axis = 0; axis < mesh->axes; axis++) {
        bool is_dp = strcmp(mesh->names[axis], "dp") == 0;
        if (is_dp || strcmp(mesh->names[axis], "pp") == 0) {
            return is_dp && ms_spec_axis_size(mesh, "pp") > 1;
        }
    }
    return false;
}

/* Experts: an axis of the mesh beside cp, else on a mesh of their own. Beside several tp ranks
 * Megatron-LM asks for sequence parallelism, whether the job has it or not. */
static void say_experts(ms_megatron_export *x, int tp) {
    const ms_expert_axes *experts = &x->spec->experts;
    int axis = ms_spec_axis_size(&x->spec->mesh, "ep");
    int etp = experts->ep > 0 ? experts->tp : tp;
    int ep = experts->ep > 0 ? experts->ep : axis;
    if (x->spec->model.moe.experts == 0) {
        return;
    }
    ms_megatron_say_count(x, "--expert-model-parallel-size", ep, 1);
    ms_megatron_say_count(x, "--expert-tensor-parallel-size", etp, tp);
}

void ms_megatron_say_mesh(ms_megatron_export *x) {
    const ms_job_spec *spec = x->spec;
    const ms_spec_mesh *mesh = &spec->mesh;
    int tp = ms_spec_axis_size(mesh, "tp"), cp = ms_spec_axis_size(mesh, "cp");
    bool has_experts =
        spec->model.moe.experts > 0 && (spec->experts.ep > 0 || ms_spec_axis_size(mesh, "ep") > 1);
    ms_megatron_say_count(x, "--tensor-model-parallel-size", tp, 1);
    ms_megatron_say_count(x, "--pipeline-model-parallel-size", ms_spec_axis_size(mesh, "pp"), 1);
    ms_megatron_say_count(x, "--context-parallel-size", cp, 1);
    say_experts(x, tp);
    ms_megatron_say_if(x, "--use-tp-pp-dp-mapping", is_dp_outermost(mesh));
    ms_megatron_say_if(x, "--sequence-parallel",
                       tp > 1 && (spec->tensor.has_sequence_parallel || has_experts));
    ms_megatron_say_if(x, "--tp-comm-overlap",
                       tp > 1 && spec->tensor.has_sequence_parallel &&
                           spec->tensor.overlap == MS_TP_OVERLAP_RING);
    for (const ms_megatron_cp_type *row = MS_MEGATRON_CP_TYPES; cp > 1 && row->type != NULL;
         row++) {
        if (strcmp(row->kind, ms_megatron_key(x, "context_parallel.kind")) == 0) {
            ms_megatron_say(x, "--cp-comm-type", "%s", row->type);
            break;
        }
    }
}

/* ---- stages ---- */

/* Layers of the virtual stages in Megatron-LM's order, stage s on rank s mod pp. */
typedef struct stage_list {
    int *layers; /* [pp * vpp] */
    int pp, vpp, count;
} stage_list;

/* The stages of a job whose order deals them to the ranks in turn; of any other order all stages of
 * a rank are one. */
static bool list_stages(const ms_megatron_export *x, stage_list *out) {
    const ms_program *program = &x->source->job->program;
    const int *layers = x->source->job->layout.stage_layers;
    int pp = ms_spec_axis_size(&x->spec->mesh, "pp");
    int stages = program->model_stages;
    bool is_dealt = layers != NULL && stages % pp == 0;
    for (int stage = 0; stage < stages && is_dealt; stage++) {
        is_dealt = program->stage_rank[stage] == stage % pp;
    }
    *out = (stage_list){.pp = pp, .vpp = is_dealt ? stages / pp : 1};
    out->count = out->pp * out->vpp;
    out->layers = MS_NEW(x->arena, int, out->count);
    for (int stage = 0; out->layers != NULL && layers != NULL && stage < stages; stage++) {
        out->layers[is_dealt ? stage : program->stage_rank[stage]] += layers[stage];
    }
    return out->layers != NULL;
}

/* Layers of the stages between the first and the last; -1: they differ. */
static int middle_of(const stage_list *stages) {
    for (int stage = 2; stage < stages->count - 1; stage++) {
        if (stages->layers[stage] != stages->layers[1]) {
            return -1;
        }
    }
    return stages->count > 2 ? stages->layers[1] : -1;
}

static void put_layers(ms_buffer *out, int layers) {
    if (layers > 0) {
        ms_buffer_printf(out, layers == 1 ? "t" : "t*%d", layers);
    }
}

/* "Et*3|(t*4|)*6t*2mL" */
static void say_layout(ms_megatron_export *x, const stage_list *stages) {
    ms_buffer layout;
    ms_buffer_init(&layout);
    ms_buffer_puts(&layout, "E");
    put_layers(&layout, stages->layers[0]);
    ms_buffer_puts(&layout, "|");
    for (int from = 1, to = 1; from < stages->count - 1; from = to) {
        while (to < stages->count - 1 && stages->layers[to] == stages->layers[from]) {
            to++;
        }
        ms_buffer_puts(&layout, to - from > 1 ? "(" : "");
        put_layers(&layout, stages->layers[from]);
        ms_buffer_puts(&layout, "|");
        if (to - from > 1) {
            ms_buffer_printf(&layout, ")*%d", to - from);
        }
    }
    put_layers(&layout, stages->layers[stages->count - 1]);
    for (int module = 0; module < x->spec->model.mtp_layers; module++) {
        ms_buffer_puts(&layout, "m");
    }
    ms_buffer_puts(&layout, "L");
    ms_megatron_say(x, "--pipeline-model-parallel-layout", "%s", ms_buffer_text(&layout));
    x->lines.failed = x->lines.failed || layout.failed;
    ms_buffer_release(&layout);
}

static bool is_even(const stage_list *stages) {
    for (int stage = 1; stage < stages->count; stage++) {
        if (stages->layers[stage] != stages->layers[0]) {
            return false;
        }
    }
    return true;
}

/* Ends of which one or both have a layer less than the others, as embedding and loss count as one.
 */
static bool say_ends(ms_megatron_export *x, const stage_list *stages) {
    int middle = middle_of(stages);
    int first = stages->layers[0], last = stages->layers[stages->count - 1];
    bool is_said = middle > 0 && (first == middle || first == middle - 1) &&
                   (last == middle || last == middle - 1);
    if (is_said) {
        ms_megatron_say_count(x, "--num-virtual-stages-per-pipeline-rank", stages->vpp, 1);
        ms_megatron_say_if(x, "--account-for-embedding-in-pipeline-split", first < middle);
        ms_megatron_say_if(x, "--account-for-loss-in-pipeline-split", last < middle);
    }
    return is_said;
}

void ms_megatron_say_stages(ms_megatron_export *x) {
    const ms_spec_schedule *schedule = &x->spec->schedule;
    stage_list stages;
    if (!list_stages(x, &stages)) {
        x->lines.failed = true;
    } else if (stages.count > 1 && stages.pp > 1) {
        if (is_even(&stages) && stages.vpp > 1) {
            ms_megatron_say(x, "--num-layers-per-virtual-pipeline-stage", "%d", stages.layers[0]);
        } else if (!is_even(&stages) && !say_ends(x, &stages)) {
            say_layout(x, &stages);
        }
        if (stages.vpp > 1) {
            ms_megatron_say_count(x, "--microbatch-group-size-per-virtual-pipeline-stage",
                                  schedule->group, 0);
            ms_megatron_say_if(x, "--no-overlap-p2p-communication",
                               schedule->sends == MS_SENDS_BLOCKING);
        }
    }
    ms_megatron_say(x, "--micro-batch-size", "%d", x->spec->batch.micro);
    ms_megatron_say(x, "--global-batch-size", "%d", x->spec->batch.global);
}
