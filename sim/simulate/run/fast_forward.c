/* Chooses a part of a job to simulate instead of the whole, and checks that the whole does what the
 * part did (fast_forward.md). A part is the same job with fewer microbatches; in the timeline of
 * the part the engine finds a period that repeats (steady.c). Several parts, each longer than the
 * one before, are attempted. `mb` numbers units of work: microbatches, or slices of them; with two
 * directions, those of each direction. */
#include "simulate/run/fast_forward.h"

/* Number of schedule periods that an attempt simulates beside those that fill the pipeline: PERIODS
 * if a period is one microbatch, LONG_PERIODS if it is several. Three periods are compared
 * (steady.c), and dates may take a few microbatches to settle. */
enum { PERIODS = 8, LONG_PERIODS = 4 };

/* ATTEMPTS: maximum number of attempts, without fitted ones (next_repeat). The last attempt
 * simulates at least MANY_PERIODS periods, or one in JOB_SHARE of the job's. */
enum { MANY_PERIODS = 48, JOB_SHARE = 8, ATTEMPTS = 3 };

/* A part longer than this share of the job is not worth an attempt. */
#define PART_SHARE 0.4

/* All attempts together may cost this share of the whole simulation, so that a job whose attempts
 * all fail takes at most half as long again. */
#define ATTEMPTS_SHARE 0.5

/* With more ranks than this for each action of the program, folding the ranks costs more than
 * simulating the folded job. */
enum { RANKS_PER_ACTION = 4 };

/* Whether a failed attempt costs little in comparison with the whole job. It does not if folding
 * dominates the cost, since ranks are then folded twice. */
static bool is_worth_it(const ms_job *job) {
    size_t actions = job->program.first[job->program.spec.pipeline_ranks];
    return job->run.no_fold || (size_t)job->mesh.ranks <= RANKS_PER_ACTION * actions;
}

/* Whether a job may be fast-forwarded: not if that is switched off, bounds are wanted, or its order
 * of passes comes from a file or a search (type is NULL), which has no shorter version. */
static bool is_regular(const ms_job *job) {
    return !job->run.no_fast_forward && !job->run.is_bounded && job->program.type != NULL;
}

/* Number of directions of a program, 1 or 2. */
static int directions_of(const ms_program *program) {
    return program->stages / program->model_stages;
}

/* Length of a period of the schedule, in numbers of `mb`: one group of microbatches (of an
 * interleaved schedule) or one round (ms_program.round), whichever is longer; 0 if the longer is no
 * multiple of the shorter. */
static int period_of(const ms_program *program) {
    int slices = program->spec.slices > 1 ? program->spec.slices : 1;
    bool has_groups = ms_schedule_kind_traits(program->spec.kind).takes_group;
    int group = has_groups ? ms_schedule_group(&program->spec) : 1;
    int round = program->round > 1 ? program->round / slices : 1;
    int period = group > round ? group : round;
    return period % group == 0 && period % round == 0 ? period * slices : 0;
}

/* The least common multiple of a period and the number of ranks; 0 for a period of 0. */
static int common_multiple(int period, int ranks) {
    int multiple = period;
    while (period > 0 && multiple % ranks != 0) {
        multiple += period;
    }
    return multiple;
}

/* Number of units of work that fill the pipeline: the most that a rank starts before its first
 * backward pass. */
static int count_filling(const ms_program *program) {
    int most = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        size_t i = program->first[rank];
        for (; i < program->first[rank + 1] && program->actions[i].pass == MS_PASS_F; i++) {
            most = program->actions[i].mb >= most ? program->actions[i].mb + 1 : most;
        }
    }
    return most;
}

/* Number of microbatches in `mbs` numbers of `mb`: slices of one microbatch count once, both
 * directions count. */
static int microbatches_of(const ms_program *program, int mbs) {
    int per_microbatch = program->spec.slices > 1 ? program->spec.slices : 1;
    return mbs / per_microbatch * directions_of(program);
}

/* Number of periods that attempt number `attempt` (from 1 on) simulates beside those that fill the
 * pipeline. Because of the messages between its ranks, a pipeline may repeat its state only after
 * as many microbatches as it has ranks, so the second attempt has several times that many. With
 * replicas that share links, dates may take long to settle, so the third attempt is long.  unit:
 * periods in a common multiple of period and ranks. */
static int count_periods(const ms_program *program, int attempt, int period, int unit) {
    if (attempt == 1) {
        return period > 1 ? LONG_PERIODS : PERIODS;
    }
    int share = program->mb_count / (JOB_SHARE * period);
    return attempt == 2 ? LONG_PERIODS * unit : share > MANY_PERIODS ? share : MANY_PERIODS;
}

/* Choose how many periods the next attempt leaves out, if it is not a fitted one. An attempt is
 * passed over if its part would be too long for the job, or not at least half as long again as the
 * one before.  Returns the periods left out; times 0: there is no further attempt. */
static ms_dag_repeat choose_repeat(const ms_program *program, ms_part *part) {
    int period = period_of(program);
    int filled = count_filling(program);
    ms_dag_repeat repeat = {.mbs = period};
    while (period > 0 && repeat.times == 0 && part->attempts < ATTEMPTS) {
        part->attempts++;
        int unit = common_multiple(period, program->spec.pipeline_ranks) / period;
        /* later attempts leave out a multiple of `unit`, so up to round - 1 periods stay beside
         * those wanted; `most` is what a part of PART_SHARE of the job has room for */
        int round = part->attempts > 1 ? unit : 1;
        int most = ((int)(PART_SHARE * program->mb_count) - filled) / period - (round - 1);
        int wanted = count_periods(program, part->attempts, period, unit);
        /* the last attempt takes what there is room for */
        int periods = part->attempts == ATTEMPTS && wanted > most ? most : wanted;
        if (periods <= most && periods >= LONG_PERIODS &&
            periods >= part->periods + part->periods / 2) {
            part->periods = periods;
            repeat.times = ((program->mb_count - filled) / period - periods) / round * round;
        }
    }
    return repeat;
}

/* Choose what the next attempt leaves out. If the last attempt found a period that does not divide
 * what it left out (seen_mbs), the next one is fitted: it leaves out a multiple of that period.
 * Otherwise as choose_repeat. */
static ms_dag_repeat next_repeat(const ms_program *program, ms_part *part) {
    int left_out = part->repeat.mbs * part->repeat.times;
    bool is_fitted = part->seen_mbs > 0 && !part->is_fitted;
    ms_dag_repeat repeat =
        is_fitted ? (ms_dag_repeat){.mbs = part->seen_mbs, .times = left_out / part->seen_mbs}
                  : (ms_dag_repeat){0};
    left_out = repeat.mbs * repeat.times;
    part->is_fitted =
        left_out > 0 && program->mb_count - left_out <= PART_SHARE * program->mb_count;
    return part->is_fitted ? repeat : choose_repeat(program, part);
}

/* A part is the job with repeat.mbs * repeat.times units of work left out. */
ms_status ms_part_choose(const ms_job *job, ms_arena *arena, ms_part *part) {
    bool is_folded = part->attempts == 0 || part->fold.is_exact;
    bool is_attempted = is_regular(job) && is_worth_it(job) && is_folded;
    ms_dag_repeat repeat = is_attempted ? next_repeat(&job->program, part) : (ms_dag_repeat){0};
    part->repeat = (ms_dag_repeat){0};
    part->seen_mbs = 0;
    if (repeat.times <= 0) {
        return MS_OK;
    }
    ms_diag mute; /* a part without a legal order is no error: the whole job is simulated */
    ms_diag_init_mute(&mute);
    part->job = *job;
    part->job.microbatches -= microbatches_of(&job->program, repeat.mbs * repeat.times);
    ms_status status = ms_job_order(&part->job, arena, &mute);
    if (status == MS_OK) {
        part->repeat = repeat;
    }
    return status == MS_E_NOMEM ? status : MS_OK;
}

/* Number of operations of one period, taken from the middle of a part's microbatches: the first and
 * last microbatches also have gathers and gradient reductions, which the whole job does not have
 * more often. */
static int64_t count_ops_of_period(const ms_part *part, const ms_dag *dag) {
    int first = (part->job.program.mb_count - part->repeat.mbs) / 2;
    int64_t count = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        count += dag->ops[op].mb >= first && dag->ops[op].mb < first + part->repeat.mbs;
    }
    return count;
}

int64_t ms_part_ops_max(const ms_part *part, const ms_dag *dag) {
    int64_t whole = dag->op_count + part->repeat.times * count_ops_of_period(part, dag);
    return (int64_t)(ATTEMPTS_SHARE * (double)whole) - part->ops_run;
}

/* Whether action `to` is `from` with an `mb` that is `mbs` larger. */
static bool is_later_mb(const ms_action *from, const ms_action *to, int mbs) {
    return from->pass == to->pass && from->is_overlapped == to->is_overlapped &&
           from->stage == to->stage && from->mb + mbs == to->mb;
}

/* The shard moves of a rank (unshards and reshards), in order. */
typedef struct moves {
    const ms_shard_move *moves; /* [count] */
    size_t count;
    size_t first; /* index in the program's actions of the rank's first action */
} moves;

/* The shard moves of a rank; none if the program has none. */
static moves moves_of(const ms_program *program, int rank) {
    if (program->shard_moves == NULL) {
        return (moves){0};
    }
    return (moves){.moves = program->shard_moves + program->shard_first[rank],
                   .count = program->shard_first[rank + 1] - program->shard_first[rank],
                   .first = program->first[rank]};
}

/* Number of a rank's moves before its action number `action`. */
static size_t count_moves_before(const moves *m, size_t action) {
    size_t count = 0;
    while (count < m->count && m->moves[count].before - m->first < action) {
        count++;
    }
    return count;
}

/* The lists of a rank in the part and in the whole job. */
typedef struct lists {
    const ms_action *part, *whole;
    size_t part_count, whole_count;
    moves part_moves, whole_moves;
} lists;

/* Whether the whole's list of actions is that of the part with one period repeated: the `length`
 * actions before position `cut` follow repeat->times more times at `cut`, each time with later
 * microbatches, and the part's rest comes after that. */
static bool is_repeated(const lists *rank_lists, size_t cut, size_t length,
                        const ms_repeated_period *repeat) {
    size_t more = length * (size_t)repeat->times;
    bool is_same = rank_lists->part_count + more == rank_lists->whole_count;
    for (size_t i = 0; i < rank_lists->part_count && is_same; i++) {
        bool is_before = i < cut;
        is_same = is_later_mb(&rank_lists->part[i], &rank_lists->whole[i + (is_before ? 0 : more)],
                              is_before ? 0 : repeat->mbs * repeat->times);
    }
    for (size_t i = cut; i < cut + more && is_same; i++) {
        is_same = is_later_mb(&rank_lists->whole[i - length], &rank_lists->whole[i], repeat->mbs);
    }
    return is_same;
}

/* Whether move `j` of `to` is move `i` of `from`, `on` actions later in its rank's list. */
static bool is_same_move(const moves *from, size_t i, const moves *to, size_t j, size_t on) {
    const ms_shard_move *a = &from->moves[i], *b = &to->moves[j];
    return a->stage == b->stage && a->is_unshard == b->is_unshard &&
           a->before - from->first + on == b->before - to->first;
}

/* Whether the whole's list of shard moves is that of the part with the moves of one period
 * repeated, as is_repeated finds for actions. The moves of the period are those that come right
 * before one of the `length` actions that precede position `cut`. */
static bool are_moves_repeated(const lists *rank_lists, size_t cut, size_t length,
                               const ms_repeated_period *repeat) {
    size_t begin = count_moves_before(&rank_lists->part_moves, cut - length);
    size_t end = count_moves_before(&rank_lists->part_moves, cut);
    size_t block = end - begin, more = block * (size_t)repeat->times;
    size_t on = length * (size_t)repeat->times;
    bool is_same = rank_lists->part_moves.count + more == rank_lists->whole_moves.count;
    for (size_t i = 0; i < rank_lists->part_moves.count && is_same; i++) {
        bool is_before = i < end;
        is_same = is_same_move(&rank_lists->part_moves, i, &rank_lists->whole_moves,
                               i + (is_before ? 0 : more), is_before ? 0 : on);
    }
    for (size_t i = end; i < end + more && is_same; i++) {
        is_same =
            is_same_move(&rank_lists->whole_moves, i - block, &rank_lists->whole_moves, i, length);
    }
    return is_same;
}

/* Whether an operation belongs to an action. Weight gradients belong to a separate pass W where
 * there is one, else to the whole backward pass. */
static bool is_of_action(const ms_dag_op *op, const ms_action *action) {
    bool is_forward = op->kind == MS_OP_FORWARD;
    bool is_weight = op->kind == MS_OP_WEIGHT_GRAD;
    bool is_kind = is_forward                  ? action->pass == MS_PASS_F
                   : action->pass == MS_PASS_W ? is_weight
                                               : action->pass != MS_PASS_F;
    return is_kind && op->stage == action->stage && op->mb == action->mb;
}

/* 1 + the index of the last action in a list that an operation belongs to; 0: there is none. */
static size_t position_behind(const ms_action *list, size_t count, const ms_dag_op *op) {
    for (size_t i = count; i-- > 0;) {
        if (is_of_action(op, &list[i])) {
            return i + 1;
        }
    }
    return 0;
}

/* Find the last computation of a pass that each rank starts before the end of the step's repeated
 * period. last_out: [ranks] operations, -1: none. */
static void find_last_begun(const ms_result *result, int32_t step, int32_t *last_out) {
    const ms_dag *dag = &result->dag;
    const ms_repeated_period *repeated = &result->timeline.steady.of_step[step];
    const double *start_s = result->timeline.start_s;
    for (int32_t rank = 0; rank < dag->rank_count; rank++) {
        last_out[rank] = -1;
    }
    for (int32_t op = dag->step_first[step]; op < dag->step_first[step + 1]; op++) {
        bool is_pass =
            dag->ops[op].stage >= 0 && dag->ops[op].mb >= 0 && ms_dag_is_compute(dag, op);
        bool is_begun = is_pass && !ms_repeated_period_is_before(repeated, start_s[op]);
        for (int32_t m = dag->member_first[op]; is_begun && m < dag->member_first[op + 1]; m++) {
            int32_t *last = &last_out[dag->streams[dag->member_stream[m]].rank];
            *last = *last < 0 || start_s[op] >= start_s[*last] ? op : *last;
        }
    }
}

/* Whether the whole's list of a rank is that of the part with the period repeated. The period is
 * found in the part's list: it ends behind the pass of `last`, the rank's last operation before the
 * end of the repeated period, and begins behind the same pass one period earlier.  pp: pipeline
 * rank. */
static bool stands_for_rank(const ms_part *part, const ms_job *job,
                            const ms_repeated_period *period, int pp, const ms_dag_op *last) {
    const ms_program *some = &part->job.program;
    const ms_program *all = &job->program;
    const lists rank_lists = {.part = some->actions + some->first[pp],
                              .whole = all->actions + all->first[pp],
                              .part_count = some->first[pp + 1] - some->first[pp],
                              .whole_count = all->first[pp + 1] - all->first[pp],
                              .part_moves = moves_of(some, pp),
                              .whole_moves = moves_of(all, pp)};
    ms_dag_op before = *last;
    before.mb -= period->mbs;
    size_t cut = position_behind(rank_lists.part, rank_lists.part_count, last);
    size_t begin = position_behind(rank_lists.part, rank_lists.part_count, &before);
    return begin > 0 && cut > begin && is_repeated(&rank_lists, cut, cut - begin, period) &&
           are_moves_repeated(&rank_lists, cut, cut - begin, period);
}

/* Whether the part stands for the whole job on all ranks in one step.  last: [ranks] scratch. */
static bool stands_for_step(const ms_part *part, const ms_job *job, const ms_result *result,
                            int32_t step, int32_t *last) {
    const ms_dag *dag = &result->dag;
    const ms_repeated_period *repeated = &result->timeline.steady.of_step[step];
    bool stands_for = true;
    find_last_begun(result, step, last);
    /* a rank that was done before the repeated period begins would have more to do in it */
    for (int32_t rank = 0; rank < dag->rank_count && stands_for; rank++) {
        stands_for =
            last[rank] >= 0 && result->timeline.start_s[last[rank]] >= repeated->from_s &&
            stands_for_rank(part, job, repeated, dag->ranks[rank].pp, &dag->ops[last[rank]]);
    }
    return stands_for;
}

ms_status ms_part_compare(const ms_part *part, const ms_job *job, const ms_result *result,
                          ms_arena *arena, bool *stands_for_out) {
    int32_t *last = MS_NEW(arena, int32_t, result->dag.rank_count);
    if (last == NULL) {
        return MS_E_NOMEM;
    }
    bool stands_for = result->timeline.steady.count > 0 && part->fold.is_exact;
    for (int32_t step = 0; step < result->timeline.steady.count && stands_for; step++) {
        stands_for = stands_for_step(part, job, result, step, last);
    }
    *stands_for_out = stands_for;
    return MS_OK;
}
