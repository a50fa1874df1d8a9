#include "simulate/run/fast_forward.h"

/* Periods of an attempt beside those that fill the pipeline, of one microbatch and of several:
 * three are compared, and dates may take a few microbatches to settle. */
enum { PERIODS = 8, LONG_PERIODS = 4 };

/* Attempts, those that are fitted to what was seen not counted. Periods of the last one: at least,
 * and as a share of the job (one in so many). */
enum { MANY_PERIODS = 48, JOB_SHARE = 8, ATTEMPTS = 3 };

/* A part longer than this share of the job is not worth an attempt. */
#define PART_SHARE 0.4

/* All attempts together may cost this share of the whole simulation, so that a job whose attempts
 * fail takes at most half as long again. */
#define ATTEMPTS_SHARE 0.5

/* Ranks for each action of the program beyond which folding them costs more than simulating does.
 */
enum { RANKS_PER_ACTION = 4 };

/* Whether an attempt that fails costs little beside the whole job: ranks are folded twice then. */
static bool is_worth_it(const ms_job *job) {
    size_t actions = job->program.first[job->program.spec.pipeline_ranks];
    return job->run.no_fold || (size_t)job->mesh.ranks <= RANKS_PER_ACTION * actions;
}

/* Whether nothing in a job depends on what came before the period at hand but by what the
 * comparison of periods looks at. */
static bool is_regular(const ms_job *job) {
    return !job->run.no_fast_forward && !job->run.is_bounded && job->program.type != NULL;
}

static int directions_of(const ms_program *program) {
    return program->stages / program->model_stages;
}

/* Numbers by which `mb` grows in a period of the schedule: of groups and rounds one. */
static int period_of(const ms_program *program) {
    int slices = program->spec.slices > 1 ? program->spec.slices : 1;
    bool has_groups = ms_schedule_kind_traits(program->spec.kind).takes_group;
    int group = has_groups ? ms_schedule_group(&program->spec) : 1;
    int round = program->round > 1 ? program->round / slices : 1;
    int period = group > round ? group : round;
    return period % group == 0 && period % round == 0 ? period * slices : 0;
}

/* The smallest multiple of a period that is one of the number of ranks, too. */
static int common_multiple(int period, int ranks) {
    int multiple = period;
    while (period > 0 && multiple % ranks != 0) {
        multiple += period;
    }
    return multiple;
}

/* Numbers of `mb` that some rank begins before its first backward pass. */
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

/* Microbatches in the whole program for each of its numbers of `mb`. */
static int microbatches_of(const ms_program *program, int mbs) {
    int per_microbatch = program->spec.slices > 1 ? program->spec.slices : 1;
    return mbs / per_microbatch * directions_of(program);
}

/* Periods of an attempt beside those that fill the pipeline. With messages between its ranks a
 * pipeline may come back to the same state only after as many microbatches as it has ranks: these
 * are tried in the second one. With replicas that share links dates may take long to settle.
 *  unit: periods in which all ranks have their turn. */
static int count_periods(const ms_program *program, int attempt, int period, int unit) {
    if (attempt == 1) {
        return period > 1 ? LONG_PERIODS : PERIODS;
    }
    int share = program->mb_count / (JOB_SHARE * period);
    return attempt == 2 ? LONG_PERIODS * unit : share > MANY_PERIODS ? share : MANY_PERIODS;
}

/* What the next attempt leaves out that is no fitted one; times 0: nothing, there is none. */
static ms_dag_repeat choose_repeat(const ms_program *program, ms_part *part) {
    int period = period_of(program);
    int filled = count_filling(program);
    ms_dag_repeat repeat = {.mbs = period};
    while (period > 0 && repeat.times == 0 && part->attempts < ATTEMPTS) {
        part->attempts++;
        int unit = common_multiple(period, program->spec.pipeline_ranks) / period;
        int round = part->attempts > 1 ? unit : 1;
        int most = ((int)(PART_SHARE * program->mb_count) - filled) / period - (round - 1);
        int wanted = count_periods(program, part->attempts, period, unit);
        int periods = part->attempts == ATTEMPTS && wanted > most ? most : wanted;
        if (periods <= most && periods >= LONG_PERIODS &&
            periods >= part->periods + part->periods / 2) {
            part->periods = periods;
            repeat.times = ((program->mb_count - filled) / period - periods) / round * round;
        }
    }
    return repeat;
}

/* What the next attempt leaves out: where several periods together were alike and are no divisor of
 * what the last one left out, a multiple of them. */
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

ms_status ms_part_choose(const ms_job *job, ms_arena *arena, ms_part *part) {
    bool is_folded = part->attempts == 0 || part->fold.is_exact;
    bool is_attempted = is_regular(job) && is_worth_it(job) && is_folded;
    ms_dag_repeat repeat = is_attempted ? next_repeat(&job->program, part) : (ms_dag_repeat){0};
    part->repeat = (ms_dag_repeat){0};
    part->seen_mbs = 0;
    if (repeat.times <= 0) {
        return MS_OK;
    }
    ms_diag mute;
    ms_diag_init_mute(&mute);
    part->job = *job;
    part->job.microbatches -= microbatches_of(&job->program, repeat.mbs * repeat.times);
    ms_status status = ms_job_order(&part->job, arena, &mute);
    if (status == MS_OK) {
        part->repeat = repeat;
    }
    return status == MS_E_NOMEM ? status : MS_OK;
}

/* Operations of the period in the middle of a part's microbatches: the first and the last of them
 * have gathers and reductions of gradients beside, which the whole job has no more often. */
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

/* Whether an action is another one with so many microbatches on. */
static bool is_moved(const ms_action *from, const ms_action *to, int mbs) {
    return from->pass == to->pass && from->is_overlapped == to->is_overlapped &&
           from->stage == to->stage && from->mb + mbs == to->mb;
}

/* What a program lets a rank gather and free, in order. */
typedef struct moves {
    const ms_shard_move *moves;
    size_t count;
    size_t first; /* action of the program at which the rank's list begins */
} moves;

static moves moves_of(const ms_program *program, int rank) {
    if (program->shard_moves == NULL) {
        return (moves){0};
    }
    return (moves){.moves = program->shard_moves + program->shard_first[rank],
                   .count = program->shard_first[rank + 1] - program->shard_first[rank],
                   .first = program->first[rank]};
}

/* How many of the moves stand before one of the rank's actions. */
static size_t count_moves_before(const moves *m, size_t action) {
    size_t count = 0;
    while (count < m->count && m->moves[count].before - m->first < action) {
        count++;
    }
    return count;
}

/* Where two programs' lists of a rank stand. */
typedef struct lists {
    const ms_action *part, *whole;
    size_t part_count, whole_count;
    moves part_moves, whole_moves;
} lists;

/* Whether the list of the whole is that of the part, with what stands in the `length` actions
 * before `cut` so many times more behind it. */
static bool is_repeated(const lists *l, size_t cut, size_t length,
                        const ms_steady_stretch *repeat) {
    size_t more = length * (size_t)repeat->times;
    bool is_same = l->part_count + more == l->whole_count;
    for (size_t i = 0; i < l->part_count && is_same; i++) {
        bool is_before = i < cut;
        is_same = is_moved(&l->part[i], &l->whole[i + (is_before ? 0 : more)],
                           is_before ? 0 : repeat->mbs * repeat->times);
    }
    for (size_t i = cut; i < cut + more && is_same; i++) {
        is_same = is_moved(&l->whole[i - length], &l->whole[i], repeat->mbs);
    }
    return is_same;
}

/* Whether a move of one list is that of another, so many actions on. */
static bool is_same_move(const moves *from, size_t i, const moves *to, size_t j, size_t on) {
    const ms_shard_move *a = &from->moves[i], *b = &to->moves[j];
    return a->stage == b->stage && a->is_unshard == b->is_unshard &&
           a->before - from->first + on == b->before - to->first;
}

/* Whether the shard moves between the actions are repeated likewise. */
static bool are_moves_repeated(const lists *l, size_t cut, size_t length,
                               const ms_steady_stretch *repeat) {
    size_t begin = count_moves_before(&l->part_moves, cut - length);
    size_t end = count_moves_before(&l->part_moves, cut);
    size_t block = end - begin, more = block * (size_t)repeat->times;
    size_t on = length * (size_t)repeat->times;
    bool is_same = l->part_moves.count + more == l->whole_moves.count;
    for (size_t i = 0; i < l->part_moves.count && is_same; i++) {
        bool is_before = i < end;
        is_same = is_same_move(&l->part_moves, i, &l->whole_moves, i + (is_before ? 0 : more),
                               is_before ? 0 : on);
    }
    for (size_t i = end; i < end + more && is_same; i++) {
        is_same = is_same_move(&l->whole_moves, i - block, &l->whole_moves, i, length);
    }
    return is_same;
}

/* Whether an operation belongs to an action: weight gradients to the pass of their own, if there is
 * one. */
static bool is_of_action(const ms_dag_op *op, const ms_action *action) {
    bool is_forward = op->kind == MS_OP_FORWARD;
    bool is_weight = op->kind == MS_OP_WEIGHT_GRAD;
    bool is_kind = is_forward                  ? action->pass == MS_PASS_F
                   : action->pass == MS_PASS_W ? is_weight
                                               : action->pass != MS_PASS_F;
    return is_kind && op->stage == action->stage && op->mb == action->mb;
}

/* Position behind the last action of a list that an operation belongs to; 0: there is none. */
static size_t position_behind(const ms_action *list, size_t count, const ms_dag_op *op) {
    for (size_t i = count; i-- > 0;) {
        if (is_of_action(op, &list[i])) {
            return i + 1;
        }
    }
    return 0;
}

/* The last pass of a step that each rank has begun before the step's stretch ends.
 *  last_out: [ranks] operations, -1: none. */
static void find_last_begun(const ms_result *result, int32_t step, int32_t *last_out) {
    const ms_dag *dag = &result->dag;
    const ms_steady_stretch *stretch = &result->timeline.steady.of_step[step];
    const double *start_s = result->timeline.start_s;
    for (int32_t rank = 0; rank < dag->rank_count; rank++) {
        last_out[rank] = -1;
    }
    for (int32_t op = dag->step_first[step]; op < dag->step_first[step + 1]; op++) {
        bool is_pass =
            dag->ops[op].stage >= 0 && dag->ops[op].mb >= 0 && ms_dag_is_compute(dag, op);
        bool is_begun = is_pass && !ms_steady_stretch_is_before(stretch, start_s[op]);
        for (int32_t m = dag->member_first[op]; is_begun && m < dag->member_first[op + 1]; m++) {
            int32_t *last = &last_out[dag->streams[dag->member_stream[m]].rank];
            *last = *last < 0 || start_s[op] >= start_s[*last] ? op : *last;
        }
    }
}

/* Whether the part stands for the whole on one rank, whose last pass before the end of the stretch
 * is `last`. */
static bool stands_for_rank(const ms_part *part, const ms_job *job, const ms_steady_stretch *period,
                            int pp, const ms_dag_op *last) {
    const ms_program *some = &part->job.program;
    const ms_program *all = &job->program;
    const lists l = {.part = some->actions + some->first[pp],
                     .whole = all->actions + all->first[pp],
                     .part_count = some->first[pp + 1] - some->first[pp],
                     .whole_count = all->first[pp + 1] - all->first[pp],
                     .part_moves = moves_of(some, pp),
                     .whole_moves = moves_of(all, pp)};
    ms_dag_op before = *last;
    before.mb -= period->mbs;
    size_t cut = position_behind(l.part, l.part_count, last);
    size_t begin = position_behind(l.part, l.part_count, &before);
    return begin > 0 && cut > begin && is_repeated(&l, cut, cut - begin, period) &&
           are_moves_repeated(&l, cut, cut - begin, period);
}

/* Whether the part stands for the whole on all ranks in one step.  last: [ranks] scratch. */
static bool stands_for_step(const ms_part *part, const ms_job *job, const ms_result *result,
                            int32_t step, int32_t *last) {
    const ms_dag *dag = &result->dag;
    const ms_steady_stretch *stretch = &result->timeline.steady.of_step[step];
    bool does = true;
    find_last_begun(result, step, last);
    /* a rank that was done before the stretch begins would have more to do in it */
    for (int32_t rank = 0; rank < dag->rank_count && does; rank++) {
        does = last[rank] >= 0 && result->timeline.start_s[last[rank]] >= stretch->from_s &&
               stands_for_rank(part, job, stretch, dag->ranks[rank].pp, &dag->ops[last[rank]]);
    }
    return does;
}

ms_status ms_part_compare(const ms_part *part, const ms_job *job, const ms_result *result,
                          ms_arena *arena, bool *stands_for_out) {
    int32_t *last = MS_NEW(arena, int32_t, result->dag.rank_count);
    if (last == NULL) {
        return MS_E_NOMEM;
    }
    bool does = result->timeline.steady.count > 0 && part->fold.is_exact;
    for (int32_t step = 0; step < result->timeline.steady.count && does; step++) {
        does = stands_for_step(part, job, result, step, last);
    }
    *stands_for_out = does;
    return MS_OK;
}
