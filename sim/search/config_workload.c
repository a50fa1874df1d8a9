/* Makes a workload from a Hugging Face config (config_workload.h): the model comes from the config
 * (model/hf.h), the framework is assumed, because no config names one. Decisions:
 * config_workload.md. */
#include "search/config_workload.h"

#include "model/hf.h"

/* Append a key to a mapping. text: of a scalar; NULL: a mapping. Returns the new node; NULL when
 * memory runs out. */
static ms_node *add_node(ms_node *mapping, const char *key, const char *text, ms_arena *arena) {
    ms_node *node = MS_NEW(arena, ms_node, 1);
    if (node != NULL) {
        *node = (ms_node){.type = text == NULL ? MS_NODE_MAPPING : MS_NODE_SCALAR,
                          .key = key,
                          .text = text,
                          .origin = "import"};
        ms_node_append(mapping, node);
    }
    return node;
}

/* The framework that is assumed is Megatron Core. Without a framework a simulated job overlaps
 * nothing and shards nothing, which no user wants. Megatron Core is the framework that models are
 * most often pretrained with at the sizes that clusters are planned for. Its documentation asks for
 * sequence parallelism wherever tensor parallelism is used (megatron.core.model_parallel_config,
 * sequence_parallel). */
ms_status ms_config_workload_assume(ms_config_workload *workload, ms_arena *arena, ms_diag *diag) {
    static const ms_source_key FRAMEWORK = {
        .key = "framework",
        .value = "megatron-core",
        .fate = MS_SOURCE_ASSUMED,
        .why = "no config says what trains the model: --set framework=NAME"};
    static const ms_source_key SEQUENCE = {
        .key = "tensor_parallel.sequence",
        .value = "true",
        .fate = MS_SOURCE_ASSUMED,
        .why = "what Megatron Core asks for beside tensor parallelism"};
    /* both branches of a parallel block cannot have a norm beside sequence parallelism */
    const ms_node *model = ms_node_get(workload->root, "model");
    bool has_sequence = ms_node_get(model, "branch_norms") == NULL;
    workload->remarks =
        ms_arena_printf(arena,
                        "%s# assumed: framework: no config says what trains the model; "
                        "torchtitan, deepspeed and others: --set framework=NAME\n",
                        workload->remarks == NULL ? "" : workload->remarks);
    if (workload->remarks == NULL) {
        return ms_diag_no_memory(diag);
    }
    bool is_added = add_node(workload->root, FRAMEWORK.key, FRAMEWORK.value, arena) != NULL &&
                    ms_source_keys_add(&workload->keys, &FRAMEWORK, arena) == MS_OK;
    if (is_added && has_sequence) {
        ms_node *parallel = add_node(workload->root, "tensor_parallel", NULL, arena);
        is_added = parallel != NULL &&
                   add_node(parallel, "sequence", SEQUENCE.value, arena) != NULL &&
                   ms_source_keys_add(&workload->keys, &SEQUENCE, arena) == MS_OK;
    }
    return is_added ? MS_OK : ms_diag_no_memory(diag);
}

/* Read the config and the table of model types, make the model by its type, and add the assumed
 * framework. */
ms_status ms_config_workload_read(const char *path, const char *data_folder, ms_arena *arena,
                                  ms_diag *diag, ms_config_workload *workload_out) {
    ms_config_workload workload = {.root = MS_NEW(arena, ms_node, 1)};
    ms_node *config = NULL, *types = NULL;
    ms_hf_result result = {.model = NULL};
    ms_status status = ms_hf_load(path, arena, diag, &config);
    status = status == MS_OK ? ms_hf_load_types(data_folder, arena, diag, &types) : status;
    status = status == MS_OK ? ms_hf_model(types, config, arena, diag, &result) : status;
    if (status != MS_OK) {
        return status;
    }
    workload.keys = result.keys;
    workload.remarks = result.left_out == NULL
                           ? ""
                           : ms_arena_printf(arena, "# not simulated: %s\n", result.left_out);
    if (workload.root == NULL || workload.remarks == NULL) {
        return ms_diag_no_memory(diag);
    }
    *workload.root = (ms_node){.type = MS_NODE_MAPPING, .origin = "import"};
    ms_node_append(workload.root, result.model);
    status = ms_config_workload_assume(&workload, arena, diag);
    *workload_out = workload;
    return status;
}
