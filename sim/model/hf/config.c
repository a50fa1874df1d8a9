/* From a Hugging Face config (config.json) to the `model:` mapping of a workload. The config's
 * model_type selects a family; its row in the file of types (workloads/families/hugging-face.yaml)
 * gives traits, defaults and names of keys. Each read_ function looks up some keys of the config
 * and puts the model's keys that follow from them (reader.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/hf/hf.h"

/* Tokens of a sequence, at most, where the config does not say how long pretraining's sequences
 * were (Llama 3, arXiv:2407.21783, section 3.4: 8K before long contexts). */
enum { USUAL_SEQUENCE = 8192, LENGTH_MAX = 1 << 28 };

/* Whether the model has a trait of its family, as the config has changed it. */
static bool has(const ms_hf_reader *r, ms_hf_trait trait) {
    return (r->traits & (unsigned)trait) != 0;
}

/* Copy a size that the model needs, and report a fault where the config and the family's defaults
 * lack it. A value that is no size has been reported by ms_hf_copy. goal: as for ms_hf_take. */
static void copy_size(ms_hf_reader *r, const char *key, const char *goal) {
    if (!ms_hf_copy(r, key, goal) && (r->status == MS_OK || ms_hf_take(r, key, goal) == NULL)) {
        ms_hf_fault(r, r->config, key,
                    "key is missing, and no default for %s is known: expected a whole number",
                    r->family.model_type);
    }
}

/* Tokens of a sequence before the model's positions were stretched for longer ones; 0: the config
 * does not say. from_out: gets the node of that number. */
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
    if (ms_hf_int(r, KEY, &length)) {
        *from_out = ms_hf_take(r, KEY, NULL);
    }
    return length;
}

/* Put the length of sequences: the longest of pretraining where the config names it, else the
 * longest that it allows, up to a usual length. An original length beyond the longest counts as not
 * given. */
static void put_sequence(ms_hf_reader *r) {
    static const char KEY[] = "max_position_embeddings";
    int longest = 0;
    const ms_node *source = NULL;
    bool is_given = ms_hf_int(r, KEY, &longest) && longest > 0;
    const ms_node *from = ms_hf_take(r, KEY, NULL);
    if (!is_given) {
        ms_hf_fault(r, from == NULL ? r->config : from, KEY,
                    "key is missing, or 0: how long sequences may be");
        return;
    }
    int usual = longest < USUAL_SEQUENCE ? longest : USUAL_SEQUENCE;
    int original = original_length(r, &source);
    bool is_known = original > 0 && original <= longest;
    ms_hf_put_int(r, "sequence", is_known ? source : from, is_known ? original : usual);
}

/* Put the numbers and the size of heads. As many key and value heads as query heads are the
 * default, and not put. Latent attention has sizes of its own (read_model). */
static void read_heads(ms_hf_reader *r) {
    static const char KEYS_VALUES[] = "num_key_value_heads";
    int heads = 0, kv_heads = 0;
    copy_size(r, "num_attention_heads", NULL);
    if (has(r, MS_HF_LATENT)) {
        return;
    }
    (void)ms_hf_int(r, "num_attention_heads", &heads);
    if (has(r, MS_HF_MULTI_QUERY)) {
        ms_hf_put_int(r, "kv_heads", NULL, 1);
    } else if (ms_hf_int(r, KEYS_VALUES, &kv_heads) && kv_heads != heads) {
        ms_hf_put_int(r, "kv_heads", ms_hf_take(r, KEYS_VALUES, NULL), kv_heads);
    }
    (void)ms_hf_copy(r, "head_dim", NULL);
}

/* Put the inner size of the dense MLP. A gated model needs it; a GPT has a default. */
static void read_ffn(ms_hf_reader *r) {
    static const char KEY[] = "intermediate_size";
    int ffn = 0;
    if (ms_hf_int(r, KEY, &ffn)) {
        ms_hf_put_int(r, "ffn", ms_hf_take(r, KEY, NULL), has(r, MS_HF_HALF_FFN) ? ffn / 2 : ffn);
    } else if (has(r, MS_HF_GATED)) {
        copy_size(r, KEY, NULL); /* reports that the key is missing */
    }
}

/* Put which linear layers have biases: `bias: true` for all but the head and the experts, or a list
 * of others in `biases`. */
static void put_biases(ms_hf_reader *r) {
    enum { IN_ALL = 3 }; /* PARTS[0..2], which `bias: true` stands for */
    static const struct {
        unsigned traits;
        const char *word;
    } PARTS[] = {{MS_HF_ATTENTION_BIASES | MS_HF_QKV_BIASES, "qkv"},
                 {MS_HF_ATTENTION_BIASES | MS_HF_OUTPUT_BIASES, "attention_output"},
                 {MS_HF_MLP_BIASES, "mlp"},
                 {MS_HF_HEAD_BIAS, "head"},
                 {MS_HF_EXPERT_BIASES, "experts"}};
    const char *words[sizeof PARTS / sizeof PARTS[0]];
    size_t count = 0;
    bool has_all =
        has(r, MS_HF_ALL_BIASES) || (has(r, MS_HF_ATTENTION_BIASES) && has(r, MS_HF_MLP_BIASES));
    for (size_t i = has_all ? IN_ALL : 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        if ((r->traits & PARTS[i].traits) != 0) {
            words[count++] = PARTS[i].word;
        }
    }
    ms_hf_put(r, "bias", NULL, has_all ? "true" : "false");
    if (count > 0) {
        ms_hf_put_list(r, "biases", words, count);
    }
}

/* Put the kind of norms and where layers have them, by the model's traits. */
static void put_norms(ms_hf_reader *r) {
    static const struct {
        unsigned traits; /* the model must have all of these */
        const char *key, *text;
    } PUTS[] = {{MS_HF_PARALLEL, "parallel_block", "true"},
                {MS_HF_PARALLEL | MS_HF_BRANCH_NORMS, "branch_norms", "true"},
                {MS_HF_QK_NORMS, "qk_norm", "true"},
                {MS_HF_QK_NORMS | MS_HF_OWN_QK_GAINS, "qk_gains", "own"},
                {MS_HF_POST_NORMS, "post_norms", "true"}};
    const char *with_gain = has(r, MS_HF_GAIN_NORMS) ? "gain" : "rms";
    const char *norm = has(r, MS_HF_LAYER_NORM) ? "layer" : with_gain;
    ms_hf_put(r, "norm", NULL, has(r, MS_HF_PLAIN_NORMS) ? "plain" : norm);
    for (size_t i = 0; i < sizeof PUTS / sizeof PUTS[0]; i++) {
        if ((r->traits & PUTS[i].traits) == PUTS[i].traits) {
            ms_hf_put(r, PUTS[i].key, NULL, PUTS[i].text);
        }
    }
}

/* Put the choices of shape that are no sizes: ties, biases, norms, positions, gate, dropout,
 * windows. The rules for all types are applied before biases and norms are put, which they can
 * change. */
static void read_manner(ms_hf_reader *r) {
    static const char TIED[] = "tie_word_embeddings";
    bool is_tied = false;
    int layers = 0;
    const ms_node *dropout = ms_hf_fraction(r, "resid_pdrop");
    const char *relative = has(r, MS_HF_ALIBI) ? "alibi" : "rotary";
    (void)ms_hf_flag(r, TIED, &is_tied);
    ms_hf_put(r, "tied_embeddings", ms_hf_take(r, TIED, NULL), is_tied ? "true" : "false");
    ms_hf_apply_rules(r, ms_node_get(r->types, "rules"));
    put_biases(r);
    put_norms(r);
    ms_hf_put(r, "positions", NULL, has(r, MS_HF_LEARNED) ? "learned" : relative);
    ms_hf_put(r, "gated", NULL, has(r, MS_HF_GATED) ? "true" : "false");
    ms_hf_put(r, "dropout", dropout, dropout == NULL ? "0" : NULL);
    (void)ms_hf_int(r, "num_hidden_layers", &layers);
    ms_hf_put_windows(r, layers, has(r, MS_HF_WINDOW));
}

/* Put the experts that every token passes: several of the routed experts' size, or one of a size of
 * its own. */
static void read_shared_experts(ms_hf_reader *r) {
    static const char SIZE[] = "shared_expert_intermediate_size";
    int ffn = 0;
    if (ms_hf_copy(r, "n_shared_experts", NULL)) {
        return;
    }
    if (has(r, MS_HF_ONE_SHARED)) {
        ms_hf_put(r, "moe.shared_experts", NULL, "1");
    } else if (ms_hf_int(r, SIZE, &ffn) && ffn > 0) {
        ms_hf_put(r, "moe.shared_experts", NULL, "1");
        ms_hf_put_int(r, "moe.shared_ffn", ms_hf_take(r, SIZE, NULL), ffn);
        if (has(r, MS_HF_SHARED_GATE)) {
            ms_hf_put(r, "moe.shared_gate", NULL, "true");
        }
    }
}

/* Put the mixture of experts. Returns whether a layer keeps a dense MLP. */
static bool read_experts(ms_hf_reader *r) {
    static const char OWN[] = "moe_intermediate_size";
    int layers = 0;
    copy_size(r, "num_local_experts", NULL);
    copy_size(r, "num_experts_per_tok", NULL);
    bool is_apart = ms_hf_take(r, OWN, NULL) != NULL;
    copy_size(r, is_apart ? OWN : "intermediate_size", "model.moe.ffn");
    read_shared_experts(r);
    if (has(r, MS_HF_CORRECTION_BIAS)) {
        ms_hf_put(r, "moe.router_bias", NULL, "true");
    }
    (void)ms_hf_int(r, "num_hidden_layers", &layers);
    return ms_hf_put_dense_layers(r, layers);
}

/* Put all keys of the model but its name and type. Faults are kept in r->status, and reading goes
 * on. */
static void read_model(ms_hf_reader *r) {
    static const char MODULES[] = "num_nextn_predict_layers";
    int modules = 0;
    copy_size(r, "num_hidden_layers", NULL);
    copy_size(r, "hidden_size", NULL);
    read_heads(r);
    copy_size(r, "vocab_size", NULL);
    put_sequence(r);
    read_manner(r);
    bool has_dense = !has(r, MS_HF_EXPERTS) || read_experts(r);
    if (has_dense) {
        read_ffn(r);
    }
    if (has(r, MS_HF_LATENT)) {
        (void)ms_hf_copy(r, "q_lora_rank", NULL);
        copy_size(r, "kv_lora_rank", NULL);
        copy_size(r, "qk_nope_head_dim", NULL);
        copy_size(r, "qk_rope_head_dim", NULL);
        copy_size(r, "v_head_dim", NULL);
    }
    if (ms_hf_int(r, MODULES, &modules) && modules > 0) {
        (void)ms_hf_copy(r, MODULES, NULL);
    }
}

/* ---- the whole ---- */

/* Put the model's name: the last part of the checkpoint's name if the config has one, else its
 * type. */
static void put_name(ms_hf_reader *r) {
    static const char KEY[] = "_name_or_path";
    const ms_node *own = ms_hf_take(r, KEY, NULL);
    const ms_node *node = own == NULL ? ms_node_get(r->root, KEY) : own;
    const char *name = node != NULL && node->type == MS_NODE_SCALAR ? node->text : "";
    const char *slash = strrchr(name, '/');
    name = slash == NULL ? name : slash + 1;
    ms_hf_put(r, "name", NULL, name[0] == '\0' ? r->family.model_type : name);
    if (r->model->last != NULL) {
        r->model->last->is_quoted = true;
    }
}

/* Append which sizes that any model has, under any of their names, a config of an unknown type
 * lacks. */
static void list_lacking(const ms_hf_reader *r, ms_buffer *out) {
    static const char *const SIZES[] = {"hidden_size", "num_hidden_layers", "num_attention_heads",
                                        "intermediate_size", "vocab_size"};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        const ms_node *also = ms_hf_fact(r->types, SIZES[i], "also");
        bool is_there = ms_node_get(r->config, SIZES[i]) != NULL;
        for (const ms_node *name = ms_hf_first(also); name != NULL; name = name->next) {
            is_there = is_there || ms_node_get(r->config, ms_hf_text(name)) != NULL;
        }
        if (!is_there) {
            ms_buffer_printf(out, "%s%s", out->length == 0 ? "; it has no " : ", ", SIZES[i]);
        }
    }
}

/* Words on a file that users mistake for a config, if one of its keys is there; else "". */
static const char *other_file(const ms_hf_reader *r) {
    const ms_node *files = ms_node_get(r->types, "files");
    for (const ms_node *file = ms_hf_first(files); file != NULL; file = file->next) {
        if (ms_node_get(r->config, file->key) != NULL) {
            return ms_hf_text(file);
        }
    }
    return "";
}

/* List the names of all types of models.  names: [families->count].  known: gets "gpt2, llama,
 * ...". */
static void list_families(const ms_node *families, const char **names, ms_buffer *known) {
    size_t count = 0;
    for (const ms_node *family = families->first; family != NULL; family = family->next) {
        ms_buffer_printf(known, "%s%s", count == 0 ? "" : ", ", family->key);
        names[count++] = family->key;
    }
}

/* Report a model type that has no row in the file of types: a known one that is not built, a
 * missing or an unknown one. type: NULL: the config names none. */
static void refuse_type(ms_hf_reader *r, const ms_node *type) {
    const char *word = type != NULL && type->type == MS_NODE_SCALAR ? type->text : NULL;
    const char *unbuilt = word == NULL ? NULL : ms_hf_unbuilt(r->types, word);
    const ms_node *families = ms_node_get(r->types, "families");
    const char **names = families == NULL ? NULL : MS_NEW(r->arena, const char *, families->count);
    const ms_node *source = type == NULL ? r->config : type;
    ms_buffer known, lacking;
    ms_buffer_init(&known);
    ms_buffer_init(&lacking);
    if (names != NULL) {
        list_families(families, names, &known);
    }
    list_lacking(r, &lacking);
    const ms_hint hint = ms_nearest_hint(word, names, names == NULL ? 0 : families->count);
    if (unbuilt != NULL) {
        ms_hf_fault(r, source, "model_type", "'%s' is known and not built: it has %s", word,
                    unbuilt);
    } else if (type == NULL) {
        ms_hf_fault(r, source, "model_type", "key is missing%s%s; expected one of %s",
                    other_file(r), ms_buffer_text(&lacking), ms_buffer_text(&known));
    } else {
        ms_hf_fault(
            r, source, "model_type", "unknown type of models '%.80s'%s%s; expected one of %s",
            word == NULL ? "" : word, hint.text, ms_buffer_text(&lacking), ms_buffer_text(&known));
    }
    ms_buffer_release(&known);
    ms_buffer_release(&lacking);
}

/* Find the family of the config's model_type, and apply its own rules to its traits. Returns
 * r->status. */
static ms_status find_family(ms_hf_reader *r) {
    const ms_node *type = ms_node_get(r->config, "model_type");
    type = type == NULL ? ms_node_get(r->root, "model_type") : type;
    bool is_text = type != NULL && type->type == MS_NODE_SCALAR;
    if (!is_text || !ms_hf_read_family(r, type->text)) {
        refuse_type(r, type);
    }
    if (r->status != MS_OK) {
        return r->status;
    }
    const char *left_out = r->family.left_out;
    const char *goal = left_out == NULL
                           ? NULL
                           : ms_arena_printf(r->arena, "model.type; not simulated: %s", left_out);
    r->type_node = type;
    (void)ms_hf_take(r, "model_type", goal);
    r->traits = r->family.traits;
    ms_hf_apply_rules(r, r->family.rules);
    return r->status;
}

/* The mapping that holds the text model's keys in a config of several models (text and vision,
 * say), under any of its names; NULL: there is none. key_out: gets that name. */
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

/* Make the `model:` mapping of a config. A lack of memory inside the reading shows in
 * arena->has_failed, and is reported once at the end. */
ms_status ms_hf_model(const ms_node *types, const ms_node *config, ms_arena *arena, ms_diag *diag,
                      ms_hf_result *result_out) {
    const char *nested_key = NULL;
    const ms_node *text = text_of(config, &nested_key);
    bool is_nested = text != NULL && text->type == MS_NODE_MAPPING;
    ms_hf_reader *r = MS_NEW(arena, ms_hf_reader, 1);
    ms_node *model = MS_NEW(arena, ms_node, 1);
    const char *prefix = is_nested ? ms_arena_printf(arena, "%s.", nested_key) : "";
    if (r == NULL || model == NULL || prefix == NULL) {
        return ms_diag_no_memory(diag);
    }
    *r = (ms_hf_reader){.types = types,
                        .root = config,
                        .config = is_nested ? text : config,
                        .prefix = prefix,
                        .arena = arena,
                        .diag = diag,
                        .model = model};
    ms_status status = find_family(r);
    if (status != MS_OK) {
        return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
    }
    *model = (ms_node){
        .type = MS_NODE_MAPPING, .origin = "hf", .key = "model", .mark = r->type_node->mark};
    put_name(r);
    ms_hf_put(r, "type", r->type_node, has(r, MS_HF_GATED) ? "llama" : "gpt");
    read_model(r);
    ms_hf_result result = {.model = model, .left_out = r->family.left_out};
    ms_hf_list_keys(r, &result.keys);
    if (arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    if (r->status == MS_OK) {
        *result_out = result;
    }
    return r->status;
}

/* Whether a path looks like a model's name or its page on the web, and no file of that name exists.
 * facts: of the file; NULL: stat has failed with errno. */
static bool is_models_name(const char *path, const struct stat *facts) {
    bool is_page = strncmp(path, "http", 4) == 0;
    bool is_file = facts != NULL || errno != ENOENT;
    return !is_file && path[0] != '\0' && (is_page || strstr(path, ".json") == NULL);
}

/* Read a config file; a folder stands for its config.json. Nothing is downloaded: for a name or
 * page of a model the message says what to do. */
ms_status ms_hf_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **config_out) {
    struct stat facts;
    bool is_there = stat(path, &facts) == 0;
    if (!is_there && errno == EIO) { /* other errors are reported when the file is opened */
        ms_failure_note_file(path, errno);
        ms_diag_error(diag, "%s", ms_failure_text());
        return MS_E_IO;
    }
    if (is_models_name(path, is_there ? &facts : NULL)) {
        return ms_diag_error(
            diag,
            "%s: no such file or folder; nothing is downloaded: save the config.json of "
            "the model's page on Hugging Face, and name that",
            path);
    }
    bool is_folder = is_there && S_ISDIR(facts.st_mode);
    const char *file =
        is_folder ? ms_arena_printf(arena, "%s/config.json", path) : ms_arena_strdup(arena, path);
    return file == NULL ? ms_diag_no_memory(diag)
                        : ms_config_load_json(file, arena, diag, config_out);
}
