/* Shows the outcome of `meshsim compare`: as a page, as Markdown, as JSON and as JUnit's XML. `a`
 * and `b` are the two sides, a trace or a folder of traces each; a guard names quantities that must
 * not change (search/compare.h). */
#ifndef MS_CLI_SHOW_DIFFERENCE_H
#define MS_CLI_SHOW_DIFFERENCE_H

#include "base/buffer.h"
#include "cli/cli.h"
#include "search/compare.h"

/** A comparison that is shown.  All is borrowed. */
typedef struct ms_shown_comparison {
    const char *paths[2]; /**< of a and b, as the user gave them */
    const ms_compare_rules *rules;
    const ms_trace_comparison *comparison;
    long top; /**< differences of each trace that the page and Markdown show at most, beside those
                 that break a guard that was named; 0: all */
    ms_arena *arena; /**< for texts and trees */
} ms_shown_comparison;

/** Print the tables of a comparison, as text or in Markdown.  Returns as ms_cli_show. */
ms_status ms_show_differences(const ms_invocation *call, const ms_shown_comparison *shown);

/** Make the tree that --json prints; NULL when memory ran out. */
const ms_value *ms_show_differences_tree(const ms_shown_comparison *shown);

/** Append a comparison as JUnit's XML: a test suite for each trace, with a test case for each
 * guard. A trace on one side only has failed or was skipped. There are no times in it, so that the
 * same traces give the same bytes.  Source: the Jenkins xUnit plugin's junit-10.xsd. */
void ms_show_differences_junit(const ms_shown_comparison *shown, ms_buffer *out);

/* ---- what all forms share ---- */

/** Append a value of a summary: a leaf, or for a list or object its kind and size.  value: NULL:
 * "-".  digits: significant digits of numbers. */
void ms_show_value(const ms_value *value, int digits, ms_buffer *out);

/** Make the texts of both sides of a difference; numbers have as many digits as show that they
 * differ, 6 to 9.  texts_out: [2] of a and b, in `arena`.  Returns false when memory ran out. */
bool ms_show_sides(const ms_difference *difference, ms_arena *arena, const char *texts_out[2]);

/** Append the relative difference, such as "+1.2 %"; nothing where it is not finite. */
void ms_show_relative(const ms_difference *difference, ms_buffer *out);

/** Append a guard: "step_time_s by at most +1 %".  guard: its index in the rules; 0 where no guard
 * was named, and everything but texts is guarded. */
void ms_show_guard(const ms_compare_rules *rules, size_t guard, ms_buffer *out);

/** Append all guards, and the tolerances within which differences pass, each with commas. */
void ms_show_guards(const ms_compare_rules *rules, ms_buffer *guards_out, ms_buffer *passes_out);

/** Append the versions that wrote two traces whose figures differ: "a by meshsim 0.1.0, b by
 * meshsim 0.2.0"; nothing where the versions or the figures are the same. */
void ms_show_versions(const ms_compared_trace *trace, ms_buffer *out);

/** Append that a trace holds no resolved inputs, so that changed defaults are unknown; nothing
 * where both traces hold them. */
void ms_show_unknown_defaults(const ms_compared_trace *trace, ms_buffer *out);

/** Whether ms_show_versions appends anything: figures and versions of the two traces differ. */
bool ms_show_has_versions(const ms_compared_trace *trace);

/** Append the outcome of one trace: "equal: 520 quantities compared", "within the tolerance: 3
 * quantities compared", "2 of 520 quantities differ, 1 breaks the guard", or "only in a". */
void ms_show_verdict(const ms_compared_trace *trace, ms_buffer *out);

/** Append the outcome of two folders: "traces: 1 equal, 2 differ, 0 on one side only; none breaks
 * the guard". */
void ms_show_count(const ms_trace_comparison *comparison, ms_buffer *out);

#endif
