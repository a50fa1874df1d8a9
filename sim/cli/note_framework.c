/* The note that a workload without a framework gets from `run`, `check` and `search`. Such a job
 * overlaps, fuses and shards only what its file says, which is less than any training framework
 * does: its step is longer than a user expects, and a search over it prefers other meshes. The note
 * lists the keys that the profile of Megatron Core would assume. A profile is a file of default
 * choices for a framework. */
#include <string.h>

#include "cli/job_options.h"

/* The framework of the note, which `import hf` and `new` assume as well. */
static const char USUAL[] = "megatron-core";

/* Top-level keys that the note leaves out. They belong to the job: its sizes, and its model, whose
 * family decides which of a profile's choices hold. */
static const char *const OF_JOB[] = {"name", "description", "framework", "platform",
                                     "mesh", "batch",       "model",     NULL};

/* Append a value of the profile as YAML flow text, such as "{a: 1, b: [2]}"; of a mapping only the
 * keys that the workload does not give. given: the workload's value of the same key; NULL: the
 * workload gives none. */
static void add_value(const ms_node *node, const ms_node *given, ms_buffer *out) {
    static const char *const BRACKETS[] = {"{}", "[]"};
    if (node->type == MS_NODE_SCALAR) {
        ms_buffer_puts(out, node->text);
        return;
    }
    const char *ends = BRACKETS[node->type == MS_NODE_SEQUENCE];
    ms_buffer_printf(out, "%c", ends[0]);
    bool is_first = true;
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        if (child->key != NULL && ms_node_get(given, child->key) != NULL) {
            continue;
        }
        ms_buffer_printf(out, "%s%s%s", is_first ? "" : ", ", child->key == NULL ? "" : child->key,
                         child->key == NULL ? "" : ": ");
        add_value(child, NULL, out);
        is_first = false;
    }
    ms_buffer_printf(out, "%c", ends[1]);
}

/* Append "key=value" for each key of the profile that the workload does not give, with commas;
 * "nothing more" if there is none. given: the workload's tree; NULL: the workload comes from no
 * file. */
static void add_assumptions(const ms_node *profile, const ms_node *given, ms_buffer *out) {
    bool is_first = true;
    for (const ms_node *child = profile->first; child != NULL; child = child->next) {
        const ms_node *own = ms_node_get(given, child->key);
        bool is_said = /* else of a mapping the keys that the workload lacks are listed */
            ms_cli_is_among(child->key, OF_JOB) || (own != NULL && child->type != MS_NODE_MAPPING);
        ms_buffer value = {0};
        add_value(child, own, &value);
        if (!is_said && strcmp(ms_buffer_text(&value), "{}") != 0) {
            ms_buffer_printf(out, "%s%s=%s", is_first ? "" : ", ", child->key,
                             ms_buffer_text(&value));
            is_first = false;
        }
        ms_buffer_release(&value);
    }
    ms_buffer_puts(out, is_first ? "nothing more" : "");
}

/* Read the profile of USUAL as a tree in `arena`. Returns NULL where it cannot be read; nothing is
 * reported, as the note is no part of the result. */
static const ms_node *read_profile(const char *data_folder, ms_arena *arena) {
    ms_diag mute;
    ms_job_spec spec;
    ms_buffer text = {0};
    ms_node *root = NULL;
    ms_diag_init_mute(&mute);
    bool is_read =
        ms_job_spec_of_framework(USUAL, data_folder, arena, &mute, &spec) == MS_OK &&
        ms_job_spec_write(&spec, &text) == MS_OK &&
        ms_yaml_parse(ms_buffer_text(&text), text.length, USUAL, arena, &mute, &root) == MS_OK;
    ms_buffer_release(&text);
    return is_read ? root : NULL;
}

ms_status ms_cli_note_framework(const ms_invocation *call, const char *data_folder,
                                const ms_job_spec *spec) {
    if (spec->framework.name != NULL || spec->framework.is_none || !spec->has_model) {
        return MS_OK;
    }
    const ms_node *profile = read_profile(data_folder, call->arena);
    ms_buffer text = {0};
    if (profile != NULL) {
        add_assumptions(profile, spec->source.root, &text);
        ms_diag_note(call->diag, NULL, NULL,
                     "no framework is named: only what the file says is overlapped, fused and "
                     "sharded; '--set framework=%s' would assume %s",
                     USUAL, ms_buffer_text(&text));
    }
    bool has_failed = text.failed || call->arena->has_failed;
    ms_buffer_release(&text);
    return has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
}
