/* What a search found, as a page and as a tree. */
#ifndef MS_CLI_SHOW_SEARCH_H
#define MS_CLI_SHOW_SEARCH_H

#include "cli/cli.h"
#include "search/search.h"

/* A finished search.  All is borrowed. */
typedef struct ms_shown_search {
    const char *workload; /* path of its file, as the user gave it */
    const ms_search_goal *goal;
    const ms_space *space;
    const ms_search_findings *result;
    size_t explained; /* rank that is set beside the best one; 0: none */
} ms_shown_search;

/* The tree of --json, in `arena`; NULL or incomplete when memory runs out. */
ms_value *ms_show_search_tree(const ms_shown_search *shown, ms_arena *arena);

/* Add to the tree the values that text and Markdown show and --json does not print: the object
 * `page`, and more keys of each result. */
void ms_show_search_add_page(const ms_shown_search *shown, ms_value *root);

/* Add to the tree what else was simulated or estimated, as `rest`: {estimated, results[]}; of those
 * that were estimated only estimate, bound and memory are known. */
void ms_show_search_rest(const ms_shown_search *shown, ms_value *root);

#endif
