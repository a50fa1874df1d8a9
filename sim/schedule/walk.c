/* Running the lists of all ranks against each other: who may go on, and who waits for whom for
 * ever. */
#include "schedule/internal.h"

static size_t key_of(const ms_program *program, int stage, int mb) {
    return (size_t)stage * (size_t)program->mb_count + (size_t)mb;
}

bool ms_program_has_next(const ms_program *program, int stage) {
    return stage + 1 != program->model_stages && stage + 1 != program->stages;
}

bool ms_program_has_previous(const ms_program *program, int stage) {
    return stage != 0 && stage != program->model_stages;
}

int ms_action_producers(const ms_program *program, const ms_action *action,
                        ms_producer producers_out[2]) {
    int count = 0;
    if (action->pass == MS_PASS_F) {
        if (ms_program_has_previous(program, action->stage)) {
            producers_out[count++] = (ms_producer){action->stage - 1, action->mb, true};
        }
    } else if (action->pass == MS_PASS_W) {
        producers_out[count++] = (ms_producer){action->stage, action->mb, false};
    } else {
        producers_out[count++] = (ms_producer){action->stage, action->mb, true};
        if (ms_program_has_next(program, action->stage)) {
            producers_out[count++] = (ms_producer){action->stage + 1, action->mb, false};
        }
    }
    return count;
}

int ms_action_receiver(const ms_program *program, const ms_action *action) {
    int consumer = -1;
    if (action->pass == MS_PASS_F) {
        consumer = ms_program_has_next(program, action->stage) ? action->stage + 1 : -1;
    } else if (action->pass != MS_PASS_W) {
        consumer = ms_program_has_previous(program, action->stage) ? action->stage - 1 : -1;
    }
    bool is_remote =
        consumer >= 0 && program->stage_rank[consumer] != program->stage_rank[action->stage];
    return is_remote ? consumer : -1;
}

uint32_t ms_walk_done(const ms_walk *walk, const ms_producer *producer) {
    size_t key = key_of(walk->program, producer->stage, producer->mb);
    return producer->is_forward ? walk->forward_at[key] : walk->gradient_at[key];
}

double ms_action_cost(const ms_walk *walk, const ms_action *action) {
    const ms_schedule_costs *costs = walk->costs;
    int stage = ms_program_model_stage(walk->program, action->stage);
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return costs->forward[stage];
    case MS_PASS_I:
        return costs->input_grad[stage];
    case MS_PASS_W:
        return costs->weight_grad[stage];
    case MS_PASS_B:
    case MS_PASS_COUNT:
        break;
    }
    return costs->input_grad[stage] + costs->weight_grad[stage];
}

size_t ms_walk_width(const ms_walk *walk, size_t index) {
    bool is_serial = walk->costs != NULL && walk->costs->is_serial;
    return walk->program->actions[index].is_overlapped != 0 && !is_serial ? 2 : 1;
}

double ms_walk_cost(const ms_walk *walk, size_t index, size_t width) {
    double cost = ms_action_cost(walk, &walk->program->actions[index]);
    if (width == 1) {
        return cost;
    }
    cost += ms_action_cost(walk, &walk->program->actions[index + 1]);
    return walk->costs->pair_scale == 0 ? cost : walk->costs->pair_scale * cost;
}

/* Latency between two stages that follow each other. */
static double latency(const ms_walk *walk, int stage, int other) {
    if (other == stage) {
        return 0;
    }
    return ms_schedule_latency(walk->program, walk->costs, other < stage ? other : stage);
}

/* A producer that is not done, of one of the actions that run as one from `index` on.  Returns the
 * action that waits, NULL if they can run. */
static const ms_action *find_missing(const ms_walk *walk, size_t index, ms_producer *missing_out) {
    size_t width = ms_walk_width(walk, index);
    for (size_t member = 0; member < width; member++) {
        const ms_action *action = &walk->program->actions[index + member];
        ms_producer producers[2];
        int count = ms_action_producers(walk->program, action, producers);
        for (int i = 0; i < count; i++) {
            if (ms_walk_done(walk, &producers[i]) == 0) {
                *missing_out = producers[i];
                return action;
            }
        }
    }
    return NULL;
}

/* When a rank is free again: at the end of its last action, or once its messages have arrived. */
static double free_at(const ms_walk *walk, int rank, size_t index) {
    if (index == walk->program->first[rank]) {
        return 0;
    }
    const ms_action *last = &walk->program->actions[index - 1];
    double end = walk->slots[index - 1].end;
    if (!walk->costs->is_blocking) {
        return end;
    }
    bool is_pair = index - 1 > walk->program->first[rank] && last[-1].is_overlapped != 0 &&
                   !walk->costs->is_serial;
    double held = 0;
    for (int member = 0; member <= is_pair; member++) {
        int receiver = ms_action_receiver(walk->program, last - member);
        double wait = receiver < 0 ? 0 : latency(walk, (last - member)->stage, receiver);
        held = wait > held ? wait : held;
    }
    return end + held;
}

static void time_actions(const ms_walk *walk, int rank, size_t index, size_t width) {
    double start = free_at(walk, rank, index);
    for (size_t member = 0; member < width; member++) {
        const ms_action *action = &walk->program->actions[index + member];
        ms_producer producers[2];
        int count = ms_action_producers(walk->program, action, producers);
        for (int i = 0; i < count; i++) {
            double arrival = walk->slots[ms_walk_done(walk, &producers[i]) - 1].end +
                             latency(walk, action->stage, producers[i].stage);
            start = arrival > start ? arrival : start;
        }
    }
    double end = start + ms_walk_cost(walk, index, width);
    for (size_t member = 0; member < width; member++) {
        walk->slots[index + member] = (ms_schedule_slot){.start = start, .end = end};
    }
}

static void wake(ms_walk *walk, int rank) {
    if (walk->is_waiting[rank]) {
        walk->is_waiting[rank] = false;
        walk->runnable[walk->runnable_count++] = rank;
    }
}

/* Book an action as done and wake the rank that consumes its result. */
static void finish_action(ms_walk *walk, size_t index) {
    const ms_program *program = walk->program;
    const ms_action *action = &program->actions[index];
    size_t key = key_of(program, action->stage, action->mb);
    if (action->pass == MS_PASS_F) {
        walk->forward_at[key] = (uint32_t)index + 1;
        if (ms_program_has_next(program, action->stage)) {
            wake(walk, program->stage_rank[action->stage + 1]);
        }
    } else if (action->pass != MS_PASS_W) {
        walk->gradient_at[key] = (uint32_t)index + 1;
        if (ms_program_has_previous(program, action->stage)) {
            wake(walk, program->stage_rank[action->stage - 1]);
        }
    }
}

static void run_rank(ms_walk *walk, int rank) {
    const ms_program *program = walk->program;
    ms_producer missing = {0};
    while (walk->cursor[rank] < program->first[rank + 1] &&
           find_missing(walk, walk->cursor[rank], &missing) == NULL) {
        size_t index = walk->cursor[rank];
        size_t width = ms_walk_width(walk, index);
        if (walk->slots != NULL) {
            time_actions(walk, rank, index, width);
        }
        for (size_t member = 0; member < width; member++) {
            finish_action(walk, index + member);
        }
        walk->cursor[rank] += width;
    }
    walk->is_waiting[rank] = true;
}

static bool allocate(ms_walk *walk, ms_arena *scratch) {
    size_t ranks = (size_t)walk->program->spec.pipeline_ranks;
    size_t keys = (size_t)walk->program->stages * (size_t)walk->program->mb_count;
    walk->forward_at = MS_NEW(scratch, uint32_t, keys);
    walk->gradient_at = MS_NEW(scratch, uint32_t, keys);
    walk->cursor = MS_NEW(scratch, size_t, ranks);
    walk->runnable = MS_NEW(scratch, int, ranks);
    walk->is_waiting = MS_NEW(scratch, bool, ranks);
    return walk->forward_at != NULL && walk->gradient_at != NULL && walk->cursor != NULL &&
           walk->runnable != NULL && walk->is_waiting != NULL;
}

static bool is_at_end(const ms_walk *walk, int rank) {
    return walk->cursor[rank] == walk->program->first[rank + 1];
}

/* What the head of a stuck rank waits for, and the rank that should run it. */
static int waits_for(const ms_walk *walk, int rank, ms_producer *missing_out) {
    find_missing(walk, walk->cursor[rank], missing_out);
    return walk->program->stage_rank[missing_out->stage];
}

static void describe_wait(const ms_walk *walk, int rank, ms_buffer *text) {
    ms_producer missing = {0};
    const ms_action *head = find_missing(walk, walk->cursor[rank], &missing);
    ms_buffer_printf(text, "%srank %d at '%d%s%d'", text->length == 0 ? "" : "; ", rank,
                     head->stage, ms_pass_name((ms_pass)head->pass), head->mb);
    if (walk->place != NULL) {
        long cell = walk->place->cell(walk->place->context, rank, walk->cursor[rank]);
        ms_buffer_printf(text, " (line %d, cell %ld)", rank + 1, cell);
    }
    ms_buffer_printf(text, " waits for %d%s%d of rank %d", missing.stage,
                     missing.is_forward ? "F" : "B", missing.mb,
                     walk->program->stage_rank[missing.stage]);
}

static void report(const ms_walk *walk, int rank, const char *what, ms_diag *diag) {
    if (walk->place == NULL) {
        ms_diag_error(diag, "%s", what);
    } else {
        walk->place->report(walk->place->context, rank, (int64_t)walk->cursor[rank], what);
    }
}

/* Follow who waits for whom from a stuck rank: after P steps we are on the cycle (or at a rank that
 * has ended without what the others need), then once round it. */
static void report_deadlock(const ms_walk *walk, int stuck, ms_diag *diag) {
    enum { SHOWN_MAX = 8 };
    ms_producer missing = {0};
    int rank = stuck;
    for (int i = 0; i < walk->program->spec.pipeline_ranks; i++) {
        int next = waits_for(walk, rank, &missing);
        if (is_at_end(walk, next)) {
            break;
        }
        rank = next;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    int first = rank;
    int shown = 0;
    do {
        if (shown == SHOWN_MAX) {
            ms_buffer_puts(&text, "; ...");
        } else if (shown < SHOWN_MAX) {
            describe_wait(walk, rank, &text);
        }
        shown++;
        rank = waits_for(walk, rank, &missing);
    } while (rank != first && !is_at_end(walk, rank));
    const char *ending = is_at_end(walk, rank) ? ", whose list ends without it" : "";
    ms_buffer what;
    ms_buffer_init(&what);
    ms_buffer_printf(&what, "the schedule deadlocks: %s%s", ms_buffer_text(&text), ending);
    report(walk, first, ms_buffer_text(&what), diag);
    ms_buffer_release(&what);
    ms_buffer_release(&text);
}

ms_status ms_walk_run(ms_walk *walk, ms_arena *scratch, ms_diag *diag) {
    if (!allocate(walk, scratch)) {
        ms_diag_error(diag, "out of memory");
        return MS_E_NOMEM;
    }
    int ranks = walk->program->spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        walk->cursor[rank] = walk->program->first[rank];
        walk->runnable[walk->runnable_count++] = ranks - 1 - rank; /* rank 0 on top */
    }
    while (walk->runnable_count > 0) {
        run_rank(walk, walk->runnable[--walk->runnable_count]);
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (!is_at_end(walk, rank)) {
            report_deadlock(walk, rank, diag);
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}

static void discard(void *context, const char *text) {
    (void)context;
    (void)text;
}

void ms_diag_init_mute(ms_diag *diag) {
    ms_diag_init(diag, discard, NULL);
}
