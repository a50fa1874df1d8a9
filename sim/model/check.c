/* Checks whether a layout (parallel degrees and choices) can train a model on a GPU type, before
 * its costs are laid out (ms_layout_check). Each static function checks one group of choices. It
 * reports its faults to `diag` and returns MS_E_INPUT, or MS_OK; faults name keys of the
 * workload. */
#include <limits.h>
#include <stdio.h>

#include "model/fused_attention.h"
#include "model/mla.h"
#include "model/moe.h"

/* Check that tp splits a size evenly. what: the things that the size counts, for the message.
 * is_shared: tp may also be a multiple of the size, so that ranks hold copies (key and value
 * heads). */
static ms_status check_tp(ms_diag *diag, int tp, int size, const char *what, bool is_shared) {
    return ms_check_split(
        diag, &(ms_split){"tensor-parallel degree", tp, "fit", size, what, .is_shared = is_shared});
}

/* Check that every degree is at least 1 and the ZeRO stage exists; other checks divide by
 * degrees. */
static ms_status check_degrees(const ms_model_layout *layout, ms_diag *diag) {
    const struct {
        const char *name;
        int value;
    } DEGREES[] = {{"tp", layout->tp},
                   {"pp", layout->pp},
                   {"dp", layout->dp},
                   {"virtual stages per rank", layout->chunks},
                   {"microbatch", layout->micro_batch}};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0]; i++) {
        if (DEGREES[i].value < 1) {
            status = ms_diag_error(diag, "%s is '%d', expected at least 1", DEGREES[i].name,
                                   DEGREES[i].value);
        }
    }
    if (layout->zero < 0 || layout->zero > 3) {
        status =
            ms_diag_error(diag, "ZeRO stage '%d' does not exist, expected 0 to 3", layout->zero);
    }
    return status;
}

/* A length that a degree cuts in parts. */
typedef struct cut {
    const char *what; /* name of the length, such as "sequence" */
    int length;       /* [tokens], or heads */
    const char *by;   /* name of the degree, such as "cp" */
    int degree;
    int parts; /* per rank of the degree */
} cut;

/* Check that a length can be cut in parts * degree equal parts; else report the nearest lengths,
 * and the next lower degree, for which it could. */
static ms_status check_cut(ms_diag *diag, cut c) {
    int parts = c.parts * c.degree;
    if (c.length % parts == 0) {
        return MS_OK;
    }
    int below = c.length / parts * parts;
    int degree = c.degree;
    while (degree > 1 && c.length % (c.parts * degree) != 0) {
        degree--;
    }
    char lengths[64];
    if (below > 0) {
        snprintf(lengths, sizeof lengths, "%d or %d", below, below + parts);
    } else {
        snprintf(lengths, sizeof lengths, "%d", parts);
    }
    return ms_diag_error(
        diag, "%s of %d cannot be cut in %d parts (%s %d x %d): nearest are %s, or %s %d", c.what,
        c.length, parts, c.by, c.degree, c.parts, lengths, c.by, degree);
}

/* Report `text` and return MS_E_INPUT if `is_wrong` holds; else return MS_OK. */
static ms_status refuse(ms_diag *diag, bool is_wrong, const char *text) {
    return is_wrong ? ms_diag_error(diag, "%s", text) : MS_OK;
}

/* Check sequence parallelism and the overlap of tp's collectives with products. Chunks of products
 * need sequence parallelism, and 64 chunks at most (CHUNKS_MAX in tensor_parallel.c); a ring has as
 * many chunks as tp ranks. The tokens of a rank's sequence, or slice of one, must divide by tp, and
 * by the chunks besides. */
static ms_status check_sequence_parallel(const ms_model *model, const ms_model_layout *layout,
                                         ms_diag *diag) {
    bool is_cut = layout->tp_overlap == MS_TP_OVERLAP_CHUNKS;
    bool is_chunked = is_cut || layout->tp_overlap == MS_TP_OVERLAP_RING;
    /* a sequence that cp or slices do not divide is reported by their own checks */
    int cp = layout->cp > 1 ? layout->cp : 1, slices = layout->slices > 1 ? layout->slices : 1;
    const char *whole = cp > 1 ? "a context-parallel rank's sequence" : "sequence";
    const ms_status found[] = {
        refuse(diag, is_chunked && !layout->has_sequence_parallel,
               "products in pieces beside their collectives need sequence parallelism: "
               "tensor_parallel.sequence is false"),
        refuse(diag, is_cut && (layout->tp_chunks < 2 || layout->tp_chunks > 64),
               "tensor_parallel.chunks is outside of 2 to 64"),
        refuse(diag, layout->tp_overlap == MS_TP_OVERLAP_RING && layout->tp > 64,
               "a ring beside products takes 64 tp ranks at most")};
    ms_status status = ms_any_fault(found, sizeof found / sizeof found[0]);
    if (status == MS_OK && layout->has_sequence_parallel && model->sequence % (cp * slices) == 0) {
        status = check_cut(diag, (cut){.what = slices > 1 ? "a slice of a sequence" : whole,
                                       .length = model->sequence / cp / slices,
                                       .by = "tp",
                                       .degree = layout->tp,
                                       .parts = is_cut ? layout->tp_chunks : 1});
    }
    return status;
}

/* Check context parallelism. A ring, and gathered keys, give each rank two parts of the sequence
 * (zig-zag), all-to-alls give one. With all-to-alls cp must also divide the query heads of a tp
 * rank, and the key and value heads, of which ranks may hold copies. */
static ms_status check_context_parallel(const ms_model *model, const ms_model_layout *layout,
                                        ms_diag *diag) {
    if (layout->cp <= 1) {
        return MS_OK;
    }
    bool is_by_heads = layout->cp_kind == MS_CP_ALL_TO_ALL;
    ms_status status = check_cut(diag, (cut){.what = "sequence",
                                             .length = model->sequence,
                                             .by = "cp",
                                             .degree = layout->cp,
                                             .parts = is_by_heads ? 1 : 2});
    const ms_status found[] = {
        status,
        refuse(diag, layout->cp_kind == MS_CP_RING && model->attention == MS_ATTENTION_UNFUSED,
               "context parallelism by a ring needs fused attention: model.attention is "
               "unfused; all_gather and all_to_all do not")};
    status = ms_any_fault(found, sizeof found / sizeof found[0]);
    if (is_by_heads && model->heads % layout->tp == 0) {
        ms_status heads = check_cut(diag, (cut){.what = "a tensor-parallel rank's share of heads",
                                                .length = model->heads / layout->tp,
                                                .by = "cp",
                                                .degree = layout->cp,
                                                .parts = 1});
        status = heads == MS_OK ? status : heads;
    }
    int kv_heads = model->kv_heads > layout->tp ? model->kv_heads / layout->tp : 1;
    const ms_split split = {.name = "context-parallel degree",
                            .degree = layout->cp,
                            .verb = "fit",
                            .size = kv_heads,
                            .what = "key/value heads of a tensor-parallel rank",
                            .is_shared = true};
    if (is_by_heads && ms_check_split(diag, &split) != MS_OK) {
        status = MS_E_INPUT;
    }
    return status;
}

/* Check schedule.splits: sequences that are cut in equal slices, each with passes of its own. */
static ms_status check_slices(const ms_model *model, const ms_model_layout *layout, ms_diag *diag) {
    if (layout->slices < 0) {
        return ms_diag_error(diag, "schedule.splits is '%d', expected at least 1", layout->slices);
    }
    if (layout->slices <= 1) {
        return MS_OK;
    }
    const unsigned KEYS = MS_RECOMPUTE_LATENT_UP | MS_RECOMPUTE_PRODUCTS;
    const ms_status found[] = {
        check_cut(diag, (cut){.what = "sequence",
                              .length = model->sequence,
                              .by = "schedule.splits",
                              .degree = layout->slices,
                              .parts = 1}),
        refuse(diag, layout->cp > 1,
               "sequences in slices (schedule.splits) beside context parallelism (mesh.cp) are not "
               "built: set one of them to 1"),
        refuse(
            diag, (layout->recompute_parts & KEYS) != 0,
            "later slices of a sequence (schedule.splits) see the keys of earlier ones, so these "
            "cannot be recomputed: leave 'latent_up' and 'products' out of recompute_parts")};
    return ms_any_fault(found, sizeof found / sizeof found[0]);
}

/* Check that the replicas divide into equal sets of shards (data_parallel.copies). Replicas are the
 * ranks along dp, cp and the user's axis, and along ep unless experts have a mesh of their own. */
static ms_status check_copies(const ms_model_layout *layout, ms_diag *diag) {
    int copies = layout->state_copies > 1 ? layout->state_copies : 1;
    int cp = layout->cp > 1 ? layout->cp : 1, other = layout->other > 1 ? layout->other : 1;
    int ep = layout->ep > 1 && layout->expert_mesh.tp == 0 ? layout->ep : 1;
    int64_t replicas = (int64_t)layout->dp * cp * other * ep;
    if (replicas % copies == 0) {
        return MS_OK;
    }
    return ms_diag_error(diag, "%lld replicas are no multiple of data_parallel.copies '%d'",
                         (long long)replicas, copies);
}

/* Check choices that need a certain ZeRO stage, or that exclude each other. */
static ms_status check_zero(const ms_model_layout *layout, ms_diag *diag) {
    const struct {
        bool is_chosen;
        int lowest; /* ZeRO stage that the choice needs */
        const char *what;
    } NEEDS[] = {
        {layout->reduce == MS_REDUCE_EVERY, 2, "reducing gradients after every microbatch"},
        {layout->reduce == MS_REDUCE_ROUND, 2, "reducing gradients after every round"},
        {layout->all_reduces_gradients, 1, "all-reducing gradients for an update of shards"},
        {layout->keeps_parameters, 3, "keeping gathered parameters"},
        {layout->has_placed_unshards, 3, "gathering whole stages"},
        {layout->has_gather_overlap, 1, "gathering parameters beside the passes"},
        {layout->shard_axes != 0, 1, "naming the axes that hold shards"},
        {layout->state_copies > 1, 1, "having several sets of shards"},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof NEEDS / sizeof NEEDS[0]; i++) {
        if (NEEDS[i].is_chosen && layout->zero < NEEDS[i].lowest) {
            status =
                ms_diag_error(diag, "%s needs ZeRO stage %d at least, data_parallel.zero is '%d'",
                              NEEDS[i].what, NEEDS[i].lowest, layout->zero);
        }
    }
    if (layout->all_reduces_gradients && layout->zero > 1) {
        status = refuse(diag, true,
                        "data_parallel.all_reduce leaves whole gradients on all replicas, of which "
                        "ZeRO stages 2 and 3 keep shards");
    }
    if (layout->has_placed_unshards && (layout->keeps_parameters || layout->has_gather_overlap)) {
        status = refuse(diag, true,
                        "data_parallel.gather_stages says when parameters are gathered, and so do "
                        "keep_parameters and overlap_gather: set one of the three");
    }
    return status;
}

/* Check that the GPU type gives the rates that the time of an optimizer on the host follows
 * from. */
static ms_status check_offload(const ms_model_layout *layout, const ms_gpu_type *gpu,
                               ms_diag *diag) {
    if (!layout->is_offloaded || (gpu->host.pcie_Bps > 0 && gpu->host.memory_Bps > 0)) {
        return MS_OK;
    }
    return ms_diag_error(
        diag,
        "an offloaded optimizer needs the 'pcie' and 'host_bandwidth' of the GPU type; "
        "'%s' does not give both",
        gpu->name);
}

/* Layers of the virtual stage with most; INT_MAX where layers are not shared out among stages
 * yet. */
static int largest_stage(const ms_model_layout *layout) {
    int largest = 0;
    for (int stage = 0; layout->stage_layers != NULL && stage < layout->pp * layout->chunks;
         stage++) {
        int layers = layout->stage_layers[stage];
        largest = layers > largest ? layers : largest;
    }
    return layout->stage_layers == NULL ? INT_MAX : largest;
}

/* Check recompute_layers, the number of layers of each stage that are recomputed as a whole; 0:
 * all. */
static ms_status check_recompute(const ms_model_layout *layout, ms_diag *diag) {
    if (layout->recompute_layers == 0) {
        return MS_OK;
    }
    int largest = largest_stage(layout);
    if (layout->recompute != MS_RECOMPUTE_FULL) {
        return ms_diag_error(diag, "recompute_layers '%d' needs full recomputation",
                             layout->recompute_layers);
    }
    if (layout->recompute_layers > largest) {
        return ms_diag_error(
            diag, "recompute_layers '%d' are more than the %d layers of any virtual stage",
            layout->recompute_layers, largest);
    }
    return MS_OK;
}

/* Check the layers per virtual stage, where they are shared out already: none negative, their sum
 * that of the model, and no more stages than layers, but for empty stages at both ends. */
static ms_status check_stages(const ms_model *model, const ms_model_layout *layout, ms_diag *diag) {
    int stages = layout->pp * layout->chunks;
    if (layout->stage_layers == NULL) {
        return MS_OK;
    }
    /* the first may hold the embedding alone and the last the head (Llama 3, section 3.3.2) */
    int ends =
        stages > 1 ? (layout->stage_layers[0] == 0) + (layout->stage_layers[stages - 1] == 0) : 0;
    if (stages > model->layers + ends) {
        return ms_diag_error(
            diag,
            "%d virtual stages (pp %d x %d) are more than the model's %d layers: at most "
            "%d per rank fit pp %d",
            stages, layout->pp, layout->chunks, model->layers, model->layers / layout->pp,
            layout->pp);
    }
    int sum = 0;
    for (int stage = 0; stage < stages; stage++) {
        if (layout->stage_layers[stage] < 0) {
            return ms_diag_error(diag, "virtual stage %d has '%d' layers, expected at least 0",
                                 stage, layout->stage_layers[stage]);
        }
        sum += layout->stage_layers[stage];
    }
    if (sum != model->layers) {
        return ms_diag_error(diag,
                             "the layers of the %d virtual stages sum to '%d', the model has %d",
                             stages, sum, model->layers);
    }
    return MS_OK;
}

/* Check that pipeline ranks pair up in a schedule with two directions: each stage is on two ranks,
 * and two ranks that share one stage share all their stages, as they sum their gradients pair by
 * pair. */
static ms_status check_pairs(const ms_model_layout *layout, ms_diag *diag) {
    int stages = layout->pp * layout->chunks;
    for (int stage = 0; stage < stages; stage++) {
        int rank = ms_stage_owner(layout, 0, stage), partner = ms_stage_owner(layout, 1, stage);
        if (rank == partner) {
            return ms_diag_error(diag, "both copies of stage %d are on pipeline rank %d", stage,
                                 rank);
        }
        for (int other = stage + 1; other < stages; other++) {
            int first = ms_stage_owner(layout, 0, other), second = ms_stage_owner(layout, 1, other);
            bool is_same =
                (first == rank && second == partner) || (first == partner && second == rank);
            bool is_disjoint =
                first != rank && first != partner && second != rank && second != partner;
            if (!is_same && !is_disjoint) {
                return ms_diag_error(
                    diag,
                    "the copies of stage %d are on pipeline ranks %d and %d, those of "
                    "stage %d on %d and %d: ranks that share one stage have to share all",
                    stage, rank, partner, other, first, second);
            }
        }
    }
    return MS_OK;
}

/* Check a schedule with two directions, in which the pipeline ranks hold every stage's parameters
 * twice. */
static ms_status check_directions(const ms_model *model, const ms_model_layout *layout,
                                  ms_diag *diag) {
    if (layout->directions < 0 || layout->directions > 2) {
        return ms_diag_error(diag,
                             "'%d' copies of every stage among the pipeline ranks, expected 1 or 2",
                             layout->directions);
    }
    if (layout->directions <= 1) {
        return MS_OK;
    }
    ms_status status = check_pairs(layout, diag);
    bool is_shared = model->has_tied_embeddings || model->mtp_layers > 0;
    if (status == MS_OK && is_shared && !ms_has_joined_ends(layout)) {
        status = refuse(diag, true,
                        "with two copies of the parameters the first and the last stage have to be "
                        "on the same pipeline ranks where they share the word embedding "
                        "(model.tied_embeddings, model.mtp_layers)");
    }
    return status;
}

/* Check that the GPU type has figures for the attention kernel that the model names. */
static ms_status check_attention(const ms_model *model, const ms_gpu_type *gpu, ms_diag *diag) {
    const char *missing = ms_attention_missing(model, gpu);
    if (missing == NULL) {
        return MS_OK;
    }
    return ms_diag_error(diag, "the kernel that model.attention names does not run on '%s': %s",
                         gpu->name, missing);
}

/* Check that a layout can train a model. All checks run, so that one call reports every fault; only
 * degrees below 1 end it at once. Combinations that this cost model does not describe are refused
 * in the list itself. */
ms_status ms_layout_check(const ms_model *model, const ms_model_layout *layout,
                          const ms_gpu_type *gpu, ms_diag *diag) {
    if (check_degrees(layout, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    const ms_status found[] = {
        check_tp(diag, layout->tp, model->heads, "attention heads", false),
        check_tp(diag, layout->tp, model->kv_heads, "key/value heads", true),
        check_tp(diag, layout->tp, model->ffn, "columns of the MLP (ffn)", false),
        check_sequence_parallel(model, layout, diag),
        check_context_parallel(model, layout, diag),
        check_slices(model, layout, diag),
        check_attention(model, gpu, diag),
        check_zero(layout, diag),
        check_copies(layout, diag),
        check_offload(layout, gpu, diag),
        check_recompute(layout, diag),
        check_directions(model, layout, diag),
        refuse(diag,
               (layout->recompute_parts & MS_RECOMPUTE_PRODUCTS) &&
                   (ms_is_mla(model) || model->moe.experts > 0 || !model->is_gated),
               "recomputing every second product (recompute_parts) is built for dense gated layers "
               "with plain heads"),
        refuse(diag, (layout->recompute_parts & MS_RECOMPUTE_LATENT_UP) && !ms_is_mla(model),
               "there are no products out of latents to recompute: the model has no 'mla'"),
        refuse(diag, model->has_parallel_block && (ms_is_mla(model) || model->moe.experts > 0),
               "latent attention beside an MLP, and attention beside experts, are not built: leave "
               "model.parallel_block out"),
        refuse(diag,
               ms_is_mla(model) &&
                   ((model->parts.biases & (MS_BIAS_QKV | MS_BIAS_ATTENTION_OUTPUT)) != 0 ||
                    model->parts.has_qk_norms),
               "latent attention with biases, or with norms of its heads, is not built: leave qkv "
               "and attention_output out of model.biases, and model.qk_norm out"),
        refuse(diag, layout->bucketing != MS_BUCKETS_LAYERS && layout->units != MS_UNITS_IN_PLACE,
               "units that are copied around their reductions (data_parallel.units) are what is "
               "reduced: data_parallel.bucketing can only be 'layers'"),
        refuse(diag, layout->bucketing == MS_BUCKETS_MEGATRON && layout->zero >= 2,
               "Megatron Core's buckets hold whole gradients, which ZeRO stages 2 and 3 shard: set "
               "data_parallel.bucketing to something else than 'megatron'"),
        refuse(diag, model->parts.has_post_norms && model->has_parallel_block,
               "norms of results beside a parallel block are not built: leave model.post_norms "
               "out"),
        refuse(diag,
               model->parts.has_branch_norms && model->has_parallel_block &&
                   layout->has_sequence_parallel,
               "norms of both branches of a parallel block gather their tokens twice with sequence "
               "parallelism, which is not built: leave tensor_parallel.sequence out"),
        refuse(diag,
               model->window > 0 &&
                   ((layout->cp > 1 && layout->cp_kind == MS_CP_RING) || layout->slices > 1),
               "a window of attention leaves steps of a ring and slices of a sequence unequal, "
               "which is not built: leave model.window out, or take another context_parallel.kind"),
        refuse(diag, model->has_alibi && ms_is_mla(model),
               "latent attention turns its keys: model.positions 'alibi' is not built for it"),
        ms_moe_check(model, layout, diag),
        check_stages(model, layout, diag)};
    return ms_any_fault(found, sizeof found / sizeof found[0]);
}
