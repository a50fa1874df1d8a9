/* Loads the platform of a workload: finds its file, lays the workload's changes over it, and keeps
 * it as text for listings. */
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "job/internal.h"

/* One load of a platform. */
typedef struct loading {
    const ms_job_request *request;
    const ms_node *mapping; /* `platform:` of the workload */
    ms_arena *arena;
    ms_diag *diag;
    ms_job_spec *spec;
} loading;

/* A copy of the `platform` mapping without its `file` key. */
static ms_node *overrides_of(ms_arena *arena, const ms_node *platform) {
    ms_node *copy = ms_node_copy(platform, arena);
    if (copy != NULL) {
        ms_node_drop(copy, "file");
    }
    return copy;
}

/* Whether a file of that name is in the workload's own folder, which comes before the current
 * folder. */
static bool is_beside(const char *home, const char *name, ms_arena *arena) {
    const char *path = ms_arena_printf(arena, "%s/%s", home, name);
    return strstr(name, ".yaml") != NULL && path != NULL && ms_file_is_there(path);
}

/* Set *name_out to the platform file's name, or its path where that starts at the workload's
 * folder. A name from the request stays as it is. Returns MS_OK; MS_E_NOMEM. */
static ms_status find_name(const loading *load, const char **name_out) {
    const char *file = load->spec->platform.file;
    if (load->request->platform != NULL) {
        *name_out = load->request->platform;
        return MS_OK;
    }
    const char *folder = load->spec->folder;
    bool is_relative = strchr(file, '/') != NULL || is_beside(folder, file, load->arena);
    *name_out =
        is_relative && file[0] != '/' ? ms_arena_printf(load->arena, "%s/%s", folder, file) : file;
    return *name_out == NULL ? MS_E_NOMEM : MS_OK;
}

/* Keep the effective platform as texts: as YAML, as a listing of values with their origins, and the
 * comments on their sources. The rows are made from the document, as its keys come from several
 * tables. Returns MS_OK; MS_E_NOMEM. */
static ms_status write_texts(const loading *load, const ms_node *document) {
    ms_field *fields = MS_NEW(load->arena, ms_field, document->count + 1);
    if (fields == NULL) {
        return MS_E_NOMEM;
    }
    size_t count = 0;
    for (const ms_node *child = document->first; child != NULL; child = child->next) {
        fields[count++] = (ms_field)MS_KEY(child->key, NULL, NODE, 0);
    }
    ms_buffer text;
    ms_buffer effective;
    ms_buffer sources;
    ms_buffer_init(&text);
    ms_buffer_init(&effective);
    ms_buffer_init(&sources);
    ms_node_write(document, &text);
    ms_config_write_effective(document, fields, "platform", &effective);
    ms_config_write_sources(document, "platform", &sources);
    ms_spec_platform *platform = &load->spec->platform;
    platform->text = ms_buffer_keep(&text, load->arena);
    platform->effective_text = ms_buffer_keep(&effective, load->arena);
    platform->sources_text = ms_buffer_keep(&sources, load->arena);
    bool has_all = platform->text != NULL && platform->effective_text != NULL &&
                   platform->sources_text != NULL;
    return has_all ? MS_OK : MS_E_NOMEM;
}

/* Set the spec's platform: its file, which the request may replace, and the workload's changes. */
static ms_status read_platform_key(const loading *load) {
    ms_spec_platform *platform = &load->spec->platform;
    const ms_node *file = ms_node_get(load->mapping, "file");
    bool is_named = file != NULL && file->type == MS_NODE_SCALAR && !ms_node_is_removal(file);
    if (!is_named && load->request->platform == NULL) {
        return ms_config_fault(load->diag, file == NULL ? load->mapping : file, "platform.file",
                               "expected the name or path of a platform file");
    }
    ms_node *changes = overrides_of(load->arena, load->mapping);
    if (changes == NULL) {
        return MS_E_NOMEM;
    }
    if (load->request->platform != NULL) {
        changes->mark = (ms_mark){.file = NULL}; /* the request named the platform: no place */
    }
    platform->changes = changes;
    platform->file = load->request->platform != NULL ? load->request->platform : file->text;
    return MS_OK;
}

/* Load the platform that the request or the workload names, with the workload's changes, into the
 * spec. The tree of the effective platform is kept as well, for checks and listings. */
ms_status ms_spec_load_platform(const ms_job_request *request, const ms_node *mapping,
                                ms_arena *arena, ms_diag *diag, ms_job_spec *spec) {
    const loading load = {request, mapping, arena, diag, spec};
    const char *name = NULL;
    const char *const *folders = NULL;
    const ms_node *document = NULL;
    ms_platform *cluster = MS_NEW(arena, ms_platform, 1);
    if (cluster == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = read_platform_key(&load);
    status = status == MS_OK ? find_name(&load, &name) : status;
    status = status == MS_OK
                 ? ms_platform_folders(spec->folder, request->data_folder, arena, &folders)
                 : status;
    status = status == MS_OK ? ms_platform_load(name, folders, spec->platform.changes, arena, diag,
                                                cluster, &document)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    spec->platform.cluster = cluster;
    spec->platform.document = document;
    return write_texts(&load, document);
}
