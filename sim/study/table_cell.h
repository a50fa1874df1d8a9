/* What stands in a cell of a result table. */
#ifndef MS_STUDY_TABLE_CELL_H
#define MS_STUDY_TABLE_CELL_H

#include "meshsim/table.h"

/* A cell as a leaf that hangs on no tree: of type MS_VALUE_NULL where the row has no such value. */
ms_value ms_table_leaf(const ms_table_column *column, const void *row);

/* Number of a cell, of a whole number or a double; NAN where the row has none or it is no number.
 */
double ms_table_number(const ms_table_column *column, const void *row);

#endif
