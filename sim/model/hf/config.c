/* From a config to the `model:` mapping. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/hf/hf.h"

/* Without a word of the config on what it is trained with, sequences are as long as pretraining's
 * usually are at most (Llama 3, arXiv:2407.21783, section 3.4: 8K before long contexts). */
enum { USUAL_SEQUENCE = 8192 };

/* Names of a key in the configs of several types of models. */
static const char *const HIDDEN[] = {"hidden_size", "n_embd", "d_model", NULL};
static const char *const LAYERS[] = {"num_hidden_layers", "n_layer", "num_layers", NULL};
static const char *const HEADS[] = {"num_attention_heads", "n_head", NULL};
static const char *const FFN[] = {"intermediate_size", "n_inner", NULL};
static const char *const POSITIONS[] = {"max_position_embeddings", "n_positions", NULL};
static const char *const EXPERTS[] = {"num_local_experts", "num_experts", "n_routed_experts", NULL};
static const char *const TOP_K[] = {"num_experts_per_tok", "num_experts_per_token", NULL};
static const char *const SHARED[] = {"n_shared_experts", "num_shared_experts", NULL};
static const char *const DROPOUT[] = {"resid_pdrop", "hidden_dropout", "residual_dropout", NULL};

static bool has(const ms_hf_reader *r, ms_hf_trait trait) {
    return (r->family->traits & (unsigned)trait) != 0;
}

/* A size that goes into the model as it stands; without one its absence is a fault. */
static void copy_size(ms_hf_reader *r, const char *const *names, const char *map, const char *key,
                      const char *goal) {
    int value = 0;
    if (ms_hf_int(r, names, goal, &value)) {
        ms_hf_put_int(r, map, key, ms_hf_take(r, names, goal), value);
    } else if (r->status == MS_OK || ms_hf_take(r, names, goal) == NULL) {
        ms_hf_fault(r, r->config, names[0], "key is missing: Transformers has no default for %s",
                    r->family->model_type);
    }
}

/* The longest sequence of pretraining where the config names it, else what is usual within the
 * longest that it allows. */
static void put_sequence(ms_hf_reader *r) {
    static const char GOAL[] = "model.sequence";
    int longest = 0, original = 0;
    const ms_node *scaling = ms_node_get(r->config, "rope_scaling");
    const ms_node *place = ms_node_get(scaling, "original_max_position_embeddings");
    bool is_given = ms_hf_int(r, POSITIONS, GOAL, &longest) && longest > 0;
    const ms_node *from = ms_hf_take(r, POSITIONS, GOAL);
    if (place != NULL && place->type == MS_NODE_SCALAR) {
        long value = strtol(place->text, NULL, 10);
        original = value > 0 && value <= longest ? (int)value : 0;
    }
    if (!is_given) {
        ms_hf_fault(r, r->config, POSITIONS[0], "key is missing, or 0: how long sequences may be");
        return;
    }
    int usual = longest < USUAL_SEQUENCE ? longest : USUAL_SEQUENCE;
    ms_hf_put_int(r, NULL, "sequence", original > 0 ? place : from,
                  original > 0 ? original : usual);
}

static void read_heads(ms_hf_reader *r) {
    int heads = 0, kv_heads = 0, head_dim = 0;
    copy_size(r, HEADS, NULL, "heads", "model.heads");
    if (has(r, MS_HF_LATENT)) {
        return;
    }
    (void)ms_hf_int(r, HEADS, "model.heads", &heads);
    const char *const *names = MS_HF_NAME("num_key_value_heads");
    if (ms_hf_int(r, names, "model.kv_heads", &kv_heads) && kv_heads != heads) {
        ms_hf_put_int(r, NULL, "kv_heads", ms_hf_take(r, names, "model.kv_heads"), kv_heads);
    }
    names = MS_HF_NAME("head_dim");
    if (ms_hf_int(r, names, "model.head_dim", &head_dim)) {
        ms_hf_put_int(r, NULL, "head_dim", ms_hf_take(r, names, "model.head_dim"), head_dim);
    }
}

static void read_sizes(ms_hf_reader *r) {
    int ffn = 0;
    copy_size(r, LAYERS, NULL, "layers", "model.layers");
    copy_size(r, HIDDEN, NULL, "hidden", "model.hidden");
    read_heads(r);
    if (ms_hf_int(r, FFN, "model.ffn", &ffn)) {
        ms_hf_put_int(r, NULL, "ffn", ms_hf_take(r, FFN, "model.ffn"), ffn);
    } else if (has(r, MS_HF_GATED)) {
        copy_size(r, FFN, NULL, "ffn", "model.ffn"); /* a fault */
    }
    copy_size(r, MS_HF_NAME("vocab_size"), NULL, "vocab", "model.vocab");
    put_sequence(r);
}

/* How layers are made. */
static void read_manner(ms_hf_reader *r) {
    bool is_tied = false, has_attention_bias = false, has_mlp_bias = false;
    const ms_node *dropout = ms_hf_take(r, DROPOUT, "model.dropout");
    const char *const *tied = MS_HF_NAME("tie_word_embeddings");
    (void)ms_hf_flag(r, tied, "model.tied_embeddings", &is_tied);
    ms_hf_put_flag(r, "tied_embeddings", ms_hf_take(r, tied, ""), is_tied);
    const ms_node *attention = ms_hf_take(r, MS_HF_NAME("attention_bias"), "model.bias");
    (void)ms_hf_flag(r, MS_HF_NAME("attention_bias"), "model.bias", &has_attention_bias);
    (void)ms_hf_flag(r, MS_HF_NAME("mlp_bias"), "model.bias", &has_mlp_bias);
    bool has_all = has(r, MS_HF_LAYER_NORM) || (has_attention_bias && has_mlp_bias);
    if (has_attention_bias != has_mlp_bias && !has_all) {
        ms_hf_fault(r, attention, has_attention_bias ? "attention_bias" : "mlp_bias",
                    "biases in attention or MLP alone are not built");
    }
    ms_hf_put_flag(r, "bias", NULL, has_all);
    ms_hf_put(r, NULL, "norm", NULL, has(r, MS_HF_LAYER_NORM) ? "layer" : "rms");
    ms_hf_put(r, NULL, "positions", NULL, has(r, MS_HF_LEARNED) ? "learned" : "rotary");
    ms_hf_put_flag(r, "gated", NULL, has(r, MS_HF_GATED));
    ms_hf_put(r, NULL, "dropout", dropout, dropout == NULL ? "0" : NULL);
    int window = 0;
    const char *const *names = MS_HF_NAME("sliding_window");
    if (ms_hf_int(r, names, "model.window", &window)) {
        ms_hf_put_int(r, NULL, "window", ms_hf_take(r, names, ""), window);
    }
}

static void read_experts(ms_hf_reader *r) {
    int front = 0, shared = 0;
    if (!has(r, MS_HF_EXPERTS)) {
        return;
    }
    copy_size(r, EXPERTS, "moe", "experts", "model.moe.experts");
    copy_size(r, TOP_K, "moe", "top_k", "model.moe.top_k");
    const char *const *ffn = MS_HF_NAME("moe_intermediate_size");
    const char *const *whole = FFN;
    copy_size(r, ms_hf_take(r, ffn, "model.moe.ffn") == NULL ? whole : ffn, "moe", "ffn",
              "model.moe.ffn");
    if (ms_hf_int(r, SHARED, "model.moe.shared_experts", &shared)) {
        ms_hf_put_int(r, "moe", "shared_experts", ms_hf_take(r, SHARED, ""), shared);
    }
    const char *const *dense = MS_HF_NAME("first_k_dense_replace");
    if (ms_hf_int(r, dense, "model.moe.first_dense_layers", &front)) {
        ms_hf_put_int(r, "moe", "first_dense_layers", ms_hf_take(r, dense, ""), front);
    }
    if (has(r, MS_HF_CORRECTION_BIAS)) {
        ms_hf_put(r, "moe", "router_bias", NULL, "true");
    }
}

static void read_latents(ms_hf_reader *r) {
    int q_rank = 0, modules = 0;
    if (!has(r, MS_HF_LATENT)) {
        return;
    }
    const char *const *names = MS_HF_NAME("q_lora_rank");
    if (ms_hf_int(r, names, "model.mla.q_rank", &q_rank)) {
        ms_hf_put_int(r, "mla", "q_rank", ms_hf_take(r, names, ""), q_rank);
    }
    copy_size(r, MS_HF_NAME("kv_lora_rank"), "mla", "kv_rank", "model.mla.kv_rank");
    copy_size(r, MS_HF_NAME("qk_nope_head_dim"), "mla", "qk_nope", "model.mla.qk_nope");
    copy_size(r, MS_HF_NAME("qk_rope_head_dim"), "mla", "qk_rope", "model.mla.qk_rope");
    copy_size(r, MS_HF_NAME("v_head_dim"), "mla", "v_dim", "model.mla.v_dim");
    names = MS_HF_NAME("num_nextn_predict_layers");
    if (ms_hf_int(r, names, "model.mtp_layers", &modules)) {
        ms_hf_put_int(r, NULL, "mtp_layers", ms_hf_take(r, names, ""), modules);
    }
}

/* ---- the whole ---- */

/* The model's own name if the file knows it, else its type. */
static void put_name(ms_hf_reader *r) {
    const ms_node *node = ms_hf_take(r, MS_HF_NAME("_name_or_path"), "model.name");
    const char *name = node != NULL && node->type == MS_NODE_SCALAR ? node->text : "";
    const char *slash = strrchr(name, '/');
    name = slash == NULL ? name : slash + 1;
    ms_hf_put(r, NULL, "name", NULL, name[0] == '\0' ? r->family->model_type : name);
    if (r->model->last != NULL) {
        r->model->last->is_quoted = true;
    }
}

/* Sizes that any model has and a config of an unknown type lacks. */
static void list_lacking(const ms_node *config, ms_buffer *out) {
    static const char *const *const SIZES[] = {HIDDEN, LAYERS, HEADS, FFN};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        bool is_there = false;
        for (const char *const *name = SIZES[i]; *name != NULL; name++) {
            is_there = is_there || ms_node_get(config, *name) != NULL;
        }
        if (!is_there) {
            ms_buffer_printf(out, "%s%s", out->length == 0 ? "; it has no " : ", ", SIZES[i][0]);
        }
    }
    if (ms_node_get(config, "vocab_size") == NULL) {
        ms_buffer_printf(out, "%svocab_size", out->length == 0 ? "; it has no " : ", ");
    }
}

static ms_status find_family(ms_hf_reader *r) {
    const ms_node *type = ms_node_get(r->config, "model_type");
    ms_buffer known, lacking;
    ms_buffer_init(&known);
    ms_buffer_init(&lacking);
    ms_hf_list_families(&known);
    list_lacking(r->config, &lacking);
    bool is_text = type != NULL && type->type == MS_NODE_SCALAR;
    r->family = is_text ? ms_hf_family_of(type->text) : NULL;
    if (r->family == NULL) {
        ms_hf_fault(
            r, type == NULL ? r->config : type, "model_type", "%s%s%s, expected one of %s%s",
            type == NULL ? "key is missing" : "unknown type of models '", is_text ? type->text : "",
            type == NULL ? "" : "'", ms_buffer_text(&known), ms_buffer_text(&lacking));
    } else {
        (void)ms_hf_take(r, MS_HF_NAME("model_type"), "model.type");
        r->place = type;
    }
    ms_buffer_release(&known);
    ms_buffer_release(&lacking);
    return r->status;
}

ms_status ms_hf_model(const ms_node *config, ms_arena *arena, ms_diag *diag, ms_source_keys *keys,
                      ms_node **model_out) {
    const ms_node *text = ms_node_get(config, "text_config");
    bool is_nested = text != NULL && text->type == MS_NODE_MAPPING;
    ms_hf_reader *r = MS_NEW(arena, ms_hf_reader, 1);
    ms_node *model = MS_NEW(arena, ms_node, 1);
    if (r == NULL || model == NULL) {
        return ms_diag_no_memory(diag);
    }
    *r = (ms_hf_reader){.config = is_nested ? text : config,
                        .prefix = is_nested ? "text_config." : "",
                        .arena = arena,
                        .diag = diag,
                        .model = model};
    ms_status status = find_family(r);
    if (status != MS_OK) {
        return status;
    }
    *model =
        (ms_node){.type = MS_NODE_MAPPING, .origin = "hf", .key = "model", .mark = r->place->mark};
    put_name(r);
    ms_hf_put(r, NULL, "type", r->place, has(r, MS_HF_GATED) ? "llama" : "gpt");
    read_sizes(r);
    read_manner(r);
    read_experts(r);
    read_latents(r);
    ms_hf_list_keys(r, config, keys);
    if (r->status == MS_OK) {
        *model_out = model;
    }
    return r->status == MS_E_NOMEM ? ms_diag_no_memory(diag) : r->status;
}

ms_status ms_hf_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **config_out) {
    struct stat facts;
    bool is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    const char *file =
        is_folder ? ms_arena_printf(arena, "%s/config.json", path) : ms_arena_strdup(arena, path);
    return file == NULL ? ms_diag_no_memory(diag)
                        : ms_config_load_json(file, arena, diag, config_out);
}
