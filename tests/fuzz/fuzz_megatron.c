/* libFuzzer target: any bytes as a script, MODEL_ARGS or a log of Megatron-LM (the first byte says
 * which); behind a form feed begins another file, "b", that the first may name. What is refused is
 * explained; of every argument is said what became of it, and every key can be set. */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/megatron.h"

static void check_uses(const ms_megatron_arguments *arguments) {
    for (size_t i = 0; i < arguments->items.count; i++) {
        const ms_megatron_argument *a = &MS_AT(&arguments->items, ms_megatron_argument, i);
        require(a->name != NULL && a->value != NULL);
        require(a->why != NULL || a->use == MS_MEGATRON_UNKNOWN || a->use == MS_MEGATRON_USED);
    }
}

/* A tree as a workload has it takes all keys, each of them once. */
static void check_keys(const ms_megatron_job *job, ms_arena *arena, ms_diag *diag) {
    ms_node *root = NULL;
    require(ms_yaml_parse("name: x\n", 8, "fuzz", arena, diag, &root) == MS_OK);
    for (size_t i = 0; i < job->settings.count; i++) {
        const ms_megatron_setting *setting = &MS_AT(&job->settings, ms_megatron_setting, i);
        bool is_there = true;
        ms_node_at(root, setting->key, &is_there);
        require(!is_there);
        require((setting->value == NULL) == (setting->set == NULL));
        require(setting->set == NULL || ms_node_set(root, setting->set, arena, diag) == MS_OK);
    }
}

static void translate(ms_megatron_arguments *arguments, ms_arena *arena, ms_diag *diag) {
    const ms_megatron_facts facts = {.data_folder = MS_SOURCE_DIR};
    ms_megatron_job job;
    ms_megatron_job_init(&job);
    ms_status status = ms_megatron_translate(arguments, &facts, arena, diag, &job);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag->errors == 0));
    check_uses(arguments);
    if (status == MS_OK) {
        check_keys(&job, arena, diag);
    }
    ms_megatron_job_release(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_megatron_arguments arguments;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    ms_megatron_arguments_init(&arguments);
    bool is_yaml = size > 0 && data[0] == 'M'; /* MODEL_ARGS */
    const char *copy = size == 0 ? "" : ms_arena_strndup(&arena, (const char *)data, size);
    const uint8_t *cut = size == 0 ? NULL : memchr(data, '\f', size);
    size_t first_B = cut == NULL ? size : (size_t)(cut - data);
    size_t rest_B = cut == NULL ? 0 : size - first_B - 1;
    const ms_text texts[] = {
        {is_yaml ? "fuzz.yaml" : "fuzz", ms_arena_strndup(&arena, copy, first_B), first_B},
        {"b", cut == NULL ? "" : copy + first_B + 1, rest_B}};
    const char *defines[] = {"1=x", "N=2"};
    const ms_words words = {.items = defines, .count = size % 3};
    ms_status status =
        ms_megatron_read(texts, cut == NULL ? 1 : 2, &words, &arena, &diag, &arguments);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        translate(&arguments, &arena, &diag);
    }
    ms_megatron_arguments_release(&arguments);
    ms_arena_release(&arena);
    return 0;
}
