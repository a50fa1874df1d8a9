/* libFuzzer target: any bytes as a configuration of DeepSpeed. What is refused is explained; of
 * what is read every key is told of once, and every key of the workload can be set, each once. */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/deepspeed.h"

/* Values of mappings that are not empty are told of at least once each, at a place. */
static void check_keys(const ms_node *config, const ms_source_keys *keys) {
    size_t assumed = ms_source_keys_count(keys, MS_SOURCE_ASSUMED);
    require(keys->count <= assumed || config->count > 0);
    for (const ms_source_key *key = keys->first; key != NULL; key = key->next) {
        require(key->key != NULL);
        require(key->why != NULL || key->fate == MS_SOURCE_UNKNOWN);
        require(key->fate == MS_SOURCE_ASSUMED || key->mark.line >= 1);
    }
}

/* A tree as a workload has it takes all keys, each of them once. */
static void check_settings(const ms_deepspeed_job *job, ms_arena *arena, ms_diag *diag) {
    ms_node *root = NULL;
    require(ms_yaml_parse("name: x\n", 8, "fuzz", arena, diag, &root) == MS_OK);
    for (size_t i = 0; i < job->settings.count; i++) {
        const ms_deepspeed_setting *setting = &MS_AT(&job->settings, ms_deepspeed_setting, i);
        bool is_there = true;
        ms_node_at(root, setting->key, &is_there);
        require(!is_there);
        require((setting->value == NULL) == (setting->what != NULL));
        const char *text = ms_arena_printf(arena, "%s=%s", setting->key,
                                           setting->value == NULL ? "required" : setting->value);
        require(ms_node_set(root, text, arena, diag) == MS_OK);
    }
}

static void read_config(const char *text, size_t length_B, ms_arena *arena) {
    ms_diag diag;
    ms_node *config = NULL;
    ms_deepspeed_job job;
    const ms_text document = {"fuzz.json", text, length_B};
    ms_diag_init(&diag, discard, NULL);
    if (ms_config_parse_json(&document, arena, &diag, &config) != MS_OK) {
        return;
    }
    ms_deepspeed_job_init(&job);
    ms_status status = ms_deepspeed_translate(config, 4096, arena, &diag, &job);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        check_keys(config, &job.keys);
        check_settings(&job, arena, &diag);
    }
    ms_deepspeed_job_release(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    read_config((const char *)data, size, &arena);
    ms_arena_release(&arena);
    return 0;
}
