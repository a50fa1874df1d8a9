/* Lowers a program to the cells of a schedule file (ms_csv_lower), as PyTorch lowers its
 * compute-only schedules to what its runtime executes. To the passes it adds, in this order:
 * UNSHARD and RESHARD of parameters, REDUCE_GRAD of gradients, and SEND and RECV of messages
 * between ranks. Each step moves every rank's list of cells, its row, out and writes the row anew.
 * Source: torch.distributed.pipelining.schedules, _merge_bw, _add_unshard_reshard, _add_reduce_grad
 * and _add_send_recv. */
#include <string.h>

#include "schedule/csv/table.h"
#include "schedule/unshard.h"

/* Maximum number of stages whose parameters are unsharded ahead.  Source: _add_unshard_reshard. */
enum { ACTIVE_MAX = 3 };

/* A lowering under way. */
typedef struct lowering {
    const ms_program *program;
    const ms_csv_form *form;
    ms_vector *rows; /* [P] of ms_csv_cell: each rank's list so far */
    bool has_failed; /* memory ran out; reported at the end */
} lowering;

/* Append a cell to a rank's row. mb: -1 for operations on the parameters of a stage. */
static void add_cell(lowering *l, int rank, ms_csv_op op, int stage, int mb) {
    ms_csv_cell cell = {.op = (uint8_t)op, .stage = (int16_t)stage, .mb = mb};
    ms_vector_add(&l->rows[rank], &cell, 1);
}

/* Start a rank's row with the passes of its list. Where the form says so, an input gradient with
 * its weight gradient right behind it becomes one B. */
static void add_passes(lowering *l, int rank) {
    const ms_program *program = l->program;
    size_t end = program->first[rank + 1];
    for (size_t i = program->first[rank]; i < end; i++) {
        const ms_action *action = &program->actions[i];
        const ms_action *next = i + 1 < end ? action + 1 : NULL;
        bool is_whole = l->form->merges_pairs && action->pass == MS_PASS_I && next != NULL &&
                        next->pass == MS_PASS_W && next->stage == action->stage &&
                        next->mb == action->mb;
        ms_csv_cell cell = {.op = is_whole ? MS_CSV_B : action->pass,
                            .is_paired = action->is_overlapped,
                            .stage = action->stage,
                            .mb = action->mb};
        ms_vector_add(&l->rows[rank], &cell, 1);
        i += is_whole; /* skips the W */
    }
}

/* Move a rank's row out, so that it can be written anew. The caller releases the row returned. */
static ms_vector take_row(lowering *l, int rank) {
    ms_vector row = l->rows[rank];
    l->has_failed = l->has_failed || row.failed;
    ms_vector_init(&l->rows[rank], sizeof(ms_csv_cell));
    return row;
}

/* Append the cells of a row, all of them passes, as actions. Returns false if memory ran out. */
static bool list_actions(const ms_vector *row, ms_vector *actions) {
    for (size_t i = 0; i < row->count; i++) {
        const ms_csv_cell *cell = &MS_AT(row, ms_csv_cell, i);
        ms_action action = {.pass = cell->op,
                            .is_overlapped = cell->is_paired,
                            .stage = cell->stage,
                            .mb = cell->mb};
        ms_vector_add(actions, &action, 1);
    }
    return !actions->failed;
}

/* Insert UNSHARD and RESHARD cells into a rank's row: finds the moves of its list of passes, then
 * writes the row anew with every move before the cell at the move's index. */
static void add_shards(lowering *l, int rank) {
    ms_vector row = take_row(l, rank), actions, moves;
    ms_vector_init(&actions, sizeof(ms_action));
    ms_vector_init(&moves, sizeof(ms_shard_move));
    bool is_fine =
        list_actions(&row, &actions) &&
        ms_unshard_list(actions.data, actions.count, l->program->stages, ACTIVE_MAX, &moves);
    size_t next = 0;
    for (size_t i = 0; i <= row.count && is_fine; i++) {
        for (; next < moves.count && MS_AT(&moves, ms_shard_move, next).before == i; next++) {
            const ms_shard_move *move = &MS_AT(&moves, ms_shard_move, next);
            add_cell(l, rank, move->is_unshard ? MS_CSV_UNSHARD : MS_CSV_RESHARD, move->stage, -1);
        }
        if (i < row.count) {
            ms_vector_add(&l->rows[rank], &MS_AT(&row, ms_csv_cell, i), 1);
        }
    }
    l->has_failed = l->has_failed || !is_fine;
    ms_vector_release(&row);
    ms_vector_release(&actions);
    ms_vector_release(&moves);
}

/* Insert a REDUCE_GRAD cell for each stage of a rank right behind the last W or B of the stage, or
 * behind the overlapped pair which that pass is in. done: [stages] number of weight gradients of
 * each stage so far. */
static void add_reductions(lowering *l, int rank, int *done) {
    ms_vector row = take_row(l, rank);
    int waiting[2] = {-1, -1}; /* stages to reduce behind the current pass or pair; -1: none */
    for (size_t i = 0; i < row.count; i++) {
        const ms_csv_cell *cell = &MS_AT(&row, ms_csv_cell, i);
        ms_vector_add(&l->rows[rank], cell, 1);
        bool ends = cell->op == MS_CSV_W || cell->op == MS_CSV_B;
        bool is_last = ends && ++done[cell->stage] == l->program->mb_count;
        if (is_last && waiting[0] < 0) {
            waiting[0] = cell->stage;
        } else if (is_last) {
            waiting[1] = cell->stage;
        }
        for (int k = 0; cell->is_paired == 0 && k < 2; k++) {
            if (waiting[k] >= 0) {
                add_cell(l, rank, MS_CSV_REDUCE_GRAD, waiting[k], -1);
                waiting[k] = -1;
            }
        }
    }
    ms_vector_release(&row);
}

/* ---- messages ---- */

/* States of a stage and microbatch: which of its inputs have been produced by the neighbouring
 * stage. */
enum { GOT_FORWARD = 1, GOT_GRADIENT = 2 };

/* The insertion of messages: the ranks' passes are run in turns, and each pass that runs appends
 * its sends to its own row and the matching receive to the row of the other rank. */
typedef struct messages {
    lowering *l;
    ms_vector *todo; /* [P] rows without messages */
    size_t *at;      /* [P] index of the next cell of each row */
    uint8_t *state;  /* [stages * mb_count] bits GOT_ */
} messages;

/* The state of a stage and microbatch. */
static uint8_t *state_of(const messages *m, int stage, int mb) {
    return &m->state[ms_program_key(m->l->program, stage, mb)];
}

/* Whether the neighbouring stage has produced the input of a cell. Cells that are no passes need
 * none. */
static bool is_ready(const messages *m, const ms_csv_cell *cell) {
    const ms_program *program = m->l->program;
    if (cell->op == MS_CSV_F && ms_program_has_previous(program, cell->stage)) {
        return (*state_of(m, cell->stage, cell->mb) & GOT_FORWARD) != 0;
    }
    if ((cell->op == MS_CSV_I || cell->op == MS_CSV_B) &&
        ms_program_has_next(program, cell->stage)) {
        return (*state_of(m, cell->stage, cell->mb) & GOT_GRADIENT) != 0;
    }
    return true;
}

/* Mark the result of a pass as an input of the stage that needs it. If that stage is on another
 * rank, append a SEND cell to this rank's row and the RECV cell to the other rank's. Cells other
 * than F, I and B have no such result. */
static void pass_on(messages *m, int rank, const ms_csv_cell *cell) {
    bool is_forward = cell->op == MS_CSV_F;
    if (!is_forward && cell->op != MS_CSV_I && cell->op != MS_CSV_B) {
        return;
    }
    const ms_program *program = m->l->program;
    bool exists = is_forward ? ms_program_has_next(program, cell->stage)
                             : ms_program_has_previous(program, cell->stage);
    if (!exists) {
        return;
    }
    int target = is_forward ? cell->stage + 1 : cell->stage - 1;
    int peer = program->stage_rank[target];
    *state_of(m, target, cell->mb) |= is_forward ? GOT_FORWARD : GOT_GRADIENT;
    if (peer != rank) {
        add_cell(m->l, rank, is_forward ? MS_CSV_SEND_F : MS_CSV_SEND_B, cell->stage, cell->mb);
        add_cell(m->l, peer, is_forward ? MS_CSV_RECV_F : MS_CSV_RECV_B, target, cell->mb);
    }
}

/* Run the next cell (or overlapped pair) of a rank if its inputs have been produced. Returns
 * whether it ran.
 */
static bool run_next_cell(messages *m, int rank) {
    const ms_vector *todo = &m->todo[rank];
    size_t at = m->at[rank];
    if (at == todo->count) {
        return false;
    }
    const ms_csv_cell *cell = &MS_AT(todo, ms_csv_cell, at);
    size_t width = cell->is_paired != 0 ? 2 : 1;
    for (size_t i = 0; i < width; i++) {
        if (!is_ready(m, cell + i)) {
            return false;
        }
    }
    ms_vector_add(&m->l->rows[rank], cell, width);
    for (size_t i = 0; i < width; i++) {
        pass_on(m, rank, cell + i);
    }
    m->at[rank] += width;
    return true;
}

/* Run all rows, in rounds over the ranks with one cell or pair each: the order in which PyTorch
 * interleaves its sends and receives with the passes. Returns false if some rank gets stuck. */
static bool run_messages(messages *m) {
    int ranks = m->l->program->spec.pipeline_ranks;
    bool has_moved = true;
    while (has_moved) {
        has_moved = false;
        for (int rank = 0; rank < ranks; rank++) {
            has_moved = run_next_cell(m, rank) || has_moved;
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (m->at[rank] < m->todo[rank].count) {
            return false;
        }
    }
    return true;
}

/* Insert SEND and RECV cells into the rows of all ranks. Returns MS_E_INPUT, reported, if the lists
 * deadlock; a lack of memory only sets has_failed. */
static ms_status add_messages(lowering *l, ms_arena *scratch, ms_diag *diag) {
    int ranks = l->program->spec.pipeline_ranks;
    messages m = {.l = l,
                  .todo = MS_NEW(scratch, ms_vector, ranks),
                  .at = MS_NEW(scratch, size_t, ranks),
                  .state = MS_NEW(scratch, uint8_t, ms_program_keys(l->program))};
    if (m.todo == NULL || m.at == NULL || m.state == NULL) {
        l->has_failed = true;
        return MS_OK;
    }
    for (int rank = 0; rank < ranks; rank++) {
        m.todo[rank] = take_row(l, rank);
    }
    bool is_done = run_messages(&m);
    for (int rank = 0; rank < ranks; rank++) {
        ms_vector_release(&m.todo[rank]);
    }
    if (is_done) {
        return MS_OK;
    }
    return ms_diag_error(diag, "the lists of '%s' wait for each other for ever", l->program->name);
}

/* Write the rows of all ranks, with the cells that the form asks for. Statuses as of add_messages.
 */
static ms_status lower(lowering *l, ms_arena *scratch, ms_diag *diag) {
    int *done = MS_NEW(scratch, int, l->program->stages);
    if (done == NULL) {
        l->has_failed = true;
        return MS_OK;
    }
    for (int rank = 0; rank < l->program->spec.pipeline_ranks; rank++) {
        add_passes(l, rank);
        if (l->form->has_shards) {
            add_shards(l, rank);
            add_reductions(l, rank, done);
        }
    }
    return l->form->has_sends ? add_messages(l, scratch, diag) : MS_OK;
}

/* Copy the rows into a table in `arena`. Returns MS_E_NOMEM, not reported, if memory ran out here
 * or in any earlier step. */
static ms_status copy_rows(lowering *l, ms_arena *arena, ms_csv_table *table) {
    int ranks = l->program->spec.pipeline_ranks;
    size_t count = 0;
    for (int rank = 0; rank < ranks; rank++) {
        l->has_failed = l->has_failed || l->rows[rank].failed;
        count += l->rows[rank].count;
    }
    table->ranks = ranks;
    table->has_comms = l->form->has_sends || l->form->has_shards;
    table->name = l->program->name;
    table->first = MS_NEW(arena, size_t, ranks + 1);
    table->cells = MS_NEW(arena, ms_csv_cell, count);
    if (l->has_failed || table->first == NULL || table->cells == NULL) {
        return MS_E_NOMEM;
    }
    for (int rank = 0; rank < ranks; rank++) {
        size_t at = table->first[rank];
        table->first[rank + 1] = at + l->rows[rank].count;
        if (l->rows[rank].count > 0) {
            memcpy(table->cells + at, l->rows[rank].data,
                   l->rows[rank].count * sizeof *table->cells);
        }
    }
    return MS_OK;
}

/* Make a table of cells from a program. Writes every rank's row, then copies the rows into the
 * table. Running out of memory is reported once, at the end. */
ms_status ms_csv_lower(const ms_program *program, const ms_csv_form *form, ms_arena *arena,
                       ms_diag *diag, ms_csv_table *table_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    int ranks = program->spec.pipeline_ranks;
    lowering l = {.program = program, .form = form, .rows = MS_NEW(&scratch, ms_vector, ranks)};
    ms_csv_table table = {0};
    ms_status status = MS_E_NOMEM;
    if (l.rows != NULL) {
        for (int rank = 0; rank < ranks; rank++) {
            ms_vector_init(&l.rows[rank], sizeof(ms_csv_cell));
        }
        status = lower(&l, &scratch, diag);
        status = status == MS_OK ? copy_rows(&l, arena, &table) : status;
        for (int rank = 0; rank < ranks; rank++) {
            ms_vector_release(&l.rows[rank]);
        }
    }
    ms_arena_release(&scratch);
    status = status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
    if (status == MS_OK) {
        *table_out = table;
    }
    return status;
}
