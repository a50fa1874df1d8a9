/* libFuzzer target: any bytes as a Hugging Face config. What is refused is explained; of what is
 * read every key stands once in the list of keys, and the model that it gives is one or says why
 * not. */
#include <string.h>

#include "fuzz_target.h"
#include "model/hf.h"
#include "model/model.h"

/* Every mark must point into the text. */
static void check_marks(const ms_node *node) {
    require(node->mark.line >= 1 && node->mark.column >= 1 && node->mark.width >= 1);
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        require(child->key == NULL || child->key_mark.line >= 1);
        check_marks(child);
    }
}

/* Keys that stand in the file, all told of. */
static void check_keys(const ms_node *config, const ms_source_keys *keys) {
    const ms_node *text = ms_node_get(config, "text_config");
    bool is_nested = text != NULL && text->type == MS_NODE_MAPPING;
    size_t wanted = config->count + (is_nested ? text->count - 1 : 0);
    size_t told = 0;
    for (const ms_source_key *key = keys->first; key != NULL; key = key->next) {
        told += key->fate != MS_SOURCE_ASSUMED;
    }
    require(told >= wanted);
}

static void read_config(const char *text, size_t length_B, ms_arena *arena) {
    ms_diag diag;
    ms_node *config = NULL, *types = NULL;
    ms_hf_result result = {.model = NULL};
    const ms_text document = {"fuzz.json", text, length_B};
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_config_parse_json(&document, arena, &diag, &config);
    require((status == MS_OK) == (diag.errors == 0));
    if (status != MS_OK) {
        require(status == MS_E_INPUT);
        return;
    }
    check_marks(config);
    require(ms_hf_load_types(MS_SOURCE_DIR, arena, &diag, &types) == MS_OK);
    status = ms_hf_model(types, config, arena, &diag, &result);
    require((status == MS_OK) == (diag.errors == 0));
    if (status != MS_OK) {
        require(status == MS_E_INPUT);
        return;
    }
    check_keys(config, &result.keys);
    ms_model model;
    status = ms_model_read(result.model, "model", arena, &diag, &model);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        ms_parameter_parts parts = ms_model_parameter_parts(&model);
        require(parts.active <= parts.total && parts.active > 0 && parts.modules >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    read_config((const char *)data, size, &arena);
    ms_arena_release(&arena);
    return 0;
}
