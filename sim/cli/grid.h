/* A table of a result as rows of texts, before any form is made of it. */
#ifndef MS_CLI_GRID_H
#define MS_CLI_GRID_H

#include "cli/render.h"

enum { MS_GRID_COLUMNS_MAX = 64 };

/* Columns that some row has, and their cells. */
typedef struct ms_grid {
    const ms_shown_column *columns[MS_GRID_COLUMNS_MAX]; /* [count] */
    const char **cells;                                  /* [rows * count]; "": the row has none */
    size_t rows;
    size_t count; /* of columns */
} ms_grid;

/* Make the cells of a table; `rows` is 0 where the tree has nothing that the table shows.  The
 * cells lie in the tree's arena, which remembers that memory ran out. */
ms_grid ms_grid_make(const ms_shown_table *table, const ms_value *tree);

/* The list, object or text that holds the rows of a table; NULL: the tree has none. */
const ms_value *ms_grid_holder(const ms_shown_table *table, const ms_value *tree);

#endif
