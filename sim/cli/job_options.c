/* Options of commands that take a workload or a platform (job_options.h): they become a request for
 * the workload, which the reader of workloads applies, or overrides of a platform. A set is an
 * override "key.path=value". */
#include "cli/job_options.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config/find.h"
#include "base/failure.h"
#include "base/usage.h"
#include "cli/show_text.h"
#include "cluster/platform/price.h"
#include "estimate/nearest_mesh.h"

/* Where `cmake --install` puts platforms and workloads. */
#ifndef MESHSIM_DATA_DIR
#define MESHSIM_DATA_DIR "/usr/local/share/meshsim"
#endif

/* The path PARENT`folder`, where PARENT is the parent of the folder that the running program is in;
 * NULL unless it has a folder `platforms`. The program's folder is a resolved path, so that cutting
 * its last name off gives the parent. */
static const char *beside_program(ms_arena *arena, const char *folder) {
    char program[PATH_MAX];
    if (!ms_program_folder(program, sizeof program)) {
        return NULL;
    }
    char *name = strrchr(program, '/');
    const char *path =
        ms_arena_printf(arena, "%.*s%s", name == NULL ? 0 : (int)(name - program), program, folder);
    const char *platforms = ms_arena_printf(arena, "%s/platforms", path == NULL ? "" : path);
    bool is_there = path != NULL && platforms != NULL && ms_file_is_there(platforms);
    return is_there ? path : NULL;
}

/* The order in which folders are tried is described in job_options.h. */
const char *ms_cli_data_folder(ms_arena *arena) {
    const char *given = getenv("MESHSIM_DATA");
    if (given != NULL && given[0] != '\0') {
        return given;
    }
    const char *found = beside_program(arena, "/share/meshsim"); /* an installation */
    found = found == NULL ? beside_program(arena, "") : found;   /* a build in the source tree */
    return found == NULL ? MESHSIM_DATA_DIR : found;
}

const char *ms_cli_installed_names(const char *folder, ms_arena *arena) {
    const char *path = ms_arena_printf(arena, "%s/%s", ms_cli_data_folder(arena), folder);
    const char *const folders[] = {path, NULL};
    const ms_file_search search = {.folders = folders,
                                   .subfolder = "",
                                   .ending = strcmp(folder, MS_CLI_MODELS) == 0 ? ".json" : NULL};
    return path == NULL ? "" : ms_find_yaml_names(&search, arena);
}

/* A GPU type has both of its powers or neither, so load_W tells of both. */
void ms_cli_note_upkeep(const ms_invocation *call, const ms_platform *cluster, const char *name) {
    const char *mark = name == NULL ? "" : ":";
    const struct {
        bool is_given;
        const char *what, *without, *key, *example;
    } ROWS[] = {
        {ms_price_has_rent(cluster), "price", "cost (USD)", "price", "2 USD/h"},
        {cluster->gpu.clock.power.load_W > 0.0, "power of GPUs that compute", "energy (MWh)",
         "gpu.load_power", "700 W"},
        {cluster->gpu.clock.power.load_W > 0.0, "power of GPUs that wait", "energy (MWh)",
         "gpu.idle_power", "100 W"},
        {cluster->upkeep.node_W > 0.0, "power of a node beside its GPUs", "energy (MWh)",
         "node.power", "3 kW"},
    };
    bool is_asked = ms_cli_has(call, "tokens") && !ms_cli_has(call, "json");
    for (size_t i = 0; is_asked && i < sizeof ROWS / sizeof ROWS[0]; i++) {
        if (!ROWS[i].is_given) {
            ms_diag_note(call->diag, NULL, NULL,
                         "'%s' has no %s, so there is no %s: --set '%s%splatform.%s=%s' gives it",
                         cluster->name, ROWS[i].what, ROWS[i].without, name == NULL ? "" : name,
                         mark, ROWS[i].key, ROWS[i].example);
        }
    }
}

ms_status ms_cli_tokens(const ms_invocation *call, double *tokens_out) {
    static const char FACTORS[] = "KMBT"; /* 1e3, 1e6, ... */
    const char *text = ms_cli_value(call, "tokens", NULL);
    *tokens_out = 0.0;
    if (text == NULL) {
        return MS_OK;
    }
    size_t length = strlen(text);
    const char *factor =
        length > 1 ? strchr(FACTORS, toupper((unsigned char)text[length - 1])) : NULL;
    const char *number = ms_arena_strndup(call->arena, text, length - (factor != NULL));
    double tokens = 0.0;
    if (number == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    bool is_number = ms_number_parse(number, &tokens) == MS_OK && strchr(number, '%') == NULL;
    tokens *= factor == NULL ? 1.0 : pow(1e3, (double)(factor - FACTORS) + 1.0);
    if (!is_number || !(tokens > 0.0 && tokens <= 1e18)) {
        return ms_diag_usage(
            call->diag, "option '--tokens' takes a positive number, such as 15T or 15e12, got '%s'",
            text);
    }
    *tokens_out = tokens;
    return MS_OK;
}

ms_status ms_cli_quantity(const ms_invocation *call, const char *name, ms_dimension dimension,
                          double *out) {
    const char *given = ms_cli_value(call, name, NULL);
    const char *reason = "";
    if (given != NULL && ms_unit_parse(given, dimension, out, &reason) != MS_OK) {
        return ms_diag_usage(call->diag, "--%s '%s': %s", name, given, reason);
    }
    return MS_OK;
}

const char *ms_cli_fidelity_word(int index) {
    return index < MS_FIDELITY_COUNT ? ms_fidelity_name((ms_fidelity)index) : NULL;
}

/* Whether the user gave an option, which the command may lack. */
static bool is_given(const ms_invocation *call, const char *name) {
    return ms_cli_knows(call, name) && ms_cli_has(call, name);
}

/* List the sets of --set, and behind them those of --overlap, --sends and --granularity, so that
 * these options win over --set.  *sets_out: in the call's arena.  Returns MS_OK; MS_E_USAGE or
 * MS_E_NOMEM (both reported). */
static ms_status list_sets(const ms_invocation *call, ms_given *sets_out) {
    static const struct {
        const char *name;
        const char *key; /* of the workload; its values are words, which the option takes, too */
    } SHORT[] = {{"overlap", "schedule.overlap"},
                 {"sends", "schedule.sends"},
                 {"granularity", "granularity"}};
    enum { SHORTS = sizeof SHORT / sizeof SHORT[0] };
    ms_given given = ms_cli_all(call, "set");
    ms_given sets = {.values = MS_NEW(call->arena, const char *, given.count + SHORTS)};
    bool has_failed = sets.values == NULL;
    for (; sets.count < given.count && !has_failed; sets.count++) {
        sets.values[sets.count] = given.values[sets.count];
    }
    for (size_t i = 0; i < SHORTS && !has_failed; i++) {
        const char *const *words = ms_job_spec_words(SHORT[i].key);
        int word = 0;
        if (!is_given(call, SHORT[i].name)) {
            continue;
        }
        if (ms_cli_choice(call, SHORT[i].name, words, &word) != MS_OK) {
            return MS_E_USAGE;
        }
        const char *set = ms_arena_printf(call->arena, "%s=%s", SHORT[i].key, words[word]);
        sets.values[sets.count++] = set;
        has_failed = set == NULL;
    }
    if (has_failed) {
        return ms_diag_no_memory(call->diag);
    }
    *sets_out = sets;
    return MS_OK;
}

ms_status ms_cli_job_request(const ms_invocation *call, const char *workload,
                             ms_job_request *request_out) {
    ms_given sets;
    ms_status status = list_sets(call, &sets);
    if (status == MS_OK) {
        *request_out = (ms_job_request){
            .workload = workload,
            .platform = ms_cli_value(call, "platform", NULL),
            .data_folder = ms_cli_data_folder(call->arena),
            .sets = sets.values,
            .set_count = sets.count,
            .fidelity = ms_cli_value(call, "fidelity", NULL),
        };
    }
    return status;
}

bool ms_cli_extend_request(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                           ms_job_request *out) {
    size_t count = request->set_count + settings->count;
    const char **sets = MS_NEW(arena, const char *, count);
    for (size_t i = 0; i < count && sets != NULL; i++) {
        bool is_own = i < request->set_count;
        sets[i] = is_own ? request->sets[i] : settings->items[i - request->set_count];
    }
    *out = *request;
    out->sets = sets;
    out->set_count = count;
    return sets != NULL;
}

/* Read --fold, --no-fold and --no-fast-forward, which ranks and microbatches are simulated, and
 * --solver, what computes how flows share links. Commands have --no-fold, and may have the others.
 * Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_run(const ms_invocation *call, ms_job_request *request) {
    static const char *const FOLDS[] = {"exact", "bounded", "off", NULL};
    static const char *const SOLVERS[] = {"simgrid", "maxmin", NULL};
    int fold = 0, solver = 0;
    if (ms_cli_has(call, "no-fold") && is_given(call, "fold")) {
        return ms_diag_usage(call->diag, "options '--fold' and '--no-fold' exclude each other");
    }
    ms_status status = is_given(call, "fold") ? ms_cli_choice(call, "fold", FOLDS, &fold) : MS_OK;
    request->run.no_fold = ms_cli_has(call, "no-fold") || fold == 2;
    request->run.is_bounded = fold == 1;
    request->run.no_fast_forward = is_given(call, "no-fast-forward");
    if (status == MS_OK && is_given(call, "solver")) {
        status = ms_cli_choice(call, "solver", SOLVERS, &solver);
    }
    request->run.solver = solver == 1 ? MS_SOLVER_MAXMIN : MS_SOLVER_SIMGRID;
    return status;
}

/* Whether a file can be read once more. The text of a pipe is gone, and opening a FIFO again would
 * wait for a writer. path: NULL, or the name of no file, as that of an installed platform: true. */
static bool is_readable_again(const char *path) {
    struct stat facts;
    return path == NULL || stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

/* Find the number of nodes that the job's own mesh needs, and try the job with it. Returns the
 * override if it makes a job that fits in memory; NULL if not, or if it cannot be tried. */
static const char *find_nodes(const ms_invocation *call, const ms_job_request *request,
                              const ms_job_spec *spec, ms_diag *mute) {
    const int64_t ranks = ms_spec_ranks(spec), per_node = spec->platform.cluster->gpus_per_node;
    const char *nodes = ms_arena_printf(call->arena, "platform.nodes=%d", (int)(ranks / per_node));
    const ms_words one = {.items = &nodes, .count = 1};
    ms_job_request tried;
    ms_job_spec other;
    ms_words sets;
    bool is_found = false;
    bool is_other = ranks % per_node == 0 && ranks != ms_platform_gpus(spec->platform.cluster);
    bool is_tried = is_other && nodes != NULL && is_readable_again(spec->source.path) &&
                    is_readable_again(request->platform) &&
                    ms_cli_extend_request(request, &one, call->arena, &tried) &&
                    ms_job_spec_read(&tried, call->arena, mute, &other) == MS_OK &&
                    ms_nearest_mesh_find(&other, call->arena, mute, &sets, &is_found) == MS_OK;
    return is_tried && is_found && sets.count == 0 ? nodes : NULL;
}

/* Propose settings for a workload whose keys are sound but make no job: the nearest mesh that does,
 * and for the mesh as it is another number of nodes. Both were tried, and fit in memory. */
static void propose_mesh(const ms_invocation *call, const ms_job_request *request,
                         const ms_job_spec *spec) {
    ms_buffer text = {0};
    ms_diag mute;
    ms_words sets = {.count = 0};
    bool is_found = false;
    ms_diag_init_mute(&mute);
    if (ms_nearest_mesh_find(spec, call->arena, &mute, &sets, &is_found) != MS_OK) {
        return;
    }
    for (size_t i = 0; i < sets.count; i++) {
        ms_buffer_puts(&text, i > 0 ? " --set " : "--set ");
        ms_show_shell_word(sets.items[i], &text);
    }
    const char *nodes = find_nodes(call, request, spec, &mute);
    if (nodes != NULL) {
        ms_buffer_puts(&text, text.length > 0 ? ", or for these sizes " : "");
        ms_buffer_printf(&text, "--set %s", nodes);
    }
    if (text.length > 0) {
        ms_diag_note(call->diag, NULL, NULL, "these settings were tried, and the job fits: %s",
                     ms_buffer_text(&text));
    }
    ms_buffer_release(&text);
}

ms_status ms_cli_load_requested(const ms_invocation *call, ms_job_request *request_out,
                                ms_job *job_out) {
    ms_job_spec *spec = MS_NEW(call->arena, ms_job_spec, 1); /* the job keeps it */
    ms_buffer first = {0}; /* first fault, which begins with the path of its key */
    if (spec == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = ms_cli_job_request(call, call->positionals[0], request_out);
    status = status == MS_OK ? read_run(call, request_out) : status;
    status =
        status == MS_OK ? ms_job_spec_read(request_out, call->arena, call->diag, spec) : status;
    if (status == MS_OK) {
        call->diag->reason = &first;
        status = ms_job_build(spec, call->arena, call->diag, job_out);
        call->diag->reason = NULL;
        job_out->run = request_out->run;
        /* a fault of the batch names the nearest batch itself */
        if (status == MS_E_INPUT && strncmp(ms_buffer_text(&first), "batch.", 6) != 0) {
            propose_mesh(call, request_out, spec);
        }
        ms_buffer_release(&first);
    }
    for (int i = 0; status == MS_OK && i < job_out->idle_keys.count; i++) {
        const ms_idle_key *note = &job_out->idle_keys.items[i];
        ms_diag_note(call->diag, &note->mark, note->key, "changes nothing: %s", note->why);
    }
    return status == MS_OK ? ms_cli_note_framework(call, request_out->data_folder, &job_out->spec)
                           : status;
}

/* An override of a platform without "platform.", with which it may begin as in a workload. */
static const char *without_prefix(const char *assignment) {
    static const char PREFIX[] = "platform.";
    size_t length = sizeof PREFIX - 1;
    return strncmp(assignment, PREFIX, length) == 0 ? assignment + length : assignment;
}

ms_status ms_cli_platform_changes(const ms_invocation *call, ms_node **overrides_out) {
    ms_given sets = ms_cli_all(call, "set");
    ms_status status = ms_yaml_parse("{}", 2, "--set", call->arena, call->diag, overrides_out);
    if (status == MS_OK) {
        (*overrides_out)->mark.file = NULL; /* the empty mapping has no place in a file */
    }
    for (size_t i = 0; i < sets.count && status == MS_OK; i++) {
        status =
            ms_node_set(*overrides_out, without_prefix(sets.values[i]), call->arena, call->diag);
    }
    return status;
}

ms_status ms_cli_load_changed_platform(const ms_invocation *call, const char *name,
                                       ms_node *changes, ms_platform *platform_out) {
    const char *const *folders = NULL;
    ms_status status =
        ms_platform_folders(NULL, ms_cli_data_folder(call->arena), call->arena, &folders);
    if (status != MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    return ms_platform_load(name, folders, changes, call->arena, call->diag, platform_out, NULL);
}

ms_status ms_cli_load_platform(const ms_invocation *call, const char *name,
                               ms_platform *platform_out) {
    ms_node *changes = NULL;
    ms_status status = ms_cli_platform_changes(call, &changes);
    return status == MS_OK ? ms_cli_load_changed_platform(call, name, changes, platform_out)
                           : status;
}

/* Ranks that fill all nodes a placement may use: those that it lists, else all but its spare
 * nodes. */
static int count_ranks(const ms_rank_placement_choice *choice, const ms_platform *platform) {
    int spares = choice->spare_count + (int)choice->spares.count;
    int left = platform->nodes > spares ? platform->nodes - spares : 1;
    int nodes = choice->nodes.count > 0 ? (int)choice->nodes.count : left;
    return nodes * platform->gpus_per_node;
}

/* The option has the same keys as `placement` of a workload, and is read in the same way. */
ms_status ms_cli_read_placement(const ms_invocation *call, const ms_platform *platform, int ranks,
                                ms_rank_placement *placement_out) {
    const char *text = ms_cli_value(call, "placement", NULL);
    ms_rank_placement_choice choice;
    ms_node *mapping = NULL;
    ms_status status = MS_OK;
    if (text != NULL) {
        status =
            ms_yaml_parse(text, strlen(text), "--placement", call->arena, call->diag, &mapping);
    }
    status = status == MS_OK ? ms_placement_read(mapping, NULL, call->arena, call->diag, &choice)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    if (ranks == 0 && choice.file != NULL) {
        return ms_diag_usage(call->diag, "a file of ranks needs their number, such as --ranks 64");
    }
    ranks = ranks > 0 ? ranks : count_ranks(&choice, platform);
    return ms_placement_make(&choice, platform, ranks, call->arena, call->diag, placement_out);
}

ms_value *ms_cli_add_job_page(const ms_job *job, ms_value *root) {
    const ms_platform *platform = job->platform;
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    ms_value_add_string(page, "framework", job->spec.framework.name); /* NULL adds nothing */
    const char *nodes = ms_arena_printf(root->arena, "%d x %d %s", platform->nodes,
                                        platform->gpus_per_node, platform->gpu.name);
    ms_value_add_string(page, "nodes", nodes);
    ms_value_add_int(page, "stages", job->program.model_stages);
    if (job->program.parameter_replicas > 1) {
        ms_value_add_int(page, "replicas", job->program.parameter_replicas);
    }
    if (job->spec.has_model) {
        ms_value_add_int(page, "micro_batch", job->layout.micro_batch);
    }
    if (job->spec.simulation.steps > 1) {
        ms_value_add_string(page, "updates",
                            ms_job_is_validated_late(job) ? "validated afterwards"
                                                          : "all ranks meet before they update");
    }
    return page;
}
