/* The file of the types of models (workloads/families/hugging-face.yaml): finds it, and looks up
 * its facts about a type or a key. */
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "base/config/find.h"
#include "model/hf/hf.h"

/* Words of ms_hf_trait, in its order. */
const char *const MS_HF_TRAITS[] = {"gated",
                                    "layer_norm",
                                    "gain_norms",
                                    "plain_norms",
                                    "learned",
                                    "alibi",
                                    "experts",
                                    "latent",
                                    "correction_bias",
                                    "all_biases",
                                    "qkv_biases",
                                    "output_biases",
                                    "attention_biases",
                                    "mlp_biases",
                                    "head_bias",
                                    "expert_biases",
                                    "attention_qkv",
                                    "qk_norms",
                                    "own_qk_gains",
                                    "post_norms",
                                    "parallel",
                                    "branch_norms",
                                    "shared_gate",
                                    "one_shared",
                                    "window",
                                    "multi_query",
                                    "lists",
                                    "half_ffn",
                                    NULL};

static const ms_field FAMILY_FIELDS[] = {
    MS_KEY("like", NULL, STRING, offsetof(ms_hf_family, like)),
    MS_KEY("traits", NULL, FLAGS, offsetof(ms_hf_family, traits), .words = MS_HF_TRAITS),
    MS_KEY("defaults", NULL, NODE, offsetof(ms_hf_family, defaults)),
    MS_KEY("keys", NULL, NODE, offsetof(ms_hf_family, keys)),
    MS_KEY("rules", NULL, NODE, offsetof(ms_hf_family, rules)),
    MS_KEY("left_out", NULL, STRING, offsetof(ms_hf_family, left_out)),
    {.key = NULL},
};

/* Find and read the file of types. A file below the current folder comes before the installed
 * one. */
ms_status ms_hf_load_types(const char *data_folder, ms_arena *arena, ms_diag *diag,
                           ms_node **types_out) {
    static const char NAME[] = "hugging-face";
    const char *candidates[] = {
        "workloads/families",
        data_folder == NULL ? NULL : ms_arena_printf(arena, "%s/workloads/families", data_folder)};
    ms_file_search search = {.subfolder = ""};
    const char *path = NULL, *looked = NULL;
    ms_status status = ms_find_folders(candidates, sizeof candidates / sizeof candidates[0], arena,
                                       &search.folders);
    status = status == MS_OK ? ms_find_yaml(NAME, &search, arena, &path, &looked) : status;
    if (status != MS_OK || arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    if (path == NULL) {
        return ms_diag_error(diag, "no file '%s.yaml' of the types of models%s", NAME, looked);
    }
    return ms_yaml_load(path, arena, diag, types_out);
}

const char *ms_hf_text(const ms_node *node) {
    return node == NULL || node->text == NULL ? "" : node->text;
}

const ms_node *ms_hf_first(const ms_node *node) {
    return node == NULL ? NULL : node->first;
}

const ms_node *ms_hf_fact(const ms_node *types, const char *key, const char *fact) {
    return ms_node_get(ms_node_get(ms_node_get(types, "keys"), key), fact);
}

/* Read a type's row, laid over the row of the type that it is `like`. Returns false if there is
 * none. */
bool ms_hf_read_family(ms_hf_reader *r, const char *model_type) {
    const ms_node *families = ms_node_get(r->types, "families");
    ms_node *row = ms_node_get(families, model_type);
    const ms_node *like = ms_node_get(families, ms_hf_text(ms_node_get(row, "like")));
    if (row == NULL) {
        return false;
    }
    row = ms_node_copy(row, r->arena);
    r->status = row == NULL ? MS_E_NOMEM : MS_OK;
    if (r->status == MS_OK && like != NULL) {
        r->status = ms_node_underlay(row, like, r->arena);
    }
    r->family = (ms_hf_family){.model_type = model_type};
    r->status = r->status == MS_OK
                    ? ms_config_read(row, FAMILY_FIELDS, "families", &r->family, r->arena, r->diag)
                    : r->status;
    return true;
}

/* The feature of a type of models that is not built, by the `unbuilt` rows; NULL: no row names the
 * type. */
const char *ms_hf_unbuilt(const ms_node *types, const char *model_type) {
    const ms_node *row = ms_hf_first(ms_node_get(types, "unbuilt"));
    for (; row != NULL; row = row->next) {
        const ms_node *name = ms_hf_first(ms_node_get(row, "model_types"));
        for (; name != NULL; name = name->next) {
            if (strcmp(ms_hf_text(name), model_type) == 0) {
                return ms_hf_text(ms_node_get(row, "what"));
            }
        }
    }
    return NULL;
}

/* Why a key does not change a simulation, by the first `ignored` row whose pattern fits; NULL: none
 * does. */
const char *ms_hf_ignored_why(const ms_node *types, const char *key) {
    const ms_node *row = ms_hf_first(ms_node_get(types, "ignored"));
    for (; row != NULL; row = row->next) {
        const ms_node *name = ms_hf_first(ms_node_get(row, "keys"));
        for (; name != NULL; name = name->next) {
            if (fnmatch(ms_hf_text(name), key, 0) == 0) {
                return ms_hf_text(ms_node_get(row, "why"));
            }
        }
    }
    return NULL;
}
