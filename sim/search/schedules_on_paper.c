/* Compares schedules on paper (schedules.h): evaluates each with abstract times, without a platform
 * or a simulation. All get the same time for the same part of the model, whatever their number of
 * virtual stages. P is the number of pipeline ranks, M of microbatches, V of virtual stages per
 * rank, K of slices of a sequence; a schedule has P * V stages. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "search/schedule_derive.h"
#include "search/schedules.h"

#define FIELD(name) offsetof(ms_paper_row, name)

const ms_table_column MS_PAPER_COLUMNS[] = {
    {"schedule", MS_COLUMN_TEXT, FIELD(name), .sort = MS_SORT_LOWEST, .is_of_left_out = true},
    {"reason", MS_COLUMN_TEXT, FIELD(reason), .is_optional = true, .is_of_left_out = true},
    {"v", MS_COLUMN_INT, FIELD(chunks), .sort = MS_SORT_LOWEST},
    {"makespan", MS_COLUMN_NUMBER, FIELD(makespan), .sort = MS_SORT_LOWEST},
    {"rank_makespan", MS_COLUMN_NUMBER, FIELD(rank_makespan), .sort = MS_SORT_LOWEST},
    {"bubble_fraction", MS_COLUMN_NUMBER, FIELD(bubble_fraction), .sort = MS_SORT_LOWEST},
    {"max_span", MS_COLUMN_NUMBER, FIELD(max_span), .sort = MS_SORT_LOWEST},
    {"max_span_bubble", MS_COLUMN_NUMBER, FIELD(max_span_bubble), .sort = MS_SORT_LOWEST},
    {"peak_inflight", MS_COLUMN_NUMBER, FIELD(peak_inflight), .sort = MS_SORT_LOWEST},
    {"param_replicas", MS_COLUMN_INT, FIELD(parameter_replicas), .sort = MS_SORT_LOWEST},
    {"msgs_total", MS_COLUMN_INT, FIELD(messages), .sort = MS_SORT_LOWEST},
    {"formula_makespan", MS_COLUMN_NUMBER, FIELD(formula_makespan), .sort = MS_SORT_LOWEST},
    {"period", MS_COLUMN_NUMBER, FIELD(period), .sort = MS_SORT_LOWEST},
    {"gap.closed_form", MS_COLUMN_NUMBER, FIELD(closed_form), .is_optional = true},
    {"gap.work", MS_COLUMN_NUMBER, FIELD(work), .is_optional = true},
    {"gap.order", MS_COLUMN_NUMBER, FIELD(gap.order), .sort = MS_SORT_NEVER},
    {"gap.imbalance", MS_COLUMN_NUMBER, FIELD(gap.imbalance), .sort = MS_SORT_NEVER},
    {"gap.latency", MS_COLUMN_NUMBER, FIELD(gap.latency), .sort = MS_SORT_NEVER},
    {0},
};

/* A peak is above the cap only if it is by more than rounding. */
static const double CAP_SLACK = 1 + 1e-12;

/* The parameters of ms_schedules_evaluate, `c` in this file. */
typedef struct comparison {
    const ms_paper_study *study;
    ms_arena *arena;
    ms_diag *diag;
} comparison;

/* The sizes with which to open a schedule: P and M of the study, and its V, N, K as far as the kind
 * uses them. For a file all are 0, because the file has its own sizes. */
static ms_schedule_spec sizes_of(const ms_schedule_spec *sizes, const ms_schedule_choice *choice) {
    const ms_schedule_spec study = {.kind = MS_SCHEDULE_CUSTOM,
                                    .pipeline_ranks = sizes->pipeline_ranks,
                                    .microbatches = sizes->microbatches};
    return choice->file != NULL ? (ms_schedule_spec){0}
                                : ms_schedule_sizes(choice->kind, sizes, &study);
}

/* ---- times ---- */

/* Latency of a message from a stage to the next one: that of the link between their ranks.
 * costs->p2p has the links of neighbouring ranks. A message that wraps around from the last rank to
 * the first takes as long as the slowest link. For two stages on one rank the result is not used,
 * because they exchange no message. stage: at most stages - 2. */
static double latency_of(const ms_schedule_costs *costs, const ms_program *program, int stage) {
    int one = program->stage_rank[stage];
    int other = program->stage_rank[stage + 1];
    if (one - other == 1 || other - one == 1) {
        return costs->p2p[one < other ? one : other];
    }
    double slowest = 0;
    for (int rank = 0; rank + 1 < program->spec.pipeline_ranks; rank++) {
        slowest = fmax(slowest, costs->p2p[rank]);
    }
    return slowest;
}

/* Spread the study's times, given for P equal parts of the model, over a schedule's stages; a slice
 * takes 1 / K of a stage's time. *out: lists per stage, in the arena. Returns MS_OK; MS_E_NOMEM
 * (reported). */
static ms_status spread(const comparison *c, const ms_program *program, ms_schedule_costs *out) {
    const ms_schedule_costs *given = c->study->costs;
    const double *lists[3] = {given->forward, given->input_grad, given->weight_grad};
    int stages = program->model_stages;
    int ranks = program->spec.pipeline_ranks;
    double *costs = MS_NEW(c->arena, double, 4 * stages);
    if (costs == NULL) {
        return ms_diag_no_memory(c->diag);
    }
    for (int stage = 0; stage < stages; stage++) {
        for (int i = 0; i < 3; i++) {
            costs[i * stages + stage] =
                ms_schedule_spread(lists[i], ranks, stages, stage) / program->spec.slices;
        }
        if (stage + 1 < stages) {
            costs[3 * stages + stage] = latency_of(given, program, stage);
        }
    }
    *out = *given;
    out->forward = costs;
    out->input_grad = costs + stages;
    out->weight_grad = costs + 2 * stages;
    out->p2p = costs + 3 * stages;
    return MS_OK;
}

/* ---- a row ---- */

/* Size of a unit of work (one stage on one microbatch, or slice of one) in units of a P-th of the
 * model on one whole microbatch: P / (S K). */
static double share_of(const ms_program *program) {
    return (double)program->spec.pipeline_ranks / program->model_stages / program->spec.slices;
}

/* Largest amount of work in flight on any rank, in units of a P-th of the model and one whole
 * microbatch. */
static double peak_of(const ms_program *program, const ms_schedule_result *result) {
    int peak = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        int got = result->ranks[rank].peak_inflight;
        peak = got > peak ? got : peak;
    }
    return peak * share_of(program);
}

/* Fill in a row from its evaluation. The given times were used as the times of all stages of a rank
 * together, so that makespans of any V can be compared (rank_makespan). All other times of the row
 * are divided by row->share = P / (S K), which gives the times that a single schedule is shown
 * with: the given times as those of one virtual stage. row: its gap and its period are set. */
static void fill_row(const ms_program *program, const ms_schedule_result *result,
                     ms_paper_row *row) {
    bool has_form = row->gap.has_closed_form;
    row->chunks = program->spec.chunks;
    row->share = share_of(program);
    row->rank_makespan = result->makespan;
    row->makespan = result->makespan / row->share;
    row->bubble_fraction = result->bubble_fraction;
    row->max_span = result->max_span / row->share;
    row->max_span_bubble = result->max_span_bubble / row->share;
    row->period /= row->share;
    row->gap.base /= row->share;
    row->gap.order /= row->share;
    row->gap.imbalance /= row->share;
    row->gap.latency /= row->share;
    row->peak_inflight = peak_of(program, result);
    row->parameter_replicas = program->parameter_replicas;
    row->messages = result->messages_total;
    row->formula_makespan = result->has_formula ? result->formula_makespan / row->share : NAN;
    row->closed_form = has_form ? row->gap.base : NAN;
    row->work = has_form ? NAN : row->gap.base;
    row->program = program;
    row->result = result;
}

/* Evaluate a schedule with the study's times, and fill in its row. opened: copied into the arena,
 * because the row keeps it. Returns MS_OK; MS_E_RANGE for costs; MS_E_NOMEM (reported). */
static ms_status evaluate(const comparison *c, const ms_program *opened, ms_paper_row *row) {
    ms_schedule_costs costs;
    ms_program *program = MS_NEW(c->arena, ms_program, 1);
    ms_schedule_result *result = MS_NEW(c->arena, ms_schedule_result, 1);
    if (program == NULL || result == NULL) {
        return ms_diag_no_memory(c->diag);
    }
    *program = *opened;
    ms_status status = spread(c, program, &costs);
    status =
        status == MS_OK ? ms_schedule_evaluate(program, &costs, c->arena, c->diag, result) : status;
    status = status == MS_OK
                 ? ms_schedule_explain(program, &costs, result->makespan, c->diag, &row->gap)
                 : status;
    status = status == MS_OK ? ms_schedule_period(program, &costs, result, c->diag, &row->period)
                             : status;
    if (status == MS_OK) {
        fill_row(program, result, row);
    }
    return status;
}

/* Open the schedule of a row. A file numbers only units of work: if it has K times as many units as
 * the study has microbatches, the units are slices, and the file is read again with K slices. diag:
 * gets its faults. Returns as ms_schedule_open. */
static ms_status open_one(const comparison *c, const ms_schedule_choice *choice, ms_diag *diag,
                          ms_opened_schedule *out) {
    const ms_schedule_spec *sizes = &c->study->sizes;
    ms_schedule_spec spec = sizes_of(sizes, choice);
    ms_status status = ms_schedule_open(choice, &spec, c->arena, diag, out);
    bool are_parts = status == MS_OK && choice->file != NULL && sizes->slices > 1 &&
                     out->program.spec.microbatches == (long)sizes->microbatches * sizes->slices;
    if (!are_parts) {
        return status;
    }
    spec.slices = sizes->slices;
    return ms_schedule_open(choice, &spec, c->arena, diag, out);
}

/* Build the schedule of a row by its kind. If the sizes do not allow the kind, row->reason says
 * why, and nothing is reported. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status build(const comparison *c, const ms_schedule_choice *choice, ms_paper_row *row,
                       ms_opened_schedule *out) {
    ms_buffer reason;
    ms_buffer_init(&reason);
    ms_diag quiet;
    ms_diag_init_mute(&quiet);
    quiet.reason = &reason;
    ms_status status = open_one(c, choice, &quiet, out);
    if (status != MS_OK && status != MS_E_NOMEM) {
        row->reason = ms_arena_strdup(c->arena, ms_buffer_text(&reason));
        status = row->reason == NULL || reason.failed ? MS_E_NOMEM : MS_OK;
    }
    ms_buffer_release(&reason);
    return status == MS_E_NOMEM ? ms_diag_no_memory(c->diag) : status;
}

/* Give a row a reason if its schedule, which may come from a file, has another P or M than the
 * study. found: sizes of the opened schedule. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status check_sizes(const comparison *c, const ms_schedule_spec *found,
                             ms_paper_row *row) {
    const ms_schedule_spec *sizes = &c->study->sizes;
    if (found->pipeline_ranks == sizes->pipeline_ranks &&
        found->microbatches == sizes->microbatches) {
        return MS_OK;
    }
    row->reason = ms_arena_printf(
        c->arena, "it has %d ranks and %d microbatches, and the table %d and %d",
        found->pipeline_ranks, found->microbatches, sizes->pipeline_ranks, sizes->microbatches);
    return row->reason == NULL ? ms_diag_no_memory(c->diag) : MS_OK;
}

/* Give a row a reason if its peak is above the study's cap. Returns MS_OK; MS_E_NOMEM
 * (reported). */
static ms_status check_cap(const comparison *c, ms_paper_row *row) {
    double cap = c->study->cap;
    if (cap <= 0 || row->peak_inflight <= cap * CAP_SLACK) {
        return MS_OK;
    }
    row->reason = ms_arena_printf(c->arena, "needs %.4g in flight, above the cap of %.4g",
                                  row->peak_inflight, cap);
    return row->reason == NULL ? ms_diag_no_memory(c->diag) : MS_OK;
}

/* Make one row. A schedule that the sizes do not allow, or that exceeds the cap, gets a reason
 * instead of figures; faults of a file are reported and end the comparison, because the user can
 * correct them. Returns MS_OK; as open_one and evaluate. */
static ms_status make_row(const comparison *c, const ms_schedule_choice *choice,
                          ms_paper_row *row) {
    ms_opened_schedule opened;
    *row = (ms_paper_row){.name = choice->name};
    ms_status status = choice->file != NULL ? open_one(c, choice, c->diag, &opened)
                                            : build(c, choice, row, &opened);
    if (status == MS_OK && row->reason == NULL) {
        status = check_sizes(c, &opened.program.spec, row);
    }
    if (status == MS_OK && row->reason == NULL) {
        status = evaluate(c, &opened.program, row);
    }
    return status == MS_OK && row->reason == NULL ? check_cap(c, row) : status;
}

/* Open the first schedule that is read from a file with the file's own sizes, and take P and M of
 * it where the study has 0. */
ms_status ms_paper_sizes_from_file(ms_paper_study *study, ms_arena *arena, ms_diag *diag) {
    ms_schedule_spec *sizes = &study->sizes;
    size_t file = 0;
    while (file < study->count && study->choices[file].file == NULL) {
        file++;
    }
    if (file == study->count) {
        return MS_OK;
    }
    const ms_schedule_spec own = {0};
    ms_opened_schedule opened;
    ms_status status = ms_schedule_open(&study->choices[file], &own, arena, diag, &opened);
    if (status == MS_OK) {
        const ms_schedule_spec *found = &opened.program.spec;
        sizes->pipeline_ranks =
            sizes->pipeline_ranks == 0 ? found->pipeline_ranks : sizes->pipeline_ranks;
        sizes->microbatches = sizes->microbatches == 0 ? found->microbatches : sizes->microbatches;
    }
    return status;
}

ms_status ms_schedules_evaluate(const ms_paper_study *study, ms_arena *arena, ms_diag *diag,
                                ms_paper_row *rows_out) {
    const comparison c = {study, arena, diag};
    ms_status status = MS_OK;
    for (size_t i = 0; i < study->count && status == MS_OK; i++) {
        status = make_row(&c, &study->choices[i], &rows_out[i]);
    }
    return status;
}
