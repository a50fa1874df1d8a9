/* Lists every key of a job with the value in use and its origin, so that a default that changes
 * from one version to the next shows in a trace. Keys of the user and of the framework are those of
 * the tree that was read; values that follow from other keys come from the spec; the rest are the
 * tables' defaults. */
#include <string.h>

#include "job/internal.h"

/* One listing. */
typedef struct resolving {
    const ms_job_spec *spec;
    ms_arena *arena;
    ms_diag *diag;
} resolving;

/* Set the origin of a node and of all nodes below it, and remove their places in files. */
static void mark_origin(ms_node *node, const char *origin) {
    node->origin = origin;
    node->mark = (ms_mark){.file = NULL};
    for (ms_node *child = node->first; child != NULL; child = child->next) {
        mark_origin(child, origin);
    }
}

/* A copy of the keys that the user and the framework give, without `platform`, which add_platform
 * lists, and `framework.expanded`. */
static ms_node *copy_given(const resolving *listing) {
    static const ms_node EMPTY = {.type = MS_NODE_MAPPING, .origin = "file"};
    const ms_node *root = listing->spec->source.root;
    ms_node *given = ms_node_copy(root == NULL ? &EMPTY : root, listing->arena);
    if (given != NULL) {
        ms_node_drop(given, "platform");
        ms_node *framework = ms_node_get(given, "framework");
        if (framework != NULL) {
            ms_node_drop(framework, "expanded"); /* a property of the file, not of the job */
        }
    }
    return given;
}

/* Add the values of keys that follow from other keys, with the origin "derived". In a spec that
 * comes from no file all values were set by hand, and have the origin "--set". */
static ms_status lay_derived(const resolving *listing, ms_node *keys) {
    ms_node *derived = NULL;
    ms_status status = ms_spec_write_root(listing->spec, listing->arena, &derived);
    if (status != MS_OK) {
        return status;
    }
    ms_node_drop(derived, "platform");
    mark_origin(derived, listing->spec->source.root == NULL ? "--set" : "derived");
    return ms_node_underlay(keys, derived, listing->arena);
}

/* Set the fidelity, which an option may give in place of the file; then its origin is "--set". */
static void set_fidelity(const resolving *listing, ms_node *keys) {
    const char *name = ms_fidelity_name(listing->spec->simulation.fidelity);
    ms_node *node = ms_node_get(keys, "fidelity");
    bool is_from_file =
        node->text != NULL && strcmp(node->text, name) == 0 && strcmp(node->origin, "derived") != 0;
    if (!is_from_file) {
        *node = (ms_node){.type = MS_NODE_SCALAR,
                          .text = name,
                          .key = node->key,
                          .origin = "--set",
                          .next = node->next};
    }
}

/* Add the `platform` mapping: the file by its name, and all keys of the platform. Returns MS_OK;
 * MS_E_NOMEM. */
static ms_status add_platform(const resolving *listing, ms_node *keys) {
    const ms_spec_platform *platform = &listing->spec->platform;
    ms_node *listed = NULL;
    ms_node *mapping = MS_NEW(listing->arena, ms_node, 1);
    ms_node *file = MS_NEW(listing->arena, ms_node, 1);
    if (mapping == NULL || file == NULL) {
        return MS_E_NOMEM;
    }
    const char *slash = platform->file == NULL ? NULL : strrchr(platform->file, '/');
    *mapping = (ms_node){.type = MS_NODE_MAPPING, .key = "platform", .origin = "file"};
    *file = (ms_node){.type = MS_NODE_SCALAR,
                      .text = slash == NULL ? platform->file : slash + 1,
                      .key = "file",
                      .origin = "--set"};
    if (platform->file != NULL) {
        ms_node_append(mapping, file);
    }
    ms_node_append(keys, mapping);
    if (platform->document == NULL) {
        return MS_OK;
    }
    ms_status status = ms_platform_list(platform->cluster, platform->document, listing->arena,
                                        listing->diag, &listed);
    return status == MS_OK ? ms_node_overlay(mapping, listed, listing->arena) : status;
}

/* Add the keys that the user took out (`price: null`) and that nothing else gives: they have no
 * value because the user said so. */
static ms_status add_taken_out(const resolving *listing, const ms_node *typed, ms_node *keys) {
    ms_status status = MS_OK;
    for (const ms_node *child = typed->first; child != NULL && status == MS_OK;
         child = child->next) {
        ms_node *existing = child->key == NULL ? NULL : ms_node_get(keys, child->key);
        if (ms_node_is_removal(child) && existing == NULL) {
            ms_node *copy = ms_node_copy(child, listing->arena);
            if (copy == NULL) {
                return MS_E_NOMEM;
            }
            ms_node_append(keys, copy);
        } else if (child->type == MS_NODE_MAPPING && existing != NULL &&
                   existing->type == MS_NODE_MAPPING) {
            status = add_taken_out(listing, child, existing);
        }
    }
    return status;
}

/* Append every key of a job with its value and origin. All nodes are in an arena that lives for
 * this call only. */
ms_status ms_job_spec_write_resolved(const ms_job_spec *spec, ms_buffer *out) {
    ms_arena scratch;
    ms_diag silent;
    ms_arena_init(&scratch);
    ms_diag_init_mute(&silent); /* nothing is wrong with keys that have been read with */
    const resolving listing = {spec, &scratch, &silent};
    ms_node *keys = copy_given(&listing);
    ms_status status = keys == NULL ? MS_E_NOMEM : lay_derived(&listing, keys);
    status = status == MS_OK ? ms_config_fill(keys, MS_WORKLOAD_FIELDS, &scratch, &silent) : status;
    status = status == MS_OK ? add_platform(&listing, keys) : status;
    if (status == MS_OK && spec->source.typed != NULL) {
        status = add_taken_out(&listing, spec->source.typed, keys);
    }
    if (status == MS_OK) {
        set_fidelity(&listing, keys);
        ms_config_write_resolved(keys, MS_WORKLOAD_FIELDS, spec->source.path, out);
        status = out->failed ? MS_E_NOMEM : MS_OK;
    }
    out->failed = out->failed || status != MS_OK;
    ms_arena_release(&scratch);
    return status;
}
