/* Loads of experts: which layers have experts, and how many copies of a microbatch's tokens each
 * expert and each ep rank receives. Each layer draws the popularity of its experts from the model's
 * seed; times of a layer follow from its busiest rank. */
#include <math.h>

#include "base/random.h"
#include "model/moe.h"

/* Whether a layer has experts: it is not at the front, not listed as dense, and the last of its
 * `every` layers. MTP modules' layers are as the model's last one. */
bool ms_layer_is_moe(const ms_model *model, int layer) {
    const ms_moe *moe = &model->moe;
    int index = layer < model->layers ? layer : model->layers - 1;
    if (moe->experts == 0 || index < moe->first_dense_layers) {
        return false;
    }
    for (size_t i = 0; i < moe->parts.dense_layers.count; i++) {
        if (moe->parts.dense_layers.items[i] == index) {
            return false;
        }
    }
    int every = moe->every > 0 ? moe->every : 1;
    return (index - moe->first_dense_layers) % every == every - 1;
}

int ms_model_expert_layers(const ms_model *model) {
    int count = 0;
    for (int layer = 0; layer < model->layers; layer++) {
        count += ms_layer_is_moe(model, layer);
    }
    return count;
}

int ms_ep_of(const ms_model_layout *layout) {
    return layout->ep > 0 ? layout->ep : 1;
}

/* A normally distributed number of mean 0 and deviation 1. Source: Box and Muller 1958. */
static double normal(ms_random *random) {
    const double TURN = 6.283185307179586;
    double radius = sqrt(-2 * log(1 - ms_random_unit(random)));
    return radius * cos(TURN * ms_random_unit(random));
}

/* Draw `count` lognormal numbers whose standard deviation is `spread` times their mean. */
static void draw_lognormal(ms_random *random, double spread, int count, double *out) {
    double sigma = sqrt(log1p(spread * spread)); /* deviation / mean = sqrt(exp(sigma^2) - 1) */
    for (int i = 0; i < count; i++) {
        out[i] = exp(sigma * normal(random));
    }
}

/* Set `count` numbers to 1, 2^-spread, 3^-spread, ... in a random order. */
static void draw_zipf(ms_random *random, double spread, int count, double *out) {
    for (int i = 0; i < count; i++) {
        out[i] = pow(i + 1, -spread);
    }
    for (int i = count - 1; i > 0; i--) { /* Fisher and Yates */
        int other = (int)ms_random_range(random, 0, i);
        double kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
}

/* Whether all experts are chosen equally often. */
static bool is_even(const ms_moe *moe) {
    return moe->imbalance == MS_IMBALANCE_NONE || moe->spread <= 0;
}

/* Draw how often each expert of a layer is chosen, scaled to a mean of 1. The random numbers of a
 * layer follow from (seed, layer) alone. */
void ms_moe_popularity(const ms_moe *moe, int layer, double *popularity_out) {
    if (is_even(moe)) {
        for (int i = 0; i < moe->experts; i++) {
            popularity_out[i] = 1;
        }
        return;
    }
    ms_random random = {((uint64_t)(uint32_t)moe->seed << 32) + (uint32_t)layer};
    if (moe->imbalance == MS_IMBALANCE_ZIPF) {
        draw_zipf(&random, moe->spread, moe->experts, popularity_out);
    } else {
        draw_lognormal(&random, moe->spread, moe->experts, popularity_out);
    }
    double sum = 0;
    for (int i = 0; i < moe->experts; i++) {
        sum += popularity_out[i];
    }
    for (int i = 0; i < moe->experts; i++) {
        popularity_out[i] *= moe->experts / sum;
    }
}

/* Run one round: move the copies that experts above `limit` cannot take to the experts below it, in
 * proportion to what these have. copies: [experts]. Returns whether another round may be needed,
 * because an expert may now be above the limit. */
static bool pass_on(double *copies, int experts, double limit) {
    double excess = 0, below = 0;
    for (int i = 0; i < experts; i++) {
        if (copies[i] > limit) {
            excess += copies[i] - limit;
            copies[i] = limit;
        } else if (copies[i] < limit) {
            below += copies[i];
        }
    }
    if (excess <= 0 || below <= 0) {
        return false;
    }
    for (int i = 0; i < experts; i++) {
        copies[i] *= copies[i] < limit ? 1 + excess / below : 1;
    }
    return true;
}

/* Most copies of `tokens` tokens of one rank that an expert takes, with a capacity factor. */
static double capacity_of(const ms_moe *moe, double tokens) {
    return ceil(moe->capacity_factor * tokens * moe->top_k / moe->experts);
}

/* Copies that each expert receives of `tokens` tokens of one rank, in place of its popularity. An
 * expert gets a token at most once, so `tokens` bounds its copies before the capacity does. */
double ms_moe_copies(const ms_moe *moe, double tokens, double *popularity) {
    double mean = tokens * moe->top_k / moe->experts, sum = 0;
    for (int i = 0; i < moe->experts; i++) {
        popularity[i] *= mean;
    }
    /* each round brings at least one more expert to its limit */
    for (int round = 0; round < moe->experts && pass_on(popularity, moe->experts, tokens);
         round++) {
    }
    bool is_dropped = false;
    for (int i = 0; i < moe->experts; i++) {
        if (moe->capacity_factor > 0 && popularity[i] > capacity_of(moe, tokens)) {
            popularity[i] = capacity_of(moe, tokens);
            is_dropped = true;
        }
        sum += popularity[i];
    }
    /* exact where nothing is dropped: a rounded sum can need one more tile of a product */
    return is_dropped ? sum : tokens * moe->top_k;
}

/* The load where all experts are chosen equally often, in closed form: a sum over experts would be
 * rounded. */
static ms_moe_load even_load(const ms_moe *moe, double tokens) {
    double sent = tokens * moe->top_k;
    if (moe->capacity_factor > 0) {
        sent = fmin(sent, moe->experts * capacity_of(moe, tokens));
    }
    return (ms_moe_load){.sent = sent, .busiest = sent};
}

/* Copies that ranks of an ep group send and receive. Every rank of the group sends the same mix, so
 * that a rank receives ep times what one rank sends to its experts. Padded experts all compute
 * their capacity, so that every rank has the same load. */
ms_moe_load ms_moe_load_of(const ms_moe *moe, int layer, int ep, double tokens, double *scratch) {
    ms_moe_load load = even_load(moe, tokens);
    if (!is_even(moe)) {
        ms_moe_popularity(moe, layer, scratch);
        load.sent = ms_moe_copies(moe, tokens, scratch);
        load.busiest = load.sent;
        int local = moe->experts / ep;
        for (int rank = 0; ep > 1 && rank < ep; rank++) {
            double received = 0;
            for (int i = rank * local; i < (rank + 1) * local; i++) {
                received += ep * scratch[i];
            }
            load.busiest = rank == 0 ? received : fmax(load.busiest, received);
        }
    }
    if (moe->capacity_factor > 0 && moe->has_padding) {
        load.sent = load.busiest = moe->experts * capacity_of(moe, tokens);
    }
    return load;
}

/* Loads of all layers and MTP modules, for the tokens that a tp rank holds outside the split
 * products. */
ms_status ms_moe_loads_new(const ms_cost_builder *builder, const ms_moe_load **loads_out) {
    const ms_model *model = builder->model;
    if (model->moe.experts == 0) {
        *loads_out = NULL;
        return MS_OK;
    }
    int count = model->layers + model->mtp_layers;
    ms_moe_load *loads = MS_NEW(builder->arena, ms_moe_load, count);
    double *scratch = MS_NEW(builder->arena, double, model->moe.experts);
    if (!loads || !scratch) {
        return MS_E_NOMEM;
    }
    for (int layer = 0; layer < count; layer++) {
        loads[layer] = ms_moe_load_of(&model->moe, layer, ms_ep_of(builder->layout),
                                      builder->shard.plane / builder->shard.hidden, scratch);
    }
    *loads_out = loads;
    return MS_OK;
}

/* Probability that at least one of k different experts, drawn from `all`, is in a given group of
 * `group` experts: 1 - C(all - group, k) / C(all, k), as a product. */
static double touched(double all, double group, int k) {
    double none = 1;
    for (int i = 0; i < k; i++) {
        none *= fmax(all - group - i, 0) / (all - i);
    }
    return 1 - none;
}

/* Expected nodes and ranks that hold a token's experts. Each of the allowed nodes, and each rank on
 * one, is reached with the same probability. */
ms_moe_reach ms_moe_reach_of(const ms_moe *moe, int nodes, int node_ranks) {
    int allowed = moe->node_limit > 0 && moe->node_limit < nodes ? moe->node_limit : nodes;
    double per_node = (double)moe->experts / nodes;
    double open = per_node * allowed;
    return (ms_moe_reach){.nodes = allowed * touched(open, per_node, moe->top_k),
                          .ranks = allowed * node_ranks *
                                   touched(open, per_node / node_ranks, moe->top_k)};
}
