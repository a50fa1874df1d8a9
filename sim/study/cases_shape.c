/* The model of a case, and how its layers are spread over the pipeline. */
#include <string.h>

#include "meshsim/megatron.h"
#include "study/cases_rules.h"

enum { GATED_MATRICES = 3, ENDS = 2, STAGES_MAX = 100000 };

/* Dropout of GPT as its authors and Megatron-LM have it. Source: Brown et al. 2020. */
static const double GPT_DROPOUT = 0.1;

/* ---- the model ---- */

/* What a family has where neither the case nor a framework of that family says more. */
static void set_family(const ms_case_model *m, const ms_model *of_framework, ms_model *model) {
    bool is_gpt = strcmp(m->type, "gpt") == 0;
    bool framework_is_gpt = !of_framework->is_gated;
    model->is_gated = m->ffn_mats == GATED_MATRICES;
    if (is_gpt == framework_is_gpt) {
        return; /* the framework's choices go with it */
    }
    model->has_bias = is_gpt;
    model->is_rms_norm = !is_gpt;
    model->is_plain_norm = false;
    model->has_positions = is_gpt;
    model->has_alibi = false;
    model->has_tied_embeddings = is_gpt;
    model->dropout = is_gpt ? GPT_DROPOUT : 0;
}

static void set_traits(const ms_case_traits *traits, ms_model *model) {
    if (traits->is_tied != MS_CASE_UNKNOWN) {
        model->has_tied_embeddings = traits->is_tied == 1;
    }
    if (traits->has_bias != MS_CASE_UNKNOWN) {
        model->has_bias = traits->has_bias == 1;
    }
    if (traits->is_rms_norm != MS_CASE_UNKNOWN) {
        model->is_rms_norm = traits->is_rms_norm == 1;
        model->is_plain_norm = false;
    }
    if (traits->has_learned_positions != MS_CASE_UNKNOWN) {
        model->has_positions = traits->has_learned_positions == 1;
    }
    model->has_alibi = traits->has_alibi || (model->has_alibi && !model->has_positions);
    model->has_positions = model->has_positions && !traits->has_alibi;
}

static void set_sizes(const ms_case_model *m, ms_model *model) {
    model->layers = m->layers;
    model->hidden = m->hidden;
    model->heads = m->heads;
    model->kv_heads = m->kv_heads == 0 ? m->heads : m->kv_heads;
    model->head_dim = m->head_dim == 0 ? m->hidden / m->heads : m->head_dim;
    model->ffn = m->ffn;
    model->vocab = m->vocab;
    model->sequence = m->sequence;
    model->mtp_layers = m->mtp_layers;
    model->mla = m->experts.mla;
}

/* Experts keep the framework's choices: limits, overlap and what is sent as what. */
static void set_experts(const ms_case_experts *e, ms_moe *moe) {
    if (e->experts == 0) {
        *moe = (ms_moe){.experts = 0};
        return;
    }
    moe->experts = e->experts;
    moe->top_k = e->top_k;
    moe->ffn = e->ffn;
    bool is_counted = e->shared_experts > 0;
    moe->shared_experts = is_counted ? e->shared_experts : e->shared_ffn > 0;
    moe->shared_ffn = is_counted || e->shared_ffn == 0 ? e->ffn : e->shared_ffn;
    moe->first_dense_layers = e->dense_layers;
    moe->every = moe->every == 0 ? 1 : moe->every;
}

ms_status ms_case_set_model(ms_case_translation *t) {
    const ms_case_model *m = &t->c->model;
    ms_model *model = &t->out->spec.model;
    const ms_model of_framework = *model;
    model->name = t->c->id;
    set_family(m, &of_framework, model);
    set_sizes(m, model);
    set_traits(&m->traits, model);
    set_experts(&m->experts, &model->moe);
    if (m->head_dim == 0 && m->hidden % m->heads != 0) {
        return ms_case_refuse(t, "model.head_dim is not published, and %d heads do not divide %d",
                              m->heads, m->hidden);
    }
    if (m->experts.experts > 0 && (m->experts.top_k == 0 || m->experts.ffn == 0)) {
        return ms_case_refuse(t, "model.topk or model.moe_ffn is not published");
    }
    if (model->mla.kv_rank > 0 && model->has_bias) {
        model->has_bias = false;
        ms_case_differs(t, "latent attention without biases");
    }
    model->has_parallel_block = m->traits.has_parallel_block;
    if (m->traits.window != NULL) {
        ms_case_differs(t, "attention to all tokens, not to a window");
    }
    return MS_OK;
}

/* ---- layers of stages ---- */

/* Every stage `share` layers, but for the first and the last one. */
static ms_status give_layers(ms_case_translation *t, int stages, int share, int first, int last) {
    int *layers = MS_NEW(t->rules->arena, int, stages);
    if (layers == NULL) {
        return ms_diag_no_memory(t->rules->diag);
    }
    for (int stage = 0; stage < stages; stage++) {
        layers[stage] = stage == 0 ? first : stage == stages - 1 ? last : share;
    }
    t->out->spec.schedule.partition = (ms_spec_partition){
        .kind = MS_PARTITION_EVEN, .stage_layers = {.items = layers, .count = (size_t)stages}};
    return MS_OK;
}

/* Megatron's word for uneven stages, in the row's own key. */
static ms_status read_layout(ms_case_translation *t, int stages) {
    ms_diag mute;
    ms_megatron_layout layout;
    ms_diag_init_mute(&mute);
    ms_status status =
        ms_megatron_read_layout(t->c->parallel.layout, NULL, t->rules->arena, &mute, &layout);
    if (status == MS_E_NOMEM) {
        return ms_diag_no_memory(t->rules->diag);
    }
    if (status != MS_OK || layout.stages != stages || layout.total != t->c->model.layers) {
        return ms_case_refuse(t, "parallel.layout '%s' does not give %d layers to %d stages",
                              t->c->parallel.layout, t->c->model.layers, stages);
    }
    t->out->spec.schedule.partition =
        (ms_spec_partition){.kind = MS_PARTITION_EVEN,
                            .stage_layers = {.items = layout.layers, .count = (size_t)stages}};
    return MS_OK;
}

/* Stages where nothing is published: equal ones; else with embedding and head counted as a layer
 * each, if that is said or comes out even; else as many as it takes, and the last one the rest. */
static ms_status share_layers(ms_case_translation *t, int stages) {
    int layers = t->c->model.layers;
    const char *notes = t->c->notes;
    bool counts_ends = ms_case_says(notes, "embedding slots") ||
                       ms_case_says(notes, "one layer fewer") ||
                       ms_case_says(notes, "one transformer layer fewer");
    bool takes_rest = ms_case_says(notes, "remainder on last");
    int with_ends = layers + ENDS;
    if (layers % stages == 0 && !counts_ends) {
        t->out->spec.schedule.partition = (ms_spec_partition){.kind = MS_PARTITION_EVEN};
        return MS_OK;
    }
    if (with_ends % stages == 0 && !takes_rest) {
        int share = with_ends / stages;
        return give_layers(t, stages, share, share - 1, share - 1);
    }
    int share = (layers + stages - 1) / stages;
    int rest = layers - share * (stages - 1);
    if (rest > 0) {
        return give_layers(t, stages, share, share, rest);
    }
    t->out->spec.schedule.partition = (ms_spec_partition){.kind = MS_PARTITION_BALANCED};
    return MS_OK;
}

static ms_status set_partition(ms_case_translation *t, long count) {
    const ms_case_parallel *p = &t->c->parallel;
    if (count > STAGES_MAX) {
        return ms_case_refuse(t, "%ld stages; at most %d are supported", count, STAGES_MAX);
    }
    int stages = (int)count;
    if (p->layout != NULL) {
        return read_layout(t, stages);
    }
    if (p->stage_layers.count == (size_t)stages) {
        t->out->spec.schedule.partition =
            (ms_spec_partition){.kind = MS_PARTITION_EVEN, .stage_layers = p->stage_layers};
        return MS_OK;
    }
    bool is_balanced = t->out->spec.schedule.partition.kind == MS_PARTITION_BALANCED;
    if (p->vpp == 0 && is_balanced) {
        return MS_OK; /* stages are the framework's, and so are their layers */
    }
    return share_layers(t, stages);
}

/* ---- the schedule ---- */

static bool is_interleaved(ms_schedule_kind kind) {
    return ms_schedule_kind_traits(kind).takes_group;
}

/* The order of a kind that all sources' words are brought to. Interleaved is the framework's own
 * form of it, and with V of 1 plain; one stage alone has no order. */
static ms_status set_kind(ms_case_translation *t) {
    const char *kind = t->c->schedule.kind;
    ms_spec_schedule *schedule = &t->out->spec.schedule;
    bool is_layer = strcmp(kind, "layer") == 0;
    ms_schedule_kind found = MS_SCHEDULE_1F1B;
    if (!is_layer && ms_schedule_kind_from_name(kind, &found) != MS_OK) {
        return ms_case_refuse(t, "schedule '%s' is not built", kind);
    }
    if (found == MS_SCHEDULE_INTERLEAVED && is_interleaved(schedule->kind)) {
        found = schedule->kind;
    }
    bool is_plain = is_interleaved(found) && t->c->parallel.vpp == 1;
    schedule->kind = t->c->parallel.pp == 1 || is_plain ? MS_SCHEDULE_1F1B : found;
    return MS_OK;
}

ms_status ms_case_set_schedule(ms_case_translation *t) {
    ms_spec_schedule *schedule = &t->out->spec.schedule;
    const ms_case_parallel *p = &t->c->parallel;
    ms_status status = set_kind(t);
    if (status != MS_OK) {
        return status;
    }
    if (is_interleaved(schedule->kind)) {
        schedule->chunks = p->vpp > 0 ? p->vpp : schedule->chunks;
        if (schedule->chunks == 0) {
            return ms_case_refuse(t, "parallel.vpp is not published");
        }
    } else {
        schedule->chunks = 0;
        schedule->group = 0;
    }
    int traits_chunks = ms_schedule_kind_traits(schedule->kind).chunks;
    int chunks = schedule->chunks > 0 ? schedule->chunks : traits_chunks > 0 ? traits_chunks : 1;
    bool is_bidirectional = schedule->kind == MS_SCHEDULE_DUALPIPE;
    return set_partition(t, (long)p->pp * (is_bidirectional ? 1 : chunks));
}
