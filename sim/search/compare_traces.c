/* Compares two traces, or the traces of two folders by their names (compare.h): results, inputs,
 * changed defaults and versions. Side 0 is a, side 1 is b. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "search/compare.h"

/* The state of a comparison, `p` in this file. */
typedef struct pairing {
    const ms_compare_rules *rules;
    ms_arena *arena;
    ms_diag *diag;
    ms_vector keys; /* of const char *: keys of all quantities of all traces */
} pairing;

/* ---- a pair of traces ---- */

/* Compare the results of two traces. *out: with copies of both. Returns MS_OK; MS_E_NOMEM
 * (reported). */
static ms_status compare_summaries(pairing *p, const ms_trace traces[2], ms_compared_trace *out) {
    const ms_value *a = ms_value_copy(traces[0].summary, p->arena);
    const ms_value *b = ms_value_copy(traces[1].summary, p->arena);
    if (a == NULL || b == NULL ||
        ms_compare(a, b, p->rules, p->arena, &p->keys, &out->differences) != MS_OK) {
        return ms_diag_no_memory(p->diag);
    }
    out->step_time_s[0] = ms_value_number(a, "step_time_s", NAN);
    out->step_time_s[1] = ms_value_number(b, "step_time_s", NAN);
    out->summary[0] = a;
    out->summary[1] = b;
    return MS_OK;
}

/* Compare the inputs of two traces, their defaults, and the versions that wrote them. Returns as
 * ms_compare_defaults. */
static ms_status compare_given(pairing *p, const ms_trace traces[2], ms_compared_trace *out) {
    ms_status status = ms_compare_inputs(&traces[0], &traces[1], p->arena, p->diag, &out->inputs);
    status = status == MS_OK ? ms_compare_defaults(&traces[0], &traces[1], p->arena, p->diag,
                                                   &out->inputs, &out->defaults)
                             : status;
    for (int i = 0; i < 2 && status == MS_OK; i++) {
        out->lacks_defaults[i] = traces[i].inputs.resolved == NULL;
        out->versions[i] = ms_arena_strdup(p->arena, traces[i].program_version);
        status = out->versions[i] == NULL ? MS_E_NOMEM : MS_OK;
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(p->diag) : status;
}

/* Read and compare two traces, whose paths are set. The traces, whose tables may be large, are
 * released; *out keeps copies. Returns as ms_trace_read and compare_given. */
static ms_status compare_pair(pairing *p, ms_compared_trace *out) {
    ms_arena scratch;
    ms_trace traces[2];
    ms_status status = MS_OK;
    ms_arena_init(&scratch);
    for (size_t i = 0; i < 2 && status == MS_OK; i++) {
        status = ms_trace_read(out->paths[i], MS_TRACE_NOTHING, &scratch, p->diag, &traces[i]);
    }
    status = status == MS_OK ? compare_summaries(p, traces, out) : status;
    status = status == MS_OK ? compare_given(p, traces, out) : status;
    out->has_failed = out->differences.failed > 0;
    for (size_t i = 0; i < out->differences.count && p->rules->guard_count == 0; i++) {
        const char *key = out->differences.items[i].key;
        out->are_offers =
            out->are_offers || strcmp(key, "platform") == 0 || strcmp(key, "gpus") == 0;
    }
    ms_arena_release(&scratch);
    return status;
}

/* ---- folders ---- */

/* Names of the traces of a folder, sorted. */
typedef struct listing {
    const char **names;
    size_t count;
} listing;

/* Report a path that cannot be read. error: an errno. Returns MS_E_INPUT if the path does not
 * exist, else MS_E_IO. */
static ms_status report_path(pairing *p, const char *path, int error) {
    ms_diag_error(p->diag, "cannot read '%s': %s", path, strerror(error));
    return error == ENOENT || error == ENOTDIR ? MS_E_INPUT : MS_E_IO;
}

/* List the traces of a folder, without hidden files. Returns MS_OK; MS_E_INPUT if there are none;
 * MS_E_IO; MS_E_NOMEM (all reported). */
static ms_status list_folder(pairing *p, const char *path, listing *out) {
    ms_vector names;
    ms_vector_init(&names, sizeof(const char *));
    int error = ms_folder_list(path, ".h5", p->arena, &names);
    size_t count = names.count;
    const char **items = ms_vector_keep(&names, p->arena);
    if (error == ENOMEM || items == NULL) {
        return ms_diag_no_memory(p->diag);
    }
    if (error != 0) {
        return report_path(p, path, error);
    }
    *out = (listing){.names = items};
    for (size_t i = 0; i < count; i++) {
        if (items[i][0] != '.') {
            items[out->count++] = items[i];
        }
    }
    if (out->count == 0) {
        return ms_diag_error(p->diag, "no traces (*.h5) in the folder '%s'", path);
    }
    return MS_OK;
}

/* The name of a trace's file on the other side: that of --map, or else the same.  side: the side
 * that `name` is of. */
static const char *other_name(const ms_compare_rules *rules, const char *name, int side) {
    for (size_t i = 0; i < rules->renamed_count; i++) {
        if (strcmp(rules->renamed[i][side], name) == 0) {
            return rules->renamed[i][1 - side];
        }
    }
    return name;
}

/* Compare the traces of one name in two folders. out: its name and side are set. A trace that one
 * folder lacks is compared with itself, so that it is read and checked and its keys are known,
 * without any difference. It fails if b lacks it, or if b alone has it and no guard was named. */
static ms_status compare_named(pairing *p, const char *const folders[2], ms_compared_trace *out) {
    for (int i = 0; i < 2; i++) {
        int side = out->side == MS_COMPARE_ONLY_A ? 0 : out->side == MS_COMPARE_ONLY_B ? 1 : i;
        const char *file = side == 0 ? other_name(p->rules, out->name, 1) : out->name;
        out->paths[i] = ms_arena_printf(p->arena, "%s/%s", folders[side], file);
        if (out->paths[i] == NULL) {
            return ms_diag_no_memory(p->diag);
        }
    }
    ms_status status = compare_pair(p, out);
    if (out->side == MS_COMPARE_ONLY_A) {
        out->step_time_s[1] = NAN;
        out->summary[1] = NULL;
        out->has_failed = true;
    } else if (out->side == MS_COMPARE_ONLY_B) {
        out->step_time_s[0] = NAN;
        out->summary[0] = NULL;
        out->has_failed = p->rules->guard_count == 0;
    }
    return status;
}

/* Merge two sorted lists of names into one entry per name, with the side or sides that have it. */
static void merge(const listing lists[2], ms_trace_comparison *out) {
    size_t a = 0, b = 0;
    while (a < lists[0].count || b < lists[1].count) {
        int order = a == lists[0].count   ? 1
                    : b == lists[1].count ? -1
                                          : strcmp(lists[0].names[a], lists[1].names[b]);
        ms_compared_trace *trace = &out->traces[out->count++];
        trace->name = order <= 0 ? lists[0].names[a] : lists[1].names[b];
        trace->side = order < 0   ? MS_COMPARE_ONLY_A
                      : order > 0 ? MS_COMPARE_ONLY_B
                                  : MS_COMPARE_BOTH;
        a += order <= 0;
        b += order >= 0;
    }
}

/* Check that the folders have the traces that --map names. Returns MS_OK; MS_E_USAGE, each missing
 * trace reported with the nearest name. */
static ms_status check_renamed(pairing *p, const char *const paths[2], const listing lists[2]) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < 2 * p->rules->renamed_count; i++) {
        const listing *list = &lists[i % 2];
        const char *name = p->rules->renamed[i / 2][i % 2];
        if (bsearch(&name, list->names, list->count, sizeof name, ms_compare_names) == NULL) {
            ms_diag_error(p->diag, "--map: no trace '%s' in '%s'%s", name, paths[i % 2],
                          ms_nearest_hint(name, list->names, list->count).text);
            status = MS_E_USAGE;
        }
    }
    return status;
}

/* Compare the traces of two folders. */
static ms_status compare_folders(pairing *p, const char *const paths[2], ms_trace_comparison *out) {
    listing lists[2] = {{0}, {0}};
    ms_status status = list_folder(p, paths[0], &lists[0]);
    status = status == MS_OK ? list_folder(p, paths[1], &lists[1]) : status;
    status = status == MS_OK ? check_renamed(p, paths, lists) : status;
    if (status != MS_OK) {
        return status;
    }
    for (size_t i = 0; i < lists[0].count; i++) {
        lists[0].names[i] = other_name(p->rules, lists[0].names[i], 0);
    }
    qsort(lists[0].names, lists[0].count, sizeof(const char *), ms_compare_names);
    out->traces = MS_NEW(p->arena, ms_compared_trace, lists[0].count + lists[1].count);
    if (out->traces == NULL) {
        return ms_diag_no_memory(p->diag);
    }
    merge(lists, out);
    for (size_t i = 0; i < out->count && status == MS_OK; i++) {
        status = compare_named(p, paths, &out->traces[i]);
    }
    return status;
}

/* Compare two files. */
static ms_status compare_files(pairing *p, const char *const paths[2], ms_trace_comparison *out) {
    out->traces = MS_NEW(p->arena, ms_compared_trace, 1);
    if (out->traces == NULL) {
        return ms_diag_no_memory(p->diag);
    }
    out->count = 1;
    out->traces[0] = (ms_compared_trace){.name = paths[1], .paths = {paths[0], paths[1]}};
    return compare_pair(p, &out->traces[0]);
}

/* ---- both ---- */

/* Find out whether both paths are folders or both are files. Returns MS_OK; MS_E_INPUT, also for
 * one of each; MS_E_IO (all reported). */
static ms_status find_kind(pairing *p, const char *const paths[2], bool *are_folders_out) {
    bool is_folder[2];
    for (int i = 0; i < 2; i++) {
        struct stat facts;
        if (stat(paths[i], &facts) != 0) {
            return report_path(p, paths[i], errno);
        }
        is_folder[i] = S_ISDIR(facts.st_mode);
    }
    if (is_folder[0] != is_folder[1]) {
        return ms_diag_error(p->diag, "'%s' is a folder and '%s' is none; compare two of a kind",
                             paths[is_folder[0] ? 0 : 1], paths[is_folder[0] ? 1 : 0]);
    }
    *are_folders_out = is_folder[0];
    return MS_OK;
}

/* Set is_equal and guarded_ok of the whole comparison from its traces. */
static void sum_up(ms_trace_comparison *comparison) {
    comparison->is_equal = true;
    comparison->guarded_ok = true;
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        comparison->is_equal =
            comparison->is_equal && trace->side == MS_COMPARE_BOTH && trace->differences.count == 0;
        comparison->guarded_ok = comparison->guarded_ok && !trace->has_failed;
        comparison->let_pass += trace->differences.let_pass;
    }
}

/* Keys of the rules are checked last, against the quantities of all traces: a guard may be about
 * one trace only. */
ms_status ms_compare_traces(const char *const paths[2], const ms_compare_rules *rules,
                            ms_arena *arena, ms_diag *diag, ms_trace_comparison *comparison_out) {
    pairing p = {.rules = rules, .arena = arena, .diag = diag};
    ms_trace_comparison comparison = {.count = 0};
    ms_vector_init(&p.keys, sizeof(const char *));
    ms_status status = find_kind(&p, paths, &comparison.are_folders);
    if (status == MS_OK) {
        status = comparison.are_folders ? compare_folders(&p, paths, &comparison)
                                        : compare_files(&p, paths, &comparison);
    }
    status = status == MS_OK ? ms_compare_check_keys(rules, &p.keys, diag) : status;
    ms_vector_release(&p.keys);
    if (status == MS_OK) {
        sum_up(&comparison);
        *comparison_out = comparison;
    }
    return status;
}
