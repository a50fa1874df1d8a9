/**
 * @file
 * Comparing runs: the differences between two result trees, two traces or two folders of traces,
 * and whether a difference is larger than a guard allows. A guard is a rule of the user about a
 * quantity that must not change, so that a script can fail when the quantity does.
 *
 * A key is the dotted path of a quantity ("time_share.compute"), or of several: it matches the
 * quantity of exactly this path and all quantities below it. A row of a list is named by its
 * contents, not by its position: "collectives[tp.all_gather.16777216].time_s" (axis, kind, bytes;
 * also tier and algorithm where the first three do not tell rows apart), "kernels[qkv].shape",
 * "stages[3].peak_B" (pipeline rank). In the keys of guards and tolerances the first words of a
 * row's name match all rows that begin with these words ("collectives[tp]"), and '*' matches any
 * one word ("comm.*.exposed_s", "kernels[*].time_s").
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

/** A maximum difference of quantities. */
typedef struct ms_tolerance {
    const char *key; /**< "": all quantities. Of several matching keys the longest counts, and of
                        equally long ones the last */
    double share;    /**< allowed share of the larger of |a| and |b|, >= 0; 1 allows everything */
} ms_tolerance;

/** A guard: quantities that must not change. */
typedef struct ms_guard {
    const char *key;
    int direction; /**< 1: only an increase fails; -1: only a decrease; 0: any change beyond the
                      tolerance */
    double share;  /**< with a direction: allowed change as a share of |a|, >= 0 */
} ms_guard;

/** The rules of a comparison.  All arrays are borrowed. */
typedef struct ms_compare_rules {
    const ms_tolerance *tolerances; /**< [tolerance_count] */
    size_t tolerance_count;
    const ms_guard *guards; /**< [guard_count]; without any, all quantities but texts are guarded.
                               If some guard has no direction, only guarded quantities are listed */
    size_t guard_count;
    const char *(*renamed)[2]; /**< [renamed_count][2]: name of a trace's file in a, and in b */
    size_t renamed_count;
} ms_compare_rules;

/** Which of two folders have a trace. */
typedef enum ms_compare_side {
    MS_COMPARE_BOTH,
    MS_COMPARE_ONLY_A,
    MS_COMPARE_ONLY_B
} ms_compare_side;

/** Two traces of one name. */
typedef struct ms_compared_trace {
    const char *name;     /**< of the file in b, or in a as b would call it; of two files: the path
                             of b */
    const char *paths[2]; /**< of a and b; where a side has no such trace, that of the other */
    ms_compare_side side;
    double step_time_s[2];      /**< of a and b [s]; NAN where a side has no such trace */
    const ms_value *summary[2]; /**< of a and b; NULL where a side has no such trace */
    const char *versions[2];    /**< of the program that wrote a and b */
    bool lacks_defaults[2];     /**< a, b: written by a version that did not keep resolved inputs */
    ms_differences defaults;    /**< defaults that changed, by key; none is guarded */
    ms_differences inputs;      /**< inputs of the user that differ, of the workload and its
                                   platform, by key; none is guarded */
    ms_differences differences; /**< of the results: what breaks a guard first, then the step time,
                                   then by size */
    bool are_offers;            /**< the platform or the number of GPUs differs, and no guard was
                                   named */
    bool has_failed;            /**< a guarded quantity differs too much, or the trace is missing */
} ms_compared_trace;

/** The outcome of a comparison of files or folders. */
typedef struct ms_trace_comparison {
    bool are_folders;
    ms_compared_trace *traces; /**< [count], by name */
    size_t count;
    size_t let_pass; /**< quantities of all traces that differ within their tolerance */
    bool is_equal;   /**< no result differs and no trace is missing, whatever the inputs */
    bool guarded_ok; /**< no guard is broken */
} ms_trace_comparison;

/** Compare two result trees. Wall time, the program's memory use, versions and paths are left out.
 * Numbers differ when |a - b| > share * max(|a|, |b|) with the tolerance of their key, and by more
 * than rounding. Texts or truth values that are not equal, and values on one side only, differ by
 * 1, that is 100 percent. A text is guarded only by a guard of exactly its own key.
 *  *differences_out: in `arena`, the values borrowed from the trees. keys: of const char * in
 * `arena`, appended: the keys of all quantities of either side. Returns MS_OK; MS_E_NOMEM. O(values
 * * rules), and O(rows^2) in each list. */
ms_status ms_compare(const ms_value *a, const ms_value *b, const ms_compare_rules *rules,
                     ms_arena *arena, ms_vector *keys, ms_differences *differences_out);

/** Check that every key of the rules matches some quantity; otherwise it is a typing error.
 *  keys: of ms_compare. Returns MS_OK; MS_E_USAGE, each unknown key reported with the nearest one;
 * MS_E_NOMEM. O(keys * rules). */
ms_status ms_compare_check_keys(const ms_compare_rules *rules, const ms_vector *keys,
                                ms_diag *diag);

/** Find defaults that changed: keys whose value differs though neither user typed it. If typed
 * inputs differ, too, keys whose values may follow from them are left out: derived keys, and keys
 * that the sides took from different places or that one side lacks.
 *  a, b: as ms_trace_read left them; without resolved inputs a trace has no defaults to compare,
 * and none are found. inputs: from ms_compare_inputs; changed defaults are removed, and keys that
 * were given by an option (--platform, --fidelity) are added. *defaults_out: by key, in `arena`;
 * `a` or `b` of a difference is NULL where that side has no value. Returns MS_OK; MS_E_INPUT
 * (reported with the line) when resolved inputs are damaged; MS_E_NOMEM. O(keys * log keys). */
ms_status ms_compare_defaults(const ms_trace *a, const ms_trace *b, ms_arena *arena, ms_diag *diag,
                              ms_differences *inputs, ms_differences *defaults_out);

/** Compare two traces, or the traces (*.h5) of two folders by their names, of which the rules may
 * rename those of a. A trace that b lacks fails; one that only b has is a difference, and fails if
 * no guard was named. paths: [2], both files or both folders. *comparison_out: in `arena`. Returns
 * MS_OK; MS_E_USAGE as ms_compare_check_keys, and for a renamed trace that its folder lacks;
 * MS_E_INPUT and MS_E_IO as ms_trace_read, and MS_E_INPUT for a folder beside a file or without
 * traces; all reported; MS_E_NOMEM. */
ms_status ms_compare_traces(const char *const paths[2], const ms_compare_rules *rules,
                            ms_arena *arena, ms_diag *diag, ms_trace_comparison *comparison_out);

#endif
