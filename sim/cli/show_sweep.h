/* What `sweep` prints. */
#ifndef MS_CLI_SHOW_SWEEP_H
#define MS_CLI_SHOW_SWEEP_H

#include "cli/cli.h"
#include "search/points.h"
#include "search/sweep.h"

/* A simulated sweep.  All is borrowed. */
typedef struct ms_shown_sweep {
    const ms_sweep *sweep;
    const ms_store_row *rows; /* [count] */
    const size_t *points;     /* [count] number of each in the sweep */
    size_t count;
    const ms_points_counts *counts;
} ms_shown_sweep;

/* The tree of --json.  In `arena`; lack of memory shows there. */
ms_value *ms_show_sweep_tree(const ms_shown_sweep *shown, ms_arena *arena);

/* Add to each row the values that text and Markdown show and --json does not print: those of the
 * sweep's own keys, as `varied`. */
void ms_show_sweep_add_page(const ms_shown_sweep *shown, ms_value *root);

#endif
