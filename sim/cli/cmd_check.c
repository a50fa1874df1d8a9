/* meshsim check: validate a workload and say what can be said without simulating it. */
#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/draw.h"
#include "cli/job_options.h"
#include "cli/markdown_tables.h"
#include "cli/show_parameters.h"
#include "cli/show_result.h"
#include "cli/show_text.h"
#include "meshsim/advice.h"
#include "meshsim/estimate.h"
#include "meshsim/memory_options.h"
#include "meshsim/mesh_picture.h"
#include "meshsim/summary.h"
#include "meshsim/units.h"

static const ms_option OPTIONS[] = {
    MS_OPTION_PLATFORM,
    MS_OPTION_SET,
    MS_OPTION_FIDELITY,
    MS_OPTION_OVERLAP,
    MS_OPTION_SENDS,
    MS_OPTION_GRANULARITY,
    {.name = "no-fold", .help = "estimate with every group on shared links instead of the slowest"},
    {.name = "effective", .help = "print every key with its value and where it came from"},
    {.name = "keys", .help = "print every key that a workload may have"},
    {.name = "ignore-memory", .help = "exit with 0 also if the job does not fit in memory"},
    {.name = "svg",
     .argument = "FILE",
     .arguments = 1,
     .help = "draw memory of every pipeline rank, by what holds it ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    {.name = "mesh-svg",
     .argument = "FILE",
     .arguments = 1,
     .help = "draw which rank sits where on the platform, as 'mesh --svg' ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    MS_OPTION_JSON,
    MS_OPTION_MARKDOWN,
    {0},
};

/* Options that name a file. */
static const char *const TARGETS[] = {"svg", "mesh-svg", NULL};

/* What the page and the JSON object tell. */
typedef struct findings {
    ms_job job;
    ms_estimate estimate;
    double computation_bound_s; /* of its step, from its computations alone, as a search takes it */
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
    int option_count;
} findings;

static void add_options(const findings *f, ms_value *root) {
    ms_value *rows = ms_value_add(root, "memory_options", MS_VALUE_ARRAY);
    for (int i = 0; i < f->option_count; i++) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "setting", f->options[i].setting);
        ms_value_add_double(row, "saved_B", f->options[i].saved_B);
        ms_value_add_double(row, "peak_B", f->options[i].peak_B);
        ms_value_add_bool(row, "fits", f->options[i].fits);
        ms_value_add_string(row, "note", f->options[i].note);
    }
}

static void add_notes(const ms_job *job, ms_value *root) {
    ms_value *rows = ms_value_add(root, "notes", MS_VALUE_ARRAY);
    for (int i = 0; i < job->idle_keys.count; i++) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", job->idle_keys.items[i].key);
        ms_value_add_string(row, "changes_nothing", job->idle_keys.items[i].why);
    }
}

/* How many times as long as the typical GPU the job's slowest computes; given costs are its. */
static double slowest_gpu(const ms_job *job) {
    return job->spec.has_model ? job->layout.slowest_gpu : 1;
}

/* What the step costs and what it costs at least, as far as the platform's file says. */
static void add_price(const ms_job *job, const ms_estimate *estimate, ms_value *step) {
    const ms_platform *platform = &job->platform;
    ms_price_use use = ms_job_price_use(job, estimate->step_s, estimate->busy_s);
    ms_price_use least = ms_job_price_use(job, estimate->lower_bound_s, estimate->busy_s);
    double cost_unit = ms_price_has_rent(platform) ? 1.0 : (double)NAN; /* not known: null */
    double energy_unit = ms_price_has_power(platform) ? 1.0 : (double)NAN;
    ms_value_add_double(step, "cost", cost_unit * ms_price_step_USD(platform, &use));
    ms_value_add_double(step, "cost_lower_bound", cost_unit * ms_price_step_USD(platform, &least));
    ms_value_add_double(step, "energy_J", energy_unit * ms_price_step_J(platform, &use));
    ms_value_add_double(step, "energy_lower_bound_J",
                        energy_unit * ms_price_step_J(platform, &least));
}

/* Lowest rank of a pipeline rank. */
static int first_rank(const ms_job *job, int pp) {
    int rank = 0;
    while (ms_mesh_coordinate(&job->mesh, rank, MS_AXIS_PP) != pp) {
        rank++;
    }
    return rank;
}

static void add_parameters(const ms_job *job, ms_value *root) {
    if (job->spec.has_model) {
        ms_show_add_parameters(&job->spec.model, root);
        return;
    }
    ms_value *counts = ms_value_add(root, "parameters", MS_VALUE_OBJECT);
    ms_value_add_double(counts, "total", job->costs.parameters_total);
    ms_value_add_double(counts, "active", 0.0);
}

static ms_value *make_json(const ms_invocation *call, const findings *f) {
    const ms_job *job = &f->job;
    const ms_estimate *estimate = &f->estimate;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "workload", job->name);
    if (job->spec.framework.name != NULL) {
        ms_value_add_string(root, "framework", job->spec.framework.name);
    }
    ms_value_add_string(root, "platform", job->platform.name);
    ms_value_add_int(root, "gpus", job->mesh.ranks);
    ms_summary_add_placement(&job->placement, root);
    ms_summary_add_meshes(job, root);
    ms_summary_add_tiers(job, root);
    ms_value_add_string(root, "schedule", job->program.name);
    ms_value_add_int(root, "global_batch", job->global_batch);
    ms_value_add_int(root, "num_microbatches", job->microbatches);
    add_parameters(job, root);
    ms_value_add_double(root, "slowest_gpu", slowest_gpu(job));
    ms_value *step = ms_value_add(root, "estimate", MS_VALUE_OBJECT);
    ms_value_add_double(step, "step_time_s", estimate->step_s);
    ms_value_add_double(step, "lower_bound_s", estimate->lower_bound_s);
    ms_value_add_double(step, "computation_bound_s", f->computation_bound_s);
    add_price(job, estimate, step);
    ms_value_add_double(root, "ideal_bubble_fraction", estimate->ideal_bubble_fraction);
    const ms_summary_memory memory = {.held = &estimate->ranks[estimate->peak_rank].held,
                                      .capacity_B = estimate->capacity_B,
                                      .fits = estimate->fits,
                                      .rank = first_rank(job, estimate->peak_rank)};
    ms_summary_add_memory(&memory, root);
    ms_value *rows = ms_value_add(root, "stages", MS_VALUE_ARRAY);
    for (int p = 0; p < job->layout.pp; p++) {
        const ms_rank_estimate *rank = &estimate->ranks[p];
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_int(row, "pp_rank", p);
        ms_value_add_int(row, "layers", rank->layers);
        ms_value_add_double(row, "compute_s", rank->compute_s);
        ms_value_add_double(row, "static_B", ms_held_static_B(&rank->held));
        ms_value_add_double(row, "parameters_B", rank->held.parameter_B);
        ms_value_add_double(row, "gradients_B", rank->held.gradient_B);
        ms_value_add_double(row, "optimizer_B", rank->held.optimizer_B);
        ms_value_add_double(row, "activations_B", rank->held.activation_B);
        ms_value_add_double(row, "buffers_B", rank->held.buffer_B);
        ms_value_add_double(row, "other_B", rank->held.other_B);
        ms_value_add_double(row, "peak_B", rank->peak_B);
    }
    add_options(f, root);
    add_notes(job, root);
    return root;
}

static void print_ranks(const ms_job *job, const ms_estimate *estimate, ms_buffer *page) {
    ms_buffer_printf(
        page,
        "\npipeline rank  layers    compute      static  activations    buffers        peak\n");
    for (int p = 0; p < job->layout.pp; p++) {
        const ms_rank_estimate *rank = &estimate->ranks[p];
        char text[5][32];
        ms_buffer_printf(
            page, "%13d %7d %10s %11s %12s %10s %11s\n", p, rank->layers,
            ms_unit_format(rank->compute_s, MS_DIM_TIME, text[0], sizeof text[0]),
            ms_unit_format(ms_held_static_B(&rank->held), MS_DIM_BYTES, text[1], sizeof text[1]),
            ms_unit_format(rank->held.activation_B, MS_DIM_BYTES, text[2], sizeof text[2]),
            ms_unit_format(rank->held.buffer_B, MS_DIM_BYTES, text[3], sizeof text[3]),
            ms_unit_format(rank->peak_B, MS_DIM_BYTES, text[4], sizeof text[4]));
    }
}

static void print_options(const findings *f, ms_buffer *page) {
    if (f->option_count > 0) {
        ms_buffer_printf(page, "\nany one of these changes would save memory%17s %11s\n", "saves",
                         "peak");
    }
    for (int i = 0; i < f->option_count; i++) {
        char saved[32];
        char peak[32];
        ms_buffer_printf(page, "  %-42s %14s %11s%s\n", f->options[i].setting,
                         ms_unit_format(f->options[i].saved_B, MS_DIM_BYTES, saved, sizeof saved),
                         ms_unit_format(f->options[i].peak_B, MS_DIM_BYTES, peak, sizeof peak),
                         f->options[i].fits ? " *" : "");
        ms_buffer_printf(page, "      %s\n", f->options[i].note);
    }
    if (f->option_count > 0) {
        ms_buffer_printf(page, "* fits\n");
    }
}

static void print_estimate(const findings *f, ms_buffer *page) {
    const ms_job *job = &f->job;
    const ms_estimate *estimate = &f->estimate;
    char step[32];
    char bound[32];
    char peak[32];
    char capacity[96];
    ms_show_job(job, page);
    if (job->spec.has_model) {
        ms_show_parameters(&job->spec.model, page);
    }
    if (slowest_gpu(job) > 1) {
        ms_buffer_printf(page, "slowest    GPU of %d: %.1f %% slower than the typical one\n",
                         job->mesh.ranks, 100 * (slowest_gpu(job) - 1));
    }
    ms_buffer_printf(page, "estimate   %s a step, not less than %s\n",
                     ms_unit_format(estimate->step_s, MS_DIM_TIME, step, sizeof step),
                     ms_unit_format(estimate->lower_bound_s, MS_DIM_TIME, bound, sizeof bound));
    ms_buffer_printf(page, "           bubble %.2f %% without any communication\n",
                     100.0 * estimate->ideal_bubble_fraction);
    ms_buffer_printf(page, "memory     %s on pipeline rank %d: %s\n           %s\n",
                     ms_unit_format(estimate->ranks[estimate->peak_rank].peak_B, MS_DIM_BYTES, peak,
                                    sizeof peak),
                     estimate->peak_rank, estimate->fits ? "fits" : "DOES NOT FIT",
                     ms_show_capacity(&job->platform.gpu, capacity, sizeof capacity));
    print_ranks(job, estimate, page);
    if (!estimate->fits) {
        print_options(f, page);
    }
}

static ms_status print_effective(const ms_invocation *call, const ms_job *job) {
    ms_buffer page;
    ms_buffer_init(&page);
    ms_buffer_printf(&page, "# workload\n%s\n# platform\n%s", job->spec.source.effective_text,
                     job->spec.platform.effective_text);
    return ms_cli_print_page(call, &page);
}

static ms_status bound_early(const ms_invocation *call, findings *f) {
    ms_price_use least;
    ms_estimator *estimator = ms_estimator_new(call->arena);
    if (estimator == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = ms_estimator_bound(estimator, &f->job.spec, call->diag, &least);
    ms_estimator_free(estimator);
    f->computation_bound_s = status == MS_OK ? least.step_s : 0.0;
    return status;
}

static ms_status look_at(const ms_invocation *call, findings *f) {
    ms_status status = ms_job_estimate(&f->job, call->arena, call->diag, &f->estimate);
    status = status == MS_OK ? bound_early(call, f) : status;
    if (status == MS_OK) {
        const ms_memory_options_input input = ms_job_memory_options_input(&f->job);
        status = ms_memory_options_find(&input, call->arena, f->options, &f->option_count);
        if (status == MS_E_NOMEM) {
            ms_diag_error(call->diag, "out of memory");
        }
    }
    return status;
}

static ms_status print_findings(const ms_invocation *call, const findings *f) {
    if (ms_cli_wants_tree(call)) {
        return ms_cli_print_tree(call, f->job.name, MS_CHECK_TABLES, make_json(call, f));
    }
    ms_buffer page;
    ms_buffer_init(&page);
    print_estimate(f, &page);
    return ms_cli_print_page(call, &page);
}

static ms_status draw(const ms_invocation *call, const findings *f) {
    ms_buffer picture;
    ms_buffer_init(&picture);
    if (ms_cli_has(call, "svg")) {
        ms_draw_memory(&f->estimate, f->job.layout.pp, f->job.name, call->arena, &picture);
    }
    return ms_cli_write_option(call, "svg", &picture);
}

static ms_status draw_mesh(const ms_invocation *call, const ms_job *job) {
    ms_buffer text;
    ms_buffer_init(&text);
    if (ms_cli_has(call, "mesh-svg")) {
        const ms_mesh_picture picture = {.mesh = &job->mesh,
                                         .platform = &job->platform,
                                         .axis = -1,
                                         .expert_mesh = job->expert_mesh,
                                         .uses = job->placement.uses};
        ms_mesh_picture_write(&picture, call->arena, &text);
    }
    return ms_cli_write_option(call, "mesh-svg", &text);
}

static ms_status run(const ms_invocation *call) {
    findings f = {0};
    ms_status status = ms_cli_check_targets(call, TARGETS);
    status = status == MS_OK ? ms_cli_load_job(call, &f.job) : status;
    if (status == MS_OK && ms_cli_has(call, "effective")) {
        return print_effective(call, &f.job);
    }
    status = status == MS_OK ? look_at(call, &f) : status;
    if (status == MS_OK) {
        const ms_estimate_input input = ms_job_estimate_input(&f.job);
        ms_advise_placement(&f.job.mesh, &f.job.platform, call->diag);
        status = ms_advise_latency_ahead(&input, &f.estimate, call->diag);
    }
    status = status == MS_OK ? draw(call, &f) : status;
    status = status == MS_OK ? draw_mesh(call, &f.job) : status;
    if (status == MS_OK && !ms_cli_takes_stdout(call, TARGETS)) {
        status = print_findings(call, &f);
    }
    bool is_no = !f.estimate.fits && !ms_cli_has(call, "ignore-memory");
    return status == MS_OK && is_no ? MS_E_NO : status;
}

static ms_status print_keys(const ms_invocation *call) {
    ms_buffer page;
    ms_buffer_init(&page);
    ms_job_spec_write_keys(&page);
    return ms_cli_print_page(call, &page);
}

#define NO_WORKLOAD(option_)                                                                       \
    { "keys", option_, true, "it reads no workload" }

static const ms_option_rule KEYS_RULES[] = {NO_WORKLOAD("platform"),
                                            NO_WORKLOAD("set"),
                                            NO_WORKLOAD("fidelity"),
                                            NO_WORKLOAD("overlap"),
                                            NO_WORKLOAD("sends"),
                                            NO_WORKLOAD("effective"),
                                            NO_WORKLOAD("ignore-memory"),
                                            NO_WORKLOAD("svg"),
                                            NO_WORKLOAD("mesh-svg"),
                                            {"keys", "json", true, "the list is a page"},
                                            {"keys", "markdown", true, "the list is a page"},
                                            {0}};

static const ms_option_rule WORKLOAD_RULES[] = {
    {"effective", "svg", true, "do not go together: settings have no picture"},
    {"effective", "mesh-svg", true, "do not go together: settings have no picture"},
    {0}};

static const ms_mode MODES[] = {
    {.usage = "WORKLOAD.yaml",
     .summary = "validate a workload",
     .argument = "",
     .rules = WORKLOAD_RULES,
     .run = run},
    {.usage = "--keys",
     .summary = "every key with its default and what it takes",
     .chosen_by = {"keys"},
     .rules = KEYS_RULES,
     .run = print_keys},
    {0},
};

const ms_command ms_cmd_check = {
    .name = "check",
    .summary = "validate a workload; print mesh, memory and an estimate",
    .positional_help = "WORKLOAD.yaml",
    .positionals_min = 0,
    .positionals_max = 1,
    .options = OPTIONS,
    .modes = MODES,
    .description = "Reads and checks a workload with its platform, reports every fault, and prints "
                   "what follows without simulating: mesh, memory of every pipeline rank, the "
                   "expected step time, and one that no simulation is below. Exits with 1 when the "
                   "job does not "
                   "fit in memory.",
    .example = "meshsim check workloads/gpt3-175b-1024.yaml",
    .run = ms_cli_run_mode,
};
