/* Sizes of latent attention: the widths of its products and the numbers of its parameters. */
#include "model/mla.h"

bool ms_is_mla(const ms_model *model) {
    return model->mla.kv_rank > 0;
}

double ms_mla_query_dim(const ms_model *model) {
    return (double)model->mla.qk_nope + model->mla.qk_rope;
}

/* Widths of the products with `heads` heads on a rank [elements]. */
ms_mla_width ms_mla_width_of(const ms_model *model, double heads) {
    const ms_mla *mla = &model->mla;
    return (ms_mla_width){.down = (double)mla->q_rank + mla->kv_rank + mla->qk_rope,
                          .query_in = mla->q_rank > 0 ? mla->q_rank : model->hidden,
                          .query = heads * ms_mla_query_dim(model),
                          .expanded = heads * (mla->qk_nope + mla->v_dim),
                          .context = heads * mla->v_dim};
}

/* Weights of the four products of the attention: into the latents, to queries, to keys and values,
 * output [count]. */
static double matrices(const ms_model *model, const ms_mla_width *width) {
    return model->hidden * width->down + width->query_in * width->query +
           model->mla.kv_rank * width->expanded + width->context * model->hidden;
}

/* Parameters of the latents' norms [count]: gains, and biases, as a norm of the hidden state has
 * them for each element. */
static double norm_parameters(const ms_model *model) {
    double latents = (double)model->mla.q_rank + model->mla.kv_rank;
    return ms_norm_parameters(model) * latents / model->hidden;
}

double ms_mla_parameters(const ms_model *model, const ms_shard *shard) {
    ms_mla_width width = ms_mla_width_of(model, shard->heads);
    return matrices(model, &width) + norm_parameters(model);
}

double ms_mla_replicated_parameters(const ms_model *model) {
    return model->hidden * ms_mla_width_of(model, 0).down + norm_parameters(model);
}

double ms_mla_up_weights(const ms_model *model) {
    ms_mla_width width = ms_mla_width_of(model, model->heads);
    return width.query_in * width.query + model->mla.kv_rank * width.expanded;
}

double ms_mla_weights(const ms_model *model) {
    ms_mla_width width = ms_mla_width_of(model, model->heads);
    return matrices(model, &width);
}
