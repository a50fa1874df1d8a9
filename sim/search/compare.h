/**
 * @file
 * Comparing runs: what differs between two result trees, two traces or two folders of traces, and
 * whether it is more than what a guard lets pass.
 *
 * A key is the dotted path of a quantity ("time_share.compute") and stands for it and all below it.
 * A row of a list is named by what it is and not by its place:
 * "collectives[tp.all_gather.16777216].time_s" (axis, kind, bytes; with tier and algorithm behind
 * where those do not tell rows apart), "kernels[qkv].shape", "stages[3].peak_B" (pipeline rank). In
 * the keys of guards and tolerances the first words of a row stand for all rows that begin so
 * ("collectives[tp]"), and '*' stands for any one word ("comm.*.exposed_s", "kernels[*].time_s").
 */
#ifndef MESHSIM_COMPARE_H
#define MESHSIM_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"
#include "trace/compare_inputs.h"
#include "trace/trace.h"

/** How far quantities may differ. */
typedef struct ms_tolerance {
    const char *key; /**< "" for all; of several that fit the longest holds, of those the last */
    double share;    /**< of the larger of |a| and |b|, >= 0; 1 lets everything pass */
} ms_tolerance;

/** What must not change. */
typedef struct ms_guard {
    const char *key;
    bool is_increase; /**< only more is a fault; else any change beyond the tolerance */
    double share;     /**< is_increase: of |a|, how much more is let pass, >= 0 */
} ms_guard;

/** What is compared, what is let pass and what is guarded.  All arrays are borrowed. */
typedef struct ms_compare_rules {
    const ms_tolerance *tolerances; /**< [tolerance_count] */
    size_t tolerance_count;
    const ms_guard *guards; /**< [guard_count]; none: everything but texts is guarded.  One that is
                               no increase leaves out what no guard names. */
    size_t guard_count;
} ms_compare_rules;

/** Where a trace of two folders stands. */
typedef enum ms_compare_side {
    MS_COMPARE_BOTH,
    MS_COMPARE_ONLY_A,
    MS_COMPARE_ONLY_B
} ms_compare_side;

/** Two traces of one name. */
typedef struct ms_compared_trace {
    const char *name; /**< of the file in both folders; of two files: the path of b */
    ms_compare_side side;
    double step_time_s[2];      /**< of a and b; NAN where there is none */
    const ms_value *summary[2]; /**< of a and b; NULL where there is none */
    const char *versions[2];    /**< of the program that wrote a and b */
    bool lacks_defaults[2];     /**< a, b: written by a version that did not keep resolved inputs */
    ms_differences defaults;    /**< that changed, by key; none is guarded */
    ms_differences inputs;      /**< that the user gave and that differ, of the workload and its
                                   platform, by key; none is guarded */
    ms_differences differences; /**< of the results: step time first, then by size */
    bool has_failed;            /**< a difference has, or it is missing where it is guarded */
} ms_compared_trace;

/** The outcome of a comparison of files or folders. */
typedef struct ms_trace_comparison {
    bool are_folders;
    ms_compared_trace *traces; /**< [count], by name */
    size_t count;
    bool is_equal;   /**< no result differs and no trace is missing, whatever the inputs */
    bool guarded_ok; /**< nothing that is guarded differs by more than is let pass */
} ms_trace_comparison;

/** Compare two result trees.  Wall time, the program's memory use, versions and paths are left out.
 * Numbers differ when |a - b| > share * max(|a|, |b|) with the tolerance of their key, and not by
 * noise alone; other texts or truth values, and what is on one side only, differ by 1, that is 100
 * percent.  A text is guarded only by the key of itself, not by one above it.
 *  *differences_out: in `arena`, the values borrowed from the trees.  keys: char pointers in
 * `arena`, appended: the keys of all quantities on either side.  Returns MS_OK; MS_E_NOMEM.
 *  O(values * rules), and in each list O(rows^2). */
ms_status ms_compare(const ms_value *a, const ms_value *b, const ms_compare_rules *rules,
                     ms_arena *arena, ms_vector *keys, ms_differences *differences_out);

/** Check that every key of the rules stands for some quantity.
 *  keys: of ms_compare.  Returns MS_OK; MS_E_USAGE, each unknown key reported with the nearest;
 * MS_E_NOMEM.  O(keys * rules). */
ms_status ms_compare_check_keys(const ms_compare_rules *rules, const ms_vector *keys,
                                ms_diag *diag);

/** Tell defaults that changed from inputs that differ: keys whose value in use differs though
 * neither side typed it. Where what was typed differs, too, those whose values may follow from it
 * are left out: derived ones, and those that the sides took from different places or that one of
 * them lacks. a, b: as ms_trace_read left them; a trace without resolved inputs has no defaults to
 * tell. inputs: of ms_compare_inputs; what is a changed default is taken out, what an option gave
 * (--platform, --fidelity) is added.  *defaults_out: by key, in
 * `arena`, `a` or `b` NULL where the key is not given.  Returns MS_OK; MS_E_INPUT (reported with
 * the line) when resolved inputs are damaged; MS_E_NOMEM.  O(keys * log keys). */
ms_status ms_compare_defaults(const ms_trace *a, const ms_trace *b, ms_arena *arena, ms_diag *diag,
                              ms_differences *inputs, ms_differences *defaults_out);

/** Compare two traces, or the traces (*.h5) of two folders by their names.  A trace that is missing
 * in b fails; one that is new in b differs, and fails where no guard was named.
 *  paths: [2], both files or both folders.  *comparison_out: in `arena`.  Returns MS_OK;
 * MS_E_USAGE as ms_compare_check_keys; MS_E_INPUT and MS_E_IO as ms_trace_read, and MS_E_INPUT for
 * a folder beside a file or without traces; all reported; MS_E_NOMEM. */
ms_status ms_compare_traces(const char *const paths[2], const ms_compare_rules *rules,
                            ms_arena *arena, ms_diag *diag, ms_trace_comparison *comparison_out);

#endif
