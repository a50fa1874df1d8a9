/* What the readers and writers of schedule files share. */
#ifndef MS_SCHEDULE_CSV_TABLE_H
#define MS_SCHEDULE_CSV_TABLE_H

#include "schedule/internal.h"
#include "schedule/schedule_csv.h"

/** Type as it is written after the stage, "" for blanks. */
const char *ms_csv_op_name(ms_csv_op op);
/** Whether a cell is a forward or backward pass or one half of one. */
bool ms_csv_is_pass(const ms_csv_cell *cell);
/** Number from 1 of cell `index` in row `rank` of the file, where a pair is one cell. */
long ms_csv_cell_number(const ms_csv_table *table, int rank, size_t index);
/** Report a fault of cell `index` (SIZE_MAX: of the row as a whole) of row `rank`, with its place
 * and number.  Returns MS_E_INPUT. */
ms_status ms_csv_fault(const ms_csv_table *table, int rank, size_t index, ms_diag *diag,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/** Check the communication of a table whose passes make up `program`: MS_OK at once if nothing is
 * sent or received.  MS_E_INPUT, MS_E_NOMEM (reported). */
ms_status ms_csv_check_comms(const ms_csv_table *table, const ms_program *program, ms_diag *diag);

#endif
