/* meshsim new: writes a workload file to begin with, for a model and a platform. The draft starts
 * from a base: the workload whose model is taken, or the workload `tiny` where the model comes from
 * a Hugging Face config. A set is an override "key.path=value", as --set takes one. The steps: sets
 * that reduce the base to its model, sets for platform and batch, sets for the mesh with the
 * shortest estimated step (new_mesh.h); then all sets are applied, and the file is written. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config/find.h"
#include "base/failure.h"
#include "base/folder.h"
#include "base/target.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/new_mesh.h"
#include "cli/show_text.h"
#include "search/config_workload.h"

/* Most sets of a draft; bytes of a formatted quantity; most --gpus. */
enum { SETS_MAX = 64, TEXT_MAX = 32, GPUS_MAX = 1 << 24 };

/* Fewest tokens of a step without --batch, as large models are pretrained with. Source: Touvron et
 * al., "Llama 2", section 2.2: a global batch of 4M tokens. */
enum { TOKENS_USUAL = 4 << 20 };

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"model", "MODEL|CONFIG.json",
     .help = "a model by its name, a workload whose model is taken, or a Hugging Face config or "
             "its folder"},
    {"platform", "P.yaml", .help = "platform, by its name or file"},
    {"gpus", "N", .fallback = "all of the platform", .help = "GPUs of it, in whole nodes"},
    {"batch", "N", .fallback = "some 4 million tokens", .help = "sequences per step"},
    {"sequence", "N", .fallback = "the model's", .help = "tokens per sequence"},
    {"output", "FILE", .letter = 'o', .fallback = "-",
     .help = "write the workload there, '-' for standard output", .writes = ".yaml"},
    {"list", .help = "list models, workloads and platforms by name, and write nothing"},
    {"force", .help = "write over a file that is there"},
    {"json",
     .help = "print what the config of --model says as one JSON object, and write no workload"},
    {0},
};

/* The part of a platform that the job runs on. */
typedef struct new_cluster {
    ms_platform platform;
    const char *path; /* of the platform's file, absolute; or the name of an installed platform */
    int gpus;         /* --gpus, which fill whole nodes; all GPUs of the platform without it */
} new_cluster;

/* A workload in the making. */
typedef struct draft {
    const ms_invocation *call;
    const char *base;    /* path of the base's file */
    ms_node *root;       /* tree of the base, to which the sets are applied in the end */
    ms_node *config;     /* the mapping `model` of a Hugging Face config; NULL: the model is that of
                            `root` */
    const char *remarks; /* '#' lines for the file on choices that were assumed; NULL: none */
    const char *sets[SETS_MAX]; /* [set_count] overrides "key.path=value" */
    size_t set_count;
    new_cluster cluster;
    long sequence; /* tokens of a sequence */
    long batch;    /* sequences of a step */
} draft;

/* Append a set to the draft. text: NULL where its allocation failed. Returns MS_OK; MS_E_NOMEM
 * (reported), also for more than SETS_MAX sets. */
static ms_status add_set(draft *workload, const char *text) {
    if (text == NULL || workload->set_count == SETS_MAX) {
        return ms_diag_no_memory(workload->call->diag);
    }
    workload->sets[workload->set_count++] = text;
    return MS_OK;
}

/* ---- models and platforms ---- */

/* Print the names of the installed models, workloads and platforms, and an example command. */
static ms_status print_choices(const ms_invocation *call) {
    static const struct {
        const char *margin, *folder, *more;
    } ROWS[] = {{"models     ", MS_CLI_MODELS, "a Hugging Face config.json"},
                {"workloads  ", "workloads", "a file of your own, whose model is taken"},
                {"platforms  ", "platforms", "a file"}};
    ms_buffer page = {0};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const char *names =
            ms_arena_printf(call->arena, "%s, or %s",
                            ms_cli_installed_names(ROWS[i].folder, call->arena), ROWS[i].more);
        if (names == NULL) {
            return ms_diag_no_memory(call->diag);
        }
        ms_show_wrapped(ROWS[i].margin, names, &page);
    }
    if (ms_cli_installed_names("platforms", call->arena)[0] == '\0') { /* MESHSIM_DATA is wrong */
        ms_buffer_release(&page);
        return ms_diag_error(call->diag, "no platform is installed");
    }
    ms_buffer_puts(&page, "\nsuch as: meshsim new --model llama3-8b --platform dgx-h100 --gpus 16 "
                          "-o my.yaml\n");
    return ms_cli_print_page(call, &page);
}

/* Check that --model and --platform are given, and that the file of --output can be written; an
 * older file is replaced only with --force. Returns MS_OK; MS_E_USAGE or MS_E_IO (reported). */
static ms_status check_options(const ms_invocation *call) {
    const char *missing = !ms_cli_has(call, "model")      ? "model"
                          : !ms_cli_has(call, "platform") ? "platform"
                                                          : NULL;
    if (missing != NULL) {
        bool is_model = strcmp(missing, "model") == 0;
        return ms_diag_usage(
            call->diag, "option '--%s' is missing: one of %s%s", missing,
            ms_cli_installed_names(is_model ? MS_CLI_MODELS : "platforms", call->arena),
            is_model ? ", or what '--list' shows" : "");
    }
    const char *path = ms_cli_value(call, "output", "-");
    if (strcmp(path, "-") != 0 && ms_file_is_there(path) && !ms_cli_has(call, "force")) {
        return ms_diag_usage(call->diag, "'%s' is there already; --force writes over it", path);
    }
    return strcmp(path, "-") == 0 ? MS_OK : ms_target_check(path, MS_TARGET_FILE, call->diag);
}

/* ---- model ---- */

/* The path of the Hugging Face config that --model names: a file in ".json", a folder, or the name
 * of an installed model. NULL: a workload is named, or memory runs out. */
static const char *find_config(const ms_invocation *call, const char *name) {
    struct stat entry;
    bool is_there = ms_file_is_there(name) && stat(name, &entry) == 0;
    if (ms_name_ends_in(name, ".json") || (is_there && S_ISDIR(entry.st_mode))) {
        return name;
    }
    const char *path = ms_arena_printf(call->arena, "%s/" MS_CLI_MODELS "/%s.json",
                                       ms_cli_data_folder(call->arena), name);
    bool is_name = strchr(name, '/') == NULL;
    return path != NULL && is_name && ms_file_is_there(path) ? path : NULL;
}

/* Find the base by its name, and read it into `base` and `root` of the draft.  Returns MS_E_INPUT
 * (reported) where there is no such workload. */
static ms_status find_base(draft *workload, const char *name) {
    const ms_invocation *call = workload->call;
    const char *folders[] = {ms_cli_data_folder(call->arena), NULL};
    const ms_file_search search = {.folders = folders, .subfolder = "workloads/"};
    const ms_file_search models = {
        .folders = folders, .subfolder = MS_CLI_MODELS "/", .ending = ".json"};
    const char *looked = NULL;
    if (ms_find_yaml(name, &search, call->arena, &workload->base, &looked) != MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    if (workload->base == NULL) {
        const char *hint = ms_find_yaml_hint(name, &models, call->arena);
        hint = hint[0] != '\0' ? hint : ms_find_yaml_hint(name, &search, call->arena);
        ms_diag_error(call->diag, "no model '%s'%s%s", name, looked, hint);
        return MS_E_INPUT;
    }
    return ms_yaml_load(workload->base, call->arena, call->diag, &workload->root);
}

/* Whether a top-level key of the base stays in the draft: the key `model`, and `framework` and
 * `tensor_parallel` if the base names a framework. With a Hugging Face config no key of the base
 * stays. */
static bool is_kept(const draft *workload, const char *key) {
    static const char *const KEPT[] = {"model", "framework", "tensor_parallel"};
    bool has_software = ms_node_get(workload->root, "framework") != NULL;
    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0] && workload->config == NULL; i++) {
        if (strcmp(key, KEPT[i]) == 0) {
            return has_software || i == 0;
        }
    }
    return false;
}

/* Add a set "KEY=null", which removes the key, for each top-level key of the base that does not
 * stay (is_kept). */
static ms_status clear_base(draft *workload) {
    ms_status status = MS_OK;
    for (const ms_node *key = workload->root->first; key != NULL && status == MS_OK;
         key = key->next) {
        if (!is_kept(workload, key->key)) {
            status = add_set(workload, ms_arena_printf(workload->call->arena, "%s=null", key->key));
        }
    }
    return status;
}

/* Add a set for each scalar key below a mapping, at any depth, except below `model`. path: key path
 * of `mapping` with a dot at its end; "" for the root. */
static ms_status add_keys(draft *workload, const ms_node *mapping, const char *path) {
    ms_arena *arena = workload->call->arena;
    ms_status status = MS_OK;
    for (const ms_node *key = mapping->first; key != NULL && status == MS_OK; key = key->next) {
        const char *below = ms_arena_printf(arena, "%s%s.", path, key->key);
        if (below == NULL) {
            status = ms_diag_no_memory(workload->call->diag);
        } else if (key->type == MS_NODE_MAPPING && strcmp(key->key, "model") != 0) {
            status = add_keys(workload, key, below);
        } else if (key->type == MS_NODE_SCALAR) {
            status =
                add_set(workload, ms_arena_printf(arena, "%s%s=%s", path, key->key, key->text));
        }
    }
    return status;
}

/* Find the base, and the choices that are assumed beside the model. A Hugging Face config goes into
 * `config` of the draft, with the workload `tiny` as the base. Of a workload that names no
 * framework, or `none`, the model gets the framework that `import hf` assumes.  name: the value of
 * --model.  out: a workload tree of the model and the assumed keys; its root stays NULL where the
 * base names a framework. */
static ms_status read_config(draft *workload, const char *name, ms_config_workload *out) {
    const ms_invocation *call = workload->call;
    ms_status status = MS_OK;
    const char *config = find_config(call, name);
    if (config != NULL) {
        ms_model model;
        status = ms_config_workload_read(config, ms_cli_data_folder(call->arena), call->arena,
                                         call->diag, out);
        status = status == MS_OK ? ms_model_read(ms_node_get(out->root, "model"), "model",
                                                 call->arena, call->diag, &model)
                                 : status;
        workload->config = status == MS_OK ? ms_node_get(out->root, "model") : NULL;
        return status == MS_OK ? find_base(workload, "tiny") : status;
    }
    status = find_base(workload, name);
    ms_node *framework = status == MS_OK ? ms_node_get(workload->root, "framework") : NULL;
    bool is_none = framework != NULL && framework->type == MS_NODE_SCALAR &&
                   strcmp(framework->text, "none") == 0;
    if (status != MS_OK || (framework != NULL && !is_none)) {
        return status;
    }
    if (is_none) { /* with no framework the base's choices are keys of their own; none is kept */
        ms_node_remove(workload->root, framework);
    }
    /* Copy the base, keep its model alone, and let the framework's keys be added. */
    status = ms_yaml_parse("{}", 2, name, call->arena, call->diag, &out->root);
    if (status == MS_OK && ms_node_overlay(out->root, workload->root, call->arena) != MS_OK) {
        status = ms_diag_no_memory(call->diag);
    }
    if (status != MS_OK) {
        return status;
    }
    for (ms_node *key = out->root->first, *next = NULL; key != NULL; key = next) {
        next = key->next;
        if (strcmp(key->key, "model") != 0) {
            ms_node_remove(out->root, key);
        }
    }
    return ms_config_workload_assume(out, call->arena, call->diag);
}

/* Read --model into the draft, and add the sets that follow from the model: those that remove the
 * base's other keys, the path of a Hugging Face config, and the assumed keys. MS_E_INPUT
 * (reported): the base has no model. */
static ms_status read_model(draft *workload) {
    const ms_invocation *call = workload->call;
    const char *name = ms_cli_value(call, "model", NULL);
    ms_config_workload imported = {.root = NULL};
    ms_status status = read_config(workload, name, &imported);
    workload->remarks = imported.remarks;
    if (status == MS_OK && ms_node_get(workload->root, "model") == NULL) {
        ms_diag_error(call->diag, "workload '%s' has no model", workload->base);
        status = MS_E_INPUT;
    }
    status = status == MS_OK ? clear_base(workload) : status;
    if (status == MS_OK && workload->config != NULL) {
        const char *path = ms_find_whole_path(workload->config->mark.file, call->arena);
        status = path == NULL
                     ? ms_diag_no_memory(call->diag)
                     : add_set(workload, ms_yaml_quoted_set("model={hf: ", path, "}", call->arena));
    }
    return status == MS_OK && imported.root != NULL ? add_keys(workload, imported.root, "")
                                                    : status;
}

/* ---- sizes ---- */

/* Load the platform of --platform, which the caller has checked to be given, and read --gpus, which
 * has to fill whole nodes. */
static ms_status read_cluster(const ms_invocation *call, new_cluster *cluster_out) {
    const char *name = ms_cli_value(call, "platform", NULL);
    ms_platform *platform = &cluster_out->platform;
    ms_status status = ms_cli_load_changed_platform(call, name, NULL, platform);
    long gpus = status == MS_OK ? ms_platform_gpus(platform) : 1;
    status = status == MS_OK ? ms_cli_int(call, "gpus", gpus, 1, GPUS_MAX, &gpus) : status;
    if (status == MS_OK && gpus % platform->gpus_per_node != 0) {
        return ms_diag_usage(call->diag,
                             "--gpus '%ld' are no whole nodes of '%s', which have %d each", gpus,
                             platform->name, platform->gpus_per_node);
    }
    cluster_out->gpus = (int)gpus;
    cluster_out->path = ms_find_whole_path(name, call->arena);
    return status == MS_OK && cluster_out->path == NULL ? ms_diag_no_memory(call->diag) : status;
}

/* The set of the cluster: platform={file: "P", nodes: N}. NULL: no memory. */
static const char *cluster_set(const ms_invocation *call, const new_cluster *cluster) {
    char nodes[40];
    snprintf(nodes, sizeof nodes, ", nodes: %d}", cluster->gpus / cluster->platform.gpus_per_node);
    return ms_yaml_quoted_set("platform={file: ", cluster->path, nodes, call->arena);
}

/* Sequences of a step without --batch: the odd part of the number of GPUs times a power of two, so
 * that data-parallel degrees divide it. It has at least TOKENS_USUAL tokens, and at least one
 * sequence per node. */
static long usual_batch(const draft *workload) {
    long odd = workload->cluster.gpus;
    while (odd % 2 == 0) {
        odd /= 2;
    }
    long batch = odd;
    while (batch * workload->sequence < TOKENS_USUAL ||
           batch < workload->cluster.gpus / workload->cluster.platform.gpus_per_node) {
        batch *= 2;
    }
    return batch;
}

/* Read --sequence, in tokens, and --batch, in sequences, into the draft. Without --sequence the
 * model's own length holds; without --batch usual_batch, which needs the sequence. */
static ms_status read_sizes(draft *workload) {
    const ms_invocation *call = workload->call;
    const ms_node *model =
        workload->config != NULL ? workload->config : ms_node_get(workload->root, "model");
    const ms_node *sequence = ms_node_get(model, "sequence");
    long given = sequence == NULL || sequence->text == NULL ? 1 : strtol(sequence->text, NULL, 10);
    ms_status status =
        ms_cli_int(call, "sequence", given < 1 ? 1 : given, 1, 10000000, &workload->sequence);
    status = status == MS_OK ? ms_cli_int(call, "batch", usual_batch(workload), 1, MS_BATCH_MAX,
                                          &workload->batch)
                             : status;
    return status;
}

/* Add the sets of the job's name, the platform, the schedule and the batch, and with --sequence
 * that of the model's sequence. */
static ms_status add_sizes(draft *workload) {
    const ms_invocation *call = workload->call;
    const char *model = ms_cli_value(call, "model", NULL);
    const char *slash = strrchr(model, '/');
    ms_arena *arena = call->arena;
    const char *name = ms_arena_printf(arena, "%s on %d GPUs", slash == NULL ? model : slash + 1,
                                       workload->cluster.gpus);
    ms_status status = add_set(workload, ms_yaml_quoted_set("name=", name, "", arena));
    status = status == MS_OK ? add_set(workload, cluster_set(call, &workload->cluster)) : status;
    if (status == MS_OK && ms_cli_has(call, "sequence")) {
        status =
            add_set(workload, ms_arena_printf(arena, "model.sequence=%ld", workload->sequence));
    }
    status = status == MS_OK ? add_set(workload, "schedule={kind: 1f1b}") : status;
    return status == MS_OK
               ? add_set(workload,
                         ms_arena_printf(arena, "batch={global: %ld, micro: 1}", workload->batch))
               : status;
}

/* ---- output ---- */

/* Apply the sets, and behind them those of the chosen mesh, to the tree of the base, and sort its
 * keys as MS_WORKLOAD_FIELDS lists them. A Hugging Face config replaces the whole mapping `model`.
 * mesh: sets of new_mesh.h. */
static ms_status apply_sets(draft *workload, const ms_words *mesh) {
    const ms_invocation *call = workload->call;
    ms_status status = MS_OK;
    for (size_t i = 0; i < mesh->count && status == MS_OK; i++) {
        status = add_set(workload, mesh->items[i]);
    }
    for (size_t i = 0; i < workload->set_count && status == MS_OK; i++) {
        status = ms_node_set(workload->root, workload->sets[i], call->arena, call->diag);
    }
    ms_config_remove_nulls(workload->root, MS_WORKLOAD_FIELDS);
    if (status == MS_OK && workload->config != NULL) {
        ms_node_remove(workload->root, ms_node_get(workload->root, "model"));
        workload->config->key = "model";
        ms_node_append(workload->root, workload->config);
        /* The set of the sequence changed the `model` that was just replaced: apply it once
         * more. */
        if (ms_cli_has(call, "sequence")) {
            status =
                ms_node_set(workload->root,
                            ms_arena_printf(call->arena, "model.sequence=%ld", workload->sequence),
                            call->arena, call->diag);
        }
    }
    if (status == MS_OK) {
        ms_config_arrange(workload->root, MS_WORKLOAD_FIELDS);
    }
    return status;
}

/* Print for the user which mesh was chosen, its estimated step and memory, and the commands that
 * come next. path: of the file that was written. */
static ms_status print_next(const draft *workload, const ms_new_mesh *mesh, const char *path) {
    char time[TEXT_MAX];
    char peak[TEXT_MAX];
    const char *first = ms_arena_printf(
        workload->call->arena, "%s, some %s a step, %s per GPU", mesh->sets.items[0],
        ms_unit_format(mesh->estimate.step_s, MS_DIM_TIME, time, sizeof time),
        ms_unit_format(mesh->estimate.peak_B, MS_DIM_BYTES, peak, sizeof peak));
    const char *margin = ms_arena_printf(workload->call->arena, "%s: ", path);
    if (first == NULL || margin == NULL) {
        return ms_diag_no_memory(workload->call->diag);
    }
    ms_buffer page = {0};
    ms_show_wrapped(margin, first, &page);
    ms_buffer_printf(&page,
                     "\nmeshsim check %s     # whether it is sound, and what a step should take\n"
                     "meshsim run %s       # where a step's time goes\n"
                     "meshsim search %s    # which mesh is the fastest\n",
                     path, path, path);
    return ms_cli_print_page(workload->call, &page);
}

/* Write the workload to the file of --output, each key below a comment that explains it. Behind a
 * file, not behind the standard output, print the next commands. */
static ms_status write_draft(draft *workload, const ms_new_mesh *mesh) {
    const char *path = ms_cli_value(workload->call, "output", "-");
    const char *model = ms_cli_value(workload->call, "model", "");
    ms_buffer text = {0};
    ms_buffer_printf(&text,
                     "# Made by 'meshsim new --model %s --platform %s', with the mesh whose "
                     "estimated step is\n# the shortest. All may be changed; 'meshsim check "
                     "--keys' lists what else may stand here.\n",
                     model, ms_cli_value(workload->call, "platform", ""));
    ms_buffer_puts(&text, workload->remarks == NULL ? "" : workload->remarks);
    ms_config_write_commented(workload->root, MS_WORKLOAD_FIELDS, &text);
    ms_status status = ms_cli_write_file(workload->call, path, &text);
    return status == MS_OK && strcmp(path, "-") != 0 ? print_next(workload, mesh, path) : status;
}

/* Choose the mesh for the draft: the one with the shortest estimated step. Returns MS_E_NO
 * (reported) if no mesh fits in memory, else as ms_cli_new_mesh. */
static ms_status choose_mesh(draft *workload, ms_new_mesh *mesh_out) {
    const ms_invocation *call = workload->call;
    const ms_new_job job = {.base = {.workload = workload->base,
                                     .data_folder = ms_cli_data_folder(call->arena),
                                     .sets = workload->sets,
                                     .set_count = workload->set_count},
                            .gpus = workload->cluster.gpus,
                            .gpus_per_node = workload->cluster.platform.gpus_per_node,
                            .batch = (int)workload->batch};
    ms_status status = ms_cli_new_mesh(call, &job, mesh_out);
    if (status == MS_OK && !mesh_out->estimate.fits) {
        char peak[TEXT_MAX];
        ms_diag_error(call->diag,
                      "it does not fit in memory on %d GPUs: the mesh that needs least takes %s "
                      "per GPU; expected more --gpus, or another --platform",
                      workload->cluster.gpus,
                      ms_unit_format(mesh_out->estimate.peak_B, MS_DIM_BYTES, peak, sizeof peak));
        return MS_E_NO;
    }
    return status;
}

/* ---- --json: the keys that a Hugging Face config gives a workload ---- */

/* Add to a row its position in the config: line and column from 1, and width in characters. */
static void add_mark(ms_value *row, const ms_mark *mark) {
    ms_value_add_int(row, "line", mark->line);
    ms_value_add_int(row, "column", mark->column);
    ms_value_add_int(row, "width", mark->width);
}

/* The text of a scalar, or of a list of scalars as "[a, b]". The text is in `arena`; NULL: no
 * memory. */
static const char *node_text(const ms_node *node, ms_arena *arena) {
    if (node->type == MS_NODE_SCALAR) {
        return node->text;
    }
    const char *text = "[";
    for (const ms_node *entry = node->first; entry != NULL && text != NULL; entry = entry->next) {
        text = ms_arena_printf(arena, "%s%s%s", text, entry->text, entry->next == NULL ? "" : ", ");
    }
    return text == NULL ? NULL : ms_arena_printf(arena, "%s]", text);
}

/* Add to `rows` a row for each scalar or list below a mapping, at any depth. path: key path of the
 * mapping with a dot at its end; "" for the root. */
static void add_workload_rows(const ms_node *mapping, const char *path, ms_arena *arena,
                              ms_value *rows) {
    for (const ms_node *node = mapping->first; node != NULL; node = node->next) {
        const char *key = ms_arena_printf(arena, "%s%s", path, node->key);
        if (key != NULL && node->type == MS_NODE_MAPPING) {
            const char *below = ms_arena_printf(arena, "%s.", key);
            add_workload_rows(node, below == NULL ? "" : below, arena, rows);
        } else {
            ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
            ms_value_add_string(row, "key", key);
            ms_value_add_string(row, "value", node_text(node, arena));
            ms_value_add_bool(row, "is_text", node->is_quoted);
            add_mark(row, &node->mark);
        }
    }
}

/* Add to `rows` a row for each key of the config: its value, what became of it (`fate`), and
 * why. */
static void add_source_keys(const ms_source_keys *keys, ms_value *rows) {
    for (const ms_source_key *key = keys->first; key != NULL; key = key->next) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", key->key);
        ms_value_add_string(row, "value", key->value == NULL ? "" : key->value);
        ms_value_add_string(row, "fate", ms_source_fate_name(key->fate));
        ms_value_add_string(row, "why", key->why == NULL ? "" : key->why);
        add_mark(row, &key->mark);
    }
}

/* Print one JSON object for `meshsim import hf`: the workload keys that the config of --model
 * gives, with their positions in the config, and what became of each of the config's own keys. The
 * model is not checked, as a key that it lacks may be given later. */
static ms_status print_config(const ms_invocation *call) {
    const char *name = ms_cli_value(call, "model", "");
    const char *path = find_config(call, name);
    ms_config_workload workload;
    ms_status status =
        ms_config_workload_read(path == NULL ? name : path, ms_cli_data_folder(call->arena),
                                call->arena, call->diag, &workload);
    if (status != MS_OK) {
        return status;
    }
    ms_value *root = ms_value_new_object(call->arena);
    const ms_node *model = ms_node_get(workload.root, "model");
    ms_value_add_string(root, "file", model->mark.file);
    ms_value_add_string(root, "remarks", workload.remarks);
    add_workload_rows(workload.root, "", call->arena,
                      ms_value_add(root, "workload", MS_VALUE_ARRAY));
    add_source_keys(&workload.keys, ms_value_add(root, "keys", MS_VALUE_ARRAY));
    return ms_cli_print_json(call, root);
}

/* Check the options beside --json: --model is required, and every other option is refused.
 * Returns MS_OK; MS_E_USAGE (reported). */
static ms_status check_json(const ms_invocation *call) {
    for (const ms_option *other = OPTIONS; other->name != NULL; other++) {
        bool is_taken = strcmp(other->name, "json") == 0 || strcmp(other->name, "model") == 0;
        if (!is_taken && ms_cli_has(call, other->name)) {
            return ms_diag_usage(call->diag, "'--json' takes '--model' alone, not '--%s'",
                                 other->name);
        }
    }
    return ms_cli_has(call, "model")
               ? MS_OK
               : ms_diag_usage(call->diag,
                               "'--json' needs '--model': a Hugging Face config or its folder");
}

/* Run `meshsim new`. With --list, or without any of --model, --platform and --json, it lists the
 * installed models, workloads and platforms; with --json it prints what the config of --model
 * gives; else it writes a workload. */
static ms_status run(const ms_invocation *call) {
    bool is_asked = ms_cli_has(call, "json") || ms_cli_has(call, "model");
    if (ms_cli_has(call, "list") || (!is_asked && !ms_cli_has(call, "platform"))) {
        return print_choices(call);
    }
    if (ms_cli_has(call, "json")) {
        return check_json(call) == MS_OK ? print_config(call) : MS_E_USAGE;
    }
    draft workload = {.call = call};
    ms_new_mesh mesh;
    ms_status status = check_options(call);
    status = status == MS_OK ? read_model(&workload) : status;
    status = status == MS_OK ? read_cluster(call, &workload.cluster) : status;
    status = status == MS_OK ? read_sizes(&workload) : status;
    status = status == MS_OK ? add_sizes(&workload) : status;
    status = status == MS_OK ? choose_mesh(&workload, &mesh) : status;
    status = status == MS_OK ? apply_sets(&workload, &mesh.sets) : status;
    return status == MS_OK ? write_draft(&workload, &mesh) : status;
}

const ms_command ms_cmd_new = {
    .name = "new",
    .summary = "write a workload to begin with, for a model and a platform",
    .options = OPTIONS,
    .description =
        "Writes a workload whose every key stands below a comment that says what it is and what it "
        "may be. Its mesh is a legal one that fits in memory, with the shortest estimated step of "
        "those with tp within a node, 1F1B, microbatches of one sequence, with or without "
        "recomputation; 'meshsim search' finds better ones. --list, or no option, lists the "
        "models and platforms that have names. Exits with 1, and writes nothing, when no mesh fits "
        "in memory.",
    .example = "meshsim new --model llama3-8b --platform dgx-h100 --gpus 16 -o my.yaml",
    .run = run,
};
