#include "cli/show_schedule.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/shown_tables.h"
#include "trace/report/report.h"

enum { WIDTH = 80, WIDTH_LEAST = 40 };

static bool has_groups(const ms_schedule_spec *spec) {
    return spec->kind != MS_SCHEDULE_CUSTOM && ms_schedule_kind_traits(spec->kind).takes_group;
}

static void add_rank_lists(ms_value *root, const ms_program *program,
                           const ms_schedule_result *result) {
    ms_value *peak = ms_value_add(root, "peak_inflight", MS_VALUE_ARRAY);
    ms_value *peak_input = ms_value_add(root, "peak_inflight_I", MS_VALUE_ARRAY);
    ms_value *busy = ms_value_add(root, "busy", MS_VALUE_ARRAY);
    ms_value *idle = ms_value_add(root, "idle", MS_VALUE_ARRAY);
    ms_value *exposed = ms_value_add(root, "exposed_p2p", MS_VALUE_ARRAY);
    ms_value *messages = ms_value_add(root, "msgs_sent", MS_VALUE_ARRAY);
    for (int i = 0; i < program->spec.pipeline_ranks; i++) {
        const ms_schedule_rank *rank = &result->ranks[i];
        ms_value_add_int(peak, NULL, rank->peak_inflight);
        ms_value_add_int(peak_input, NULL, rank->peak_inflight_input);
        ms_value_add_double(busy, NULL, rank->busy);
        ms_value *phases = ms_value_add(idle, NULL, MS_VALUE_OBJECT);
        ms_value_add_double(phases, "warmup", rank->idle_warmup);
        ms_value_add_double(phases, "steady", rank->idle_steady);
        ms_value_add_double(phases, "cooldown", rank->idle_cooldown);
        ms_value_add_double(exposed, NULL, rank->exposed_p2p);
        ms_value_add_int(messages, NULL, rank->messages_sent);
    }
}

static void add_gap_tree(ms_value *parent, const ms_schedule_gap *gap) {
    ms_value *tree = ms_value_add(parent, "gap", MS_VALUE_OBJECT);
    ms_value_add_double(tree, gap->has_closed_form ? "closed_form" : "work", gap->base);
    ms_value_add_double(tree, "order", gap->order);
    ms_value_add_double(tree, "imbalance", gap->imbalance);
    ms_value_add_double(tree, "latency", gap->latency);
}

static void add_optional(ms_value *root, const char *key, bool is_known, double value) {
    if (is_known) {
        ms_value_add_double(root, key, value);
    } else {
        ms_value_add(root, key, MS_VALUE_NULL);
    }
}

static void add_search(ms_value *root, const ms_search_result *search) {
    ms_value *tree = ms_value_add(root, "search", MS_VALUE_OBJECT);
    ms_value_add_double(tree, "span_bound", search->bound);
    ms_value_add_int(tree, "bound_rank", search->bound_rank);
    ms_value_add_bool(tree, "is_optimal", search->is_optimal);
    ms_value_add_bool(tree, "is_cut_short", search->is_cut_short);
    ms_value_add_double(tree, "heuristic_span", search->heuristic_span);
    ms_value_add_string(tree, "start", search->start);
    ms_value_add_int(tree, "variant", search->variant);
    ms_value_add_int(tree, "evaluations", search->evaluations);
}

static ms_value *make_tree(const ms_invocation *call, const ms_cli_shown *shown) {
    const ms_program *program = shown->program;
    const ms_schedule_result *result = shown->result;
    const ms_schedule_spec *spec = &program->spec;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "schedule", program->name);
    if (shown->workload != NULL) {
        ms_value_add_string(root, "workload", shown->workload);
    }
    ms_value_add_int(root, "p", spec->pipeline_ranks);
    ms_value_add_int(root, "v", spec->chunks);
    ms_value_add_int(root, "m", spec->microbatches);
    if (has_groups(spec)) {
        ms_value_add_int(root, "group", ms_schedule_group(spec));
    }
    if (spec->slices > 1) {
        ms_value_add_int(root, "splits", spec->slices);
    }
    ms_value_add_double(root, "makespan", result->makespan);
    ms_value_add_double(root, "bubble_fraction", result->bubble_fraction);
    ms_value_add_double(root, "max_span", result->max_span);
    ms_value_add_double(root, "max_span_bubble", result->max_span_bubble);
    add_rank_lists(root, program, result);
    ms_value_add_int(root, "msgs_total", result->messages_total);
    ms_value_add_int(root, "param_replicas", program->parameter_replicas);
    char crc[16];
    snprintf(crc, sizeof crc, "%08x", (unsigned)ms_program_crc32(program));
    ms_value_add_string(root, "order_crc32", crc);
    add_optional(root, "formula_makespan", result->has_formula, result->formula_makespan);
    add_optional(root, "formula_span_bubble", result->has_span_formula,
                 result->formula_span_bubble);
    add_optional(root, "period", shown->period > 0, shown->period);
    add_gap_tree(root, &shown->gap);
    if (shown->search != NULL) {
        add_search(root, shown->search);
    }
    return root;
}

/* Columns of the terminal, or of a page where there is none. */
static int page_width(void) {
    struct winsize size;
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= WIDTH_LEAST) {
        return size.ws_col;
    }
    return WIDTH;
}

/* Add the values that text and Markdown show and --json does not print. */
static void add_page(const ms_cli_shown *shown, ms_value *root) {
    const ms_program *program = shown->program;
    const ms_schedule_spec *spec = &program->spec;
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    bool is_on_paper = shown->workload == NULL;
    ms_value_add_string(page, "unit",
                        is_on_paper ? "T, the unit of --tf, --tb and --tw of one virtual stage"
                                    : "seconds, what the workload's stages compute; its "
                                      "communication and optimizer are left out");
    if (is_on_paper && program->model_stages * spec->slices > spec->pipeline_ranks) {
        ms_value_add_double(page, "rank_makespan",
                            shown->result->makespan * spec->pipeline_ranks /
                                ((double)program->model_stages * spec->slices));
    }
    if (shown->search != NULL) {
        ms_value_add_double(page, "above_bound", shown->search->span / shown->search->bound - 1);
    }
    ms_buffer picture;
    ms_buffer_init(&picture);
    ms_schedule_write_text(program, shown->result, page_width(), &picture);
    const char *kept = ms_buffer_keep(&picture, root->arena);
    ms_value_add_string(page, "picture", kept == NULL ? "" : kept);
}

ms_status ms_cli_show_schedule(const ms_invocation *call, const ms_cli_shown *shown) {
    ms_value *root = make_tree(call, shown);
    if (!ms_cli_has(call, "json")) {
        add_page(shown, root);
    }
    return ms_cli_show(call, shown->program->name, MS_SCHEDULE_TABLES, root);
}
