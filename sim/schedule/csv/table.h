/* Cells of schedule files: their names, and the places of cells in a file for messages. Shared by
 * the reader, the writer, the lowering of programs and the check of communication. */
#ifndef MS_SCHEDULE_CSV_TABLE_H
#define MS_SCHEDULE_CSV_TABLE_H

#include "schedule/internal.h"
#include "schedule/schedule_csv.h"

/** Name of an operation as files write it after the stage ("F", "SEND_F"); "" for empty cells.
 * Static storage. */
const char *ms_csv_op_name(ms_csv_op op);
/** Whether a cell is a pass: F, I, W or B. */
bool ms_csv_is_pass(const ms_csv_cell *cell);
/** Number in its line, from 1, of the cell at `index` of the table's cells. rank: its line. Counts
 * an overlapped pair, which is two entries of the table, as one, as it is one cell of the file. */
long ms_csv_cell_number(const ms_csv_table *table, int rank, size_t index);
/** Report a fault of the cell at `index` of the table's cells, with its line, column and number in
 * the line.
 *  rank: the line of the cell.  index: SIZE_MAX: a fault of the line as a whole.  Returns
 * MS_E_INPUT. */
ms_status ms_csv_fault(const ms_csv_table *table, int rank, size_t index, ms_diag *diag,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/** Check the SEND and RECV cells of a table: each message is sent once and received once, it is
 * sent after the pass that makes it and received before the pass that needs it, and no rank waits
 * for ever for a message of a rank that waits for it. program: of the table's passes, checked.
 * Returns MS_OK, also for a table without such cells; MS_E_INPUT, MS_E_NOMEM (reported).  O(cells).
 */
ms_status ms_csv_check_comms(const ms_csv_table *table, const ms_program *program, ms_diag *diag);

#endif
