/* meshsim import kineto: what traces of PyTorch's profiler say, as pages, tables and JSON. */
#include "cli/import_kineto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/job_options.h"
#include "meshsim/kineto.h"

enum {
    STEPS_SHOWN = 20,
    KERNELS_SHOWN = 15,
    CHANNELS_SHOWN = 30,
    SHAPES_SHOWN = 5,
    TEXT_SIZE = 32
};
enum { STEPS_MAX = 1000000 };

/* Letters of a kernel's name that stand in its line, and in a line of its own, and of a group's. */
enum { SHORT_NAME = 34, LONG_NAME = 74, SHORT_GROUP = 20 };

/* ---- pages ---- */

static const char STEP_HEAD[] =
    "\nrank  step       wall    compute    exposed     copies       idle  communication\n";
static const ms_table_cell STEP_CELLS[] = {{"rank", 4, ""},
                                           {"step", 5, NULL},
                                           {"wall_s", 10, NULL},
                                           {"compute_s", 10, NULL},
                                           {"exposed_s", 10, NULL},
                                           {"copy_s", 10, NULL},
                                           {"idle_s", 10, NULL},
                                           {"communication_s", 14, NULL},
                                           {0}};

static const char CHANNEL_HEAD[] =
    "\ncommunication    group                size calls a step        busy     exposed\n";

static const char KERNEL_HEAD[] = "\nclass            calls      total       mean  kernel\n";

/* The first rows of a table. */
static void add_rows(ms_table *table, const char *head, const ms_table_cell *cells, size_t shown,
                     ms_buffer *page) {
    size_t count = table->count;
    table->count = count > shown ? shown : count;
    ms_table_write_page(table, head, cells, page);
    if (count > shown) {
        ms_buffer_printf(page, "... and %zu more, which --json has\n", count - shown);
    }
    table->count = count;
}

static void add_share(const char *name, double time_s, double step_s, ms_buffer *page) {
    char time[TEXT_SIZE];
    if (time_s > 0 || name[0] != ' ') {
        ms_buffer_printf(page, "%-16s %10s  %5.1f %%\n", name,
                         ms_unit_format(time_s, MS_DIM_TIME, time, sizeof time),
                         step_s > 0 ? 100 * time_s / step_s : 0);
    }
}

/* Where the mean step's time went. */
static void add_mean(const ms_kineto_trace *trace, ms_buffer *page) {
    const ms_kineto_step *mean = &trace->mean;
    char time[TEXT_SIZE], busy[TEXT_SIZE];
    ms_buffer_printf(page, "%-16s %10s  mean of %zu\n", "step",
                     ms_unit_format(mean->wall_s, MS_DIM_TIME, time, sizeof time),
                     trace->step_count);
    add_share("computation", mean->compute_s, mean->wall_s, page);
    for (int i = 0; i < MS_KINETO_COMPUTE_COUNT; i++) {
        char name[TEXT_SIZE];
        snprintf(name, sizeof name, "  %s", ms_kineto_class_name((ms_kineto_class)i));
        add_share(name, mean->class_s[i], mean->wall_s, page);
    }
    add_share("exposed", mean->exposed_s, mean->wall_s, page);
    add_share("copies", mean->copy_s, mean->wall_s, page);
    add_share("idle", mean->idle_s, mean->wall_s, page);
    ms_buffer_printf(page, "the GPU was busy for %s and communicated for %s of it\n",
                     ms_unit_format(mean->busy_s, MS_DIM_TIME, busy, sizeof busy),
                     ms_unit_format(mean->communication_s, MS_DIM_TIME, time, sizeof time));
}

static void add_ranks(const ms_kineto_trace *trace, ms_buffer *page) {
    for (size_t i = 0; i < trace->rank_count; i++) {
        const ms_kineto_rank *rank = &trace->ranks[i];
        char outside[TEXT_SIZE];
        ms_buffer_printf(page, "%-16s ", rank->file);
        if (rank->rank >= 0) {
            ms_buffer_printf(page, "rank %lld of %lld, ", (long long)rank->rank,
                             (long long)rank->world_size);
        }
        ms_buffer_printf(page, "%s%s%lld events of the GPU,\n    ",
                         rank->device == NULL ? "" : rank->device, rank->device == NULL ? "" : ", ",
                         (long long)rank->kernels);
        if (rank->steps == 0) {
            ms_buffer_puts(page, "no annotations ProfilerStep: from the first to the last one\n");
        } else {
            ms_buffer_printf(page, "%lld step%s by the %s's annotations, busy for %s outside\n",
                             (long long)rank->steps, rank->steps == 1 ? "" : "s",
                             rank->has_gpu_steps ? "GPU" : "host",
                             ms_unit_format(rank->outside_s, MS_DIM_TIME, outside, sizeof outside));
        }
    }
}

static void add_channels(const ms_kineto_trace *trace, ms_buffer *page) {
    ms_buffer_puts(page, trace->channel_count > 0 ? CHANNEL_HEAD : "");
    for (size_t i = 0; i < trace->channel_count && i < CHANNELS_SHOWN; i++) {
        const ms_kineto_channel *channel = &trace->channels[i];
        char busy[TEXT_SIZE], exposed[TEXT_SIZE];
        bool is_long = strlen(channel->group) > SHORT_GROUP;
        if (is_long) {
            ms_buffer_printf(page, "group %.*s\n", LONG_NAME, channel->group);
        }
        ms_buffer_printf(page, "%-16s %-20s %4lld %12.6g %11s %11s\n", channel->kind,
                         is_long ? "(above)" : channel->group, (long long)channel->group_size,
                         channel->count,
                         ms_unit_format(channel->busy_s, MS_DIM_TIME, busy, sizeof busy),
                         ms_unit_format(channel->exposed_s, MS_DIM_TIME, exposed, sizeof exposed));
    }
    if (trace->channel_count > CHANNELS_SHOWN) {
        ms_buffer_printf(page, "... and %zu more, which --json has\n",
                         trace->channel_count - CHANNELS_SHOWN);
    }
}

static void add_kernels(const ms_kineto_trace *trace, ms_buffer *page) {
    ms_buffer_puts(page, KERNEL_HEAD);
    for (size_t i = 0; i < trace->kernel_count && i < KERNELS_SHOWN; i++) {
        const ms_kineto_kernel *kernel = &trace->kernels[i];
        char total[TEXT_SIZE], mean[TEXT_SIZE];
        bool is_long = strlen(kernel->name) > SHORT_NAME;
        ms_buffer_printf(page, "%-13s %8lld %10s %10s", kernel->class_name,
                         (long long)kernel->count,
                         ms_unit_format(kernel->total_s, MS_DIM_TIME, total, sizeof total),
                         ms_unit_format(kernel->mean_s, MS_DIM_TIME, mean, sizeof mean));
        ms_buffer_printf(page, is_long ? "\n    %.*s\n" : "  %.*s\n", LONG_NAME, kernel->name);
    }
    if (trace->kernel_count > KERNELS_SHOWN) {
        ms_buffer_printf(page, "... and %zu more, which --json and --kernels have\n",
                         trace->kernel_count - KERNELS_SHOWN);
    }
}

/* What of products and attentions stands in the table of measured kernels, and what does not. */
static void add_shapes(const ms_kineto_trace *trace, size_t rows, ms_buffer *page) {
    size_t shown = 0;
    ms_buffer_printf(page,
                     "\nmeasured kernels %zu of %zu shapes of matrix products and attentions\n",
                     rows, trace->shape_count);
    for (size_t i = 0; i < trace->shape_count && shown < SHAPES_SHOWN; i++) {
        const ms_kineto_shape *shape = &trace->shapes[i];
        if (shape->why != NULL) {
            ms_buffer_printf(page, "%-9s %s %.40s, %lld calls:\n            %s\n",
                             shown++ == 0 ? "left out" : "", shape->kernel, shape->shape,
                             (long long)shape->count, shape->why);
        }
    }
}

/* ---- tables ---- */

/* All tables of a trace. */
typedef struct trace_tables {
    ms_table ranks, steps, channels, collectives, kernels, shapes, measured;
} trace_tables;

static bool fill_table(const ms_table_column *columns, const void *rows, size_t size, size_t count,
                       ms_arena *arena, ms_table *table) {
    *table = (ms_table){.columns = columns, .reason_offset = MS_TABLE_KEEPS_ALL};
    return ms_table_fill(table, rows, size, count, arena) == MS_OK;
}

static ms_status fill_tables(const ms_invocation *call, const ms_kineto_trace *trace,
                             trace_tables *tables) {
    ms_arena *arena = call->arena;
    bool is_full =
        fill_table(MS_KINETO_RANK_COLUMNS, trace->ranks, sizeof trace->ranks[0], trace->rank_count,
                   arena, &tables->ranks) &&
        fill_table(MS_KINETO_STEP_COLUMNS, trace->steps, sizeof trace->steps[0], trace->step_count,
                   arena, &tables->steps) &&
        fill_table(MS_KINETO_CHANNEL_COLUMNS, trace->channels, sizeof trace->channels[0],
                   trace->channel_count, arena, &tables->channels) &&
        fill_table(MS_KINETO_COLLECTIVE_COLUMNS, trace->collectives, sizeof trace->collectives[0],
                   trace->collective_count, arena, &tables->collectives) &&
        fill_table(MS_KINETO_KERNEL_COLUMNS, trace->kernels, sizeof trace->kernels[0],
                   trace->kernel_count, arena, &tables->kernels) &&
        fill_table(MS_KINETO_SHAPE_COLUMNS, trace->shapes, sizeof trace->shapes[0],
                   trace->shape_count, arena, &tables->shapes) &&
        ms_kineto_measured(trace, arena, &tables->measured) == MS_OK;
    return is_full ? MS_OK : ms_diag_no_memory(call->diag);
}

/* ---- beside a simulated step ---- */

/* Shorter than what a profiler's clock tells apart. */
static const double DUST_S = 1e-9;

static const char PART_HEAD[] =
    "\npart                                    measured   predicted  difference  ratio\n";

static void add_time(double time_s, int width, ms_buffer *page) {
    char text[TEXT_SIZE + 1] = "-";
    if (!isnan(time_s)) {
        char unsigned_text[TEXT_SIZE];
        ms_unit_format(fabs(time_s), MS_DIM_TIME, unsigned_text, sizeof unsigned_text);
        snprintf(text, sizeof text, "%s%s", time_s < 0 ? "-" : "", unsigned_text);
    }
    ms_buffer_printf(page, " %*s", width, text);
}

static void add_parts(const ms_kineto_comparison *comparison, ms_buffer *page) {
    ms_buffer_puts(page, PART_HEAD);
    for (size_t i = 0; i < comparison->part_count; i++) {
        const ms_kineto_part *part = &comparison->parts[i];
        const char *point = strchr(part->part, '.');
        ms_buffer_printf(page, "%*s%-*s", 2 * (int)part->level, "", 35 - 2 * (int)part->level,
                         point == NULL ? part->part : point + 1);
        add_time(part->measured_s, 12, page);
        add_time(part->predicted_s, 11, page);
        add_time(fabs(part->difference_s) < DUST_S ? 0 : part->difference_s, 11, page);
        if (isnan(part->ratio)) {
            ms_buffer_puts(page, "      -\n");
        } else {
            ms_buffer_printf(page, " %6.3g\n", part->ratio);
        }
    }
    ms_buffer_puts(page,
                   "waiting: measured, a pipeline's bubble is part of its communication, whose\n"
                   "kernels wait for their peers, and of idle time; predicted, it stands alone\n");
}

static const char MATCHED_HEAD[] =
    "\n                             calls           busy                exposed\n"
    "axis      kind              meas.  pred.  measured predicted  measured predicted\n";

static void add_calls(double calls, ms_buffer *page) {
    if (isnan(calls)) {
        ms_buffer_printf(page, " %6s", "-");
    } else {
        ms_buffer_printf(page, " %6.4g", calls);
    }
}

static void add_matched(const ms_kineto_comparison *comparison, ms_buffer *page) {
    ms_buffer_puts(page, MATCHED_HEAD);
    for (size_t i = 0; i < comparison->communication_count; i++) {
        const ms_kineto_matched *row = &comparison->communication[i];
        ms_buffer_printf(page, "%-9s %-15s", row->axis, row->kind);
        add_calls(row->measured_calls, page);
        add_calls(row->predicted_calls, page);
        add_time(row->measured_busy_s, 9, page);
        add_time(row->predicted_busy_s, 9, page);
        add_time(row->measured_exposed_s, 9, page);
        add_time(row->predicted_exposed_s, 9, page);
        bool has_names = row->groups != NULL && strcmp(row->groups, "-") != 0;
        ms_buffer_printf(page, has_names ? "\n    groups %.60s\n" : "\n",
                         has_names ? row->groups : "");
    }
}

/* Simulate a workload and put its step beside the trace's. */
static ms_status compare(const ms_invocation *call, const ms_kineto_trace *trace,
                         ms_kineto_comparison *comparison) {
    ms_given sets = ms_cli_all(call, "set");
    const ms_job_request request = {.workload = ms_cli_value(call, "against", NULL),
                                    .data_folder = ms_cli_data_folder(call->arena),
                                    .sets = sets.values,
                                    .set_count = sets.count};
    ms_job job;
    ms_result result;
    ms_status status = ms_job_load(&request, call->arena, call->diag, &job);
    if (status != MS_OK) {
        return status;
    }
    status = ms_job_run(&job, call->arena, call->diag, &result);
    if (status == MS_OK && ms_kineto_compare(trace, &result, call->arena, comparison) != MS_OK) {
        status = ms_diag_no_memory(call->diag);
    }
    if (status == MS_OK && !comparison->is_of_traced) {
        ms_diag_note(call->diag, NULL, NULL,
                     "predicted times are means over all %d ranks: the trace does not say which of "
                     "them it is of",
                     job.mesh.ranks);
    }
    ms_result_release(&result);
    return status;
}

/* ---- output ---- */

static ms_status add_comparison(const ms_invocation *call, const ms_kineto_comparison *comparison,
                                ms_value *root) {
    ms_table parts, communication;
    ms_value *against = ms_value_add(root, "against", MS_VALUE_OBJECT);
    if (!fill_table(MS_KINETO_PART_COLUMNS, comparison->parts, sizeof comparison->parts[0],
                    comparison->part_count, call->arena, &parts) ||
        !fill_table(MS_KINETO_MATCHED_COLUMNS, comparison->communication,
                    sizeof comparison->communication[0], comparison->communication_count,
                    call->arena, &communication)) {
        return ms_diag_no_memory(call->diag);
    }
    ms_value_add_bool(against, "of_traced_ranks", comparison->is_of_traced);
    ms_table_add_list(&parts, false, "parts", against);
    ms_table_add_list(&communication, false, "communication", against);
    return MS_OK;
}

/* comparison: NULL: none was asked for. */
static ms_status print_json(const ms_invocation *call, const ms_kineto_trace *trace,
                            const trace_tables *tables, const ms_kineto_comparison *comparison) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_table_add_list(&tables->ranks, false, "ranks", root);
    ms_table_add_row(MS_KINETO_STEP_COLUMNS, &trace->mean, false,
                     ms_value_add(root, "mean", MS_VALUE_OBJECT));
    ms_table_add_list(&tables->steps, false, "steps", root);
    ms_table_add_list(&tables->channels, false, "channels", root);
    ms_table_add_list(&tables->collectives, false, "collectives", root);
    ms_table_add_list(&tables->kernels, false, "kernels", root);
    ms_table_add_list(&tables->shapes, false, "shapes", root);
    ms_status status = comparison == NULL ? MS_OK : add_comparison(call, comparison, root);
    return status == MS_OK ? ms_cli_print_json(call, root) : status;
}

static ms_status print_page(const ms_invocation *call, const ms_kineto_trace *trace,
                            trace_tables *tables, const ms_kineto_comparison *comparison) {
    ms_buffer page;
    ms_buffer_init(&page);
    add_ranks(trace, &page);
    add_mean(trace, &page);
    if (comparison != NULL) {
        add_parts(comparison, &page);
        add_matched(comparison, &page);
    }
    add_rows(&tables->steps, STEP_HEAD, STEP_CELLS, STEPS_SHOWN, &page);
    add_channels(trace, &page);
    add_kernels(trace, &page);
    add_shapes(trace, tables->measured.count, &page);
    return ms_cli_print_page(call, &page);
}

/* A table as CSV, where an option asks for it. */
static ms_status write_table(const ms_invocation *call, const char *option, const ms_table *table) {
    ms_buffer text;
    ms_buffer_init(&text);
    if (ms_cli_has(call, option)) {
        ms_table_write_csv(table, &text);
    }
    return ms_cli_write_option(call, option, &text);
}

static ms_status print_all(const ms_invocation *call, const ms_kineto_trace *trace) {
    trace_tables tables;
    ms_kineto_comparison compared;
    const ms_kineto_comparison *comparison = ms_cli_has(call, "against") ? &compared : NULL;
    const char *output = ms_cli_value(call, "output", "");
    const char *kernels = ms_cli_value(call, "kernels", "");
    ms_status status = fill_tables(call, trace, &tables);
    status = status == MS_OK && comparison != NULL ? compare(call, trace, &compared) : status;
    if (status == MS_OK && output[0] != '\0') {
        status = ms_kineto_check_measured(trace, &tables.measured, call->diag);
    }
    status = status == MS_OK ? write_table(call, "output", &tables.measured) : status;
    status = status == MS_OK ? write_table(call, "kernels", &tables.kernels) : status;
    if (status == MS_OK && ms_cli_has(call, "json")) {
        return print_json(call, trace, &tables, comparison);
    }
    bool is_taken = strcmp(output, "-") == 0 || strcmp(kernels, "-") == 0;
    return status == MS_OK && !is_taken ? print_page(call, trace, &tables, comparison) : status;
}

ms_status ms_cli_import_kineto(const ms_invocation *call) {
    static const char *const FILES[] = {"output", "kernels", NULL};
    ms_kineto_trace trace;
    long steps = 1;
    ms_status status = ms_cli_check_targets(call, FILES);
    status = status == MS_OK ? ms_cli_int(call, "steps", 1, 1, STEPS_MAX, &steps) : status;
    const ms_kineto_source source = {
        .files = call->positionals + 1, .file_count = call->positional_count - 1, .steps = steps};
    if (status == MS_OK) {
        status = ms_kineto_read(&source, call->arena, call->diag, &trace);
    }
    return status == MS_OK ? print_all(call, &trace) : status;
}
