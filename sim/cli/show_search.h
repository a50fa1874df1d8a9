/* Makes the result tree of `meshsim search`. */
#ifndef MS_CLI_SHOW_SEARCH_H
#define MS_CLI_SHOW_SEARCH_H

#include "cli/cli.h"
#include "search/search.h"

/* A finished search.  All is borrowed. */
typedef struct ms_shown_search {
    const char *workload; /* path of its file, as the user gave it */
    const ms_search_goal *goal;
    bool is_by_platform; /* the best of each platform were wanted */
    const ms_space *space;
    const ms_search_findings *result;
    size_t explained; /* rank, from 1, of the candidate that --explain compares with the best one;
                         0: none */
} ms_shown_search;

/* Make the tree that --json prints.  In `arena`; NULL or incomplete when memory runs out, which the
 * arena remembers. */
ms_value *ms_show_search_tree(const ms_shown_search *shown, ms_arena *arena);

/* Add to the tree of ms_show_search_tree the values that text and Markdown show and --json does not
 * print: the object `page`, and further keys of each result.  root: NULL adds nothing. */
void ms_show_search_add_page(const ms_shown_search *shown, ms_value *root);

/* Add to the tree, as `rest`: {estimated, results[]}, the candidates that are not among the best.
 * Of those that were not simulated only estimate, bound and memory are known. */
void ms_show_search_rest(const ms_shown_search *shown, ms_value *root);

#endif
