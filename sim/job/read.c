/* From a workload file to a spec: the file is read into a tree, --set overrides are applied, a
 * Hugging Face config and a framework's choices are laid below the tree's keys, and the tables of
 * keys fill the spec. Each step reports its faults and the next one goes on, so that one call
 * reports all. */
#include <stdio.h>
#include <string.h>

#include "base/config/input.h"
#include "job/internal.h"

/* A workload that is being read. */
typedef struct reading {
    const ms_job_request *request;
    ms_arena *arena;
    ms_diag *diag;
    ms_node *root;
    ms_spec_text text;
    bool keeps_platform; /* text.spec has its platform already, and none is loaded */
    bool lacks_model;    /* the config that `model.hf` names could not be read, so that the model's
                            keys are incomplete */
    ms_status status;    /* first fault of any part */
} reading;

/* Keep a step's status if it is the first that is not MS_OK. Returns whether the step went well. */
static bool keep_status(reading *reader, ms_status status) {
    reader->status = reader->status == MS_OK ? status : reader->status;
    return status == MS_OK;
}

/* The folder of a path, without a slash at its end; "." if the path has none. */
static const char *folder_of(ms_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? "." : ms_arena_strndup(arena, path, (size_t)(slash - path));
}

/* Turn names into mappings at keys that may hold either: `platform: NAME`, `framework: NAME`. */
static ms_status normalise(ms_node *root, ms_arena *arena) {
    ms_status status = ms_spec_normalise(root, "platform", "file", arena);
    return status == MS_OK ? ms_spec_normalise(root, "framework", "name", arena) : status;
}

/* Apply the --set overrides in the order given. Returns the first fault's status. */
static ms_status apply_request(const ms_job_request *request, ms_node *root, ms_arena *arena,
                               ms_diag *diag) {
    ms_status first = MS_OK;
    for (size_t i = 0; i < request->set_count; i++) {
        ms_status status = ms_node_set(root, request->sets[i], arena, diag);
        if (status == MS_OK) {
            status = normalise(root, arena); /* the override may have named another platform */
        }
        first = first == MS_OK ? status : first;
    }
    return first;
}

/* Refuse keys that need a model, in a workload with `costs`. `framework: none`, which names no
 * software, is allowed. */
static ms_status refuse_keys_of_models(const ms_node *mapping, const ms_field *fields,
                                       const ms_spec_text *text, ms_diag *diag) {
    const char *framework = text->spec.framework.name;
    bool is_none = framework != NULL && strcmp(framework, MS_FRAMEWORK_NONE) == 0;
    ms_status status = MS_OK;
    for (const ms_field *row = fields; row != NULL && row->key != NULL; row++) {
        const ms_node *node = ms_node_get(mapping, row->key);
        bool is_said = node != NULL && !(is_none && strcmp(row->key, "framework") == 0);
        ms_status found = MS_OK;
        if (row->needs_model && is_said) {
            found = ms_config_fault(diag, node, row->key,
                                    "says nothing beside 'costs'; it needs a 'model'");
        } else if (row->type == MS_FIELD_MAP && node != NULL) {
            found = refuse_keys_of_models(node, row->fields, text, diag);
        }
        status = found == MS_OK ? status : found;
    }
    return status;
}

/* Check that the workload has either a model or costs and, with costs, no keys that need a
 * model. */
static ms_status check_choice(const ms_node *root, const ms_spec_text *text, ms_diag *diag) {
    if ((text->model == NULL) == (text->costs == NULL)) {
        const ms_node *node = text->costs != NULL ? text->costs : root;
        return ms_config_fault(diag, node, "",
                               text->costs == NULL
                                   ? "expected either 'model' or 'costs', got neither"
                                   : "expected either 'model' or 'costs', got both");
    }
    return text->costs == NULL ? MS_OK
                               : refuse_keys_of_models(root, MS_WORKLOAD_FIELDS, text, diag);
}

/* Read the workload's file or text into a tree, and apply the overrides. */
static ms_status read_tree(reading *reader) {
    const char *path = reader->request->workload;
    const char *text = reader->request->text;
    ms_status status = text == NULL ? ms_yaml_load(path, reader->arena, reader->diag, &reader->root)
                                    : ms_yaml_parse(text, strlen(text), path, reader->arena,
                                                    reader->diag, &reader->root);
    status = status == MS_OK ? ms_input_expect(reader->root, MS_INPUT_WORKLOAD, path, reader->diag)
                             : status;
    status = status == MS_OK ? normalise(reader->root, reader->arena) : status;
    return status == MS_OK
               ? apply_request(reader->request, reader->root, reader->arena, reader->diag)
               : status;
}

/* Report an unknown schedule kind, with the nearest one and the list of all. */
static ms_status fault_kind(const reading *reader, const char *name) {
    const char *const *names = ms_schedule_kind_names();
    ms_buffer known;
    ms_buffer_init(&known);
    for (size_t i = 0; names[i] != NULL; i++) {
        ms_buffer_printf(&known, "%s, ", names[i]);
    }
    ms_status status = ms_spec_fault(&reader->text.spec, reader->diag, "schedule.kind",
                                     "unknown schedule '%s'%s (known: %sand csv:FILE)", name,
                                     ms_nearest_hint(name, names, MS_SCHEDULE_KIND_COUNT).text,
                                     ms_buffer_text(&known));
    ms_buffer_release(&known);
    return status;
}

/* Set the schedule's kind from `schedule.kind`: the name of a kind, or csv: and the path of a
 * file. */
static ms_status read_kind(reading *reader) {
    ms_spec_schedule *schedule = &reader->text.spec.schedule;
    const char *name = reader->text.schedule_kind;
    const size_t prefix = strlen(MS_SPEC_CSV_PREFIX);
    schedule->kind = MS_SCHEDULE_CUSTOM;
    if (name == NULL) {
        return MS_E_INPUT; /* no text: reported */
    }
    if (strncmp(name, MS_SPEC_CSV_PREFIX, prefix) != 0) {
        ms_status status = ms_schedule_kind_from_name(name, &schedule->kind);
        return status == MS_OK ? MS_OK : fault_kind(reader, name);
    }
    if (name[prefix] == '\0') {
        return ms_spec_fault(&reader->text.spec, reader->diag, "schedule.kind",
                             "'csv:' names no file; expected csv:FILE");
    }
    schedule->csv = name + prefix;
    return MS_OK;
}

/* Set the algorithm of a kind of collective from its name. NULL: the key's fault is reported
 * already. */
static ms_status read_algorithm(reading *reader, ms_coll_kind kind, const char *name) {
    ms_coll_algorithm *algorithm = &reader->text.spec.algorithms.of[kind];
    if (name == NULL || ms_coll_algorithm_read(kind, name, algorithm) == MS_OK) {
        return MS_OK;
    }
    char key[64];
    char words[128];
    snprintf(key, sizeof key, "collectives.algorithms.%s", ms_coll_kind_name(kind));
    return ms_spec_fault(
        &reader->text.spec, reader->diag, key, "algorithm '%s' is not built for %s; expected %s",
        name, ms_coll_kind_name(kind), ms_coll_algorithm_words(kind, words, sizeof words));
}

/* Set the spec's mesh from its mapping: the names and sizes of its axes, outermost first. */
static ms_status read_mesh(reading *reader) {
    ms_mesh mesh;
    ms_status status = ms_mesh_read(reader->text.mesh, "mesh", reader->arena, reader->diag, &mesh);
    if (status != MS_OK) {
        return status;
    }
    ms_spec_mesh *axes = &reader->text.spec.mesh;
    for (axes->axes = 0; axes->axes < mesh.axes; axes->axes++) {
        axes->names[axes->axes] = mesh.names[axes->axes];
        axes->sizes[axes->axes] = mesh.sizes[axes->axes];
    }
    return MS_OK;
}

/* Set the fidelity (level of detail) that the request asks for, if it does. */
static ms_status read_fidelity(reading *reader) {
    const char *name = reader->request->fidelity;
    if (name == NULL) {
        return MS_OK;
    }
    if (ms_fidelity_read(name, &reader->text.spec.simulation.fidelity) != MS_OK) {
        ms_diag_error(reader->diag, "unknown fidelity '%s'; expected 'analytic', 'flow' or 'step'",
                      name);
        return MS_E_USAGE;
    }
    return MS_OK;
}

/* Keep the effective workload as texts: as YAML, in which the framework's choices are keys like the
 * others (framework.expanded), and as a listing of values with their origins. */
static ms_status write_texts(reading *reader) {
    ms_spec_source *source = &reader->text.spec.source;
    ms_buffer text;
    ms_buffer effective;
    ms_buffer_init(&text);
    ms_buffer_init(&effective);
    ms_config_write_effective(reader->root, MS_WORKLOAD_FIELDS, "", &effective);
    if (reader->text.spec.framework.name != NULL &&
        ms_node_set(reader->root, "framework.expanded=true", reader->arena, reader->diag) !=
            MS_OK) {
        text.failed = true;
    }
    ms_node_write(reader->root, &text);
    source->text = ms_buffer_keep(&text, reader->arena);
    source->effective_text = ms_buffer_keep(&effective, reader->arena);
    return source->text == NULL || source->effective_text == NULL ? MS_E_NOMEM : MS_OK;
}

/* Make the batch unusable for later checks (micro 0) if a count of sequences was given and is
 * wrong: its fault is reported, and the counts that would follow from it would not be meant. */
static void give_up_batch(reading *reader) {
    const ms_node *batch = ms_node_get(reader->root, "batch");
    ms_spec_batch *found = &reader->text.spec.batch;
    bool is_given =
        ms_node_get(batch, "global") != NULL || ms_node_get(batch, "microbatches") != NULL;
    if (is_given && found->global == 0 && found->microbatches == 0) {
        found->micro = 0;
    }
}

/* Report a missing `batch`, unless the check of the laid-out job does it, which needs ranks. */
static void miss_batch(reading *reader) {
    const ms_spec_batch *batch = &reader->text.spec.batch;
    bool has_ranks = reader->text.mesh != NULL && reader->text.platform != NULL;
    if (!has_ranks && ms_node_get(reader->root, "batch") == NULL && batch->micro > 0) {
        keep_status(reader,
                    ms_spec_fault(&reader->text.spec, reader->diag, "batch",
                                  "this key is required: sequences per step, as in {global: 512}"));
    }
}

/* Read the mappings that have readers of their own, each whether or not others could be read. Costs
 * beside a model, which check_choice refuses, are not read. */
static void read_parts(reading *reader) {
    ms_job_spec *spec = &reader->text.spec;
    if (reader->text.platform != NULL && !reader->keeps_platform) {
        keep_status(reader, ms_spec_load_platform(reader->request, reader->text.platform,
                                                  reader->arena, reader->diag, spec));
    }
    if (reader->text.mesh != NULL) {
        keep_status(reader, read_mesh(reader));
    }
    spec->placement.is_given = reader->text.placement != NULL;
    keep_status(reader, ms_placement_read(reader->text.placement, spec->folder, reader->arena,
                                          reader->diag, &spec->placement));
    if (reader->text.model != NULL) {
        spec->has_model = true;
    }
    if (reader->text.model != NULL && !reader->lacks_model) {
        keep_status(reader, ms_model_read(reader->text.model, "model", reader->arena, reader->diag,
                                          &spec->model));
    }
    if (reader->text.costs != NULL && reader->text.model == NULL) {
        keep_status(reader, ms_costs_read(reader->text.costs, "costs", reader->arena, reader->diag,
                                          &spec->costs));
    }
    keep_status(reader, read_kind(reader));
    keep_status(reader, read_algorithm(reader, MS_COLL_ALL_REDUCE, reader->text.all_reduce));
}

/* Read the spec from the tree. First the Hugging Face config and the framework's choices are laid
 * below the tree's keys. is_frameworks: the workload exists for the framework's choices only. */
static void read_root(reading *reader, bool is_frameworks) {
    ms_job_spec *spec = &reader->text.spec;
    reader->lacks_model =
        !keep_status(reader, ms_spec_lay_hf(spec->folder, reader->request->data_folder,
                                            reader->root, reader->arena, reader->diag));
    ms_config_remove_nulls(reader->root, MS_WORKLOAD_FIELDS);
    keep_status(reader, ms_spec_lay_framework(reader->request, spec->folder, is_frameworks,
                                              reader->root, reader->arena, reader->diag));
    keep_status(reader, ms_config_read(reader->root, MS_WORKLOAD_FIELDS, "", &reader->text,
                                       reader->arena, reader->diag));
    keep_status(reader, check_choice(reader->root, &reader->text, reader->diag));
    read_parts(reader);
    const char *framework = spec->framework.name;
    spec->framework.is_none = framework != NULL && strcmp(framework, MS_FRAMEWORK_NONE) == 0;
    spec->framework.name = spec->framework.is_none ? NULL : framework;
    spec->framework.is_expanded = spec->framework.name != NULL;
}

/* Set the members whose keys have no default in the tables to "not given", and that of
 * `schedule.v`. A key that is given and wrong leaves its member so; has_order (check.c) tells by it
 * that `schedule.v` was wrong. */
static void leave_open(ms_job_spec *spec) {
    spec->schedule.chunks = MS_SPEC_OPEN;
    spec->cp_overlap = spec->gather_stages = spec->reduce = MS_SPEC_OPEN;
}

/* Begin a spec that is read from the request's workload. */
static void begin(reading *reader) {
    ms_job_spec *spec = &reader->text.spec;
    leave_open(spec);
    spec->folder = folder_of(reader->arena, reader->request->workload);
    spec->source = (ms_spec_source){.path = reader->request->workload, .root = reader->root};
}

/* Begin a spec that is read from the tree of another spec, with that spec's folder and platform. */
static void begin_again(reading *reader, const ms_job_spec *spec) {
    reader->text.spec = (ms_job_spec){.folder = spec->folder,
                                      .platform = spec->platform,
                                      .source = {.path = spec->source.path, .root = reader->root}};
    leave_open(&reader->text.spec);
}

/* Read a workload into a spec. After a fault the job is laid out as far as it can be, to report
 * faults across keys as well. */
ms_status ms_job_spec_read(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                           ms_job_spec *spec_out) {
    ms_job_request found;
    reading reader = {.request = &found, .arena = arena, .diag = diag};
    ms_job_spec *spec = &reader.text.spec;
    ms_status status = ms_spec_find_workload(request, arena, diag, &found);
    if (status != MS_OK) {
        return status;
    }
    status = read_tree(&reader);
    begin(&reader);
    if (status != MS_OK || spec->folder == NULL) {
        return status == MS_OK ? MS_E_NOMEM : status;
    }
    spec->source.typed = ms_node_copy(reader.root, arena);
    spec->source.data_folder = request->data_folder;
    if (spec->source.typed == NULL) {
        return ms_diag_no_memory(diag);
    }
    read_root(&reader, false);
    ms_spec_fit_choices(spec, reader.root);
    if (reader.status != MS_OK) {
        miss_batch(&reader);
        give_up_batch(&reader);
        ms_spec_check_parts(spec, arena, diag);
    }
    reader.status = reader.status == MS_OK ? read_fidelity(&reader) : reader.status;
    reader.status = reader.status == MS_OK ? write_texts(&reader) : reader.status;
    if (reader.status == MS_OK) {
        *spec_out = *spec;
    }
    return reader.status;
}

/* A workload of the smallest sizes, which gives a framework's choices a place. */
static const char SMALLEST[] = "framework: {name: its name}\n"
                               "platform: {file: ideal, nodes: 1}\n"
                               "mesh: {dp: 1}\n"
                               "model: {layers: 1, hidden: 128, heads: 1, ffn: 128, vocab: 128, "
                               "sequence: 128}\n"
                               "batch: {global: 1}\n";

/* Read a framework's choices, laid below the keys of a small job, as a spec. Choices are not fitted
 * to the small job, because the caller sets other sizes. */
ms_status ms_job_spec_of_framework(const char *name, const char *data_folder, ms_arena *arena,
                                   ms_diag *diag, ms_job_spec *spec_out) {
    const ms_job_request request = {.workload = "framework", .data_folder = data_folder};
    reading reader = {.request = &request, .arena = arena, .diag = diag};
    ms_status status =
        ms_yaml_parse(SMALLEST, sizeof SMALLEST - 1, request.workload, arena, diag, &reader.root);
    if (status == MS_OK) {
        ms_node *word = ms_node_get(ms_node_get(reader.root, "framework"), "name");
        word->text = name;
        word->mark = (ms_mark){.file = NULL}; /* the name is in no file */
    }
    begin(&reader);
    if (status != MS_OK || reader.text.spec.folder == NULL) {
        return status == MS_OK ? ms_diag_no_memory(diag) : status;
    }
    read_root(&reader, true);
    if (reader.status == MS_OK) {
        *spec_out = ms_job_spec_derive(&reader.text.spec);
    }
    return reader.status;
}

/* Read a workload once more with further overrides. The tree is the workload as the user typed it,
 * so that the framework's choices are made anew. */
ms_status ms_job_spec_read_again(const ms_job_spec *spec, const ms_words *sets, ms_arena *arena,
                                 ms_diag *diag, ms_job_spec *spec_out) {
    const ms_job_request request = {.workload = spec->source.path,
                                    .data_folder = spec->source.data_folder,
                                    .sets = sets->items,
                                    .set_count = sets->count};
    reading reader = {.request = &request, .arena = arena, .diag = diag, .keeps_platform = true};
    reader.root = ms_node_copy(spec->source.typed, arena);
    if (reader.root == NULL) {
        return ms_diag_no_memory(diag);
    }
    begin_again(&reader, spec);
    ms_status status = apply_request(&request, reader.root, arena, diag);
    if (status != MS_OK) {
        return status;
    }
    read_root(&reader, false);
    ms_spec_fit_choices(&reader.text.spec, reader.root);
    if (reader.status == MS_OK) {
        *spec_out = ms_job_spec_derive(&reader.text.spec);
        spec_out->simulation.fidelity = spec->simulation.fidelity;
    }
    return reader.status;
}
