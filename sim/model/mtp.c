/* Multi-token prediction (MTP): behind the last layer, module k predicts the token k + 1 places
 * further on. A module norms the hidden state and the embedding of a later token, merges both by a
 * product, and runs the result through a layer and the model's head. With pp > 1 the last stage
 * holds a copy of the word embedding for it.
 *
 * Source: DeepSeek-AI 2024, DeepSeek-V3, arXiv:2412.19437, section 2.2. */
#include "model/internal.h"

/* Add the norms of the hidden state and of the embedding. */
static void add_norms(ms_cost_builder *builder, unsigned parts) {
    ms_cost_norm(builder, parts);
    ms_cost_norm(builder, parts);
}

/* Add the product that merges hidden state and embedding. Every tp rank computes all of it for its
 * own tokens. */
static void add_merge(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double n = shard->plane / shard->hidden, h = shard->hidden;
    if (parts & MS_PART_FORWARD) {
        ms_cost_gemm(builder, "mtp_merge", (ms_gemm_shape){n, h, 2 * h, 1});
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_gemm(builder, "mtp_merge_input_grad", (ms_gemm_shape){n, 2 * h, h, 1});
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_weight_gradient(builder, "mtp_merge_weight_grad", (ms_gemm_shape){h, 2 * h, n, 1});
    }
}

/* Whether a module's layer is recomputed as a whole: its position counts on from the last stage's
 * layers. */
static bool is_recomputed(const ms_cost_builder *builder, int module) {
    const ms_model_layout *layout = builder->layout;
    int last = layout->stage_layers[layout->pp * layout->chunks - 1];
    return ms_is_recomputed(layout, last + module);
}

/* Add a module's forward pass. */
static void add_forward(ms_cost_builder *builder, int module) {
    ms_cost_embedding(builder, MS_PASS_F);
    ms_cost_compute(builder);
    add_norms(builder, MS_PART_FORWARD);
    add_merge(builder, MS_PART_FORWARD);
    ms_cost_layer_body(builder, builder->model->layers + module, MS_PASS_F,
                       is_recomputed(builder, module));
    ms_cost_head(builder, MS_PASS_F);
}

/* Add an MTP module's part of a pass. Backward passes go from the head to the embedding. */
void ms_cost_mtp(ms_cost_builder *builder, int module, ms_pass pass) {
    static const unsigned PARTS[MS_PASS_COUNT] = {[MS_PASS_I] = MS_PART_INPUT,
                                                  [MS_PASS_W] = MS_PART_WEIGHT,
                                                  [MS_PASS_B] = MS_PART_INPUT | MS_PART_WEIGHT};
    if (pass == MS_PASS_F) {
        add_forward(builder, module);
        return;
    }
    ms_cost_head(builder, pass);
    ms_cost_layer_body(builder, builder->model->layers + module, pass,
                       is_recomputed(builder, module));
    ms_cost_compute(builder);
    add_merge(builder, PARTS[pass]);
    add_norms(builder, PARTS[pass]);
    ms_cost_embedding(builder, pass);
}
