/* A grid: a table of a result as rows and columns of texts, from which text and Markdown are
 * made. */
#ifndef MS_CLI_GRID_H
#define MS_CLI_GRID_H

#include "cli/render.h"

/* Most columns of a grid; further ones are left out. */
enum { MS_GRID_COLUMNS_MAX = 64 };

/* The columns that have a value in at least one row, and all cells as texts. */
typedef struct ms_grid {
    const ms_shown_column *columns[MS_GRID_COLUMNS_MAX]; /* [count] */
    const char **cells; /* [rows * count] row by row; "": the row has no value */
    size_t rows;
    size_t count; /* of columns */
} ms_grid;

/* Make the grid of a table; its `rows` is 0 where the tree has no value that the table shows.  The
 * cells are in the tree's arena, which remembers that memory ran out. */
ms_grid ms_grid_make(const ms_shown_table *table, const ms_value *tree);

/* The list, object or text of the tree that a table's path leads to; NULL: the tree has none. */
const ms_value *ms_grid_source(const ms_shown_table *table, const ms_value *tree);

#endif
