/* From a config to the `model:` mapping. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/hf/layers.h"
#include "model/hf/windows.h"

/* Without a word of the config on what it is trained with, sequences are as long as pretraining's
 * usually are at most (Llama 3, arXiv:2407.21783, section 3.4: 8K before long contexts). */
enum { USUAL_SEQUENCE = 8192, LENGTH_MAX = 1 << 28 };

/* Names of a key in the configs of several types of models. */
static const char *const HIDDEN[] = {"hidden_size", "n_embd", "d_model", "n_embed", NULL};
static const char *const LAYERS[] = {"num_hidden_layers", "n_layer", "num_layers", "n_layers",
                                     NULL};
static const char *const HEADS[] = {"num_attention_heads", "n_head", "n_heads", NULL};
static const char *const KV_HEADS[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv", NULL};
static const char *const FFN[] = {"intermediate_size", "n_inner", "ffn_hidden_size", NULL};
static const char *const POSITIONS[] = {"max_position_embeddings", "n_positions", NULL};
static const char *const EXPERTS[] = {"num_local_experts", "num_experts", "n_routed_experts", NULL};
static const char *const TOP_K[] = {"num_experts_per_tok", "num_experts_per_token",
                                    "experts_per_token", NULL};
static const char *const SHARED[] = {"n_shared_experts", "num_shared_experts", NULL};
static const char *const DROPOUT[] = {"resid_pdrop", "hidden_dropout", "residual_dropout", NULL};

static bool has(const ms_hf_reader *r, ms_hf_trait trait) {
    return (r->traits & (unsigned)trait) != 0;
}

/* A size that goes into the model as it stands; without one its absence is a fault. */
static void copy_size(ms_hf_reader *r, const char *const *names, const char *map, const char *key,
                      const char *goal) {
    int value = 0;
    if (ms_hf_int(r, names, goal, &value)) {
        ms_hf_put_int(r, map, key, ms_hf_take(r, names, goal), value);
    } else if (r->status == MS_OK || ms_hf_take(r, names, goal) == NULL) {
        ms_hf_fault(r, r->config, names[0],
                    "key is missing, and no default for %s is known: expected a whole number",
                    r->family->model_type);
    }
}

/* How long sequences were before their positions were stretched; 0: the config does not say. */
static int original_length(ms_hf_reader *r, const ms_node **from_out) {
    static const char KEY[] = "original_max_position_embeddings";
    static const char *const SCALINGS[] = {"rope_scaling", "rope_parameters"};
    int length = 0;
    for (size_t i = 0; i < sizeof SCALINGS / sizeof SCALINGS[0]; i++) {
        const ms_node *node = ms_node_get(ms_node_get(r->config, SCALINGS[i]), KEY);
        long value =
            node != NULL && node->type == MS_NODE_SCALAR ? strtol(node->text, NULL, 10) : 0;
        if (value > 0 && value <= LENGTH_MAX) {
            *from_out = node;
            return (int)value;
        }
    }
    if (ms_hf_int(r, MS_HF_NAME(KEY), "model.sequence", &length)) {
        *from_out = ms_hf_take(r, MS_HF_NAME(KEY), "model.sequence");
    }
    return length;
}

/* The longest sequence of pretraining where the config names it, else what is usual within the
 * longest that it allows. */
static void put_sequence(ms_hf_reader *r) {
    static const char GOAL[] = "model.sequence";
    int longest = 0;
    const ms_node *place = NULL;
    bool is_given = ms_hf_int(r, POSITIONS, GOAL, &longest) && longest > 0;
    const ms_node *from = ms_hf_take(r, POSITIONS, GOAL);
    if (!is_given) {
        ms_hf_fault(r, from == NULL ? r->config : from, POSITIONS[0],
                    "key is missing, or 0: how long sequences may be");
        return;
    }
    int usual = longest < USUAL_SEQUENCE ? longest : USUAL_SEQUENCE;
    int original = original_length(r, &place);
    bool is_known = original > 0 && original <= longest;
    ms_hf_put_int(r, NULL, "sequence", is_known ? place : from, is_known ? original : usual);
}

static void read_heads(ms_hf_reader *r) {
    int heads = 0, kv_heads = 0, head_dim = 0;
    copy_size(r, HEADS, NULL, "heads", "model.heads");
    if (has(r, MS_HF_LATENT)) {
        return;
    }
    (void)ms_hf_int(r, HEADS, "model.heads", &heads);
    if (has(r, MS_HF_MULTI_QUERY)) {
        ms_hf_put_int(r, NULL, "kv_heads", NULL, 1);
    } else if (ms_hf_int(r, KV_HEADS, "model.kv_heads", &kv_heads) && kv_heads != heads) {
        ms_hf_put_int(r, NULL, "kv_heads", ms_hf_take(r, KV_HEADS, "model.kv_heads"), kv_heads);
    }
    const char *const *names = MS_HF_NAME("head_dim");
    if (ms_hf_int(r, names, "model.head_dim", &head_dim)) {
        ms_hf_put_int(r, NULL, "head_dim", ms_hf_take(r, names, "model.head_dim"), head_dim);
    }
}

/* Of the dense MLP, where a layer has one. */
static void read_ffn(ms_hf_reader *r) {
    int ffn = 0;
    if (ms_hf_int(r, FFN, "model.ffn", &ffn)) {
        ffn /= has(r, MS_HF_HALF_FFN) ? 2 : 1;
        ms_hf_put_int(r, NULL, "ffn", ms_hf_take(r, FFN, "model.ffn"), ffn);
    } else if (has(r, MS_HF_GATED)) {
        copy_size(r, FFN, NULL, "ffn", "model.ffn"); /* a fault */
    }
}

static void read_sizes(ms_hf_reader *r) {
    copy_size(r, LAYERS, NULL, "layers", "model.layers");
    copy_size(r, HIDDEN, NULL, "hidden", "model.hidden");
    read_heads(r);
    copy_size(r, MS_HF_NAME("vocab_size"), NULL, "vocab", "model.vocab");
    put_sequence(r);
}

static bool flag_of(ms_hf_reader *r, const char *key, const char *goal) {
    bool is_true = false;
    (void)ms_hf_flag(r, MS_HF_NAME(key), goal, &is_true);
    return is_true;
}

/* Which linear layers have biases: all but the head by `bias`, else those of a list. */
static void read_biases(ms_hf_reader *r) {
    static const char GOAL[] = "model.bias, model.biases";
    bool is_said = flag_of(r, "attention_bias", GOAL), is_narrow = has(r, MS_HF_ATTENTION_QKV);
    bool is_attention = has(r, MS_HF_ATTENTION_BIASES) || (is_said && !is_narrow);
    bool is_output = is_attention || flag_of(r, "attention_out_bias", GOAL);
    bool is_qkv = flag_of(r, "qkv_bias", GOAL) || flag_of(r, "use_qkv_bias", GOAL) ||
                  has(r, MS_HF_QKV_BIASES) || (is_said && is_narrow);
    bool is_mlp = flag_of(r, "mlp_bias", GOAL) || has(r, MS_HF_MLP_BIASES);
    bool is_head = flag_of(r, "lm_head_bias", GOAL) || has(r, MS_HF_HEAD_BIAS);
    bool has_all = has(r, MS_HF_ALL_BIASES) || (is_attention && is_mlp);
    const struct {
        bool is_there;
        const char *word;
    } PARTS[] = {{!has_all && (is_attention || is_qkv), "qkv"},
                 {!has_all && is_output, "attention_output"},
                 {!has_all && is_mlp, "mlp"},
                 {is_head, "head"},
                 {has(r, MS_HF_EXPERT_BIASES), "experts"}};
    const char *words[sizeof PARTS / sizeof PARTS[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        if (PARTS[i].is_there) {
            words[count++] = PARTS[i].word;
        }
    }
    ms_hf_put_flag(r, "bias", NULL, has_all);
    if (count > 0) {
        ms_hf_put_list(r, NULL, "biases", words, count);
    }
}

static const char *norm_of(const ms_hf_reader *r) {
    if (has(r, MS_HF_PLAIN_NORMS)) {
        return "plain";
    }
    const char *with_gain = has(r, MS_HF_GAIN_NORMS) ? "gain" : "rms";
    return has(r, MS_HF_LAYER_NORM) ? "layer" : with_gain;
}

static void read_norms(ms_hf_reader *r) {
    static const char QK_GOAL[] = "model.qk_norm";
    bool is_side_by_side =
        flag_of(r, "use_parallel_residual", "model.parallel_block") || has(r, MS_HF_PARALLEL);
    ms_hf_put(r, NULL, "norm", NULL, norm_of(r));
    if (is_side_by_side) {
        ms_hf_put_flag(r, "parallel_block", NULL, true);
    }
    if (is_side_by_side && has(r, MS_HF_BRANCH_NORMS)) {
        ms_hf_put_flag(r, "branch_norms", NULL, true);
    }
    bool is_layer = flag_of(r, "qk_layernorm", QK_GOAL),
         is_used = flag_of(r, "use_qk_norm", QK_GOAL);
    if (is_layer || is_used || has(r, MS_HF_QK_NORMS)) {
        ms_hf_put_flag(r, "qk_norm", NULL, true);
        if (has(r, MS_HF_OWN_QK_GAINS)) {
            ms_hf_put(r, NULL, "qk_gains", NULL, "own");
        }
    }
    if (has(r, MS_HF_POST_NORMS)) {
        ms_hf_put_flag(r, "post_norms", NULL, true);
    }
}

static const char *positions_of(const ms_hf_reader *r) {
    const char *relative = has(r, MS_HF_ALIBI) ? "alibi" : "rotary";
    return has(r, MS_HF_LEARNED) ? "learned" : relative;
}

/* How layers are made. */
static void read_manner(ms_hf_reader *r) {
    bool is_tied = false;
    int layers = 0;
    const ms_node *dropout = ms_hf_share(r, DROPOUT, "model.dropout");
    const char *const *tied = MS_HF_NAME("tie_word_embeddings");
    (void)ms_hf_flag(r, tied, "model.tied_embeddings", &is_tied);
    ms_hf_put_flag(r, "tied_embeddings", ms_hf_take(r, tied, ""), is_tied);
    read_biases(r);
    read_norms(r);
    ms_hf_put(r, NULL, "positions", NULL, positions_of(r));
    ms_hf_put_flag(r, "gated", NULL, has(r, MS_HF_GATED));
    ms_hf_put(r, NULL, "dropout", dropout, dropout == NULL ? "0" : NULL);
    (void)ms_hf_int(r, LAYERS, "model.layers", &layers);
    ms_hf_put_windows(r, layers, has(r, MS_HF_WINDOW));
}

/* Experts that every token passes: some of the routed ones' size, or one of a size of its own. */
static void read_shared_experts(ms_hf_reader *r) {
    static const char GOAL[] = "model.moe.shared_experts";
    int shared = 0, ffn = 0;
    const char *const *size = MS_HF_NAME("shared_expert_intermediate_size");
    if (ms_hf_int(r, SHARED, GOAL, &shared)) {
        ms_hf_put_int(r, "moe", "shared_experts", ms_hf_take(r, SHARED, GOAL), shared);
    } else if (has(r, MS_HF_ONE_SHARED)) {
        ms_hf_put(r, "moe", "shared_experts", NULL, "1");
    } else if (ms_hf_int(r, size, "model.moe.shared_experts, model.moe.shared_ffn", &ffn) &&
               ffn > 0) {
        ms_hf_put(r, "moe", "shared_experts", NULL, "1");
        ms_hf_put_int(r, "moe", "shared_ffn", ms_hf_take(r, size, GOAL), ffn);
        if (has(r, MS_HF_SHARED_GATE)) {
            ms_hf_put(r, "moe", "shared_gate", NULL, "true");
        }
    }
}

/* Returns whether a layer keeps a dense MLP. */
static bool read_experts(ms_hf_reader *r) {
    int layers = 0;
    copy_size(r, EXPERTS, "moe", "experts", "model.moe.experts");
    copy_size(r, TOP_K, "moe", "top_k", "model.moe.top_k");
    const char *const *ffn = MS_HF_NAME("moe_intermediate_size");
    bool is_apart = ms_hf_take(r, ffn, "model.moe.ffn") != NULL;
    copy_size(r, is_apart ? ffn : FFN, "moe", "ffn", "model.moe.ffn");
    read_shared_experts(r);
    if (has(r, MS_HF_CORRECTION_BIAS)) {
        ms_hf_put(r, "moe", "router_bias", NULL, "true");
    }
    (void)ms_hf_int(r, LAYERS, "model.layers", &layers);
    return ms_hf_put_dense_layers(r, layers);
}

static void read_latents(ms_hf_reader *r) {
    int q_rank = 0;
    const char *const *names = MS_HF_NAME("q_lora_rank");
    if (ms_hf_int(r, names, "model.mla.q_rank", &q_rank)) {
        ms_hf_put_int(r, "mla", "q_rank", ms_hf_take(r, names, ""), q_rank);
    }
    copy_size(r, MS_HF_NAME("kv_lora_rank"), "mla", "kv_rank", "model.mla.kv_rank");
    copy_size(r, MS_HF_NAME("qk_nope_head_dim"), "mla", "qk_nope", "model.mla.qk_nope");
    copy_size(r, MS_HF_NAME("qk_rope_head_dim"), "mla", "qk_rope", "model.mla.qk_rope");
    copy_size(r, MS_HF_NAME("v_head_dim"), "mla", "v_dim", "model.mla.v_dim");
}

static void read_modules(ms_hf_reader *r) {
    const char *const *names = MS_HF_NAME("num_nextn_predict_layers");
    int modules = 0;
    if (ms_hf_int(r, names, "model.mtp_layers", &modules) && modules > 0) {
        ms_hf_put_int(r, NULL, "mtp_layers", ms_hf_take(r, names, ""), modules);
    }
}

static void read_model(ms_hf_reader *r) {
    read_sizes(r);
    read_manner(r);
    bool has_dense = !has(r, MS_HF_EXPERTS) || read_experts(r);
    if (has_dense) {
        read_ffn(r);
    }
    if (has(r, MS_HF_LATENT)) {
        read_latents(r);
    }
    read_modules(r);
}

/* ---- the whole ---- */

/* The model's own name if the file knows it, else its type. */
static void put_name(ms_hf_reader *r) {
    static const char KEY[] = "_name_or_path";
    const ms_node *own = ms_hf_take(r, MS_HF_NAME(KEY), "model.name");
    const ms_node *node = own == NULL ? ms_node_get(r->root, KEY) : own;
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

/* Files that stand beside a model's config, or in its place, by a key of theirs. */
static const char *other_file(const ms_node *config) {
    static const struct {
        const char *key, *what;
    } FILES[] = {
        {"peft_type", "; it is that of an adapter (PEFT): its base model's is read"},
        {"_from_model_config", "; it is that of generation: config.json beside it is read"},
        {"tokenizer_class", "; it is that of a tokenizer: config.json beside it is read"},
        {"_class_name", "; it is that of a pipeline of Diffusers"},
        {"ffn_dim_multiplier", "; it is Meta's params.json: a config.json of Transformers is read"},
    };
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        if (ms_node_get(config, FILES[i].key) != NULL) {
            return FILES[i].what;
        }
    }
    return "";
}

/* Tell of a type of models that no row has.  type: NULL: the config names none. */
static void refuse_type(ms_hf_reader *r, const ms_node *type) {
    const char *word = type != NULL && type->type == MS_NODE_SCALAR ? type->text : NULL;
    const char *unbuilt = word == NULL ? NULL : ms_hf_unbuilt(word);
    ms_buffer known, lacking;
    ms_buffer_init(&known);
    ms_buffer_init(&lacking);
    ms_hf_list_families(&known);
    list_lacking(r->config, &lacking);
    const ms_hint hint = ms_hf_hint(word);
    const ms_node *place = type == NULL ? r->config : type;
    if (unbuilt != NULL) {
        ms_hf_fault(r, place, "model_type", "'%s' is known and not built: it has %s", word,
                    unbuilt);
    } else if (type == NULL) {
        ms_hf_fault(r, place, "model_type", "key is missing%s%s; expected one of %s",
                    other_file(r->config), ms_buffer_text(&lacking), ms_buffer_text(&known));
    } else {
        ms_hf_fault(
            r, place, "model_type", "unknown type of models '%.80s'%s%s; expected one of %s",
            word == NULL ? "" : word, hint.text, ms_buffer_text(&lacking), ms_buffer_text(&known));
    }
    ms_buffer_release(&known);
    ms_buffer_release(&lacking);
}

static ms_status find_family(ms_hf_reader *r) {
    const ms_node *type = ms_node_get(r->config, "model_type");
    type = type == NULL ? ms_node_get(r->root, "model_type") : type;
    bool is_text = type != NULL && type->type == MS_NODE_SCALAR;
    r->family = is_text ? ms_hf_family_of(type->text) : NULL;
    if (r->family == NULL) {
        refuse_type(r, type);
        return r->status;
    }
    const char *left_out = r->family->left_out;
    const char *goal = left_out == NULL
                           ? "model.type"
                           : ms_arena_printf(r->arena, "model.type; not simulated: %s", left_out);
    (void)ms_hf_take(r, MS_HF_NAME("model_type"), goal == NULL ? "" : goal);
    r->place = type;
    r->traits = r->family->traits;
    if (r->family->adapt != NULL) {
        r->family->adapt(r);
    }
    return r->status;
}

/* The mapping that holds the text model's keys, by the names that it has in configs of several
 * models; NULL: there is none. */
static const ms_node *text_of(const ms_node *config, const char **key_out) {
    static const char *const TEXTS[] = {"text_config", "llm_config", "language_config", NULL};
    for (size_t i = 0; TEXTS[i] != NULL; i++) {
        *key_out = TEXTS[i];
        if (ms_node_get(config, TEXTS[i]) != NULL) {
            return ms_node_get(config, TEXTS[i]);
        }
    }
    return NULL;
}

const char *ms_hf_left_out(const ms_node *config) {
    const char *place = NULL;
    const ms_node *text = text_of(config, &place);
    const ms_node *type = text == NULL ? NULL : ms_node_get(text, "model_type");
    type = type == NULL ? ms_node_get(config, "model_type") : type;
    bool is_text = type != NULL && type->type == MS_NODE_SCALAR;
    const ms_hf_family *family = is_text ? ms_hf_family_of(type->text) : NULL;
    return family == NULL ? NULL : family->left_out;
}

ms_status ms_hf_model(const ms_node *config, ms_arena *arena, ms_diag *diag, ms_source_keys *keys,
                      ms_node **model_out) {
    const char *place = NULL;
    const ms_node *text = text_of(config, &place);
    bool is_nested = text != NULL && text->type == MS_NODE_MAPPING;
    ms_hf_reader *r = MS_NEW(arena, ms_hf_reader, 1);
    ms_node *model = MS_NEW(arena, ms_node, 1);
    if (r == NULL || model == NULL) {
        return ms_diag_no_memory(diag);
    }
    *r = (ms_hf_reader){.root = config,
                        .config = is_nested ? text : config,
                        .prefix = is_nested ? ms_arena_printf(arena, "%s.", place) : "",
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
    read_model(r);
    ms_hf_list_keys(r, config, keys);
    if (r->status == MS_OK) {
        *model_out = model;
    }
    return r->status == MS_E_NOMEM ? ms_diag_no_memory(diag) : r->status;
}

/* A model's name or its page where a file's is meant: nothing is there of that name. */
static bool is_models_name(const char *path, const struct stat *facts) {
    bool is_page = strncmp(path, "http", 4) == 0;
    bool is_file = facts != NULL || errno != ENOENT;
    return !is_file && path[0] != '\0' && (is_page || strstr(path, ".json") == NULL);
}

ms_status ms_hf_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **config_out) {
    struct stat facts;
    bool is_there = stat(path, &facts) == 0;
    if (!is_there && errno == EIO) {
        ms_failure_note_file(path, errno);
        ms_diag_error(diag, "%s", ms_failure_text());
        return MS_E_IO;
    }
    if (is_models_name(path, is_there ? &facts : NULL)) {
        ms_diag_error(diag,
                      "%s: no such file or folder; nothing is downloaded: save the config.json of "
                      "the model's page on Hugging Face, and name that",
                      path);
        return MS_E_INPUT;
    }
    bool is_folder = is_there && S_ISDIR(facts.st_mode);
    const char *file =
        is_folder ? ms_arena_printf(arena, "%s/config.json", path) : ms_arena_strdup(arena, path);
    return file == NULL ? ms_diag_no_memory(diag)
                        : ms_config_load_json(file, arena, diag, config_out);
}
