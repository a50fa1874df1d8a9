/**
 * @file
 * Schedules as PyTorch's CSV files: one line per rank, one cell per action.
 *
 * A cell is `<stage><TYPE><microbatch>`, such as 2F0, or `(2F4;1B0)OVERLAP_F_B`. Compute-only files
 * hold F, I, B, W and pairs, and empty cells for idle time steps; files with communication also
 * hold what the ranks send, receive, gather and reduce, and no empty cells. Files of 2024 write the
 * input gradient B and the whole backward pass BW (legacy). Source: torch.distributed.pipelining,
 * _Action and _PipelineScheduleRuntime._load_csv, _add_unshard_reshard, _add_reduce_grad,
 * _add_send_recv.
 */
#ifndef MESHSIM_SCHEDULE_CSV_H
#define MESHSIM_SCHEDULE_CSV_H

#include "schedule/schedule.h"

/** Actions of cells; the first four are the passes of ms_pass. */
typedef enum ms_csv_op {
    MS_CSV_F = MS_PASS_F,
    MS_CSV_I = MS_PASS_I,
    MS_CSV_W = MS_PASS_W,
    MS_CSV_B = MS_PASS_B,
    MS_CSV_UNSHARD, /**< gather a stage's parameters from its shards */
    MS_CSV_RESHARD, /**< drop a stage's gathered parameters, back to its shards */
    MS_CSV_REDUCE_GRAD,
    MS_CSV_SEND_F, /**< to the next stage */
    MS_CSV_RECV_F, /**< of the previous stage's result */
    MS_CSV_SEND_B, /**< to the previous stage */
    MS_CSV_RECV_B, /**< of the next stage's gradient */
    MS_CSV_BLANK,
    MS_CSV_OP_COUNT,
} ms_csv_op;

/** One cell, or one half of a pair. */
typedef struct ms_csv_cell {
    uint8_t op;        /**< ms_csv_op */
    uint8_t is_paired; /**< overlapped with the next one, which is the rest of the same cell */
    int16_t stage;     /**< -1: none */
    int32_t mb;        /**< -1: none */
} ms_csv_cell;

/** A file's cells. */
typedef struct ms_csv_table {
    int ranks;          /**< lines */
    size_t *first;      /**< [ranks + 1] rank r's cells are cells[first[r] .. first[r+1]) */
    ms_csv_cell *cells; /**< [first[ranks]] */
    bool is_legacy;     /**< B and BW in the place of I and B */
    bool has_comms;     /**< some cell is more than F, I, B, W or empty */
    const char *name;   /**< of the file, for diagnostics */
    const char *text;   /**< [length_B] it was read from, borrowed; NULL: made by the program */
    size_t length_B;
} ms_csv_table;

/** Read a file's text; a byte order mark, and blanks and quotes around cells, say nothing.
 *  text: [length_B], outlives the table.  name: for diagnostics, likewise.  *table_out: in `arena`.
 *  Returns MS_OK; MS_E_INPUT (up to 20 faults reported, each with row, cell and rule; more than
 *  32767 lines or 1e8 cells); MS_E_NOMEM.  O(length_B). */
ms_status ms_csv_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                      ms_diag *diag, ms_csv_table *table_out);

/** Read a file of at most 256 MiB: its text, and then as ms_csv_read.
 *  path: as in diagnostics, kept.  *table_out: in `arena`.  Returns as ms_file_read and
 * ms_csv_read. */
ms_status ms_csv_load(const char *path, ms_arena *arena, ms_diag *diag, ms_csv_table *table_out);

/** Append a table as a file: the bytes that were read; of one that the program made, its cells in
 * the dialect it says, with LF ends. */
void ms_csv_write(const ms_csv_table *table, ms_buffer *out);

/** A table as a program: ranks from lines, placement from where each stage stands, microbatches
 * counted. Communication is checked (each message sent and received once, sent after and received
 * before the pass it belongs to, no deadlock) and left out; where cells unshard parameters and
 * reshard them, the program keeps their places. name: of the program, kept.  slices: K >= 1; from 2
 * on what the file counts as microbatches are slices of sequences, mb = microbatch * K + slice, and
 * their order is checked. *program_out: in `arena`, kind MS_SCHEDULE_CUSTOM; two directions if the
 * lists say so.  Returns MS_OK; MS_E_INPUT (row, cell and rule, or the cells of a deadlock,
 * reported); MS_E_NOMEM. O(cells). */
ms_status ms_csv_program(const ms_csv_table *table, const char *name, int slices, ms_arena *arena,
                         ms_diag *diag, ms_program *program_out);

/** How a program is written. */
typedef struct ms_csv_form {
    bool has_sends;    /**< SEND and RECV cells */
    bool has_shards;   /**< UNSHARD, RESHARD (three stages at a time) and REDUCE_GRAD cells */
    bool merges_pairs; /**< an input gradient and the weight gradient behind it become one B */
} ms_csv_form;

/** A program as a table, lowered as PyTorch does.
 *  *table_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) if the lists deadlock; MS_E_NOMEM.
 * O(actions). */
ms_status ms_csv_lower(const ms_program *program, const ms_csv_form *form, ms_arena *arena,
                       ms_diag *diag, ms_csv_table *table_out);

#endif
