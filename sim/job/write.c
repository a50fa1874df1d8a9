/* Writes a spec as a workload file, by the tables of keys that read it (MS_WORKLOAD_FIELDS). */
#include <string.h>

#include "job/internal.h"

/* The `mesh` mapping as a table writes it: the size of every axis, and their order. */
typedef struct mesh_text {
    int sizes[MS_MESH_AXES_MAX];
    ms_words order;
} mesh_text;

/* Make the table of keys for the axes of one mesh. fields: [MS_MESH_AXES_MAX + 2]. */
static void list_axes(const ms_spec_mesh *mesh, ms_field *fields) {
    int count = 0;
    for (; count < mesh->axes; count++) {
        fields[count] = (ms_field)MS_KEY(mesh->names[count], NULL, INT,
                                         offsetof(mesh_text, sizes) + (size_t)count * sizeof(int));
    }
    fields[count++] = (ms_field)MS_KEY("order", NULL, WORDS, offsetof(mesh_text, order));
    fields[count] = (ms_field){.key = NULL};
}

/* Make the mapping of the key `mesh`: the size of each axis, and `order`, the names of the axes
 * from the outermost to the innermost.  *node_out: in `arena`.  Returns MS_OK; MS_E_NOMEM. */
static ms_status write_mesh(const ms_spec_mesh *mesh, ms_arena *arena, ms_node **node_out) {
    ms_field fields[MS_MESH_AXES_MAX + 2];
    const char *names[MS_MESH_AXES_MAX];
    mesh_text text = {.order = {.items = names, .count = (size_t)mesh->axes}};
    memcpy(names, mesh->names, sizeof names);
    memcpy(text.sizes, mesh->sizes, sizeof text.sizes);
    list_axes(mesh, fields);
    return ms_config_write(fields, &text, arena, node_out);
}

/* Write the `platform` mapping: the file's name, then the keys that the user changes. */
static ms_status write_platform(const ms_spec_platform *platform, ms_arena *arena,
                                ms_node **node_out) {
    static const ms_field FILE_FIELDS[] = {
        MS_KEY("file", NULL, STRING, offsetof(ms_spec_platform, file)), {.key = NULL}};
    ms_status status = ms_config_write(FILE_FIELDS, platform, arena, node_out);
    return status == MS_OK && platform->changes != NULL
               ? ms_node_overlay(*node_out, platform->changes, arena)
               : status;
}

/* Write the mappings that have tables of their own. */
static ms_status write_parts(const ms_job_spec *spec, ms_arena *arena, ms_spec_text *text) {
    ms_node *platform = NULL, *mesh = NULL, *placement = NULL, *inner = NULL;
    ms_status status = write_platform(&spec->platform, arena, &platform);
    status = status == MS_OK ? write_mesh(&spec->mesh, arena, &mesh) : status;
    if (status == MS_OK && spec->placement.is_given) {
        status = ms_placement_write(&spec->placement, arena, &placement);
    }
    if (status == MS_OK) {
        status = spec->has_model ? ms_model_write(&spec->model, arena, &inner)
                                 : ms_costs_write(&spec->costs, arena, &inner);
    }
    text->platform = platform;
    text->mesh = mesh;
    text->placement = placement;
    text->model = spec->has_model ? inner : NULL;
    text->costs = spec->has_model ? NULL : inner;
    return status;
}

/* The word of the algorithm of all-reduces. */
static const char *all_reduce_text(const ms_job_spec *spec) {
    return ms_coll_algorithm_name(spec->algorithms.of[MS_COLL_ALL_REDUCE]);
}

/* Write a spec as the tree of a workload file. `text` is the spec, with the members that a workload
 * file has in another form: the schedule's kind, the algorithm of all-reduces, and mappings with
 * tables of their own. */
ms_status ms_spec_write_root(const ms_job_spec *spec, ms_arena *arena, ms_node **root_out) {
    const ms_spec_schedule *schedule = &spec->schedule;
    ms_spec_text text = {.spec = *spec, .all_reduce = all_reduce_text(spec)};
    text.schedule_kind = schedule->csv == NULL
                             ? ms_schedule_kind_name(schedule->kind)
                             : ms_arena_printf(arena, MS_SPEC_CSV_PREFIX "%s", schedule->csv);
    ms_status status = text.schedule_kind == NULL ? MS_E_NOMEM : write_parts(spec, arena, &text);
    return status == MS_OK ? ms_config_write(MS_WORKLOAD_FIELDS, &text, arena, root_out) : status;
}

/* Append a spec as the text of a workload file. */
ms_status ms_job_spec_write(const ms_job_spec *spec, ms_buffer *out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_node *root = NULL;
    ms_status status = ms_spec_write_root(spec, &scratch, &root);
    if (status == MS_OK) {
        ms_node_write(root, out);
        status = out->failed ? MS_E_NOMEM : MS_OK;
    }
    ms_arena_release(&scratch);
    return status;
}

/* Check each key of a spec by its row in the tables. Mappings with readers of their own are checked
 * for presence here; model and costs have checks of their own. */
ms_status ms_spec_check_fields(const ms_job_spec *spec, ms_diag *diag) {
    static const ms_node PRESENT = {.type = MS_NODE_MAPPING};
    const char *kind = ms_schedule_kind_name(spec->schedule.kind);
    ms_schedule_kind found = MS_SCHEDULE_CUSTOM;
    bool is_kind = ms_schedule_kind_from_name(kind, &found) == MS_OK;
    const ms_spec_text text = {
        .spec = *spec,
        .schedule_kind = is_kind ? kind : spec->schedule.csv,
        .all_reduce = all_reduce_text(spec),
        .platform = spec->platform.cluster == NULL ? NULL : &PRESENT,
        .mesh = spec->mesh.axes < 1 || spec->mesh.axes > MS_MESH_AXES_MAX ? NULL : &PRESENT};
    const ms_node *root = spec->source.root;
    ms_status status = ms_config_check(MS_WORKLOAD_FIELDS, &text, "", root, diag);
    ms_status part = spec->has_model ? ms_model_check(&spec->model, "model", root, diag)
                                     : ms_costs_check(&spec->costs, "costs", root, diag);
    return status == MS_OK ? part : status;
}
