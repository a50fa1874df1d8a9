/* Evaluated schedules as pictures: boxes, what is in flight, characters. */
#include <string.h>

#include "schedule_fixture.h"
#include "trace/report/report.h"

enum { P = 4, M = 8 };

/* A schedule that is built and evaluated. */
typedef struct drawn {
    fixture f;
    ms_program program;
    ms_schedule_result result;
} drawn;

static void build(drawn *d, const ms_schedule_spec *spec, const double costs[4]) {
    fixture_init(&d->f);
    d->program = fixture_build(&d->f, spec);
    ms_schedule_costs even = fixture_even_costs(&d->f, d->program.stages, costs);
    d->result = fixture_evaluate(&d->f, &d->program, &even);
}

static const double COSTS[4] = {1, 1, 1, 0.1};

static void check_boxes(const drawn *d, const ms_gantt *gantt) {
    const ms_program *program = &d->program;
    cr_assert_eq(gantt->box_count, program->first[P]);
    for (int rank = 0; rank < P; rank++) {
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            const ms_gantt_box *box = &gantt->boxes[i];
            cr_assert_eq(box->row, rank);
            cr_assert_eq(box->mb, program->actions[i].mb);
            cr_assert_eq(box->kind, ms_op_kind_of_pass((ms_pass)program->actions[i].pass));
            cr_assert_float_eq(box->start, d->result.slots[i].start, 0.0);
            cr_assert_float_eq(box->end, d->result.slots[i].end, 0.0);
        }
    }
}

/* The curve of a rank begins and ends empty, and is as high as the evaluation's peak. */
static void check_memory(const drawn *d, const ms_gantt_memory *memory, double share) {
    for (int rank = 0; rank < P; rank++) {
        double peak = 0.0;
        for (size_t i = memory->row_first[rank]; i < memory->row_first[rank + 1]; i++) {
            peak = memory->levels[i].level > peak ? memory->levels[i].level : peak;
        }
        cr_assert_float_eq(peak, share * d->result.ranks[rank].peak_inflight, 0.0, "rank %d", rank);
        cr_assert_float_eq(memory->levels[memory->row_first[rank + 1] - 1].level, 0.0, 0.0);
    }
}

Test(schedule_picture, boxes_and_curves_are_those_of_the_evaluation) {
    static const ms_schedule_spec SPECS[] = {
        SPEC(MS_SCHEDULE_GPIPE, P, 1, M, 0), SPEC(MS_SCHEDULE_1F1B, P, 1, M, 0),
        SPEC(MS_SCHEDULE_INTERLEAVED, P, 2, M, 0), SPEC(MS_SCHEDULE_ZBV, P, 2, M, 0),
        SPEC(MS_SCHEDULE_DUALPIPE, P, 1, M, 0)};
    for (size_t i = 0; i < sizeof SPECS / sizeof SPECS[0]; i++) {
        drawn d;
        ms_gantt gantt;
        build(&d, &SPECS[i], COSTS);
        const ms_drawn_schedule schedule = {&d.program, &d.result, "in halves", 0.5};
        cr_assert_eq(ms_gantt_from_schedule(&schedule, &d.f.arena, &gantt), MS_OK);
        cr_assert_eq(gantt.rows, P);
        cr_assert_float_eq(gantt.end, d.result.makespan, 0.0);
        cr_assert_str_eq(gantt.row_labels[P - 1], "pp 3");
        cr_assert_str_eq(gantt.memory->name, "microbatches in flight per rank, in halves");
        check_boxes(&d, &gantt);
        check_memory(&d, gantt.memory, 0.5);
        fixture_release(&d.f);
    }
}

/* Passes that run together are half as high, the first above; in turns each has the row. */
Test(schedule_picture, pairs_share_a_row_where_they_run_together) {
    const ms_schedule_spec spec = SPEC(MS_SCHEDULE_DUALPIPE, P, 1, M, 0);
    for (int is_serial = 0; is_serial < 2; is_serial++) {
        drawn d;
        ms_gantt gantt;
        int halves[3] = {0, 0, 0};
        fixture_init(&d.f);
        d.program = fixture_build(&d.f, &spec);
        ms_schedule_costs costs = fixture_even_costs(&d.f, d.program.stages, COSTS);
        costs.is_serial = is_serial == 1;
        d.result = fixture_evaluate(&d.f, &d.program, &costs);
        const ms_drawn_schedule schedule = {&d.program, &d.result, "", 1};
        cr_assert_eq(ms_gantt_from_schedule(&schedule, &d.f.arena, &gantt), MS_OK);
        for (size_t i = 0; i < gantt.box_count; i++) {
            halves[gantt.boxes[i].half]++;
        }
        cr_assert_eq(halves[1], halves[2]);
        cr_assert_eq(halves[1] > 0, is_serial == 0, "%d", halves[1]);
        cr_assert(gantt.has_directions);
        cr_assert_not_null(strstr(gantt.subtitle, "parameters twice"));
        fixture_release(&d.f);
    }
}

Test(schedule_picture, characters_show_each_pass_that_has_room) {
    const ms_schedule_spec spec = SPEC(MS_SCHEDULE_GPIPE, 2, 1, 2, 0);
    drawn d;
    ms_buffer text;
    ms_buffer_init(&text);
    build(&d, &spec, (const double[]){2, 1, 1, 0});
    ms_schedule_write_text(&d.program, &d.result, 40, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "\nforward 0-9, backward a-j (microbatch modulo 10), '.' idle; column = 1\n"
                     "    0 0011....aabb\n"
                     "    1 ..0011aabb..\n");
    ms_buffer_release(&text);
    fixture_release(&d.f);
}

/* Too many passes for 40 columns: what takes most of each, and no line is wider. */
Test(schedule_picture, characters_fit_the_width) {
    const ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 40, 1, 80, 0);
    drawn d;
    ms_buffer text;
    size_t lines = 0;
    ms_buffer_init(&text);
    build(&d, &spec, COSTS);
    ms_schedule_write_text(&d.program, &d.result, 40, &text);
    const char *rows = strstr(ms_buffer_text(&text), "one rank in 2 is shown, of 40\n");
    cr_assert_not_null(rows, "%s", ms_buffer_text(&text));
    for (const char *at = strchr(rows, '\n') + 1; *at != '\0'; at = strchr(at, '\n') + 1) {
        cr_assert_leq(strcspn(at, "\n"), 40U);
        lines++;
    }
    cr_assert_eq(lines, 20U);
    ms_buffer_release(&text);
    fixture_release(&d.f);
}

Test(schedule_picture, nothing_is_drawn_of_no_time) {
    const ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 2, 1, 2, 0);
    drawn d;
    ms_buffer text;
    ms_buffer_init(&text);
    build(&d, &spec, (const double[]){0, 0, 0, 0});
    ms_schedule_write_text(&d.program, &d.result, 80, &text);
    cr_assert_str_empty(ms_buffer_text(&text));
    ms_buffer_release(&text);
    fixture_release(&d.f);
}
