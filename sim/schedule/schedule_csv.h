/**
 * @file
 * Schedules as PyTorch's CSV files: one line per rank, one cell per action.
 *
 * A cell is `<stage><TYPE><microbatch>`, such as 2F0, or an overlapped pair,
 * `(2F4;1B0)OVERLAP_F_B`. Compute-only files have F, I, B, W and pairs, and empty cells for idle
 * time steps; files with communication also have SEND, RECV, UNSHARD, RESHARD and REDUCE_GRAD
 * cells, and no empty cells. Files of 2024 (legacy) name the input gradient B and the whole
 * backward pass BW. Source: torch.distributed.pipelining, _Action and
 * _PipelineScheduleRuntime._load_csv, _add_unshard_reshard, _add_reduce_grad, _add_send_recv.
 */
#ifndef MESHSIM_SCHEDULE_CSV_H
#define MESHSIM_SCHEDULE_CSV_H

#include "schedule/schedule.h"

/** Operations of cells; the first four are the passes of ms_pass. */
typedef enum ms_csv_op {
    MS_CSV_F = MS_PASS_F,
    MS_CSV_I = MS_PASS_I,
    MS_CSV_W = MS_PASS_W,
    MS_CSV_B = MS_PASS_B,
    MS_CSV_UNSHARD, /**< gather a stage's parameters from its shards */
    MS_CSV_RESHARD, /**< drop a stage's gathered parameters, back to its shards */
    MS_CSV_REDUCE_GRAD,
    MS_CSV_SEND_F, /**< send the stage's result to the next stage */
    MS_CSV_RECV_F, /**< receive the previous stage's result */
    MS_CSV_SEND_B, /**< send the stage's gradient to the previous stage */
    MS_CSV_RECV_B, /**< receive the next stage's gradient */
    MS_CSV_BLANK,  /**< empty cell */
    MS_CSV_OP_COUNT,
} ms_csv_op;

/** One cell, or one of the two passes of a cell with an overlapped pair. */
typedef struct ms_csv_cell {
    uint8_t op;        /**< ms_csv_op */
    uint8_t is_paired; /**< first of an overlapped pair; the next entry is the second */
    int16_t stage;     /**< -1: none */
    int32_t mb;        /**< -1: none */
} ms_csv_cell;

/** The cells of a file. */
typedef struct ms_csv_table {
    int ranks;          /**< lines */
    size_t *first;      /**< [ranks + 1] rank r's cells are cells[first[r] .. first[r+1]) */
    ms_csv_cell *cells; /**< [first[ranks]] */
    bool is_legacy;     /**< the file names I and B as B and BW */
    bool has_comms;     /**< some cell is neither a pass nor empty */
    const char *name;   /**< of the file, for diagnostics */
    const char *text;   /**< [length_B] of the file, borrowed; NULL: the table is not from a file */
    size_t length_B;
} ms_csv_table;

/** Read the text of a file; a byte order mark, and blanks and quotes around cells, are ignored.
 *  text: [length_B], borrowed by the table.  name: for diagnostics, likewise.  *table_out: in
 * `arena`.
 *  Returns MS_OK; MS_E_INPUT (up to 20 faults reported, each with row, cell and rule; more than
 *  32767 lines or 1e8 cells); MS_E_NOMEM.  O(length_B). */
ms_status ms_csv_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                      ms_diag *diag, ms_csv_table *table_out);

/** Read a file of at most 256 MiB, with ms_csv_read.
 *  path: also the name in diagnostics, borrowed by the table.  *table_out: in `arena`.  Returns as
 * ms_file_read and ms_csv_read. */
ms_status ms_csv_load(const char *path, ms_arena *arena, ms_diag *diag, ms_csv_table *table_out);

/** Append a table as the text of a file: of a table that was read, the same bytes; of any other,
 * its cells in the dialect that is_legacy says, with LF ends. */
void ms_csv_write(const ms_csv_table *table, ms_buffer *out);

/** Make a program from a table. P is the number of lines; a stage belongs to the rank in whose line
 * its passes are; M is counted. SEND and RECV cells are checked (each message sent and received
 * once, sent after the pass that makes it and received before the pass that needs it, no deadlock)
 * and left out. UNSHARD and RESHARD cells become the program's moves.
 *  name: of the program, borrowed.  slices: K >= 1; for K > 1, the microbatches of the file are
 * slices of sequences, mb = microbatch * K + slice, and their order is checked. *program_out: in
 * `arena`, kind MS_SCHEDULE_CUSTOM, with two directions if the order of passes shows them.  Returns
 * MS_OK; MS_E_INPUT (line, cell and rule, or the cells of a deadlock, reported); MS_E_NOMEM.
 * O(cells). */
ms_status ms_csv_program(const ms_csv_table *table, const char *name, int slices, ms_arena *arena,
                         ms_diag *diag, ms_program *program_out);

/** Cells that a program is written with. */
typedef struct ms_csv_form {
    bool has_sends;    /**< SEND and RECV cells */
    bool has_shards;   /**< UNSHARD, RESHARD (at most three stages ahead) and REDUCE_GRAD cells */
    bool merges_pairs; /**< an I and the W of the same stage and microbatch right behind it become
                          one B */
} ms_csv_form;

/** Make a table from a program, lowered as PyTorch does.
 *  *table_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) if the lists deadlock; MS_E_NOMEM.
 * O(actions). */
ms_status ms_csv_lower(const ms_program *program, const ms_csv_form *form, ms_arena *arena,
                       ms_diag *diag, ms_csv_table *table_out);

#endif
