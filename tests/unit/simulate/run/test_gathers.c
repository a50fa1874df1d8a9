/* Whole stages gathered where the schedule says: bytes, time and memory beside the other ways to
 * gather, and the places that a file gives. */
#include <math.h>

#include "job_fixture.h"
#include "schedule/schedule_csv.h"

/* Four replicas in each of two nodes, links slow enough to matter. */
static const char *const SHARDED[] = {"platform.nodes=2",
                                      "mesh.tp=1",
                                      "mesh.pp=2",
                                      "mesh.dp=8",
                                      "model.vocab=0",
                                      "model.layers=16",
                                      "data_parallel.zero=3",
                                      "platform.tiers.nvlink.bandwidth=20 GB/s",
                                      "batch.global=64"};
enum { SETS = sizeof SHARDED / sizeof SHARDED[0] };

typedef struct kind_case {
    const char *kind, *more; /* more: a further override */
    int own;                 /* stages of a rank */
} kind_case;

static const kind_case KINDS[] = {
    {"1f1b", "schedule.v=1", 1},        {"interleaved", "schedule.v=2", 2},
    {"interleaved", "schedule.v=4", 4}, {"looped_bfs", "schedule.v=4", 4},
    {"zbv", "schedule.kind=zbv", 2},    {"dualpipev", "schedule.kind=dualpipev", 2},
    {"dualpipe", "schedule.v=1", 2},    {"seq1f1b", "schedule.splits=2", 1},
    {"zb1p", "schedule.v=4", 4},
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

/* What a run leaves for comparison. */
typedef struct outcome {
    double step_s, dp_B, peak_B, check_B;
    double gather_B; /* that its gathers send, the mean over pipeline ranks: the formula */
    double once_B;   /* the same if every stage is gathered once */
} outcome;

/* Gathers of a rank's stages as the exported file has them, times the bytes that each sends. */
static double count_gathers(job_fixture *f) {
    const ms_csv_form form = {.has_sends = true, .has_shards = true, .merges_pairs = true};
    ms_csv_table table;
    cr_assert_eq(ms_csv_lower(&f->job.program, &form, &f->arena, &f->diag, &table), MS_OK);
    double sum = 0.0, n = f->job.layout.dp;
    for (size_t i = 0; i < table.first[table.ranks]; i++) {
        if (table.cells[i].op == MS_CSV_UNSHARD) {
            int stage = ms_program_model_stage(&f->job.program, table.cells[i].stage);
            sum += (n - 1.0) / n * 2.0 * f->job.costs.stage[stage].parameters;
        }
    }
    return sum / table.ranks;
}

static double gather_once(const job_fixture *f) {
    double sum = 0.0, n = f->job.layout.dp;
    for (int stage = 0; stage < f->job.program.stages; stage++) {
        int own = ms_program_model_stage(&f->job.program, stage);
        sum += (n - 1.0) / n * 2.0 * f->job.costs.stage[own].parameters;
    }
    return sum / f->job.layout.pp;
}

static outcome measure(const kind_case *c, const char *gathers, bool no_fold, const char *further) {
    job_fixture f;
    const char *sets[SETS + 5];
    memcpy(sets, SHARDED, sizeof SHARDED);
    char kind[64];
    snprintf(kind, sizeof kind, "schedule.kind=%s", c->kind);
    sets[SETS] = kind;
    sets[SETS + 1] = c->more;
    sets[SETS + 2] = gathers;
    sets[SETS + 3] = further;
    sets[SETS + 4] = NULL;
    const ms_result *result = job_fixture_run(&f, "tiny", sets, "analytic", no_fold);
    outcome o = {.step_s = result->metrics.step_time_s,
                 .dp_B = result->metrics.axes[MS_AXIS_DP].bytes,
                 .peak_B = result->memory[result->peak_rank].held.total_B,
                 .gather_B = count_gathers(&f),
                 .once_B = gather_once(&f)};
    ms_estimate estimate;
    cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
    o.check_B = estimate.ranks[estimate.peak_rank].peak_B;
    job_fixture_release(&f);
    return o;
}

static void assert_same(double a, double b, const char *kind, const char *what) {
    cr_assert_lt(fabs(a - b), 1e-9 * fabs(b), "%s: %s: %.15g against %.15g", kind, what, a, b);
}

static const char *const THREE = "data_parallel.gather_stages=3";
static const char *const ONE = "data_parallel.gather_stages=1";
static const char *const ALL = "data_parallel.gather_stages=64";
static const char *const KEEP = "data_parallel.keep_parameters=true";
static const char *const EVERY_PASS = "data_parallel.keep_parameters=false";

/* Kept parameters are gathered once; what else a step sends does not depend on the gathers. */
Test(job_gathers, bytes_are_the_gathers_of_the_exported_file) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        outcome kept = measure(&KINDS[i], KEEP, false, NULL);
        outcome three = measure(&KINDS[i], THREE, false, NULL);
        outcome all = measure(&KINDS[i], ALL, false, NULL);
        assert_same(three.dp_B - three.gather_B, kept.dp_B - kept.once_B, KINDS[i].kind, "bytes");
        assert_same(all.dp_B, kept.dp_B, KINDS[i].kind, "bytes of room for all");
        if (KINDS[i].own <= 3) {
            assert_same(three.gather_B, three.once_B, KINDS[i].kind, "one gather per stage");
        } else {
            cr_assert_gt(three.gather_B, 1.2 * three.once_B, "%s", KINDS[i].kind);
        }
    }
}

Test(job_gathers, never_slower_than_before_every_pass) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        outcome passes = measure(&KINDS[i], EVERY_PASS, false, NULL);
        outcome one = measure(&KINDS[i], ONE, false, NULL);
        outcome three = measure(&KINDS[i], THREE, false, NULL);
        cr_assert_leq(one.step_s, passes.step_s, "%s: %g", KINDS[i].kind, passes.step_s);
        cr_assert_lt(three.step_s, 0.95 * passes.step_s, "%s: %g", KINDS[i].kind, passes.step_s);
        cr_assert_lt(three.dp_B, passes.dp_B, "%s", KINDS[i].kind);
    }
}

Test(job_gathers, memory_lies_between_the_other_ways) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        outcome passes = measure(&KINDS[i], EVERY_PASS, false, NULL);
        outcome kept = measure(&KINDS[i], KEEP, false, NULL);
        double before_B = passes.peak_B;
        const char *const ROOM[] = {ONE, THREE, ALL};
        for (int k = 0; k < 3; k++) {
            outcome o = measure(&KINDS[i], ROOM[k], false, NULL);
            cr_assert_geq(o.peak_B, before_B, "%s %s", KINDS[i].kind, ROOM[k]);
            cr_assert_leq(o.peak_B, kept.peak_B * (1 + 1e-12), "%s %s", KINDS[i].kind, ROOM[k]);
            assert_same(o.peak_B, o.check_B, KINDS[i].kind, "what check says");
            before_B = o.peak_B;
        }
    }
}

/* Several steps, blocking sends, every rank simulated. */
Test(job_gathers, folding_changes_nothing) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const char *const FURTHER[] = {"steps=3", "schedule.sends=blocking"};
        for (int k = 0; k < 2; k++) {
            outcome folded = measure(&KINDS[i], ONE, false, FURTHER[k]);
            outcome every = measure(&KINDS[i], ONE, true, FURTHER[k]);
            assert_same(folded.step_s, every.step_s, KINDS[i].kind, FURTHER[k]);
            assert_same(folded.dp_B, every.dp_B, KINDS[i].kind, FURTHER[k]);
            assert_same(folded.peak_B, every.peak_B, KINDS[i].kind, FURTHER[k]);
            assert_same(folded.peak_B, folded.check_B, KINDS[i].kind, FURTHER[k]);
        }
    }
}

/* Every step gathers anew what it gave up at its end. */
Test(job_gathers, steps_gather_alike) {
    outcome one = measure(&KINDS[2], THREE, false, NULL);
    outcome more = measure(&KINDS[2], THREE, false, "steps=3");
    assert_same(one.dp_B, more.dp_B, "interleaved", "bytes of a step");
    assert_same(one.peak_B, more.peak_B, "interleaved", "memory");
}

/* The experts' group leaves ep out, and hybrid sharding gathers over its own axes. */
Test(job_gathers, groups_are_those_of_the_shards) {
    const char *const SETS_OF[][8] = {
        {"mesh.dp=2", "mesh.ep=2", "mesh.order=[pp, ep, dp, tp]",
         "model.moe={experts: 4, top_k: 1}", "data_parallel.zero=3", THREE, NULL},
        {"mesh.tp=1", "mesh.dp=2", "mesh.cp=2", "mesh.order=[pp, dp, cp, tp]",
         "data_parallel.shard=[cp]", "data_parallel.zero=3", THREE, NULL}};
    for (int i = 0; i < 2; i++) {
        job_fixture f;
        const char *sets[10];
        memcpy(sets, SETS_OF[i], sizeof SETS_OF[i]);
        if (i == 0) {
            sets[6] = "mesh.tp=1";
            sets[7] = "model.bias=false";
            sets[8] = NULL;
        }
        job_fixture_run(&f, "tiny", sets, "analytic", false);
        const ms_stage_cost *stage = &f.job.costs.stage[0];
        const ms_segment *gathers = &f.job.costs.segments[stage->unshard.first];
        cr_assert_eq(stage->unshard.count, i == 0 ? 2 : 1);
        double experts = stage->expert_parameters;
        cr_assert_eq(gathers[0].coll_B, 2 * (stage->parameters - experts));
        bool has_ep = (gathers[0].group_axes & MS_AXIS_BIT(MS_AXIS_EP)) != 0;
        cr_assert_eq(has_ep, i == 0);
        if (i == 0) {
            cr_assert_eq(gathers[1].coll_B, 2 * experts);
            cr_assert_eq(gathers[1].group_axes & MS_AXIS_BIT(MS_AXIS_EP), 0);
        } else {
            cr_assert_eq(gathers[0].group_axes, MS_AXIS_BIT(MS_AXIS_CP));
        }
        job_fixture_release(&f);
    }
}

/* ---- a file's places ---- */

/* Passes of two ranks with two stages and two microbatches each. */
static const char *const ORDER[2] = {"0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1",
                                     "1F0,1F1,3F0,3F1,3B0,3B1,1B0,1B1"};

/* Write the order with its cells: each given what stands before and behind it. */
static void write_order(FILE *file, int places) {
    for (int rank = 0; rank < 2; rank++) {
        if (places == 1) {
            fprintf(file, "%dUNSHARD,%dUNSHARD,", rank, rank + 2);
        }
        for (int i = 0; i < 8; i++) {
            const char *cell = ORDER[rank] + (size_t)4 * (size_t)i;
            if (places == 2) {
                fprintf(file, "%cUNSHARD,%.3s,%cRESHARD", cell[0], cell, cell[0]);
            } else {
                fprintf(file, "%.3s", cell);
            }
            fputs(i < 7 ? "," : "", file);
        }
        if (places == 1) {
            fprintf(file, ",%dRESHARD,%dRESHARD", rank, rank + 2);
        }
        fputs("\n", file);
    }
}

static const char FILE_JOB[] =
    "platform: {file: dgx-a100, nodes: 1}\n"
    "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 0, sequence: 1024}\n"
    "mesh: {dp: 4, pp: 2, order: [pp, dp]}\n"
    "schedule: {kind: csv:order.csv}\n"
    "batch: {global: 8}\n"
    "data_parallel: {zero: 3%s}\n";

/* Bytes of a step that are not the reduction of gradients, in gathers of one stage per rank. */
static double gathers_of(int places, const char *keys, double *peak_B) {
    char folder[] = "/tmp/meshsim-gathers-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char path[64], order[64], text[512];
    snprintf(path, sizeof path, "%s/w.yaml", folder);
    snprintf(order, sizeof order, "%s/order.csv", folder);
    FILE *file = fopen(order, "w");
    write_order(file, places);
    fclose(file);
    snprintf(text, sizeof text, FILE_JOB, keys);
    file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    job_fixture f;
    job_fixture_init(&f);
    ms_job_request request = {
        .workload = path, .data_folder = MS_SOURCE_DIR, .fidelity = "analytic"};
    cr_assert_eq(ms_job_load(&request, &f.arena, &f.diag, &f.job), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    double parameters = f.job.costs.stage[0].parameters;
    double reduced_B = 2 * 0.75 * f.job.precision.gradient_B * parameters;
    double gathered_B = f.result.metrics.axes[MS_AXIS_DP].bytes - reduced_B;
    *peak_B = f.result.memory[f.result.peak_rank].held.total_B;
    job_fixture_release(&f);
    cr_assert_eq(unlink(order) + unlink(path) + rmdir(folder), 0);
    return gathered_B / (0.75 * 2 * parameters);
}

/* Two stages on each rank, eight passes: layer by layer four gathers each (F and B, two
 * microbatches); in front, one each; around every pass, eight in all. The workload's keys come
 * before the file's cells. */
Test(job_gathers, a_file_says_where) {
    double peak_B[6];
    cr_assert_float_eq(gathers_of(0, "", &peak_B[0]), 8, 1e-9);
    cr_assert_float_eq(gathers_of(1, "", &peak_B[1]), 2, 1e-9);
    cr_assert_float_eq(gathers_of(2, "", &peak_B[2]), 8, 1e-9);
    cr_assert_float_eq(gathers_of(2, ", keep_parameters: true", &peak_B[3]), 2, 1e-9);
    cr_assert_float_eq(gathers_of(2, ", gather_stages: 1", &peak_B[4]), 3, 1e-9);
    cr_assert_float_eq(gathers_of(1, ", gather_stages: 0", &peak_B[5]), 8, 1e-9);
    cr_assert_gt(peak_B[1], peak_B[2], "both stages at once");
    cr_assert_eq(peak_B[4], peak_B[2], "one stage at a time");
    cr_assert_eq(peak_B[5], peak_B[0], "layer by layer");
    cr_assert_eq(peak_B[3], peak_B[1], "kept");
}

Test(job_gathers, clashes_are_refused) {
    const char *const CLASHES[][2] = {
        {"data_parallel.zero=2", "gathering whole stages needs ZeRO stage 3 at least"},
        {KEEP, "set one of the three"},
        {"data_parallel.overlap_gather=true", "set one of the three"}};
    for (size_t i = 0; i < sizeof CLASHES / sizeof CLASHES[0]; i++) {
        job_fixture f;
        const char *const sets[] = {"data_parallel.zero=3", THREE, CLASHES[i][0], NULL};
        cr_assert_eq(job_fixture_load(&f, "tiny", sets, NULL, false), MS_E_INPUT);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), CLASHES[i][1]), "%s",
                           ms_buffer_text(&f.messages));
        job_fixture_release(&f);
    }
}
