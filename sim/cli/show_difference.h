/* The outcome of `meshsim compare`: as a page, as Markdown, as JSON and as JUnit's XML. */
#ifndef MS_CLI_SHOW_DIFFERENCE_H
#define MS_CLI_SHOW_DIFFERENCE_H

#include "base/buffer.h"
#include "cli/cli.h"
#include "search/compare.h"

/** What is shown. */
typedef struct ms_shown_comparison {
    const char *paths[2]; /**< as the user gave them */
    const ms_compare_rules *rules;
    const ms_trace_comparison *comparison;
    ms_arena *arena;
} ms_shown_comparison;

/** Print its tables, as text or in Markdown.  Returns as ms_cli_show. */
ms_status ms_show_differences(const ms_invocation *call, const ms_shown_comparison *shown);

/** One object; NULL when memory ran out. */
const ms_value *ms_show_differences_tree(const ms_shown_comparison *shown);

/** A test suite for each trace, with a test case for each guard; without times, so that the same
 * traces give the same bytes.  Source: the Jenkins xUnit plugin's junit-10.xsd. */
void ms_show_differences_junit(const ms_shown_comparison *shown, ms_buffer *out);

/* ---- what all forms share ---- */

/** Append a leaf, or what a tree is; "-" for NULL.  digits: of numbers. */
void ms_show_value(const ms_value *value, int digits, ms_buffer *out);

/** Texts of both sides, numbers with as many digits as it takes to see that they differ, up to 9.
 *  texts_out: [2], in `arena`.  Returns false when memory ran out. */
bool ms_show_sides(const ms_difference *difference, ms_arena *arena, const char *texts_out[2]);

/** Append the relative difference, such as "+1.2 %"; nothing where there is none. */
void ms_show_relative(const ms_difference *difference, ms_buffer *out);

/** Append a guard in words: "step_time_s by at most +1 %". guard: index, 0 where none was named. */
void ms_show_guard(const ms_compare_rules *rules, size_t guard, ms_buffer *out);

/** Append all guards, and the tolerances within which differences pass. */
void ms_show_guards(const ms_compare_rules *rules, ms_buffer *guards_out, ms_buffer *passes_out);

/** Append by which versions two traces were written whose figures differ: "a by meshsim 0.1.0, b by
 * meshsim 0.2.0"; nothing where the versions or the figures are the same. */
void ms_show_versions(const ms_compared_trace *trace, ms_buffer *out);

/** Append that a trace holds no resolved inputs, so that changed defaults are unknown; nothing
 * where both do. */
void ms_show_unknown_defaults(const ms_compared_trace *trace, ms_buffer *out);

/** Whether the versions are worth telling. */
bool ms_show_has_versions(const ms_compared_trace *trace);

/** Append what came of one trace: "equal", "2 of 520 quantities differ, 1 breaks the guard", ... */
void ms_show_verdict(const ms_compared_trace *trace, ms_buffer *out);

/** Append what came of a folder: "traces: 1 equal, 2 differ, 0 on one side only; none breaks
 * ..." */
void ms_show_count(const ms_trace_comparison *comparison, ms_buffer *out);

#endif
