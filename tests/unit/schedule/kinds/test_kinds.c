/* Every kind over sweeps of sizes, costs and latencies: invariants, closed forms, peaks, messages.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "schedule_fixture.h"

/* tf, tb, tw, p2p, dyadic so that sums are exact */
static const double COSTS[][4] = {
    {1, 1, 1, 0},      {1, 1, 1, 0.125}, {1.5, 1.25, 0.75, 0}, {1.5, 1.25, 0.75, 0.25},
    {2, 1, 0.5, 0},    {2, 1, 0.5, 1.5}, {1, 2, 1, 0},         {0.5, 3, 1, 0.5},
    {1, 0.5, 0.5, 0},  {1, 0, 1, 0},     {1, 1, 2, 0},         {4, 2, 2, 16},
    {0.5, 0.5, 0.5, 0}};
enum { COST_COUNT = sizeof COSTS / sizeof COSTS[0] };

/* A legal spec of a kind near the wished sizes. */
static ms_schedule_spec legal(ms_schedule_kind kind, int p, int v, int m) {
    ms_schedule_spec spec = {.kind = kind, .pipeline_ranks = p, .microbatches = m};
    switch (kind) {
    case MS_SCHEDULE_INTERLEAVED:
        spec.microbatches = (m + p - 1) / p * p;
        spec.chunks = v;
        break;
    case MS_SCHEDULE_INTERLEAVED_FLEXIBLE:
        spec.microbatches = m < p ? p : m;
        spec.group = p + (m * 7 + v) % (spec.microbatches - p + 1);
        if (spec.microbatches % spec.group != 0 && spec.microbatches % spec.group < p) {
            spec.group = spec.microbatches; /* a short last group may deadlock */
        }
        spec.chunks = v;
        break;
    case MS_SCHEDULE_INTERLEAVED_TORCH:
    case MS_SCHEDULE_ZB1P:
        spec.microbatches = m < 2 * p ? m : m / p * p;
        spec.chunks = v;
        break;
    case MS_SCHEDULE_LOOPED_BFS:
        spec.chunks = v;
        break;
    case MS_SCHEDULE_DUALPIPE:
        spec.pipeline_ranks = (p + 1) / 2 * 2;
        spec.microbatches =
            2 * (m / 2) < 2 * spec.pipeline_ranks ? 2 * spec.pipeline_ranks : m / 2 * 2;
        break;
    case MS_SCHEDULE_DUALPIPEV:
        spec.microbatches = m < 2 * p ? 2 * p : m;
        break;
    case MS_SCHEDULE_CHIMERA:
        spec.pipeline_ranks = (p + 1) / 2 * 2;
        spec.microbatches =
            (m + spec.pipeline_ranks - 1) / spec.pipeline_ranks * spec.pipeline_ranks;
        break;
    case MS_SCHEDULE_SEQ1F1B:
        spec.slices = v;
        break;
    default:
        break;
    }
    return spec;
}

typedef void visit(fixture *f, const ms_program *program, const ms_schedule_costs *costs,
                   const ms_schedule_result *result);

/* Visit a kind over hundreds of sizes and costs. */
static void sweep(ms_schedule_kind kind, visit *each) {
    for (int p = 1; p <= 8; p++) {
        for (int m = 1; m <= 26; m += 1 + m / 6) {
            for (int v = 1; v <= 3; v++) {
                fixture f;
                fixture_init(&f);
                ms_schedule_spec spec = legal(kind, p, v, m);
                ms_program program = fixture_build(&f, &spec);
                for (int i = (p + m + v) % 3; i < COST_COUNT; i += 3) {
                    ms_schedule_costs costs =
                        fixture_even_costs(&f, program.model_stages, COSTS[i]);
                    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
                    each(&f, &program, &costs, &result);
                }
                fixture_release(&f);
            }
        }
    }
}

static int formulas_seen;
static int span_formulas_seen;

static void check_formulas(fixture *f, const ms_program *program, const ms_schedule_costs *costs,
                           const ms_schedule_result *result) {
    (void)f;
    double size = 1e-9 * (1 + result->makespan);
    if (result->has_formula) {
        formulas_seen++;
        cr_assert_float_eq(
            result->formula_makespan, result->makespan, size,
            "%s P=%d V=%d M=%d costs %g %g %g %g: closed form %.17g, evaluation %.17g",
            program->name, program->spec.pipeline_ranks, program->spec.chunks,
            program->spec.microbatches, costs->forward[0], costs->input_grad[0],
            costs->weight_grad[0], program->model_stages > 1 ? costs->p2p[0] : 0,
            result->formula_makespan, result->makespan);
    }
    if (result->has_span_formula) {
        span_formulas_seen++;
        cr_assert_float_eq(result->formula_span_bubble, result->max_span_bubble, size,
                           "%s P=%d M=%d costs %g %g %g: closed form of the span %.17g, "
                           "evaluation %.17g",
                           program->name, program->spec.pipeline_ranks, program->spec.microbatches,
                           costs->forward[0], costs->input_grad[0], costs->weight_grad[0],
                           result->formula_span_bubble, result->max_span_bubble);
    }
}

Test(schedule_kinds, closed_forms_hold_in_their_ranges) {
    static const struct {
        int least, span_least; /* closed forms the sweep must meet */
    } EXPECTED[MS_SCHEDULE_KIND_COUNT] = {
        [MS_SCHEDULE_GPIPE] = {500, 0},       [MS_SCHEDULE_1F1B] = {500, 0},
        [MS_SCHEDULE_INTERLEAVED] = {500, 0}, [MS_SCHEDULE_INTERLEAVED_TORCH] = {200, 0},
        [MS_SCHEDULE_LOOPED_BFS] = {200, 0},  [MS_SCHEDULE_ZBH1] = {100, 100},
        [MS_SCHEDULE_ZBH2] = {0, 100},        [MS_SCHEDULE_ZBV] = {0, 50},
        [MS_SCHEDULE_DUALPIPE] = {100, 0},    [MS_SCHEDULE_DUALPIPEV] = {100, 0},
        [MS_SCHEDULE_CHIMERA] = {50, 0},
    };
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        formulas_seen = 0;
        span_formulas_seen = 0;
        sweep((ms_schedule_kind)kind, check_formulas);
        cr_assert_geq(formulas_seen, EXPECTED[kind].least, "%s: %d",
                      ms_schedule_kind_name((ms_schedule_kind)kind), formulas_seen);
        cr_assert_geq(span_formulas_seen, EXPECTED[kind].span_least, "%s: %d",
                      ms_schedule_kind_name((ms_schedule_kind)kind), span_formulas_seen);
    }
}

/* Invariants; work is conserved; a rank's times add up; no schedule beats its busiest rank. */
static void check_invariants(fixture *f, const ms_program *program, const ms_schedule_costs *costs,
                             const ms_schedule_result *result) {
    cr_assert_eq(ms_program_check(program, &f->diag), MS_OK, "%s P=%d V=%d M=%d N=%d: %s",
                 program->name, program->spec.pipeline_ranks, program->spec.chunks,
                 program->spec.microbatches, program->spec.group, ms_buffer_text(&f->talk));
    double size = 1e-9 * (1 + result->makespan);
    double busy = 0;
    double work = 0;
    for (int stage = 0; stage < program->model_stages; stage++) {
        work += program->spec.microbatches * program->spec.slices *
                (costs->forward[stage] + costs->input_grad[stage] + costs->weight_grad[stage]);
    }
    for (int r = 0; r < program->spec.pipeline_ranks; r++) {
        const ms_schedule_rank *rank = &result->ranks[r];
        double idle = rank->idle_warmup + rank->idle_steady + rank->idle_cooldown;
        cr_assert_float_eq(rank->busy + idle, result->makespan, size);
        cr_assert(rank->exposed_p2p <= idle + size);
        busy += rank->busy;
    }
    cr_assert_float_eq(busy, work, size * program->spec.pipeline_ranks);
    cr_assert(result->busy_max <= result->makespan + size);
}

Test(schedule_kinds, invariants_hold) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        sweep((ms_schedule_kind)kind, check_invariants);
    }
}

/* Peak in flight on the worst rank, in stages, as the sources state it; 0: none stated. */
static int stated_peak(const ms_schedule_spec *spec) {
    int p = spec->pipeline_ranks;
    int m = spec->microbatches;
    switch (spec->kind) {
    case MS_SCHEDULE_GPIPE:
        return m;
    case MS_SCHEDULE_LOOPED_BFS:
        return spec->chunks * m;
    case MS_SCHEDULE_ZBH1:
    case MS_SCHEDULE_1F1B:
        return m < p ? m : p;
    case MS_SCHEDULE_ZBH2:
        return m < 2 * p - 1 ? m : 2 * p - 1;
    case MS_SCHEDULE_ZBV:
        return m < p ? 0 : 2 * p;
    case MS_SCHEDULE_DUALPIPE:
        return p + 1;
    case MS_SCHEDULE_DUALPIPEV:
        return 2 * p + 1;
    case MS_SCHEDULE_VHALF:
        return m < 2 * p ? 0 : 2 * ((p + 2) / 2);
    case MS_SCHEDULE_VMIN:
        return m < 2 * p ? 0 : 2 * ((p + 4) / 3);
    default:
        return 0;
    }
}

/* Messages: each boundary between ranks once per unit and direction. */
static void check_counts(fixture *f, const ms_program *program, const ms_schedule_costs *costs,
                         const ms_schedule_result *result) {
    (void)f;
    (void)costs;
    long boundaries = 0;
    for (int s = 0; s + 1 < program->model_stages; s++) {
        boundaries += program->stage_rank[s] != program->stage_rank[s + 1];
    }
    long messages = (long)program->spec.microbatches * program->spec.slices;
    cr_assert_eq(result->messages_total, 2 * messages * boundaries);
    int peak = 0;
    for (int r = 0; r < program->spec.pipeline_ranks; r++) {
        int got = result->ranks[r].peak_inflight;
        peak = got > peak ? got : peak;
    }
    int stated = stated_peak(&program->spec);
    cr_assert(stated == 0 || peak == stated, "%s P=%d M=%d: peak %d, stated %d", program->name,
              program->spec.pipeline_ranks, program->spec.microbatches, peak, stated);
}

Test(schedule_kinds, peaks_and_messages) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        sweep((ms_schedule_kind)kind, check_counts);
    }
}

/* What a kind refuses, and the words that must stand in the one message. */
Test(schedule_kinds, refusals) {
    static const struct {
        ms_schedule_spec spec;
        const char *words;
    } BAD[] = {
        {SPEC(MS_SCHEDULE_ZBV, 4, 1, 8, 0), "nearest legal V: 2"},
        {SPEC(MS_SCHEDULE_ZBH1, 4, 2, 8, 0), "nearest legal V: 1"},
        {SPEC(MS_SCHEDULE_DUALPIPE, 3, 1, 8, 0), "P = '3'; nearest legal P: 2 or 4"},
        {SPEC(MS_SCHEDULE_DUALPIPE, 4, 1, 9, 0), "M = '9'; nearest legal M: 8 or 10"},
        {SPEC(MS_SCHEDULE_DUALPIPE, 4, 1, 5, 0), "M = '5'; nearest legal M: 8"},
        {SPEC(MS_SCHEDULE_DUALPIPE, 4, 1, 6, 0), "nearest legal M: 8"},
        {SPEC(MS_SCHEDULE_DUALPIPEV, 4, 0, 7, 0), "nearest legal M: 8"},
        {SPEC(MS_SCHEDULE_CHIMERA, 5, 1, 10, 0), "nearest legal P: 6"},
        {SPEC(MS_SCHEDULE_CHIMERA, 4, 1, 10, 0), "nearest legal M: 8 or 12"},
        {SPEC(MS_SCHEDULE_CHIMERA, 4, 1, 3, 0), "nearest legal M: 4"},
        {SPEC(MS_SCHEDULE_ZB1P, 4, 2, 9, 0), "nearest legal M: 8 or 10"},
        {SPEC(MS_SCHEDULE_INTERLEAVED_TORCH, 4, 2, 13, 0), "nearest legal M: 12 or 15"},
        {SPEC(MS_SCHEDULE_INTERLEAVED_FLEXIBLE, 4, 2, 3, 9), "nearest legal N: 3"},
        {SPEC(MS_SCHEDULE_INTERLEAVED_FLEXIBLE, 6, 2, 20, 6), "as with N = 7"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 6, 2, 8, 2), "nearest legal N: 8"},
        {SPEC(MS_SCHEDULE_LOOPED_BFS, 4, 2, 8, 4), "no groups of microbatches"},
        {{.kind = MS_SCHEDULE_1F1B, .pipeline_ranks = 2, .microbatches = 2, .slices = 2},
         "only seq1f1b"},
        {{.kind = MS_SCHEDULE_SEQ1F1B, .pipeline_ranks = 2, .microbatches = 2, .slices = -2},
         "got '-2'"},
        {{.kind = MS_SCHEDULE_ZBV, .pipeline_ranks = 2, .microbatches = 2, .is_reordered = true},
         "only vhalf and vmin"},
        {{.kind = MS_SCHEDULE_CUSTOM, .pipeline_ranks = 2, .microbatches = 2},
         "unknown schedule kind"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program program = {.stages = -7};
        cr_assert_eq(ms_schedule_build(&BAD[i].spec, &f.arena, &f.diag, &program), MS_E_INPUT,
                     "row %zu", i);
        cr_assert_eq(f.diag.errors, 1, "row %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.talk), BAD[i].words), "row %zu: %s", i,
                           ms_buffer_text(&f.talk));
        cr_assert_eq(program.stages, -7, "row %zu wrote its output", i);
        fixture_release(&f);
    }
}

/* Without Megatron-LM's rules groups of any size: those that deadlock are refused. One stage per
 * rank always runs, and so do fewer microbatches than ranks in one group. */
Test(schedule_kinds, groups_of_any_size) {
    int built = 0;
    int refused = 0;
    for (int i = 0; i < 5 * 3 * 14; i++) {
        int p = 2 + i % 5, v = 1 + i / 5 % 3, m = 1 + i / 15;
        for (int n = 1; n <= m; n++) {
            fixture f;
            fixture_init(&f);
            ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED_FLEXIBLE, p, v, m, n);
            ms_program program;
            bool is_full = n >= p && (m % n == 0 || m % n >= p);
            if (ms_schedule_build(&spec, &f.arena, &f.diag, &program) == MS_OK) {
                cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK);
                built += !is_full;
            } else {
                cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "would wait for each other"));
                cr_assert(!is_full && v > 1 && !(m < p && n == m), "P=%d V=%d M=%d N=%d", p, v, m,
                          n);
                refused++;
            }
            fixture_release(&f);
        }
    }
    cr_assert_gt(built, 400);
    cr_assert_gt(refused, 100);
}

static int worst_peak(const ms_program *program, const ms_schedule_result *result) {
    int peak = 0;
    for (int r = 0; r < program->spec.pipeline_ranks; r++) {
        int got = result->ranks[r].peak_inflight;
        peak = got > peak ? got : peak;
    }
    return peak;
}

/* With equal costs never longer and never more in flight; published: bubble 26 to 17 for V-Half, 27
 * as before for V-Min (P = 8, M = 32). */
Test(schedule_kinds, reordering_keeps_the_peak) {
    int shorter = 0;
    for (int kind = MS_SCHEDULE_VHALF; kind <= MS_SCHEDULE_VMIN; kind++) {
        for (int p = 1; p <= 8; p++) {
            for (int m = 1; m <= 32; m += 1 + m / 2) {
                fixture f;
                fixture_init(&f);
                ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, p, 2, m, 0);
                ms_program plain = fixture_build(&f, &spec);
                spec.is_reordered = true;
                ms_program moved = fixture_build(&f, &spec);
                cr_assert_eq(ms_program_check(&moved, &f.diag), MS_OK, "%s",
                             ms_buffer_text(&f.talk));
                ms_schedule_costs costs = fixture_even_costs(&f, 2 * p, COSTS[0]);
                ms_schedule_result before = fixture_evaluate(&f, &plain, &costs);
                ms_schedule_result after = fixture_evaluate(&f, &moved, &costs);
                cr_assert(after.makespan <= before.makespan);
                cr_assert(worst_peak(&moved, &after) <= worst_peak(&plain, &before));
                shorter += after.makespan < before.makespan;
                fixture_release(&f);
            }
        }
    }
    cr_assert_gt(shorter, 10);
    static const double BUBBLES[2][2] = {{26, 17}, {27, 27}};
    for (int i = 0; i < 4; i++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_spec spec = SPEC((ms_schedule_kind)(MS_SCHEDULE_VHALF + i / 2), 8, 2, 32, 0);
        spec.is_reordered = i % 2 == 1;
        ms_program program = fixture_build(&f, &spec);
        ms_schedule_costs costs = fixture_even_costs(&f, 16, COSTS[0]);
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        cr_assert_float_eq(result.max_span_bubble, BUBBLES[i / 2][i % 2], 1e-9);
        fixture_release(&f);
    }
}

/* Both of a fused pair are in flight together, whichever stands first; one after the other, not. */
Test(schedule_kinds, pairs_are_in_flight_together) {
    ms_action actions[] = {{.pass = MS_PASS_F},
                           {.pass = MS_PASS_B, .is_overlapped = 1},
                           {.pass = MS_PASS_F, .mb = 1},
                           {.pass = MS_PASS_B, .mb = 1}};
    size_t first[] = {0, 4};
    int none[] = {0};
    ms_program program = {.spec = {.kind = MS_SCHEDULE_CUSTOM,
                                   .pipeline_ranks = 1,
                                   .chunks = 1,
                                   .microbatches = 2,
                                   .slices = 1},
                          .name = "pair",
                          .stages = 1,
                          .model_stages = 1,
                          .mb_count = 2,
                          .parameter_replicas = 1,
                          .stage_rank = none,
                          .stage_chunk = none,
                          .first = first,
                          .actions = actions};
    for (int is_serial = 0; is_serial < 2; is_serial++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_costs costs = fixture_even_costs(&f, 1, COSTS[0]);
        costs.is_serial = is_serial == 1;
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        cr_assert_eq(result.ranks[0].peak_inflight, 2 - is_serial);
        cr_assert_eq(result.ranks[0].peak_inflight_input, 2 - is_serial);
        fixture_release(&f);
    }
}

/* Fused and serial pairs, and pairs that take less than their sum (P = 8, M = 20). */
Test(schedule_kinds, overlapped_pairs) {
    static const struct {
        bool is_serial;
        double scale, makespan;
    } ROWS[] = {{false, 0, 66}, {false, 1, 66}, {true, 0, 63}, {true, 0.5, 63}, {false, 0.8, 57.6}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_spec spec = SPEC(MS_SCHEDULE_DUALPIPE, 8, 1, 20, 0);
        ms_program program = fixture_build(&f, &spec);
        ms_schedule_costs costs = fixture_even_costs(&f, 8, COSTS[0]);
        costs.is_serial = ROWS[i].is_serial;
        costs.pair_scale = ROWS[i].scale;
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        cr_assert_float_eq(result.makespan, ROWS[i].makespan, 1e-9, "row %zu: %.17g", i,
                           result.makespan);
        fixture_release(&f);
    }
}

/* Two ranks, one microbatch: F 0..1, held to 1.5; F 1.5..2.5, B ..4.5, held to 5; B 5..7. The
 * second forward of rank 0 has to wait for the first one's arrival. */
Test(schedule_kinds, blocking_sends_hold_the_sender) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_GPIPE, 2, 1, 2, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_schedule_costs costs = fixture_even_costs(&f, 2, (const double[]){1, 1, 1, 0.5});
    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
    cr_assert_float_eq(result.slots[1].start, 1, 1e-12);
    costs.is_blocking = true;
    result = fixture_evaluate(&f, &program, &costs);
    cr_assert_float_eq(result.slots[1].start, 1.5, 1e-12);
    cr_assert_float_eq(result.ranks[0].exposed_p2p, 3 * 0.5, 1e-12);
    cr_assert_not(result.has_formula);
    fixture_release(&f);
}

static void check_blocking(fixture *f, const ms_program *program, const ms_schedule_costs *costs,
                           const ms_schedule_result *result) {
    ms_schedule_costs blocking = *costs;
    blocking.is_blocking = true;
    ms_schedule_result held = fixture_evaluate(f, program, &blocking);
    cr_assert(held.makespan >= result->makespan);
}

Test(schedule_kinds, blocking_sends_never_help) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        sweep((ms_schedule_kind)kind, check_blocking);
    }
}
