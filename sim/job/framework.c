/* The framework of a workload, in three steps: its profile (a file of choices) is found, laid below
 * the workload's keys, so that a choice holds where the workload says nothing, and fitted: choices
 * that the job has no use for are taken back. */
#include <string.h>
#include <strings.h>

#include "base/config/find.h"
#include "job/internal.h"

/* The origin of a profile's nodes begins with this word; the profile's name follows. */
static const char ORIGIN[] = "framework ";

bool ms_spec_is_choice(const ms_node *node) {
    return node != NULL && strncmp(node->origin, ORIGIN, sizeof ORIGIN - 1) == 0;
}

/* Replace `key: NAME` in a tree by `key: {member: NAME}`: the scalar becomes the only member of a
 * new mapping in its place. */
ms_status ms_spec_normalise(ms_node *root, const char *key, const char *member, ms_arena *arena) {
    ms_node *mapping = ms_node_get(root, key);
    if (mapping == NULL || mapping->type != MS_NODE_SCALAR || ms_node_is_removal(mapping)) {
        return MS_OK;
    }
    ms_node *name = MS_NEW(arena, ms_node, 1);
    if (name == NULL) {
        return MS_E_NOMEM;
    }
    *name = *mapping;
    name->key = member;
    name->next = NULL;
    mapping->type = MS_NODE_MAPPING;
    mapping->text = NULL;
    mapping->first = name;
    mapping->last = name;
    mapping->count = 1;
    return MS_OK;
}

/* ---- finding ---- */

/* The reading of one framework's profile. */
typedef struct profile_lookup {
    const ms_node *name_node; /* the workload's key that names it */
    const char *name;
    const char *folder; /* of the workload */
    bool is_alone;      /* the workload is there for the profile's sake */
    ms_arena *arena;
    ms_diag *diag;
} profile_lookup;

/* List the folders in which a profile is looked for, in this order: the workload's folder, the
 * current one, those that come with meshsim. Returns MS_OK; MS_E_NOMEM. */
static ms_status find_folders(const profile_lookup *lookup, const char *data_folder,
                              const char *const **folders_out) {
    const char *candidates[] = {
        ms_arena_printf(lookup->arena, "%s/frameworks", lookup->folder), "frameworks",
        "workloads/frameworks",
        data_folder == NULL
            ? NULL
            : ms_arena_printf(lookup->arena, "%s/workloads/frameworks", data_folder)};
    bool has_all = candidates[0] != NULL && (candidates[3] != NULL || data_folder == NULL);
    return has_all ? ms_find_folders(candidates, sizeof candidates / sizeof candidates[0],
                                     lookup->arena, folders_out)
                   : MS_E_NOMEM;
}

/* Find the path of the profile. A relative path in the workload starts at the workload's folder.
 * Returns MS_OK; MS_E_INPUT (reported) where there is none; MS_E_NOMEM. */
static ms_status find_profile(const profile_lookup *lookup, const char *data_folder,
                              const char **path_out) {
    ms_file_search search = {.subfolder = ""};
    const char *looked = NULL;
    bool is_relative = strchr(lookup->name, '/') != NULL && lookup->name[0] != '/';
    const char *name = is_relative
                           ? ms_arena_printf(lookup->arena, "%s/%s", lookup->folder, lookup->name)
                           : lookup->name;
    ms_status status =
        name == NULL ? MS_E_NOMEM : find_folders(lookup, data_folder, &search.folders);
    status =
        status == MS_OK ? ms_find_yaml(name, &search, lookup->arena, path_out, &looked) : status;
    if (status != MS_OK || *path_out != NULL) {
        return status;
    }
    return ms_config_fault(lookup->diag,
                           lookup->name_node->mark.file == NULL ? NULL : lookup->name_node,
                           "framework", "no framework '%s'%s (known: %s)", lookup->name,
                           ms_find_yaml_hint(name, &search, lookup->arena),
                           ms_find_yaml_names(&search, lookup->arena));
}

/* ---- reading ---- */

/* Keys by which a profile describes itself. */
static const char *const OWN[] = {"name", "description"};

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

/* Check that a key which is a mapping in the workload is one in the profile too; the profile's
 * value would lie below it unread. Goes down into mappings that both have. */
static ms_status check_mappings(const ms_node *profile, const ms_node *root, ms_diag *diag) {
    ms_status status = MS_OK;
    for (const ms_node *own = profile->first; own != NULL; own = own->next) {
        const ms_node *given = own->key == NULL ? NULL : ms_node_get(root, own->key);
        if (given == NULL || given->type != MS_NODE_MAPPING) {
            continue;
        }
        ms_status below = own->type == MS_NODE_MAPPING
                              ? check_mappings(own, given, diag)
                              : ms_config_fault(diag, own, own->key, "expected a mapping");
        status = below == MS_OK ? status : below;
    }
    return status;
}

/* Refuse keys of a profile that describe the job (is_of_job) and so belong to the workload. path:
 * of `mapping`, with a dot at its end. */
static ms_status refuse_sizes(const ms_node *mapping, const ms_field *fields, const char *path,
                              const profile_lookup *lookup) {
    ms_status status = MS_OK;
    for (const ms_node *child = mapping->first; child != NULL; child = child->next) {
        const ms_field *row = child->key == NULL ? NULL : ms_config_row(fields, child->key);
        const char *key = row == NULL ? "" : ms_arena_printf(lookup->arena, "%s%s", path, row->key);
        if (row == NULL || key == NULL) {
            continue;
        }
        ms_status found = MS_OK;
        if (row->is_of_job) {
            found = ms_config_fault(lookup->diag, child, key,
                                    "a framework's profile holds choices; this is the workload's "
                                    "to say");
        } else if (child->type == MS_NODE_MAPPING) {
            const char *below = ms_arena_printf(lookup->arena, "%s.", key);
            found = below == NULL ? MS_E_NOMEM : refuse_sizes(child, row->fields, below, lookup);
        }
        status = found == MS_OK ? status : found;
    }
    return status;
}

/* Check the keys of a profile before it is laid below a workload's. */
static ms_status check_profile(const ms_node *profile, const profile_lookup *lookup) {
    ms_status status = refuse_sizes(profile, MS_WORKLOAD_FIELDS, "", lookup);
    for (size_t i = 0; i < COUNT_OF(OWN); i++) {
        const ms_node *node = ms_node_get(profile, OWN[i]);
        if (node != NULL && node->type != MS_NODE_SCALAR) {
            status = ms_config_fault(lookup->diag, node, OWN[i], "expected a text");
        }
    }
    return status;
}

/* Remove from the profile's `model` the keys that do not fit the workload's: those of another model
 * type, and `moe` where the model has no experts. A workload made for the profile alone gets
 * experts instead. */
static ms_status choose_model(ms_node *profile, ms_node *root, const profile_lookup *lookup) {
    ms_node *choices = ms_node_get(profile, "model");
    const ms_node *model = ms_node_get(root, "model");
    const ms_node *given = ms_node_get(model, "type"), *own = ms_node_get(choices, "type");
    bool is_other = given != NULL && own != NULL && given->type == MS_NODE_SCALAR &&
                    own->type == MS_NODE_SCALAR && strcmp(given->text, own->text) != 0;
    for (const ms_field *row = MS_MODEL_FIELDS; is_other && row->key != NULL; row++) {
        if (row->is_of_family) {
            ms_node_drop(choices, row->key);
        }
    }
    if (choices != NULL && !lookup->is_alone) {
        ms_node_drop(choices, "type"); /* the workload's own type counts */
    }
    bool has_experts = ms_node_get(model, "moe") != NULL;
    if (has_experts || ms_node_get(choices, "moe") == NULL) {
        return MS_OK;
    }
    if (lookup->is_alone) {
        return ms_node_set(root, "model.moe={experts: 2, top_k: 1, ffn: 128}", lookup->arena,
                           lookup->diag);
    }
    ms_node_drop(choices, "moe");
    return MS_OK;
}

/* Set the origin of a node and of all nodes below it. */
static void mark_origin(ms_node *node, const char *origin) {
    node->origin = origin;
    for (ms_node *child = node->first; child != NULL; child = child->next) {
        mark_origin(child, origin);
    }
}

/* The node of the framework's name; NULL: no profile is to be read, because the workload names
 * none, has its choices already (`expanded`), or has no model. */
static const ms_node *name_of(const ms_node *root) {
    const ms_node *framework = ms_node_get(root, "framework");
    const ms_node *name = ms_node_get(framework, "name");
    const ms_node *expanded = ms_node_get(framework, "expanded");
    bool is_expanded =
        expanded != NULL && expanded->type == MS_NODE_SCALAR && strcmp(expanded->text, "true") == 0;
    bool is_model = ms_node_get(root, "model") != NULL; /* else refused beside costs */
    bool is_name = name != NULL && name->type == MS_NODE_SCALAR && name->text[0] != '\0' &&
                   strcmp(name->text, MS_FRAMEWORK_NONE) != 0;
    return is_name && is_model && !is_expanded ? name : NULL;
}

/* Read the profile of the workload's framework, check it, and lay its choices below the workload's
 * keys. The profile's nodes get an origin of their own, by which ms_spec_is_choice tells them from
 * the user's. */
ms_status ms_spec_lay_framework(const ms_job_request *request, const char *folder, bool is_alone,
                                ms_node *root, ms_arena *arena, ms_diag *diag) {
    const ms_node *name = name_of(root);
    if (name == NULL) {
        return MS_OK;
    }
    const profile_lookup lookup = {name, name->text, folder, is_alone, arena, diag};
    const char *path = NULL;
    const char *origin = ms_arena_printf(arena, "%s%s", ORIGIN, name->text);
    ms_node *profile = NULL;
    ms_status status = origin == NULL ? MS_E_NOMEM : MS_OK;
    status = status == MS_OK ? find_profile(&lookup, request->data_folder, &path) : status;
    status = status == MS_OK ? ms_yaml_load(path, arena, diag, &profile) : status;
    status = status == MS_OK ? check_profile(profile, &lookup) : status;
    status = status == MS_OK ? check_mappings(profile, root, diag) : status;
    status = status == MS_OK ? choose_model(profile, root, &lookup) : status;
    if (status != MS_OK) {
        return status;
    }
    for (size_t i = 0; i < COUNT_OF(OWN); i++) {
        ms_node_drop(profile, OWN[i]);
    }
    mark_origin(profile, origin);
    return ms_node_underlay(root, profile, arena);
}

/* ---- fitting ---- */

/* A key, by the name of its mapping and its own name. */
typedef struct choice_key {
    const char *mapping; /* NULL: the root */
    const char *key;
} choice_key;

/* The mapping that holds a key, if the key came from the framework; NULL: the key did not, or the
 * tree lacks it. */
static ms_node *holder_of(ms_node *root, choice_key at) {
    ms_node *mapping = at.mapping == NULL ? root : ms_node_get(root, at.mapping);
    return ms_spec_is_choice(ms_node_get(mapping, at.key)) ? mapping : NULL;
}

/* Whether to reset a choice in the spec: the job has no use for it (is_idle), and the framework
 * made it. Its key is removed from the tree at once. root: NULL: the spec comes from no file, and
 * all its choices are the framework's. */
static bool drop_choice(ms_node *root, bool is_idle, choice_key at) {
    ms_node *holder = holder_of(root, at);
    if (is_idle && holder != NULL) {
        ms_node_drop(holder, at.key);
    }
    return is_idle && (root == NULL || holder != NULL);
}

/* Whether the schedule's kind takes microbatches in groups, and any number of virtual stages. */
static bool is_interleaved(const ms_spec_schedule *schedule) {
    return schedule->kind != MS_SCHEDULE_CUSTOM &&
           ms_schedule_kind_traits(schedule->kind).takes_group;
}

/* Take back choices of data parallelism that need another ZeRO stage or schedule, and reset them in
 * the spec. Megatron Core's own buckets go with ZeRO 0 and 1 only. */
static void fit_data(ms_node *root, ms_job_spec *spec) {
    ms_model_layout *choices = &spec->choices;
    bool is_odd_round = spec->reduce == MS_REDUCE_ROUND && !is_interleaved(&spec->schedule);
    if (drop_choice(root, choices->zero < 2 || is_odd_round,
                    (choice_key){"data_parallel", "reduce"})) {
        spec->reduce = MS_SPEC_OPEN; /* every reduction needs ZeRO 2, and rounds a schedule */
    }
    if (drop_choice(root, choices->zero != 1, (choice_key){"data_parallel", "all_reduce"})) {
        choices->all_reduces_gradients = false;
    }
    if (drop_choice(root, choices->zero == 0, (choice_key){"data_parallel", "overlap_gather"})) {
        choices->has_gather_overlap = false; /* without ZeRO no parameters are gathered */
    }
    if (drop_choice(root, choices->zero < 2, (choice_key){"data_parallel", "units"})) {
        choices->units = MS_UNITS_IN_PLACE; /* FSDP units are those of ZeRO 2 and 3 */
    }
    bool is_odd_bucket = choices->bucketing == MS_BUCKETS_MEGATRON && choices->zero >= 2;
    if (drop_choice(root, is_odd_bucket || choices->units != MS_UNITS_IN_PLACE,
                    (choice_key){"data_parallel", "bucketing"})) {
        choices->bucketing = MS_BUCKETS_LAYERS; /* whole units are reduced */
    }
}

/* Whether collectives of tensor parallelism can run beside products: chunks of products need
 * sequence parallelism, and overlap is not built beside experts and latent attention. is_alone: tp
 * is 1. */
static bool runs_beside_products(const ms_job_spec *spec, bool is_alone) {
    bool is_plain = spec->model.moe.experts == 0 && spec->model.mla.kv_rank == 0;
    bool is_whole = spec->choices.tp_overlap == MS_TP_OVERLAP_BULK;
    return !is_alone && is_plain && (is_whole || spec->choices.has_sequence_parallel);
}

/* Take back choices of tensor parallelism that need more tp ranks, and of messages that need more
 * stages. */
static void fit_tensor(ms_node *root, ms_job_spec *spec) {
    bool is_alone = ms_spec_axis_size(&spec->mesh, "tp") <= 1;
    if (drop_choice(root, is_alone, (choice_key){"tensor_parallel", "sequence"})) {
        spec->choices.has_sequence_parallel = false;
    }
    if (drop_choice(root, !runs_beside_products(spec, is_alone),
                    (choice_key){"tensor_parallel", "overlap"})) {
        spec->choices.tp_overlap = MS_TP_OVERLAP_NONE;
    }
    bool is_whole = is_alone || ms_spec_axis_size(&spec->mesh, "pp") <= 1 ||
                    spec->choices.has_sequence_parallel;
    if (drop_choice(root, is_whole, (choice_key){"pipeline", "scatter_gather"})) {
        spec->choices.has_scatter_gather = false;
    }
}

/* Take back choices of context parallelism where cp is 1. */
static void fit_context(ms_node *root, ms_job_spec *spec) {
    bool is_alone = ms_spec_axis_size(&spec->mesh, "cp") <= 1;
    if (drop_choice(root, is_alone, (choice_key){"context_parallel", "kind"})) {
        spec->choices.cp_kind = MS_CP_RING;
    }
    if (drop_choice(root, is_alone, (choice_key){"context_parallel", "overlap"})) {
        spec->cp_overlap = MS_SPEC_OPEN;
    }
}

/* Take back choices of the schedule. One pipeline rank has no order of passes to choose. An
 * interleaved pipeline that overlaps its messages with passes sends and receives them one by one
 * instead of in the pipeline's batch (Megatron Core: batch_p2p_comm is the opposite of
 * overlap_p2p_comm). Post-validation of updates came with the schedules that split backward passes
 * (zbh1, zbh2); without it the profile's number of steps is of no use either. */
static void fit_schedule(ms_node *root, ms_job_spec *spec) {
    ms_spec_schedule *schedule = &spec->schedule;
    if (drop_choice(root, ms_spec_axis_size(&spec->mesh, "pp") <= 1,
                    (choice_key){"schedule", "kind"})) {
        schedule->kind = MS_SCHEDULE_1F1B;
        schedule->csv = NULL;
    }
    bool is_single = is_interleaved(schedule) && schedule->sends == MS_SENDS_ASYNC &&
                     spec->algorithms.messages == MS_MESSAGES_PIPELINE;
    if (drop_choice(root, is_single || ms_spec_axis_size(&spec->mesh, "pp") <= 1,
                    (choice_key){"pipeline", "communicator"})) {
        spec->algorithms.messages = MS_MESSAGES_PAIR;
    }
    if (drop_choice(root, !is_interleaved(schedule), (choice_key){"schedule", "v"})) {
        schedule->chunks = 0;
    }
    bool is_late = schedule->step_end == MS_STEP_END_POST_VALIDATION;
    bool is_split = schedule->kind == MS_SCHEDULE_ZBH1 || schedule->kind == MS_SCHEDULE_ZBH2;
    if (is_late && drop_choice(root, !is_split, (choice_key){"schedule", "step_end"})) {
        schedule->step_end = MS_STEP_END_SYNCHRONOUS;
        if (drop_choice(root, true, (choice_key){NULL, "steps"})) {
            spec->simulation.steps = 1;
        }
    }
}

/* Whether a GPU type has figures for an attention kernel in both directions. */
static bool has_attention(const ms_gpu_type *gpu, ms_attention_kernel kernel) {
    return ms_attention_efficiency(&gpu->attention[kernel].forward, 1) > 0 &&
           ms_attention_efficiency(&gpu->attention[kernel].backward, 1) > 0;
}

/* Replace an attention kernel that does not run on the GPU: by FlashAttention's second generation,
 * or where that does not run either, by the GPU type's own fused kernel. Source: Transformer
 * Engine, get_attention_backend: FlashAttention 3 on Hopper alone, FlashAttention 2 before cuDNN's
 * on GPUs older than Hopper; PyTorch, sdp_utils (the backends of scaled_dot_product_attention in
 * their order of priority). */
static void fit_attention(ms_node *root, ms_job_spec *spec) {
    const choice_key at = {"model", "attention"};
    const ms_platform *cluster = spec->platform.cluster;
    ms_attention_kernel kernel = spec->model.attention;
    ms_node *holder = holder_of(root, at);
    if (cluster == NULL || kernel == MS_ATTENTION_UNFUSED || (root != NULL && holder == NULL) ||
        has_attention(&cluster->gpu, kernel)) {
        return;
    }
    bool has_second = has_attention(&cluster->gpu, MS_ATTENTION_FLASH2);
    spec->model.attention = has_second ? MS_ATTENTION_FLASH2 : MS_ATTENTION_FUSED;
    if (holder != NULL) {
        ms_node_get(holder, at.key)->text =
            ms_job_spec_words("model.attention")[spec->model.attention];
    }
}

/* Take back a profile's choice to recompute a part of layers: in the spec, and in the list of its
 * tree. */
static void drop_recompute_part(ms_node *root, ms_job_spec *spec, ms_recompute_part part) {
    const choice_key at = {NULL, "recompute_parts"};
    unsigned parts = spec->choices.recompute_parts & ~(unsigned)part;
    if (parts == spec->choices.recompute_parts || (root != NULL && holder_of(root, at) == NULL)) {
        return;
    }
    ms_node *list = ms_node_get(root, at.key);
    const ms_node *entry = list == NULL ? NULL : list->first;
    const char *name = ms_job_spec_words(at.key)[ffs((int)part) - 1];
    while (entry != NULL && strcmp(entry->text, name) != 0) {
        entry = entry->next;
    }
    if (entry != NULL) {
        ms_node_remove(list, entry);
    }
    if (list != NULL && list->first == NULL) {
        ms_node_drop(root, at.key);
    }
    spec->choices.recompute_parts = parts;
}

/* Take back parts to recompute that the model does not have: products out of latents, and every
 * second product, whose order is known for dense gated layers with plain heads only. */
static void fit_recomputation(ms_node *root, ms_job_spec *spec) {
    const ms_model *model = &spec->model;
    bool is_latent = model->mla.kv_rank > 0;
    if (!is_latent) {
        drop_recompute_part(root, spec, MS_RECOMPUTE_LATENT_UP);
    }
    if (is_latent || model->moe.experts > 0 || !model->is_gated) {
        drop_recompute_part(root, spec, MS_RECOMPUTE_PRODUCTS);
    }
}

/* Take back the framework's choices that the job has no use for, if the job has a framework. */
void ms_spec_fit_choices(ms_job_spec *spec, ms_node *root) {
    if (spec->framework.name != NULL) {
        fit_schedule(root, spec);
        fit_data(root, spec);
        fit_tensor(root, spec);
        fit_context(root, spec);
        fit_attention(root, spec);
        fit_recomputation(root, spec);
    }
}
