#include "cli/show_schedule.h"

#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "meshsim/report.h"

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

const ms_value *ms_cli_schedule_tree(const ms_invocation *call, const ms_cli_shown *shown) {
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

/* What is left of differences of times that should be equal is shown as 0. */
static double without_dust(double time, const ms_schedule_result *result) {
    return fabs(time) <= 1e-12 * result->makespan ? 0 : time;
}

/* Where the closed form for these costs does not hold: what the makespan consists of. */
static void add_gap(const ms_cli_shown *shown, ms_buffer *out) {
    const ms_schedule_gap *gap = &shown->gap;
    ms_buffer_printf(
        out,
        "\n    of it: %.7g %s, order %+.5g,\n           unequal stages %+.5g, "
        "latency %+.5g",
        gap->base,
        gap->has_closed_form ? "closed form of equal stages and free messages" : "work of a rank",
        without_dust(gap->order, shown->result), without_dust(gap->imbalance, shown->result),
        without_dust(gap->latency, shown->result));
}

static void add_search_summary(const ms_search_result *search, ms_buffer *out) {
    ms_buffer_printf(out, "  search            span %.9g, heuristic %.9g (%s", search->span,
                     search->heuristic_span, search->start);
    if (search->variant >= 0) {
        ms_buffer_printf(out, ", variant %d", search->variant);
    } else {
        ms_buffer_puts(out, " as it is");
    }
    ms_buffer_printf(out, "), lower bound %.9g\n", search->bound);
    if (search->is_optimal) {
        ms_buffer_printf(out,
                         "                    no schedule under this cap has a shorter span "
                         "(rank %d)\n",
                         search->bound_rank);
    } else {
        ms_buffer_printf(out, "                    at most %.3g %% above the bound (of rank %d)\n",
                         100 * (search->span / search->bound - 1), search->bound_rank);
    }
    if (search->is_cut_short) {
        ms_buffer_puts(out, "                    cut short: too large for all rules and caps\n");
    }
}

/* The makespan with T as the time of all stages of a rank together, by which schedules of any V
 * compare. */
static double rank_makespan(const ms_cli_shown *shown) {
    const ms_program *program = shown->program;
    return shown->result->makespan * program->spec.pipeline_ranks /
           ((double)program->model_stages * program->spec.slices);
}

static void add_summary(const ms_cli_shown *shown, ms_buffer *out) {
    const ms_program *program = shown->program;
    const ms_schedule_result *result = shown->result;
    const ms_schedule_spec *spec = &program->spec;
    ms_buffer_printf(out, "schedule %s, P=%d V=%d M=%d", program->name, spec->pipeline_ranks,
                     spec->chunks, spec->microbatches);
    if (has_groups(spec)) {
        ms_buffer_printf(out, " N=%d", ms_schedule_group(spec));
    }
    if (spec->slices > 1) {
        ms_buffer_printf(out, " K=%d", spec->slices);
    }
    if (shown->workload != NULL) {
        ms_buffer_printf(out,
                         "\ntimes in seconds, what the stages of '%s' compute; its communication "
                         "and\noptimizer are left out",
                         shown->workload);
    } else {
        ms_buffer_puts(out, "\ntimes in T, the unit of --tf, --tb and --tw of one virtual stage");
    }
    ms_buffer_printf(out, "\n\n  makespan          %.9g %s", result->makespan,
                     shown->workload == NULL ? "T" : "s");
    if (!result->has_formula) {
        ms_buffer_puts(out, " (no closed form for these sizes and costs)");
        add_gap(shown, out);
    } else if (result->formula_makespan > 0) {
        double gap = result->makespan / result->formula_makespan - 1;
        ms_buffer_printf(out, " (closed form %.9g, gap %.3g %%)", result->formula_makespan,
                         fabs(gap) < 1e-9 ? 0 : 100 * gap);
    }
    if (shown->workload == NULL && program->model_stages * spec->slices > spec->pipeline_ranks) {
        ms_buffer_printf(out,
                         "\n    per rank        %.9g T of a rank's stages together, see --compare",
                         rank_makespan(shown));
    }
    ms_buffer_printf(out, "\n  bubble fraction   %.4f %%\n", 100 * result->bubble_fraction);
    ms_buffer_printf(out, "  longest span      %.9g   (first start to last end of a rank)\n",
                     result->max_span);
    ms_buffer_printf(out, "  most idle in span %.9g",
                     without_dust(result->max_span_bubble, result));
    if (result->has_span_formula) {
        ms_buffer_printf(out, "   (closed form %.9g)", result->formula_span_bubble);
    }
    ms_buffer_printf(out, "\n  one microbatch    %.9g more, in the long run\n", shown->period);
    ms_buffer_printf(out, "  messages          %ld\n", result->messages_total);
    ms_buffer_printf(out, "  order crc32       %08x\n", (unsigned)ms_program_crc32(program));
    if (shown->search != NULL) {
        add_search_summary(shown->search, out);
    }
    ms_buffer_puts(out, "\n");
}

static void add_rank_table(const ms_program *program, const ms_schedule_result *result,
                           ms_buffer *out) {
    ms_buffer_puts(out,
                   "                  ---------- idle ----------    exposed   peak in flight\n"
                   " rank      busy  warm-up    steady  cool-down       p2p    to W    to I\n");
    for (int i = 0; i < program->spec.pipeline_ranks; i++) {
        const ms_schedule_rank *rank = &result->ranks[i];
        ms_buffer_printf(
            out, "%5d %9.5g %8.5g %9.5g %10.5g %9.5g %7d %7d\n", i, rank->busy,
            without_dust(rank->idle_warmup, result), without_dust(rank->idle_steady, result),
            without_dust(rank->idle_cooldown, result), without_dust(rank->exposed_p2p, result),
            rank->peak_inflight, rank->peak_inflight_input);
    }
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

void ms_cli_schedule_text(const ms_cli_shown *shown, ms_buffer *out) {
    add_summary(shown, out);
    add_rank_table(shown->program, shown->result, out);
    ms_schedule_write_text(shown->program, shown->result, page_width(), out);
}
