/* meshsim schedule --compare: many schedules in one table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/schedule_gantt.h"
#include "cli/schedule_studies.h"
#include "cli/show_compare.h"
#include "meshsim/schedule_study.h"

/* Chunks and parts of sequences that schedules which take any number get. */
enum { SHARE_DEFAULT = 2 };

/* What one schedule said while it was tried. */
static void keep_talk(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

typedef struct comparison {
    const ms_invocation *call;
    ms_schedule_spec sizes;
    ms_schedule_costs costs; /* [P] per rank, [P-1] between neighbours */
    ms_comparison table;
    ms_cli_drawn *drawn; /* [drawn_count] of the table, for --gantt */
    size_t drawn_count;
} comparison;

static ms_status report_no_memory(const ms_invocation *call) {
    ms_diag_error(call->diag, "out of memory");
    return MS_E_NOMEM;
}

static bool is_file(const char *name) {
    return strncmp(name, "csv:", strlen("csv:")) == 0;
}

/* The sizes of the command line as far as a kind takes them; a file has its own. */
static ms_schedule_spec sizes_of(const comparison *c, const char *name) {
    ms_schedule_kind kind;
    if (ms_schedule_kind_from_name(name, &kind) != MS_OK) {
        return (ms_schedule_spec){0};
    }
    ms_schedule_spec spec = {.pipeline_ranks = c->sizes.pipeline_ranks,
                             .microbatches = c->sizes.microbatches};
    ms_schedule_traits traits = ms_schedule_kind_traits(kind);
    if (traits.chunks == 0) {
        spec.chunks = c->sizes.chunks == 0 ? SHARE_DEFAULT : c->sizes.chunks;
    }
    if (traits.takes_group) {
        spec.group = c->sizes.group;
    }
    if (traits.takes_slices) {
        spec.slices = c->sizes.slices == 0 ? SHARE_DEFAULT : c->sizes.slices;
    }
    spec.is_reordered = c->sizes.is_reordered && traits.takes_reorder;
    return spec;
}

/* The times of rank-sized pieces of the model, dealt to its stages: the model is P equal pieces in
 * its own order, and stage s of S lies in piece s P / S. A message takes as long as the link
 * between its ranks; one that wraps around from the last rank to the first, as long as the slowest.
 */
static ms_status spread(const comparison *c, const ms_program *program, ms_schedule_costs *out) {
    int stages = program->model_stages;
    int ranks = program->spec.pipeline_ranks;
    const double *lists[3] = {c->costs.forward, c->costs.input_grad, c->costs.weight_grad};
    double *costs = MS_NEW(c->call->arena, double, 4 * stages);
    if (costs == NULL) {
        return report_no_memory(c->call);
    }
    double share = (double)ranks / ((double)stages * program->spec.slices);
    double slowest = 0;
    for (int rank = 0; rank + 1 < ranks; rank++) {
        slowest = fmax(slowest, c->costs.p2p[rank]);
    }
    for (int stage = 0; stage < stages; stage++) {
        int piece = (int)((long)stage * ranks / stages);
        for (int i = 0; i < 3; i++) {
            costs[i * stages + stage] = lists[i][piece] * share;
        }
        if (stage + 1 < stages) {
            int one = program->stage_rank[stage];
            int other = program->stage_rank[stage + 1];
            bool are_neighbours = one - other == 1 || other - one == 1;
            costs[3 * stages + stage] =
                are_neighbours ? c->costs.p2p[one < other ? one : other] : slowest;
        }
    }
    *out = c->costs;
    out->forward = costs;
    out->input_grad = costs + stages;
    out->weight_grad = costs + 2 * stages;
    out->p2p = costs + 3 * stages;
    return MS_OK;
}

/* What a unit of work on a stage counts in flight: in units of one rank's share of the model and
 * one whole microbatch. */
static double share_of(const ms_program *program) {
    return (double)program->spec.pipeline_ranks / program->model_stages / program->spec.slices;
}

static double peak_of(const ms_program *program, const ms_schedule_result *result) {
    int peak = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        int got = result->ranks[rank].peak_inflight;
        peak = got > peak ? got : peak;
    }
    return peak * share_of(program);
}

/* Keep a schedule for the picture; it counts only with drawn_count. */
static ms_status keep_drawn(comparison *c, const ms_program *program,
                            const ms_schedule_result *result) {
    ms_program *own_program = MS_NEW(c->call->arena, ms_program, 1);
    ms_schedule_result *own_result = MS_NEW(c->call->arena, ms_schedule_result, 1);
    if (own_program == NULL || own_result == NULL) {
        return report_no_memory(c->call);
    }
    *own_program = *program;
    *own_result = *result;
    c->drawn[c->drawn_count] =
        (ms_cli_drawn){own_program, own_result, "in P-ths of the model", share_of(program)};
    return MS_OK;
}

static ms_status evaluate(comparison *c, const ms_program *program, ms_compared *row) {
    ms_schedule_costs costs;
    ms_schedule_result result;
    ms_diag *diag = c->call->diag;
    ms_status status = spread(c, program, &costs);
    if (status == MS_OK) {
        status = ms_schedule_evaluate(program, &costs, c->call->arena, diag, &result);
    }
    if (status == MS_OK) {
        status = ms_schedule_explain(program, &costs, result.makespan, diag, &row->gap);
    }
    if (status == MS_OK) {
        status = ms_schedule_period(program, &costs, &result, diag, &row->period);
    }
    if (status != MS_OK) {
        return status;
    }
    row->chunks = program->spec.chunks;
    row->makespan = result.makespan;
    row->bubble_fraction = result.bubble_fraction;
    row->max_span = result.max_span;
    row->max_span_bubble = result.max_span_bubble;
    row->peak = peak_of(program, &result);
    row->parameter_replicas = program->parameter_replicas;
    row->messages = result.messages_total;
    row->has_formula = result.has_formula;
    row->formula = result.formula_makespan;
    return keep_drawn(c, program, &result);
}

/* Note why a schedule is not in the table; `talk` is what it reported. */
static ms_status leave_out(const comparison *c, ms_compared *row, const char *talk) {
    const char *mark = strstr(talk, "error: ");
    const char *text = mark == NULL ? talk : mark + strlen("error: ");
    row->reason = ms_arena_strndup(c->call->arena, text, strcspn(text, "\n"));
    return row->reason == NULL ? report_no_memory(c->call) : MS_OK;
}

/* Read or build a row's schedule. K times as many units as there are microbatches are parts. */
static ms_status load(const comparison *c, const ms_invocation *quiet, const char *name,
                      ms_cli_schedule *out) {
    ms_schedule_spec spec = sizes_of(c, name);
    ms_status status = ms_cli_schedule_load_named(quiet, name, &spec, out);
    bool are_parts =
        status == MS_OK && is_file(name) && c->sizes.slices > 1 &&
        out->program.spec.microbatches == (long)c->sizes.microbatches * c->sizes.slices;
    if (!are_parts) {
        return status;
    }
    spec.slices = c->sizes.slices;
    return ms_cli_schedule_load_named(quiet, name, &spec, out);
}

/* A schedule of other sizes than the table's gets a reason in the place of its numbers. */
static ms_status check_sizes(const comparison *c, const ms_schedule_spec *found, ms_compared *row) {
    if (found->pipeline_ranks == c->sizes.pipeline_ranks &&
        found->microbatches == c->sizes.microbatches) {
        return MS_OK;
    }
    row->reason = ms_arena_printf(
        c->call->arena, "it has %d ranks and %d microbatches, and the table %d and %d",
        found->pipeline_ranks, found->microbatches, c->sizes.pipeline_ranks, c->sizes.microbatches);
    return row->reason == NULL ? report_no_memory(c->call) : MS_OK;
}

/* One row; a schedule that the sizes do not allow, or that exceeds the cap, gets a reason instead.
 */
static ms_status add_row(comparison *c, const char *name) {
    ms_compared *row = &c->table.rows[c->table.count++];
    row->name = name;
    ms_buffer talk;
    ms_buffer_init(&talk);
    ms_diag diag;
    ms_diag_init(&diag, keep_talk, &talk);
    ms_invocation quiet = *c->call;
    quiet.diag = &diag;
    ms_cli_schedule schedule;
    ms_status status = load(c, &quiet, name, &schedule);
    if (status == MS_OK) {
        status = check_sizes(c, &schedule.program.spec, row);
        status =
            status == MS_OK && row->reason == NULL ? evaluate(c, &schedule.program, row) : status;
    } else if (status == MS_E_NOMEM || talk.failed) {
        status = report_no_memory(c->call);
    } else if (is_file(name)) {
        ms_diag_finish(&diag);
        c->call->diag->errors++;
        c->call->diag->write(c->call->diag->context, ms_buffer_text(&talk));
    } else {
        status = leave_out(c, row, ms_buffer_text(&talk));
    }
    ms_buffer_release(&talk);
    if (status == MS_OK && row->reason == NULL && c->table.cap > 0 &&
        row->peak > c->table.cap * (1 + 1e-12)) {
        row->reason = ms_arena_printf(c->call->arena, "needs %.4g in flight, above the cap of %.4g",
                                      row->peak, c->table.cap);
        status = row->reason == NULL ? report_no_memory(c->call) : MS_OK;
    }
    c->drawn_count += status == MS_OK && row->reason == NULL ? 1 : 0;
    return status;
}

/* Check a name of the list; `all` and files are none of a kind. */
static ms_status check_name(const ms_invocation *call, const char *name) {
    ms_schedule_kind kind;
    bool is_other = strcmp(name, "all") == 0 || is_file(name);
    return is_other ? MS_OK : ms_cli_schedule_kind(call, name, &kind);
}

ms_status ms_cli_schedule_names(const ms_invocation *call, const char ***names_out,
                                int *count_out) {
    const char *const *known = ms_schedule_kind_names();
    ms_vector names;
    ms_vector_init(&names, sizeof(const char *));
    ms_status status = MS_OK;
    for (const char *at = ms_cli_value(call, "compare", "all"); at != NULL && status == MS_OK;) {
        size_t length = strcspn(at, ",");
        const char *name = ms_arena_strndup(call->arena, at, length);
        at = at[length] == ',' ? at + length + 1 : NULL;
        if (name == NULL) {
            status = report_no_memory(call);
        } else if (check_name(call, name) != MS_OK) {
            status = MS_E_USAGE;
        } else if (strcmp(name, "all") == 0) {
            ms_vector_add(&names, known, MS_SCHEDULE_KIND_COUNT);
        } else {
            ms_vector_add(&names, &name, 1);
        }
    }
    int count = (int)names.count;
    const char **copy = MS_NEW(call->arena, const char *, count);
    if (status == MS_OK && (names.failed || copy == NULL)) {
        status = report_no_memory(call);
    }
    for (int i = 0; i < count && status == MS_OK; i++) {
        copy[i] = MS_AT(&names, const char *, i);
    }
    ms_vector_release(&names);
    if (status == MS_OK) {
        *names_out = copy;
        *count_out = count;
    }
    return status;
}

/* P and M of the command line; where one is not given, that of the first file. */
static ms_status read_sizes(comparison *c, const char **names, int count) {
    const ms_invocation *call = c->call;
    int file = 0;
    while (file < count && !is_file(names[file])) {
        file++;
    }
    ms_status status = ms_cli_schedule_sizes(call, &c->sizes);
    bool is_given = c->sizes.pipeline_ranks > 0 && c->sizes.microbatches > 0;
    if (status != MS_OK || is_given || file == count) {
        return status == MS_OK ? ms_cli_schedule_need_sizes(call) : status;
    }
    ms_cli_schedule schedule;
    const ms_schedule_spec own = {0};
    status = ms_cli_schedule_load_named(call, names[file], &own, &schedule);
    if (status == MS_OK) {
        const ms_schedule_spec *found = &schedule.program.spec;
        ms_schedule_spec *sizes = &c->sizes;
        sizes->pipeline_ranks =
            sizes->pipeline_ranks == 0 ? found->pipeline_ranks : sizes->pipeline_ranks;
        sizes->microbatches = sizes->microbatches == 0 ? found->microbatches : sizes->microbatches;
    }
    return status;
}

static ms_status read_options(comparison *c, const char ***names_out, int *count_out) {
    static const char *const FOREIGN[] = {"csv", "csv-form", "csv-dialect", "merge-bw"};
    const ms_invocation *call = c->call;
    if (call->positional_count > 0) {
        ms_diag_error(call->diag, "'--compare' takes the schedules itself; leave out '%s'",
                      call->positionals[0]);
        return MS_E_USAGE;
    }
    for (size_t i = 0; i < sizeof FOREIGN / sizeof FOREIGN[0]; i++) {
        if (ms_cli_has(call, FOREIGN[i])) {
            ms_diag_error(call->diag, "'--%s' is for one schedule, not for '--compare'",
                          FOREIGN[i]);
            return MS_E_USAGE;
        }
    }
    ms_status status = ms_cli_schedule_names(call, names_out, count_out);
    if (status == MS_OK) {
        status = read_sizes(c, *names_out, *count_out);
    }
    if (status == MS_OK) {
        status = ms_cli_schedule_cap(call, &c->table.cap);
    }
    if (status == MS_OK) {
        status = ms_compare_column(call, &c->table.column);
    }
    if (status == MS_OK) {
        status = ms_cli_schedule_costs(call, c->sizes.pipeline_ranks, &c->costs);
    }
    c->table.ranks = c->sizes.pipeline_ranks;
    c->table.microbatches = c->sizes.microbatches;
    return status;
}

/* The picture and the tables; "no" where no row is left for them. */
static ms_status show(comparison *c) {
    const char *gantt = ms_cli_value(c->call, "gantt", NULL);
    bool is_picture_only = gantt != NULL && strcmp(gantt, "-") == 0;
    bool has_rows = ms_compare_rows(&c->table) > 0;
    ms_status status = MS_OK;
    if (gantt != NULL && (has_rows || is_picture_only)) {
        status = ms_cli_schedule_gantt(c->call, c->drawn, c->drawn_count, gantt);
    }
    if (status == MS_OK) {
        status = ms_compare_print(c->call, &c->table);
    }
    return status == MS_OK && !has_rows ? MS_E_NO : status;
}

ms_status ms_cli_schedule_compare(const ms_invocation *call) {
    comparison c = {.call = call};
    const char **names = NULL;
    int count = 0;
    ms_status status = read_options(&c, &names, &count);
    if (status != MS_OK) {
        return status;
    }
    c.table.rows = MS_NEW(call->arena, ms_compared, count);
    c.drawn = MS_NEW(call->arena, ms_cli_drawn, count);
    if (c.table.rows == NULL || c.drawn == NULL) {
        return report_no_memory(call);
    }
    for (int i = 0; status == MS_OK && i < count; i++) {
        status = add_row(&c, names[i]);
    }
    return status == MS_OK ? show(&c) : status;
}
