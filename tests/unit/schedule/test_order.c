/* The orders in which a program is visited: a rank's list, and all lists by readiness. */
#include <string.h>

#include "schedule_fixture.h"

/* Every kind at a few sizes that it takes. */
static bool build_any(fixture *f, ms_schedule_kind kind, int ranks, int chunks, ms_program *out) {
    ms_schedule_spec spec = SPEC(kind, ranks, chunks, 4 * ranks, 0);
    ms_diag mute;
    ms_diag_init_mute(&mute);
    return ms_schedule_build(&spec, &f->arena, &mute, out) == MS_OK;
}

/* A list's stops hold all its actions in order, pairs together, and each move before the action it
 * stands before. */
static void follow_list(const ms_program *p, int rank, bool is_serial) {
    ms_rank_cursor cursor = ms_rank_begin(p, rank);
    cursor.is_serial = is_serial;
    size_t action = p->first[rank];
    size_t move = p->shard_moves == NULL ? 0 : p->shard_first[rank];
    ms_program_stop stop;
    while (ms_rank_next(&cursor, &stop)) {
        cr_assert_eq(stop.rank, rank);
        cr_assert_eq(stop.index, action);
        cr_assert(stop.width > 0 || stop.move_count > 0, "a stop with nothing");
        for (size_t i = 0; i < stop.move_count; i++, move++) {
            cr_assert_eq(&stop.moves[i], &p->shard_moves[move]);
            cr_assert_eq(stop.moves[i].before, action, "%s: move %zu", p->name, move);
        }
        if (stop.width > 0) {
            cr_assert_eq(stop.actions, &p->actions[action]);
            cr_assert_eq(stop.width, stop.actions->is_overlapped != 0 && !is_serial ? 2 : 1);
        }
        action += (size_t)stop.width;
    }
    cr_assert_eq(action, p->first[rank + 1], "%s: the list's end", p->name);
    cr_assert_eq(move, p->shard_moves == NULL ? 0 : p->shard_first[rank + 1]);
}

Test(schedule_order, a_list_with_its_moves_and_pairs) {
    fixture f;
    fixture_init(&f);
    int programs = 0;
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        for (int chunks = 1; chunks <= 2; chunks++) {
            ms_program p;
            if (!build_any(&f, (ms_schedule_kind)kind, 4, chunks, &p)) {
                continue;
            }
            programs++;
            for (int rank = 0; rank < 4; rank++) {
                follow_list(&p, rank, false);
                follow_list(&p, rank, true);
            }
            cr_assert_eq(ms_program_place_unshards(&p, 3, &f.arena, &f.diag), MS_OK);
            for (int rank = 0; rank < 4; rank++) {
                follow_list(&p, rank, false);
            }
        }
    }
    cr_assert_geq(programs, MS_SCHEDULE_KIND_COUNT);
    fixture_release(&f);
}

/* What has been visited of each stage and microbatch. */
typedef struct visited {
    const ms_program *program;
    unsigned *passes; /* [stages * mb_count] a bit per ms_pass */
} visited;

static bool has(const visited *v, int stage, int mb, unsigned passes) {
    return (v->passes[(size_t)stage * (size_t)v->program->mb_count + (size_t)mb] & passes) != 0;
}

static bool is_ready(const visited *v, const ms_action *a) {
    const unsigned F = 1U << MS_PASS_F, GRADIENT = 1U << MS_PASS_I | 1U << MS_PASS_B;
    switch ((ms_pass)a->pass) {
    case MS_PASS_F:
        return !ms_program_has_previous(v->program, a->stage) || has(v, a->stage - 1, a->mb, F);
    case MS_PASS_W:
        return has(v, a->stage, a->mb, 1U << MS_PASS_I);
    default:
        return has(v, a->stage, a->mb, F) && (!ms_program_has_next(v->program, a->stage) ||
                                              has(v, a->stage + 1, a->mb, GRADIENT));
    }
}

/* The order spelled out: rank after rank, each as far as it can, again and again. */
static void expect_rounds(fixture *f, const ms_program *p, ms_ready_order *order) {
    size_t keys = (size_t)p->stages * (size_t)p->mb_count;
    visited v = {.program = p, .passes = MS_NEW(&f->arena, unsigned, keys)};
    size_t *next = MS_NEW(&f->arena, size_t, p->spec.pipeline_ranks);
    memcpy(next, p->first, (size_t)p->spec.pipeline_ranks * sizeof *next);
    size_t left = p->first[p->spec.pipeline_ranks];
    while (left > 0) {
        size_t before = left;
        for (int rank = 0; rank < p->spec.pipeline_ranks; rank++) {
            while (next[rank] < p->first[rank + 1]) {
                const ms_action *a = &p->actions[next[rank]];
                int width = a->is_overlapped != 0 ? 2 : 1;
                if (!is_ready(&v, a) || (width == 2 && !is_ready(&v, a + 1))) {
                    break;
                }
                ms_program_stop stop;
                cr_assert(ms_ready_order_next(order, &stop), "%s ends early", p->name);
                cr_assert_eq(stop.rank, rank, "%s: rank %d, expected %d", p->name, stop.rank, rank);
                cr_assert_eq(stop.index, next[rank]);
                cr_assert_eq(stop.width, width);
                for (int i = 0; i < width; i++) {
                    size_t key = (size_t)a[i].stage * (size_t)p->mb_count + (size_t)a[i].mb;
                    v.passes[key] |= 1U << a[i].pass;
                }
                next[rank] += (size_t)width;
                left -= (size_t)width;
            }
        }
        cr_assert_lt(left, before, "%s gets stuck", p->name);
    }
    ms_program_stop stop;
    cr_assert_not(ms_ready_order_next(order, &stop), "%s goes on behind its end", p->name);
    cr_assert_eq(ms_ready_order_check(order, &f->diag), MS_OK);
}

/* 70 ranks: more than one word of the order's sets. */
Test(schedule_order, readiness_goes_round_by_round) {
    static const int RANKS[] = {1, 2, 4, 70};
    fixture f;
    fixture_init(&f);
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        for (size_t i = 0; i < 2 * sizeof RANKS / sizeof RANKS[0]; i++) {
            ms_program p;
            ms_ready_order order;
            if (build_any(&f, (ms_schedule_kind)kind, RANKS[i / 2], 1 + (int)i % 2, &p)) {
                cr_assert_eq(ms_ready_order_init(&p, false, &f.arena, &order), MS_OK);
                expect_rounds(&f, &p, &order);
                ms_ready_order_restart(&order);
                expect_rounds(&f, &p, &order);
            }
        }
    }
    fixture_release(&f);
}

/* Rank r of 1F1B warms up with P - r forward passes and cools down with as many backward ones. */
Test(schedule_order, phases_of_1f1b) {
    enum { P = 4, M = 10 };
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, P, 1, M, 0);
    ms_program p = fixture_build(&f, &spec);
    for (int rank = 0; rank < P; rank++) {
        ms_pipeline_phases phases = MS_NO_PHASES;
        for (int i = 0; i < 2 * M; i++) {
            ms_phases_add(&phases, i, (ms_pass)p.actions[p.first[rank] + (size_t)i].pass);
        }
        int warmup = P - rank;
        cr_assert_eq(phases.first_backward, warmup);
        cr_assert_eq(phases.last_forward, 2 * M - 1 - warmup);
        cr_assert_eq(ms_phase_before(&phases, warmup), MS_PHASE_WARMUP);
        cr_assert_eq(ms_phase_before(&phases, warmup + 1), MS_PHASE_STEADY);
        cr_assert_eq(ms_phase_before(&phases, 2 * M - 1 - warmup), MS_PHASE_STEADY);
        cr_assert_eq(ms_phase_before(&phases, 2 * M - warmup), MS_PHASE_COOLDOWN);
    }
    fixture_release(&f);
}

/* A list without backward passes has no warm-up but what leads it. */
Test(schedule_order, phases_without_backward_passes) {
    ms_pipeline_phases phases = MS_NO_PHASES;
    ms_phases_add(&phases, 0, MS_PASS_F);
    ms_phases_add(&phases, 1, MS_PASS_F);
    cr_assert_eq(ms_phase_before(&phases, 0), MS_PHASE_WARMUP);
    cr_assert_eq(ms_phase_before(&phases, 1), MS_PHASE_STEADY);
    cr_assert_eq(ms_phase_before(&phases, 2), MS_PHASE_COOLDOWN);
}
