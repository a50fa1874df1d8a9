/* Balanced partitions (partition.h). Layers are shared out to stages so that pipeline ranks are
 * evenly busy, by the time of each layer. Then single layers move to other stages as long as that
 * shortens the estimated step, which also depends on the order of passes and on the end of the
 * step. Here shares are the numbers of layers of all stages, and the load of a rank or stage is the
 * time of its layers for one microbatch. */
#include "estimate/partition.h"

#include <math.h>
#include <string.h>

#include "model/model.h"

/* Moves that are estimated before the best of them is made: enough for all moves among 4 stages.
 * With 4 of them searches take two thirds of the time, and 16 stages of Llama 3 405B are no longer
 * shared as published. */
enum { MOVES_MAX = 12 };

/* Minimum gain of a move [share of the step]. Smaller gains are within the error of estimates
 * (estimate.md) and only make loads less even. */
static const double LEAST_GAIN = 1e-3;

/* How evenly one microbatch loads the pipeline ranks: the lower, the more even. */
typedef struct load {
    double most_s;   /* load of the busiest rank [s] */
    double square_s; /* sum of the squares of all ranks' and all stages' loads [s^2] */
} load;

/* A move of one layer to another stage. */
typedef struct layer_move {
    int from, to; /* model stages */
    load load;    /* after the move */
} layer_move;

/* Time and memory of a job with a partition. */
typedef struct outcome {
    double step_s;
    double peak_B, least_peak_B; /* highest and lowest peak of memory of any pipeline rank [B] */
    int peak_rank;               /* pipeline rank with the highest peak */
    bool is_legal;               /* the model accepts the partition */
} outcome;

/* A partition under way. */
typedef struct sharing {
    const ms_partition_input *in;
    const ms_program *program;
    const ms_order *order;       /* of the program; NULL: no step was estimated yet */
    ms_open_stages open;         /* stages whose layers the spec does not give */
    int *shares;                 /* [S] layers of each stage, now */
    double *load_s;              /* [P] scratch: load of each pipeline rank */
    double *until_s;             /* [layers + 1] sum of the times of all layers before layer i */
    layer_move moves[MOVES_MAX]; /* [move_count] result of list_moves, most even first */
    int move_count;
    ms_arena room; /* storage of one estimate */
} sharing;

/* ---- moves ---- */

/* Minimum number of layers of a stage: 0 for the first and the last stage, else 1. */
static int least_of(const sharing *state, int stage) {
    return stage > 0 && stage < state->program->model_stages - 1 ? 1 : 0;
}

/* Give all open stages equal shares; the first and last stage may have layers that the spec gives.
 * A remainder goes to the stages in the middle first, as the ends also have embedding and head. */
static void share_evenly(sharing *state) {
    const ms_spec_partition *given = &state->in->job->spec.schedule.partition;
    int last = state->program->model_stages - 1, count = state->open.count,
        layers = state->open.layers;
    memset(state->shares, 0, (size_t)state->program->model_stages * sizeof *state->shares);
    state->shares[0] += given->first_stage_layers;
    state->shares[last] += given->last_stage_layers;
    for (int i = 0, left = count > 0 ? layers % count : 0; i <= last; i++) {
        int s = i < last - 1 ? i + 1 : i == last - 1 ? 0 : last;
        if (s >= state->open.first && s < state->open.first + count) {
            state->shares[s] = layers / count + (left-- > 0);
        }
    }
}

/* ---- loads ---- */

/* Find the load of the pipeline ranks with the current shares of the stages: the time of one
 * microbatch's forward and backward passes. In schedules with two directions a rank also has the
 * load of its copies of stages. */
static load find_load(const sharing *state) {
    const ms_program *program = state->program;
    int stages = program->model_stages, ranks = program->spec.pipeline_ranks;
    load found = {0};
    memset(state->load_s, 0, (size_t)ranks * sizeof *state->load_s);
    for (int s = 0, layer = 0; s < stages; layer += state->shares[s], s++) {
        double stage_s = state->until_s[layer + state->shares[s]] - state->until_s[layer];
        stage_s += s == 0 ? state->in->times->first_s : 0.0;
        stage_s += s == stages - 1 ? state->in->times->last_s : 0.0;
        found.square_s += stage_s * stage_s;
        for (int copy = s; copy < program->stages; copy += stages) {
            state->load_s[program->stage_rank[copy]] += stage_s;
        }
    }
    for (int p = 0; p < ranks; p++) {
        found.most_s = fmax(found.most_s, state->load_s[p]);
        found.square_s += state->load_s[p] * state->load_s[p];
    }
    return found;
}

/* Whether load `a` is more even than `b` by more than rounding: a less busy busiest rank or, where
 * that is equal, a smaller sum of squares. */
static bool is_more_even(const load *a, const load *b) {
    double tie_s = 1e-9 * b->most_s;
    return fabs(a->most_s - b->most_s) > tie_s ? a->most_s < b->most_s
                                               : a->square_s < b->square_s * (1.0 - 1e-9);
}

/* ---- moves ---- */

/* Move one layer from stage `from` to stage `to`. */
static void make_move(sharing *state, int from, int to) {
    state->shares[from]--;
    state->shares[to]++;
}

/* Whether two moves are between the same pipeline ranks: then they hardly differ in memory. */
static bool are_alike(const sharing *state, const layer_move *a, const layer_move *b) {
    const int *rank = state->program->stage_rank;
    return rank[a->from] == rank[b->from] && rank[a->to] == rank[b->to];
}

/* Insert a move into the list of the MOVES_MAX most even moves.  is_sole: of moves that are alike
 * only the most even one is listed. */
static void keep_move(sharing *state, const layer_move *found, bool is_sole) {
    for (int i = 0; is_sole && i < state->move_count; i++) {
        if (are_alike(state, found, &state->moves[i])) {
            if (!is_more_even(&found->load, &state->moves[i].load)) {
                return;
            }
            state->move_count--;
            memmove(&state->moves[i], &state->moves[i + 1],
                    (size_t)(state->move_count - i) * sizeof *state->moves);
        }
    }
    int at = state->move_count < MOVES_MAX ? state->move_count++ : MOVES_MAX;
    for (; at > 0 && is_more_even(&found->load, &state->moves[at - 1].load); at--) {
        if (at < MOVES_MAX) {
            state->moves[at] = state->moves[at - 1];
        }
    }
    if (at < MOVES_MAX) {
        state->moves[at] = *found;
    }
}

/* Whether pipeline rank `rank` has a stage of the model, or a copy of it in the other direction. */
static bool is_on_rank(const sharing *state, int stage, int rank) {
    bool is_on = false;
    for (int copy = stage; copy < state->program->stages; copy += state->program->model_stages) {
        is_on = is_on || state->program->stage_rank[copy] == rank;
    }
    return is_on;
}

/* List the most even moves of one layer between open stages.  away_from: only moves of layers of
 * this pipeline rank to other ranks, one for each pair of ranks; -1: all moves. */
static void list_moves(sharing *state, int away_from) {
    int end = state->open.first + state->open.count;
    state->move_count = 0;
    for (int from = state->open.first; from < end; from++) {
        bool is_open = state->shares[from] > least_of(state, from) &&
                       (away_from < 0 || is_on_rank(state, from, away_from));
        for (int to = state->open.first; to < end && is_open; to++) {
            if (to != from && (away_from < 0 || !is_on_rank(state, to, away_from))) {
                layer_move found = {.from = from, .to = to};
                make_move(state, from, to);
                found.load = find_load(state);
                make_move(state, to, from);
                keep_move(state, &found, away_from >= 0);
            }
        }
    }
}

/* Make the most even move as long as it makes the loads more even. No step is estimated. */
static void even_loads(sharing *state) {
    load now = find_load(state);
    list_moves(state, -1);
    while (state->move_count > 0 && is_more_even(&state->moves[0].load, &now)) {
        now = state->moves[0].load;
        make_move(state, state->moves[0].from, state->moves[0].to);
        list_moves(state, -1);
    }
}

/* ---- estimates ---- */

/* Whether a peak is at most the capacity of a GPU. */
static bool fits(const sharing *state, double peak_B) {
    const ms_gpu_type *gpu = &state->in->job->platform->gpu;
    return peak_B <= gpu->hbm_B - gpu->reserve_B;
}

/* Estimate memory with the shares and, if has_step, the step.  *out: not legal, with INFINITY, if
 * the model refuses the shares.  Returns MS_OK, also for a refusal; MS_E_NOMEM. */
static ms_status estimate(sharing *state, bool has_step, outcome *out) {
    const ms_partition_input *in = state->in;
    ms_job job = *in->job;
    ms_step_context context = in->context;
    ms_memory_model memory;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    job.layout.stage_layers = state->shares;
    context.scratch = &state->room;
    context.order = state->order;
    *out = (outcome){.step_s = INFINITY, .peak_B = INFINITY, .least_peak_B = INFINITY};
    ms_status status =
        ms_model_outline(&job.spec.model, &job.layout, &job.precision, &job.platform->gpu,
                         in->passes, &state->room, &mute, &job.costs);
    status = status == MS_OK
                 ? ms_memory_model_init(state->program, &job.costs, &state->room, &memory)
                 : status;
    for (int p = 0; p < state->program->spec.pipeline_ranks && status == MS_OK; p++) {
        double peak_B = ms_memory_model_peak(&memory, in->moments, p).total_B;
        if (p == 0 || peak_B > out->peak_B) {
            out->peak_B = peak_B;
            out->peak_rank = p;
        }
        out->least_peak_B = fmin(out->least_peak_B, peak_B);
    }
    if (status == MS_OK && has_step) {
        status = ms_step_estimate(&job, &context, &out->step_s, NULL);
    }
    out->is_legal = status == MS_OK;
    ms_arena_clear(&state->room);
    return status == MS_E_NOMEM ? status : MS_OK;
}

/* The goal of a climb. */
typedef enum partition_goal {
    GOAL_STEP,         /* a shorter step */
    GOAL_MEMORY,       /* a lower peak of memory, until the job fits */
    GOAL_FITTING_STEP, /* a shorter step, with which the job still fits */
} partition_goal;

/* Whether outcome `a` is nearer to the goal than `b`. A job that fits has reached GOAL_MEMORY, so
 * that nothing is better then. */
static bool is_better(const sharing *state, partition_goal goal, const outcome *a,
                      const outcome *b) {
    if (!a->is_legal) {
        return false;
    }
    if (goal == GOAL_MEMORY) {
        return !fits(state, b->peak_B) && a->peak_B < b->peak_B;
    }
    return a->step_s < b->step_s * (1.0 - LEAST_GAIN) &&
           (goal == GOAL_STEP || fits(state, a->peak_B));
}

/* Make the listed move with the best outcome, and again until none improves the goal. For memory
 * only layers of the rank with the highest peak move.  now: the outcome of the shares; set to that
 * of the shares after the last move. */
static ms_status climb(sharing *state, partition_goal goal, outcome *now) {
    for (int made = 0; made >= 0;) {
        list_moves(state, goal == GOAL_MEMORY ? now->peak_rank : -1);
        made = -1;
        for (int i = 0; i < state->move_count; i++) {
            outcome found;
            make_move(state, state->moves[i].from, state->moves[i].to);
            ms_status status = estimate(state, goal != GOAL_MEMORY, &found);
            make_move(state, state->moves[i].to, state->moves[i].from);
            if (status != MS_OK) {
                return status;
            }
            if (is_better(state, goal, &found, now)) {
                *now = found;
                made = i;
            }
        }
        if (made >= 0) {
            make_move(state, state->moves[made].from, state->moves[made].to);
        }
    }
    return MS_OK;
}

/* Move layers until the job fits in memory, then shorten its step while it fits.  now: outcome of
 * the shares; set to the last one. */
static ms_status find_fitting(sharing *state, outcome *now) {
    ms_status status = climb(state, GOAL_MEMORY, now);
    if (status == MS_OK && fits(state, now->peak_B)) {
        status = estimate(state, true, now); /* memory was estimated without the step */
        status = status == MS_OK ? climb(state, GOAL_FITTING_STEP, now) : status;
    }
    return status;
}

/* Move layers so that the step gets shorter, starting from even loads or, if the step is shorter
 * with them, from equal shares. Once the job fits in memory, it keeps fitting.
 *  result: [S] the shares with the shortest step with which the job fits; where none were found,
 * the shares with the shortest step. */
static ms_status find_short(sharing *state, int *result) {
    outcome equal, now;
    size_t size = (size_t)state->program->model_stages * sizeof *result;
    ms_status status = state->in->open(state->in->opener, &state->order);
    share_evenly(state);
    memcpy(result, state->shares, size);
    status = status == MS_OK ? estimate(state, true, &equal) : status;
    even_loads(state);
    status = status == MS_OK ? estimate(state, true, &now) : status;
    if (status != MS_OK) {
        return status;
    }
    bool is_equal_taken = is_better(state, GOAL_STEP, &equal, &now) &&
                          (fits(state, equal.peak_B) || !fits(state, now.peak_B));
    if (is_equal_taken) {
        memcpy(state->shares, result, size);
        now = equal;
    }
    /* if even the rank with the lowest peak does not fit, moves cannot make all ranks fit */
    bool is_fitting = fits(state, now.peak_B), has_room = fits(state, now.least_peak_B);
    if (has_room || state->in->use == MS_PARTITION_OF_JOB) {
        status = climb(state, is_fitting ? GOAL_FITTING_STEP : GOAL_STEP, &now);
    }
    memcpy(result, state->shares, size);
    if (status == MS_OK && has_room && !fits(state, now.peak_B)) {
        status = find_fitting(state, &now);
        if (fits(state, now.peak_B)) {
            memcpy(result, state->shares, size);
        }
    }
    return status;
}

/* Share out the layers for the purpose of the partition. To fit, even loads are enough if they fit.
 *  result: [S]. */
static ms_status find_shares(sharing *state, int *result) {
    outcome even = {.peak_B = INFINITY};
    size_t size = (size_t)state->program->model_stages * sizeof *result;
    if (state->in->use != MS_PARTITION_TO_FIT) {
        return find_short(state, result);
    }
    share_evenly(state);
    even_loads(state);
    ms_status status = estimate(state, false, &even);
    if (status != MS_OK || fits(state, even.peak_B)) {
        memcpy(result, state->shares, size);
        return status;
    }
    return find_short(state, result);
}

/* until_s are sums of the layers' times, from which the time of any range of layers is a
 * difference. */
ms_status ms_partition_find(const ms_partition_input *in, ms_arena *arena,
                            const int **stage_layers_out) {
    const ms_program *program = &in->job->program;
    int stages = program->model_stages, layers = in->job->spec.model.layers;
    int *result = MS_NEW(arena, int, stages);
    sharing state = {.in = in,
                     .program = program,
                     .open = ms_spec_open_stages(&in->job->spec, stages),
                     .shares = MS_NEW(arena, int, stages),
                     .load_s = MS_NEW(arena, double, program->spec.pipeline_ranks),
                     .until_s = MS_NEW(arena, double, layers + 1)};
    if (result == NULL || state.shares == NULL || state.load_s == NULL || state.until_s == NULL) {
        return MS_E_NOMEM;
    }
    for (int layer = 0; layer < layers; layer++) {
        state.until_s[layer + 1] = state.until_s[layer] + in->times->layer_s[layer];
    }
    ms_arena_init(&state.room);
    ms_status status = find_shares(&state, result);
    ms_arena_release(&state.room);
    *stage_layers_out = result;
    return status;
}
