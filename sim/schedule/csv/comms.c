/* Checks the communication cells (SEND_F, RECV_F, SEND_B, RECV_B) of a schedule file
 * (ms_csv_check_comms): every message is sent and received once, sent after the pass whose result
 * it carries and received before the pass that needs it, and the lists do not deadlock. A first
 * step checks each rank's list by itself; a second one runs all lists together, where a receive
 * blocks its rank until the matching send has run. */
#include "schedule/csv/table.h"

/* A check of the communication of one file. */
typedef struct comms {
    const ms_csv_table *table;
    const ms_program *program;
    ms_diag *diag;
    uint16_t *seen; /* [stages * mb_count] the set of operations gone past, a bit per ms_csv_op */
} comms;

/* The bit of an operation in a set of operations. */
static unsigned bit(ms_csv_op op) {
    return 1U << (unsigned)op;
}

/* The set of the operations of a stage and microbatch that the check has gone past. */
static uint16_t *seen_of(const comms *c, int stage, int mb) {
    return &c->seen[ms_program_key(c->program, stage, mb)];
}

/* Whether a stage has a neighbour on another rank: the next stage (is_next), else the previous one.
 * Only then are there messages between the two. */
static bool is_remote(const comms *c, int stage, bool is_next) {
    bool exists = is_next ? ms_program_has_next(c->program, stage)
                          : ms_program_has_previous(c->program, stage);
    return exists &&
           c->program->stage_rank[is_next ? stage + 1 : stage - 1] != c->program->stage_rank[stage];
}

/* The fault of a cell, given the cells before it on its rank: the second half of an error message;
 * NULL: none. A message needs a neighbour on another rank, stands once, and is sent after the pass
 * that makes it. A pass comes after the message that it needs. */
static const char *find_fault(const comms *c, const ms_csv_cell *cell) {
    unsigned seen = *seen_of(c, cell->stage, cell->mb);
    bool has_gradient = (seen & (bit(MS_CSV_I) | bit(MS_CSV_B))) != 0;
    ms_csv_op op = (ms_csv_op)cell->op;
    if (op >= MS_CSV_SEND_F) {
        bool is_next = op == MS_CSV_SEND_F || op == MS_CSV_RECV_B;
        if (!is_remote(c, cell->stage, is_next)) {
            return "is a message of a stage that has no neighbour on another rank there";
        }
        if ((seen & bit(op)) != 0) {
            return "stands twice";
        }
    }
    switch (op) {
    case MS_CSV_SEND_F:
        return (seen & bit(MS_CSV_F)) == 0 ? "is sent before its forward pass" : NULL;
    case MS_CSV_SEND_B:
        return !has_gradient ? "is sent before its backward pass" : NULL;
    case MS_CSV_F:
        return is_remote(c, cell->stage, false) && (seen & bit(MS_CSV_RECV_F)) == 0
                   ? "comes before its RECV_F"
                   : NULL;
    case MS_CSV_I:
    case MS_CSV_B:
        return is_remote(c, cell->stage, true) && (seen & bit(MS_CSV_RECV_B)) == 0
                   ? "comes before its RECV_B"
                   : NULL;
    default:
        return NULL;
    }
}

/* Check the lists of all ranks, each by itself, and fill in `seen` with the operations of all
 * cells. */
static ms_status check_rows(const comms *c) {
    const ms_csv_table *table = c->table;
    for (int rank = 0; rank < table->ranks; rank++) {
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            if (cell->mb < 0) {
                continue; /* an operation on parameters, or an empty cell: no message */
            }
            const char *what = find_fault(c, cell);
            if (what != NULL) {
                return ms_csv_fault(table, rank, i, c->diag, "'%d%s%d' %s", cell->stage,
                                    ms_csv_op_name((ms_csv_op)cell->op), cell->mb, what);
            }
            uint16_t *seen = seen_of(c, cell->stage, cell->mb);
            *seen = (uint16_t)(*seen | bit((ms_csv_op)cell->op));
        }
    }
    return MS_OK;
}

/* Check that no send is missing. Receives need no check here: check_rows refuses a pass whose
 * receive is missing. */
static ms_status check_sends(const comms *c) {
    static const ms_csv_op SENDS[2] = {MS_CSV_SEND_B, MS_CSV_SEND_F};
    for (int stage = 0; stage < c->program->stages; stage++) {
        for (int mb = 0; mb < c->program->mb_count; mb++) {
            for (int is_next = 0; is_next < 2; is_next++) {
                if (is_remote(c, stage, is_next == 1) &&
                    (*seen_of(c, stage, mb) & bit(SENDS[is_next])) == 0) {
                    return ms_csv_fault(c->table, c->program->stage_rank[stage], SIZE_MAX, c->diag,
                                        "'%d%s%d' is missing", stage,
                                        ms_csv_op_name(SENDS[is_next]), mb);
                }
            }
        }
    }
    return MS_OK;
}

/* ---- deadlock ---- */

/* A run of the lists of all ranks together. */
typedef struct run {
    const comms *c;
    size_t *at; /* [P] next cell of each rank, an index into the table's cells */
} run;

/* Stage that has not yet sent the message that a cell receives; -1: sent already, or the cell is no
 * receive. Passes never wait: check_rows has found their receives before them in the same list. */
static int awaited_stage(const run *r, const ms_csv_cell *cell) {
    if (cell->op != MS_CSV_RECV_F && cell->op != MS_CSV_RECV_B) {
        return -1;
    }
    bool is_forward = cell->op == MS_CSV_RECV_F;
    int source = is_forward ? cell->stage - 1 : cell->stage + 1;
    ms_csv_op send = is_forward ? MS_CSV_SEND_F : MS_CSV_SEND_B;
    return (*seen_of(r->c, source, cell->mb) & bit(send)) != 0 ? -1 : source;
}

/* Whether a rank has run all its cells. */
static bool is_at_end(const run *r, int rank) {
    return r->at[rank] == r->c->table->first[rank + 1];
}

/* The rank that is to send the message for which a stuck rank waits. */
static int awaited_rank(const run *r, int rank) {
    int source = awaited_stage(r, &r->c->table->cells[r->at[rank]]);
    return r->c->program->stage_rank[source];
}

/* Report the cycle of ranks that wait for each other. rank: any stuck rank. The missing send exists
 * (check_sends) and is further down in the list of another stuck rank. So each stuck rank leads to
 * another, and after P steps from any of them the walk is on the cycle. */
static ms_status report_cycle(const run *r, int rank) {
    enum { SHOWN_MAX = 8 };
    for (int i = 0; i < r->c->table->ranks; i++) {
        rank = awaited_rank(r, rank);
    }
    ms_buffer text;
    ms_buffer_init(&text);
    int first = rank;
    int shown = 0;
    do {
        const ms_csv_cell *cell = &r->c->table->cells[r->at[rank]];
        int next = awaited_rank(r, rank);
        if (shown++ < SHOWN_MAX) {
            ms_buffer_printf(
                &text, "%srank %d at '%d%s%d' (line %d, cell %ld) waits for a message of rank %d",
                shown == 1 ? "" : "; ", rank, cell->stage, ms_csv_op_name((ms_csv_op)cell->op),
                cell->mb, rank + 1, ms_csv_cell_number(r->c->table, rank, r->at[rank]), next);
        }
        rank = next;
    } while (rank != first);
    ms_status status =
        ms_csv_fault(r->c->table, first, r->at[first], r->c->diag, "the messages deadlock: %s%s",
                     ms_buffer_text(&text), shown > SHOWN_MAX ? "; ..." : "");
    ms_buffer_release(&text);
    return status;
}

/* Run the cells of a rank up to its end or a receive that has to wait. Returns whether any cell
 * ran. */
static bool run_rank(run *r, int rank) {
    size_t start = r->at[rank];
    while (!is_at_end(r, rank)) {
        const ms_csv_cell *cell = &r->c->table->cells[r->at[rank]];
        if (awaited_stage(r, cell) >= 0) {
            break;
        }
        if (cell->op == MS_CSV_SEND_F || cell->op == MS_CSV_SEND_B) {
            uint16_t *seen = seen_of(r->c, cell->stage, cell->mb);
            *seen = (uint16_t)(*seen | bit((ms_csv_op)cell->op));
        }
        r->at[rank]++;
    }
    return r->at[rank] > start;
}

/* Run the lists of all ranks together until none can go on. Reports a deadlock (MS_E_INPUT) if
 * cells are left. */
static ms_status run_all(run *r) {
    int ranks = r->c->table->ranks;
    bool has_moved = true;
    while (has_moved) {
        has_moved = false;
        for (int rank = 0; rank < ranks; rank++) {
            has_moved = run_rank(r, rank) || has_moved;
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (!is_at_end(r, rank)) {
            return report_cycle(r, rank);
        }
    }
    return MS_OK;
}

/* Check each rank's list by itself (`seen` then has all operations), whether a send is missing, and
 * then run all lists together, from an empty `seen`, to find deadlocks. */
static ms_status check(comms *c, ms_arena *scratch) {
    size_t keys = ms_program_keys(c->program);
    run r = {.c = c, .at = MS_NEW(scratch, size_t, c->table->ranks)};
    c->seen = MS_NEW(scratch, uint16_t, keys);
    uint16_t *fresh = MS_NEW(scratch, uint16_t, keys);
    if (r.at == NULL || c->seen == NULL || fresh == NULL) {
        return ms_diag_no_memory(c->diag);
    }
    ms_status status = check_rows(c);
    status = status == MS_OK ? check_sends(c) : status;
    if (status != MS_OK) {
        return status;
    }
    c->seen = fresh; /* for the run, in which nothing has been sent yet */
    for (int rank = 0; rank < c->table->ranks; rank++) {
        r.at[rank] = c->table->first[rank];
    }
    return run_all(&r);
}

/* Check the SEND and RECV cells of a schedule file. Files without SEND and RECV cells, such as
 * compute-only ones, have nothing to check. */
ms_status ms_csv_check_comms(const ms_csv_table *table, const ms_program *program, ms_diag *diag) {
    bool has_messages = false;
    for (size_t i = 0; i < table->first[table->ranks]; i++) {
        has_messages = has_messages ||
                       (table->cells[i].op >= MS_CSV_SEND_F && table->cells[i].op <= MS_CSV_RECV_B);
    }
    if (!has_messages) {
        return MS_OK;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    comms c = {.table = table, .program = program, .diag = diag};
    ms_status status = check(&c, &scratch);
    ms_arena_release(&scratch);
    return status;
}
