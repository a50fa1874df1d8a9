/* Makes a program from the cells of a schedule file (ms_csv_program). A file says no more than the
 * order of cells on each rank, so P, V, M, the rank of each stage and the number of directions are
 * derived from the cells. Then the program is checked as any other, and the communication cells,
 * which it does not keep, by comms.c. */
#include <string.h>

#include "schedule/csv/table.h"

/* A program under construction. */
typedef struct program_builder {
    const ms_csv_table *table;
    ms_diag *diag;
    ms_program program;
    size_t *cell_of; /* [passes] index of each action's cell in the table, for messages */
    size_t passes;   /* number of F, I, W and B cells, the actions of the program */
    size_t moves;    /* number of UNSHARD and RESHARD cells */
} program_builder;

/* Whether a cell unshards or reshards parameters. */
static bool is_move(const ms_csv_cell *cell) {
    return cell->op == MS_CSV_UNSHARD || cell->op == MS_CSV_RESHARD;
}

/* Count the passes and the moves (UNSHARD and RESHARD cells), and find the numbers of stages and of
 * microbatches from the largest ones named. Refuses (MS_E_INPUT) files without passes, with too
 * many, and those whose largest stage and microbatch need more passes than there are: a mistyped
 * number would else make the program's arrays huge. */
static ms_status measure(program_builder *b) {
    const ms_csv_table *table = b->table;
    int stage = -1;
    int mb = -1;
    int row = 0; /* rank and cell that raised a maximum last, for the message */
    size_t at = SIZE_MAX;
    for (int rank = 0; rank < table->ranks; rank++) {
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            b->moves += is_move(cell);
            if (!ms_csv_is_pass(cell)) {
                continue;
            }
            b->passes++;
            if (cell->stage > stage || cell->mb > mb) {
                row = rank;
                at = i;
            }
            stage = cell->stage > stage ? cell->stage : stage;
            mb = cell->mb > mb ? cell->mb : mb;
        }
    }
    if (b->passes == 0) {
        return ms_csv_fault(b->table, 0, SIZE_MAX, b->diag,
                            "the file has no forward or backward pass");
    }
    if (b->passes > MS_ACTIONS_MAX) {
        return ms_csv_fault(b->table, 0, SIZE_MAX, b->diag,
                            "the file has %zu passes, the limit is %d", b->passes, MS_ACTIONS_MAX);
    }
    /* Every stage runs every microbatch in at least two passes. One is asked for here: enough
     * against huge arrays, and ms_program_check reports single passes that are missing. */
    double keys = ((double)stage + 1) * ((double)mb + 1);
    if (keys > (double)b->passes) {
        return ms_csv_fault(
            b->table, row, at, b->diag,
            "counts stages to %d and microbatches to %d, which makes at least %.0f passes, "
            "and the file has %zu",
            stage, mb, 2 * keys, b->passes);
    }
    b->program.stages = stage + 1;
    b->program.mb_count = mb + 1;
    return MS_OK;
}

/* Set the rank of every stage from the line that its passes are in. Refuses a stage with passes in
 * two lines, or in none, and a line without passes. */
static ms_status place_stages(program_builder *b) {
    const ms_csv_table *table = b->table;
    for (int rank = 0; rank < table->ranks; rank++) {
        bool has_stage = false;
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            if (!ms_csv_is_pass(cell)) {
                continue;
            }
            has_stage = true;
            int *owner = &b->program.stage_rank[cell->stage];
            if (*owner >= 0 && *owner != rank) {
                return ms_csv_fault(
                    b->table, rank, i, b->diag,
                    "'%d%s%d': stage %d stands on rank %d already, and a stage has one rank",
                    cell->stage, ms_csv_op_name((ms_csv_op)cell->op), cell->mb, cell->stage,
                    *owner);
            }
            *owner = rank;
        }
        if (!has_stage) {
            return ms_csv_fault(b->table, rank, SIZE_MAX, b->diag,
                                "the line has no forward or backward pass");
        }
    }
    for (int stage = 0; stage < b->program.stages; stage++) {
        if (b->program.stage_rank[stage] < 0) {
            return ms_csv_fault(b->table, 0, SIZE_MAX, b->diag,
                                "stage %d stands on no rank, and the stages go to %d", stage,
                                b->program.stages - 1);
        }
    }
    return MS_OK;
}

/* Check that communication cells name a stage of their rank and a microbatch that exists, and that
 * a file with such cells has no empty ones. */
static ms_status check_stages(const program_builder *b) {
    const ms_csv_table *table = b->table;
    for (int rank = 0; rank < table->ranks; rank++) {
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            if (cell->op == MS_CSV_BLANK && table->has_comms) {
                return ms_csv_fault(
                    b->table, rank, i, b->diag,
                    "the cell is empty; a file with communication has no idle time steps");
            }
            if (cell->op == MS_CSV_BLANK || ms_csv_is_pass(cell)) {
                continue;
            }
            bool exists = cell->stage < b->program.stages && cell->mb < b->program.mb_count;
            if (!exists || b->program.stage_rank[cell->stage] != rank) {
                return ms_csv_fault(b->table, rank, i, b->diag,
                                    "'%d%s' is of a stage or microbatch that this rank "
                                    "has no pass of",
                                    cell->stage, ms_csv_op_name((ms_csv_op)cell->op));
            }
        }
    }
    return MS_OK;
}

/* Copy the passes of all ranks as actions, and the UNSHARD and RESHARD cells as moves before the
 * next action. */
static void fill_lists(program_builder *b) {
    const ms_csv_table *table = b->table;
    ms_program *program = &b->program;
    size_t count = 0, moves = 0;
    for (int rank = 0; rank < table->ranks; rank++) {
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            if (ms_csv_is_pass(cell)) {
                b->cell_of[count] = i;
                program->actions[count++] = (ms_action){.pass = cell->op,
                                                        .is_overlapped = cell->is_paired,
                                                        .stage = cell->stage,
                                                        .mb = cell->mb};
            } else if (program->shard_moves != NULL && is_move(cell)) {
                program->shard_moves[moves++] =
                    (ms_shard_move){.before = count,
                                    .stage = cell->stage,
                                    .is_unshard = cell->op == MS_CSV_UNSHARD};
            }
        }
        program->first[rank + 1] = count;
        if (program->shard_first != NULL) {
            program->shard_first[rank + 1] = moves;
        }
    }
}

/* Index, among the program's actions, of the first F of a stage; the end of its rank's list if
 * there is none. */
static size_t first_forward(const ms_program *program, int stage) {
    int rank = program->stage_rank[stage];
    size_t i = program->first[rank];
    while (i < program->first[rank + 1] &&
           (program->actions[i].stage != stage || program->actions[i].pass != MS_PASS_F)) {
        i++;
    }
    return i;
}

/* Whether the stages are those of two directions (DualPipe, Chimera) instead of two chunks in a V
 * (ZB-V). Both place 2P stages in the same way, so the order decides, on the last rank, which has
 * the stages P-1 and P. In a V, stage P needs the results of stage P-1. With two directions, stage
 * P is the first of the second direction and runs before a microbatch of the first direction has
 * arrived at stage P-1. */
static bool has_two_directions(const ms_program *program) {
    int ranks = program->spec.pipeline_ranks;
    if (program->stages != 2 * ranks || ranks < 2) {
        return false;
    }
    for (int stage = 0; stage < program->stages; stage++) {
        if (program->stage_rank[stage] != ms_stage_rank_v(&program->spec, stage)) {
            return false;
        }
    }
    return first_forward(program, ranks) < first_forward(program, ranks - 1);
}

/* Number the stages of every rank as its chunks, in ascending order; set V, and halve the model's
 * stages where there are two directions. arena: for scratch. */
static ms_status number_chunks(program_builder *b, ms_arena *arena) {
    ms_program *program = &b->program;
    int *chunks = MS_NEW(arena, int, program->spec.pipeline_ranks);
    if (chunks == NULL) {
        return ms_diag_no_memory(b->diag);
    }
    for (int stage = 0; stage < program->stages; stage++) {
        int *next = &chunks[program->stage_rank[stage]];
        program->stage_chunk[stage] = (*next)++;
        program->spec.chunks = *next > program->spec.chunks ? *next : program->spec.chunks;
    }
    program->model_stages = program->stages;
    program->parameter_replicas = 1;
    if (has_two_directions(program)) {
        program->model_stages = program->stages / 2;
        program->parameter_replicas = 2;
        program->spec.chunks = 1;
    }
    return MS_OK;
}

/* Set the number of microbatches M from the number of units (microbatches, or slices of them) that
 * the file has per stage. Each of two directions has half of the microbatches. */
static ms_status count_microbatches(program_builder *b) {
    ms_program *program = &b->program;
    int slices = program->spec.slices;
    int mb_count = program->mb_count;
    if (mb_count % slices != 0) {
        return ms_csv_fault(
            b->table, 0, SIZE_MAX, b->diag,
            "the file counts %d microbatches per stage, which are no whole sequences of K = %d "
            "slices each",
            mb_count, slices);
    }
    program->spec.microbatches = mb_count / slices * program->parameter_replicas;
    return MS_OK;
}

/* Refuse a file that counts the microbatches of the last stage from 1, as PyTorch's pictures of
 * 1F1B do, with a message that says so: its first forward pass is of microbatch 1 and it has none
 * of microbatch 0. */
static ms_status check_counting(const program_builder *b) {
    const ms_program *program = &b->program;
    int last = program->stages - 1;
    size_t first = first_forward(program, last);
    int rank = program->stage_rank[last];
    bool counts_from_one = first < program->first[rank + 1] && program->actions[first].mb == 1;
    for (size_t i = program->first[rank]; counts_from_one && i < program->first[rank + 1]; i++) {
        const ms_action *action = &program->actions[i];
        counts_from_one = action->stage != last || action->pass != MS_PASS_F || action->mb > 0;
    }
    if (!counts_from_one) {
        return MS_OK;
    }
    return ms_csv_fault(
        b->table, rank, b->cell_of[first], b->diag,
        "'%dF1' is the first forward pass of the stage, and it has no '%dF0'; microbatches "
        "count from 0",
        last, last);
}

/* Report a fault of an action at its cell (ms_fault_location.report). */
static void report_at(void *context, int rank, int64_t index, const char *what) {
    const program_builder *b = context;
    ms_csv_fault(b->table, rank, index < 0 ? SIZE_MAX : b->cell_of[index], b->diag, "%s", what);
}

/* Number of an action's cell in its line, from 1 (ms_fault_location.cell). */
static long cell_number_of(void *context, int rank, size_t index) {
    const program_builder *b = context;
    return ms_csv_cell_number(b->table, rank, b->cell_of[index]);
}

/* Allocate the program's arrays in `arena`, and cell_of in `scratch`. Ranks of stages start at -1:
 * not known. */
static ms_status allocate(program_builder *b, ms_arena *arena, ms_arena *scratch) {
    ms_program *program = &b->program;
    program->stage_rank = MS_NEW(arena, int, program->stages);
    program->stage_chunk = MS_NEW(arena, int, program->stages);
    program->first = MS_NEW(arena, size_t, b->table->ranks + 1);
    program->actions = MS_NEW(arena, ms_action, b->passes);
    b->cell_of = MS_NEW(scratch, size_t, b->passes);
    if (program->stage_rank == NULL || program->stage_chunk == NULL || program->first == NULL ||
        program->actions == NULL || b->cell_of == NULL) {
        return ms_diag_no_memory(b->diag);
    }
    if (b->moves > 0) {
        program->shard_first = MS_NEW(arena, size_t, b->table->ranks + 1);
        program->shard_moves = MS_NEW(arena, ms_shard_move, b->moves);
        if (program->shard_first == NULL || program->shard_moves == NULL) {
            return ms_diag_no_memory(b->diag);
        }
    }
    memset(program->stage_rank, 0xFF, (size_t)program->stages * sizeof(int)); /* bytes of -1 */
    return MS_OK;
}

/* Derive the sizes and the placement, copy the lists, and check the result. The arrays of
 * b->program are made in `arena`. */
static ms_status build(program_builder *b, ms_arena *arena, ms_arena *scratch) {
    ms_status status = measure(b);
    status = status == MS_OK ? allocate(b, arena, scratch) : status;
    status = status == MS_OK ? place_stages(b) : status;
    status = status == MS_OK ? check_stages(b) : status;
    if (status != MS_OK) {
        return status;
    }
    fill_lists(b);
    status = number_chunks(b, scratch);
    status = status == MS_OK ? count_microbatches(b) : status;
    status = status == MS_OK ? check_counting(b) : status;
    if (status == MS_OK) {
        ms_fault_location location = {.report = report_at, .cell = cell_number_of, .context = b};
        status = ms_program_check_at(&b->program, &location, b->diag);
    }
    return status == MS_OK ? ms_csv_check_comms(b->table, &b->program, b->diag) : status;
}

/* Make a program from a table of cells. Starts from P = number of lines and V = 1; all else is
 * derived from the cells. */
ms_status ms_csv_program(const ms_csv_table *table, const char *name, int slices, ms_arena *arena,
                         ms_diag *diag, ms_program *program_out) {
    program_builder b = {.table = table,
                         .diag = diag,
                         .program = {.name = name,
                                     .spec = {.kind = MS_SCHEDULE_CUSTOM,
                                              .pipeline_ranks = table->ranks,
                                              .chunks = 1,
                                              .slices = slices}}};
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = build(&b, arena, &scratch);
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *program_out = b.program;
    }
    return status;
}
