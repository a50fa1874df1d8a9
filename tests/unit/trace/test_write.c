#include <criterion/criterion.h>
#include <math.h>

#include "trace/h5_write.h"
#include "trace_fixture.h"

Test(trace_write, events_come_back_as_the_engine_gave_them) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_write(&f, TRACE_SMALL);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_EVENTS, &f.arena, &f.diag, &trace), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    const ms_dag *dag = &f.result.dag;
    const ms_timeline *timeline = &f.result.timeline;
    cr_assert_eq(trace.event_count, dag->op_count);
    for (int32_t i = 0; i < trace.event_count; i++) {
        const ms_dag_op *op = &dag->ops[i];
        const ms_dag_work *work = &dag->works[op->work];
        cr_assert_eq(trace.events[i].start_ps, llrint(timeline->start_s[i] * 1e12));
        cr_assert_eq(trace.events[i].end_ps, llrint(timeline->end_s[i] * 1e12));
        cr_assert_eq(trace.events[i].stream, dag->member_stream[dag->member_first[i]]);
        cr_assert(trace.events[i].kind == op->kind && trace.events[i].axis == op->axis);
        cr_assert(trace.events[i].stage == op->stage && trace.events[i].chunk == op->chunk);
        cr_assert(trace.events[i].mb == op->mb && trace.events[i].layer == op->layer);
        cr_assert(trace.events[i].bytes == work->bytes && trace.events[i].flop == work->flop);
        cr_assert_eq(trace.events[i].cause, timeline->cause[i]);
    }
    trace_fixture_release(&f);
}

/* Ties go to even. */
Test(trace_write, times_are_rounded_to_the_nearest_picosecond) {
    cr_assert_eq(ms_to_ps(0.5e-12), 0);
    cr_assert_eq(ms_to_ps(1.5e-12), 2);
    cr_assert_eq(ms_to_ps(2.5e-12), 2);
    cr_assert_eq(ms_to_ps(1.49e-12), 1);
    cr_assert_eq(ms_to_ps(9e6), 9000000000000000000);
}

Test(trace_write, tables_beside_the_events_come_back) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_write(&f, TRACE_SMALL);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_NOTHING, &f.arena, &f.diag, &trace), MS_OK);
    const ms_dag *dag = &f.result.dag;
    cr_assert_null(trace.events);
    cr_assert_eq(trace.step_ps, llrint(f.result.metrics.step_time_s * 1e12));
    cr_assert_eq(trace.rank_count, dag->rank_count);
    for (int32_t i = 0; i < trace.rank_count; i++) {
        cr_assert_eq(trace.ranks[i].rank, dag->ranks[i].rank);
        cr_assert_eq(trace.ranks[i].multiplicity, dag->ranks[i].multiplicity);
        cr_assert_eq(trace.ranks[i].pp, dag->ranks[i].pp);
    }
    cr_assert_eq(trace.stream_count, dag->stream_count);
    for (int32_t i = 0; i < trace.stream_count; i++) {
        cr_assert_eq(trace.streams[i].rank_index, dag->streams[i].rank);
        cr_assert_eq(trace.streams[i].peer_index, dag->streams[i].peer);
        cr_assert_eq(trace.streams[i].axis, dag->streams[i].axis);
    }
    cr_assert_eq(trace.member_count, dag->member_count - dag->op_count);
    cr_assert_str_eq(trace.program_version, "0.0.1");
    trace_fixture_release(&f);
}

Test(trace_write, resolved_inputs_come_back) {
    trace_fixture f;
    ms_trace trace;
    ms_buffer text;
    ms_buffer_init(&text);
    trace_fixture_write(&f, TRACE_SMALL);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_NOTHING, &f.arena, &f.diag, &trace), MS_OK);
    cr_assert_eq(ms_job_write_resolved(&f.job, &text), MS_OK);
    cr_assert_str_eq(trace.inputs.resolved, ms_buffer_text(&text));
    cr_assert_not_null(strstr(trace.inputs.resolved, "\ncosts.forward = 1 ms  # typed\n"));
    cr_assert_not_null(strstr(trace.inputs.resolved, "\nfidelity = analytic  # typed\n"));
    cr_assert_not_null(strstr(trace.inputs.resolved, "\nplatform.file = flat.yaml  # typed\n"));
    ms_buffer_release(&text);
    trace_fixture_release(&f);
}

Test(trace_write, the_same_run_gives_the_same_bytes) {
    trace_fixture first;
    trace_fixture second;
    size_t first_B = 0;
    size_t second_B = 0;
    trace_fixture_write(&first, TRACE_SMALL);
    trace_fixture_write(&second, TRACE_SMALL);
    const char *a = trace_fixture_read_file(&first, first.path, &first_B);
    const char *b = trace_fixture_read_file(&second, second.path, &second_B);
    cr_assert_eq(first_B, second_B);
    cr_assert_eq(memcmp(a, b, first_B), 0);
    trace_fixture_release(&first);
    trace_fixture_release(&second);
}

/* More rows than a header of a column holds, and than a chunk has. */
Test(trace_write, long_columns_come_back) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, "batch.microbatches=15000");
    cr_assert_gt(f.result.dag.op_count, 65536);
    cr_assert_eq(ms_trace_write(f.path, &f.result, "0.0.1", &f.diag), MS_OK);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_EVENTS, &f.arena, &f.diag, &trace), MS_OK);
    for (int32_t i = 0; i < trace.event_count; i++) {
        cr_assert_eq(trace.events[i].end_ps, llrint(f.result.timeline.end_s[i] * 1e12));
        cr_assert_eq(trace.events[i].mb, f.result.dag.ops[i].mb);
    }
    trace_fixture_release(&f);
}

/* A hundred days do not fit into picoseconds. */
Test(trace_write, refuses_a_step_too_long_for_its_clock) {
    trace_fixture f;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, "costs.forward=1000 h");
    cr_assert_eq(ms_trace_write(f.path, &f.result, "0.0.1", &f.diag), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "too long for a trace"));
    cr_assert_eq(trace_fixture_files(&f), 0);
    trace_fixture_release(&f);
}

/* A reader keeps the file it opened; the new one takes the name. */
Test(trace_write, a_trace_that_is_being_read_can_be_replaced) {
    trace_fixture f;
    trace_fixture_write(&f, TRACE_SMALL);
    FILE *old = fopen(f.path, "rb");
    cr_assert_not_null(old);
    cr_assert_eq(ms_trace_write(f.path, &f.result, "0.0.2", &f.diag), MS_OK);
    ms_trace trace;
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_NOTHING, &f.arena, &f.diag, &trace), MS_OK);
    cr_assert_str_eq(trace.program_version, "0.0.2");
    fclose(old);
    trace_fixture_release(&f);
}

Test(trace_write, wall_time_and_memory_use_stay_out_of_the_summary) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_write(&f, TRACE_SMALL);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_NOTHING, &f.arena, &f.diag, &trace), MS_OK);
    const ms_value *engine = ms_value_get(trace.summary, "engine");
    cr_assert_not_null(ms_value_get(engine, "ops"));
    cr_assert_null(ms_value_get(engine, "wall_s"));
    cr_assert_null(ms_value_get(engine, "peak_rss_B"));
    trace_fixture_release(&f);
}

/* A reader knows which operations it holds. */
Test(trace_write, levels_come_back) {
    static const int RANKS[] = {2};
    trace_fixture f;
    ms_trace trace;
    int32_t rows[MS_TRACE_LEVEL_COUNT];
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    for (int level = 0; level < MS_TRACE_LEVEL_COUNT; level++) {
        const ms_trace_detail detail = {
            .level = (ms_trace_level)level, .ranks = RANKS, .rank_count = 1};
        cr_assert_eq(ms_trace_write_detail(f.path, &f.result, &detail, "0.0.1", &f.diag), MS_OK);
        cr_assert_eq(ms_trace_read(f.path, MS_TRACE_EVENTS, &f.arena, &f.diag, &trace), MS_OK);
        cr_assert_eq(trace.level, detail.level);
        cr_assert_eq(trace.rank_count, f.result.dag.rank_count);
        rows[level] = trace.event_count;
    }
    cr_assert_eq(rows[MS_TRACE_FULL], f.result.dag.op_count);
    cr_assert_gt(rows[MS_TRACE_RANKS], 0);
    cr_assert_lt(rows[MS_TRACE_RANKS], rows[MS_TRACE_FULL]);
    cr_assert_eq(rows[MS_TRACE_PASSES], rows[MS_TRACE_FULL], "each pass is an operation here");
    cr_assert_eq(rows[MS_TRACE_SUMMARY], 0);
    trace_fixture_release(&f);
}

Test(trace_write, a_rank_that_is_not_simulated_has_no_trace) {
    static const int RANKS[] = {0, 1};
    const ms_trace_detail detail = {.level = MS_TRACE_RANKS, .ranks = RANKS, .rank_count = 2};
    trace_fixture f;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    cr_assert_eq(ms_trace_write_detail(f.path, &f.result, &detail, "0.0.1", &f.diag), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "cannot trace rank 1, which is folded"));
    cr_assert_eq(trace_fixture_files(&f), 0);
    trace_fixture_release(&f);
}
