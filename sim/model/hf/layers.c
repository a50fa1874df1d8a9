/* Which layers of a Hugging Face config have experts and which keep a dense MLP. Families give a
 * first layer with experts, steps, or lists. The layers are marked one by one, and then put into
 * the model in its own terms: layers at the front, a step, or a list. */
#include <string.h>

#include "model/hf/hf.h"

enum { LAYERS_MAX = 100000 };

/* Which layers have a dense MLP. */
typedef struct dense_layers {
    bool *is_dense; /* [count] */
    int count;
} dense_layers;

/* Mark layers by `moe_layer_freq` as a list: a layer with 0 is dense.  Source: Megatron-LM,
 * --moe-layer-freq. */
static void mark_pattern(ms_hf_reader *r, const ms_node *list, dense_layers *dense) {
    int layer = 0;
    if (list->count != (size_t)dense->count) {
        ms_hf_fault(r, list, "moe_layer_freq", "expected an entry for each of %d layers, got %zu",
                    dense->count, list->count);
        return;
    }
    for (const ms_node *entry = list->first; entry != NULL; entry = entry->next) {
        int value = ms_hf_whole_of(entry);
        if (value != 0 && value != 1) {
            ms_hf_fault(r, entry, "moe_layer_freq", "expected entries of 0 and 1");
            return;
        }
        dense->is_dense[layer] = dense->is_dense[layer] || value == 0;
        layer++;
    }
}

/* Mark the layers that a key lists by their numbers. is_dense: the listed layers are without
 * experts (`mlp_only_layers`); else they have experts, and all other layers are dense
 * (`moe_layers`). Source: Transformers, qwen2_moe and llama4. */
static void mark_listed(ms_hf_reader *r, const char *key, bool is_dense, dense_layers *dense) {
    const ms_node *list = ms_hf_take(r, key, NULL);
    if (list == NULL) {
        return;
    }
    if (list->type != MS_NODE_SEQUENCE) {
        ms_hf_fault(r, list, key, "expected a list of layers");
        return;
    }
    if (!is_dense) {
        memset(dense->is_dense, 1, (size_t)dense->count * sizeof dense->is_dense[0]);
    }
    for (const ms_node *entry = list->first; entry != NULL; entry = entry->next) {
        int layer = ms_hf_whole_of(entry);
        if (layer < 0 || layer >= dense->count) {
            ms_hf_fault(r, entry, key, "expected layers, 0 to %d", dense->count - 1);
            return;
        }
        dense->is_dense[layer] = is_dense;
    }
}

/* Mark layers by `mlp_layer_types`, "dense" or "sparse" for each layer, which overrides other keys.
 * Source: Transformers 5, glm4_moe_lite, ernie4_5_moe and others (configuration). */
static void mark_types(ms_hf_reader *r, dense_layers *dense) {
    static const char KEY[] = "mlp_layer_types";
    const ms_node *list = ms_hf_take(r, KEY, NULL);
    int layer = 0;
    if (list == NULL) {
        return;
    }
    if (list->type != MS_NODE_SEQUENCE || list->count != (size_t)dense->count) {
        ms_hf_fault(r, list, KEY, "expected a list with an entry for each of %d layers",
                    dense->count);
        return;
    }
    for (const ms_node *entry = list->first; entry != NULL; entry = entry->next) {
        bool is_text = entry->type == MS_NODE_SCALAR;
        bool is_dense = is_text && strcmp(entry->text, "dense") == 0;
        if (!is_dense && !(is_text && strcmp(entry->text, "sparse") == 0)) {
            ms_hf_fault(r, entry, KEY, "expected entries 'dense' and 'sparse'");
            return;
        }
        dense->is_dense[layer++] = is_dense;
    }
}

/* The step of layers with experts that a key gives; 1 where the config has none, or a list. */
static int read_step(ms_hf_reader *r, const char *key) {
    const ms_node *node = ms_hf_take(r, key, NULL);
    int step = 1;
    if (node == NULL || node->type == MS_NODE_SEQUENCE) {
        return 1;
    }
    if (ms_hf_int(r, key, &step) && step == 0) {
        ms_hf_fault(r, node, key, "expected 1 or more, got '0'");
        step = 1;
    }
    return step;
}

/* Read the last layer with experts, 0-based; -1 stands for the last layer of the model. last_out:
 * unchanged where the config does not say. Source: Transformers, ernie4_5_moe. */
static void read_end(ms_hf_reader *r, int *last_out) {
    static const char KEY[] = "moe_layer_end_index";
    const ms_node *node = ms_hf_take(r, KEY, NULL);
    bool is_whole = node != NULL && node->type == MS_NODE_SCALAR && strcmp(node->text, "-1") == 0;
    if (!is_whole) {
        (void)ms_hf_int(r, KEY, last_out);
    }
}

/* Mark all layers by all keys of the families; a key that a config lacks leaves every layer with
 * experts. Steps and ends come first; then lists, each of which overrides or adds to the marks
 * before it. Source: Transformers, qwen2_moe (decoder_sparse_step: layers whose number from 1 it
 * divides have experts), llama4 and ernie4_5_moe (the same by other names); DeepSeek-V2's modeling
 * (behind first_k_dense_replace those whose number from 0 moe_layer_freq divides). */
static void mark_all(ms_hf_reader *r, dense_layers *dense) {
    int front = 0, last = dense->count - 1;
    long every =
        (long)read_step(r, "decoder_sparse_step") * read_step(r, "interleave_moe_layer_step");
    every = every > LAYERS_MAX ? LAYERS_MAX : every; /* keeps the product within a long */
    every *= read_step(r, "moe_layer_interval");
    int freq = read_step(r, "moe_layer_freq");
    const ms_node *pattern = ms_hf_take(r, "moe_layer_freq", NULL);
    (void)ms_hf_int(r, "first_k_dense_replace", &front);
    (void)ms_hf_int(r, "moe_layer_start_index", &front);
    (void)ms_hf_int(r, "moe_layer_num_skipped", &front);
    read_end(r, &last);
    for (int layer = 0; layer < dense->count; layer++) {
        dense->is_dense[layer] =
            layer < front || layer > last || layer % freq != 0 || (layer + 1) % every != 0;
    }
    if (pattern != NULL && pattern->type == MS_NODE_SEQUENCE) {
        mark_pattern(r, pattern, dense);
    }
    mark_listed(r, "mlp_only_layers", true, dense);
    mark_listed(r, "moe_layers", false, dense);
    mark_types(r, dense);
}

/* The step such that, from layer `front` on, the last layer of every `step` layers has experts and
 * the others are dense; 0: the layers follow no step. */
static int find_step(const dense_layers *dense, int front) {
    int step = 1;
    while (front + step <= dense->count && dense->is_dense[front + step - 1]) {
        step++;
    }
    for (int i = front; i < dense->count; i++) {
        if (dense->is_dense[i] != ((i - front) % step != step - 1)) {
            return 0;
        }
    }
    return step;
}

/* Set `moe.dense_layers` to the numbers of the dense layers from layer `front` on. The layers
 * before it are all dense and are counted in `moe.first_dense_layers`. */
static void put_list(ms_hf_reader *r, const dense_layers *dense, int front) {
    const char **texts = MS_NEW(r->arena, const char *, dense->count);
    size_t count = 0;
    for (int i = front; texts != NULL && i < dense->count; i++) {
        if (dense->is_dense[i]) {
            texts[count++] = ms_arena_printf(r->arena, "%d", i);
        }
    }
    if (r->arena->has_failed) {
        return; /* reported at the end of the reading */
    }
    ms_hf_put_list(r, "moe.dense_layers", texts, count);
}

/* Put into the model which layers keep a dense MLP. If all layers follow a step (find_step), the
 * step is put alone. Else the dense layers at the front are counted, and the layers behind them
 * follow a step or are listed. Returns whether any layer is dense. */
bool ms_hf_put_dense_layers(ms_hf_reader *r, int layers) {
    dense_layers dense = {.count = layers < LAYERS_MAX ? layers : LAYERS_MAX};
    int front = 0, marked = 0;
    dense.is_dense = MS_NEW(r->arena, bool, dense.count);
    if (dense.is_dense == NULL) {
        r->status = MS_E_NOMEM;
        return false;
    }
    mark_all(r, &dense);
    while (front < dense.count && dense.is_dense[front]) {
        front++;
    }
    for (int i = 0; i < dense.count; i++) {
        marked += dense.is_dense[i];
    }
    int whole = find_step(&dense, 0), step = find_step(&dense, front);
    bool is_whole = whole > 1; /* the front is the first of the steps */
    if (front > 0 && !is_whole) {
        ms_hf_put_int(r, "moe.first_dense_layers", NULL, front);
    }
    if (is_whole || step > 1) {
        ms_hf_put_int(r, "moe.every", NULL, is_whole ? whole : step);
    } else if (step == 0) {
        put_list(r, &dense, front);
    }
    return marked > 0;
}
