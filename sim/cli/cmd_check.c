/* meshsim check: validates a workload, and prints what follows without a simulation: mesh, memory
 * of each pipeline rank, an estimate of the step, and for a job that does not fit in memory changes
 * that save some. With --effective it prints the resolved workload instead. A set is an override
 * "key.path=value", as --set takes one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/show_mesh.h"
#include "cli/show_text.h"
#include "cli/shown_tables.h"
#include "cli/tool.h"
#include "estimate/advice.h"
#include "estimate/estimate.h"
#include "estimate/memory_options.h"
#include "trace/summary.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {MS_OPTION_PLATFORM},
    {MS_OPTION_SET},
    {MS_OPTION_FIDELITY},
    {MS_OPTION_OVERLAP},
    {MS_OPTION_SENDS},
    {MS_OPTION_GRANULARITY},
    {"no-fold", .help = "estimate with every group on shared links instead of the slowest"},
    {"effective", .help = "print every key with its value and where it came from; with --json the "
                          "workload that they make, and its stages"},
    {"keys", .help = "print every key that a workload may have"},
    {"ignore-memory", .help = "exit with 0 also if the job does not fit in memory"},
    {"svg", "FILE",
     .help = "draw memory of every pipeline rank, by what holds it ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    {"mesh-svg", "FILE",
     .help = "draw which rank sits where on the platform, as 'mesh --svg' ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    {MS_OPTION_TOKENS},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {0},
};

/* Options that name an output file. */
static const char *const TARGETS[] = {"svg", "mesh-svg", NULL};

/* All figures that the page and the JSON object show. */
typedef struct findings {
    double training_tokens; /* --tokens; 0: not given */
    ms_job job;
    ms_estimate estimate;
    double computation_bound_s; /* lower bound of the step from computations alone [s], by which a
                                   search prunes */
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX]; /* [option_count] single changes that save
                                                        memory */
    int option_count;
    ms_fitting_change change; /* the smallest change that fits; for a job that does not fit */
    double change_step_s;     /* estimated step with that change [s] */
} findings;

/* Sets as a user types them: "--set A=1 --set B=2", quoted for a shell.  In `arena`; NULL when
 * memory runs out, which the arena remembers. */
static const char *typed_options(const ms_words *sets, ms_arena *arena) {
    ms_buffer text = {0};
    for (size_t i = 0; i < sets->count; i++) {
        ms_buffer_puts(&text, i == 0 ? "--set " : " --set ");
        ms_show_shell_word(sets->items[i], &text);
    }
    return ms_buffer_keep(&text, arena);
}

/* Whether a change with which the job fits in memory was found. */
static bool has_fitting_change(const findings *found) {
    return found->change.is_tried && found->change.fits;
}

/* Add a row for each single change that saves memory: its --set words, what it saves, the peak with
 * it, and its cost in words. */
static void add_options(const findings *found, ms_value *root) {
    ms_value *rows = ms_value_add(root, "memory_options", MS_VALUE_ARRAY);
    for (int i = 0; i < found->option_count; i++) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "setting", typed_options(&found->options[i].sets, root->arena));
        ms_value_add_double(row, "saved_B", found->options[i].saved_B);
        ms_value_add_double(row, "peak_B", found->options[i].peak_B);
        ms_value_add_bool(row, "fits", found->options[i].fits);
        ms_value_add_string(row, "note", found->options[i].note);
    }
}

/* Add the smallest change with which the job fits in memory; null where none is needed or none was
 * found. Where none was found, add the smallest peak that was tried. */
static void add_change(const findings *found, ms_value *root) {
    const ms_fitting_change *change = &found->change;
    ms_value *object = ms_value_add(root, "fitting_change",
                                    has_fitting_change(found) ? MS_VALUE_OBJECT : MS_VALUE_NULL);
    if (has_fitting_change(found)) {
        ms_value *sets = ms_value_add(object, "sets", MS_VALUE_ARRAY);
        for (size_t i = 0; i < change->sets.count; i++) {
            ms_value_add_string(sets, NULL, change->sets.items[i]);
        }
        ms_value_add_string(object, "setting", typed_options(&change->sets, root->arena));
        ms_value_add_double(object, "peak_B", change->peak_B);
        ms_value_add_double(object, "step_time_s", found->change_step_s);
    } else if (change->is_tried) {
        ms_value_add_double(root, "smallest_peak_B", change->peak_B);
    }
}

/* Add a row for each key of the workload that has no effect, with the reason. */
static void add_notes(const ms_job *job, ms_value *root) {
    ms_value *rows = ms_value_add(root, "notes", MS_VALUE_ARRAY);
    for (int i = 0; i < job->idle_keys.count; i++) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", job->idle_keys.items[i].key);
        ms_value_add_string(row, "changes_nothing", job->idle_keys.items[i].why);
    }
}

/* Add to the object of the estimated step its rent [USD] and its energy [J], and a lower bound of
 * each; null where the platform has no price, or no power. */
static void add_price(const ms_job *job, const ms_estimate *estimate, ms_value *step) {
    const ms_platform *platform = job->platform;
    ms_price_use use = ms_job_price_use(job, estimate->step_s, estimate->busy_s);
    ms_price_use least = ms_job_price_use(job, estimate->lower_bound_s, estimate->busy_s);
    /* A factor of NAN makes a figure null. */
    double cost_unit = ms_price_has_rent(platform) ? 1.0 : (double)NAN;
    double energy_unit = ms_price_has_power(platform) ? 1.0 : (double)NAN;
    ms_value_add_double(step, "cost", cost_unit * ms_price_step_USD(platform, &use));
    ms_value_add_double(step, "cost_lower_bound", cost_unit * ms_price_step_USD(platform, &least));
    ms_value_add_double(step, "energy_J", energy_unit * ms_price_step_J(platform, &use));
    ms_value_add_double(step, "energy_lower_bound_J",
                        energy_unit * ms_price_step_J(platform, &least));
}

/* The lowest rank of the job whose pipeline rank is `pp`. */
static int first_rank(const ms_job *job, int pp) {
    int rank = 0;
    while (ms_mesh_coordinate(&job->mesh, rank, MS_AXIS_PP) != pp) {
        rank++;
    }
    return rank;
}

/* Parameters of the model with a head matrix of its own: where embeddings are tied, `parts->total`
 * does not count that matrix. Biases of the head are in the total in either case. */
static double untied(const ms_model *model, const ms_parameter_parts *parts) {
    return parts->total + (model->has_tied_embeddings ? parts->head : 0);
}

/* Add the numbers of parameters of a model: in total and active per token, with and without the
 * modules of multi-token prediction (MTP), with tied and untied embeddings, and of embedding and
 * head. */
static void add_model_parameters(const ms_model *model, ms_value *root) {
    const ms_parameter_parts parts = ms_model_parameter_parts(model);
    ms_value *counts = ms_value_add(root, "parameters", MS_VALUE_OBJECT);
    ms_value_add_double(counts, "total", parts.total);
    ms_value_add_double(counts, "active", parts.active);
    ms_value_add_double(counts, "total_without_mtp", parts.total - parts.modules);
    ms_value_add_double(counts, "active_without_mtp", parts.active - parts.active_modules);
    ms_value_add_double(counts, "total_tied", untied(model, &parts) - parts.head);
    ms_value_add_double(counts, "total_untied", untied(model, &parts));
    ms_value_add_double(counts, "embedding", parts.embedding);
    ms_value_add_double(counts, "head", parts.head);
}

/* Add the numbers of parameters: of the model, or of given costs, whose active parameters are
 * unknown and are 0. */
static void add_parameters(const ms_job *job, ms_value *root) {
    if (job->spec.has_model) {
        add_model_parameters(&job->spec.model, root);
        return;
    }
    ms_value *counts = ms_value_add(root, "parameters", MS_VALUE_OBJECT);
    ms_value_add_double(counts, "total", job->costs.parameters_total);
    ms_value_add_double(counts, "active", 0.0);
}

/* Make the tree that --json prints: job and mesh, the estimated step with its bounds, memory of the
 * fullest pipeline rank, a row for each pipeline rank, and the changes that save memory. */
static ms_value *make_tree(const ms_invocation *call, const findings *found) {
    const ms_job *job = &found->job;
    const ms_estimate *estimate = &found->estimate;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "workload", job->name);
    ms_value_add_string(root, "framework", job->spec.framework.name); /* NULL adds nothing */
    ms_value_add_string(root, "platform", job->platform->name);
    ms_value_add_int(root, "gpus", job->mesh.ranks);
    ms_summary_add_placement(&job->placement, root);
    ms_summary_add_meshes(job, root);
    ms_summary_add_tiers(job, root);
    ms_show_mesh_devices(&job->mesh, job->platform, root);
    ms_value_add_string(root, "schedule", job->program.name);
    ms_value_add_int(root, "global_batch", job->global_batch);
    ms_value_add_int(root, "num_microbatches", job->microbatches);
    add_parameters(job, root);
    /* How many times as long as the typical GPU it computes; given costs are those of the slowest.
     */
    ms_value_add_double(root, "slowest_gpu", job->spec.has_model ? job->layout.slowest_gpu : 1);
    ms_value *step = ms_value_add(root, "estimate", MS_VALUE_OBJECT);
    ms_value_add_double(step, "step_time_s", estimate->step_s);
    ms_value_add_double(step, "lower_bound_s", estimate->lower_bound_s);
    ms_value_add_double(step, "computation_bound_s", found->computation_bound_s);
    double tokens = (double)job->global_batch * job->spec.model.sequence;
    ms_value_add_double(step, "tokens_per_s",
                        job->spec.has_model ? tokens / estimate->step_s : (double)NAN);
    add_price(job, estimate, step);
    ms_summary_add_training(found->training_tokens, job->mesh.ranks, step);
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
    add_options(found, root);
    add_change(found, root);
    add_notes(job, root);
    return root;
}

/* Print for --effective all keys of workload and platform with the value in use and its origin. */
static ms_status print_effective(const ms_invocation *call, const ms_job *job) {
    ms_buffer page = {0};
    ms_buffer_printf(&page, "# workload\n%s\n# platform\n%s", job->spec.source.effective_text,
                     job->spec.platform.effective_text);
    return ms_cli_print_page(call, &page);
}

/* Copy a job's spec, and set the keys whose values are found when a job is laid out: batch sizes,
 * layers per stage, chunks, and when gradients are reduced.  *spec_out: borrows from the job, its
 * list of layers is in `arena`.  Returns MS_OK; MS_E_NOMEM. */
static ms_status with_layout(const ms_job *job, ms_arena *arena, ms_job_spec *spec_out) {
    size_t stages = (size_t)job->program.model_stages;
    int *layers = MS_NEW(arena, int, stages + 1);
    *spec_out = job->spec;
    spec_out->batch.global = job->global_batch;
    spec_out->batch.microbatches = 0; /* not given: it follows from the global batch */
    /* Given costs have no layers: the copy then keeps the spec's partition. */
    if (layers == NULL || job->layout.stage_layers == NULL) {
        return layers == NULL ? MS_E_NOMEM : MS_OK;
    }
    memcpy(layers, job->layout.stage_layers, stages * sizeof *layers);
    spec_out->schedule.partition.stage_layers = (ms_ints){.items = layers, .count = stages};
    spec_out->schedule.chunks = job->layout.chunks;
    spec_out->reduce = (int)job->layout.reduce;
    return MS_OK;
}

/* Add the object `layout`: name, GPUs, microbatches, and the pipeline rank of each virtual
 * stage. */
static void add_layout(const ms_job *job, ms_value *root) {
    ms_value *layout = ms_value_add(root, "layout", MS_VALUE_OBJECT);
    ms_value_add_string(layout, "name", job->name);
    ms_value_add_int(layout, "gpus", ms_spec_ranks(&job->spec));
    ms_value_add_int(layout, "node_gpus", job->platform->gpus_per_node);
    ms_value_add_int(layout, "num_microbatches", job->microbatches);
    ms_value *ranks = ms_value_add(layout, "stage_pp_ranks", MS_VALUE_ARRAY);
    for (int stage = 0; stage < job->program.model_stages; stage++) {
        ms_value_add_int(ranks, NULL, job->program.stage_rank[stage]);
    }
}

/* Add a spec as the text of a workload file under the key `name`.  Returns MS_OK; MS_E_NOMEM (not
 * reported). */
static ms_status add_workload(const char *name, const ms_job_spec *spec, ms_value *root) {
    ms_buffer text = {0};
    ms_job_spec_write(spec, &text);
    const char *kept = ms_buffer_keep(&text, root->arena);
    ms_value_add_string(root, name, kept);
    return kept == NULL ? MS_E_NOMEM : MS_OK;
}

/* Print for --effective --json, for programs that translate workloads: the resolved workload as a
 * file's text, the same with the values that were found when the job was laid out, and its stages.
 * A workload that cannot be laid out, with a mesh for another number of GPUs, say, has no layout.
 *
 * Returns MS_OK; MS_E_NO without a layout (its faults are reported); as ms_job_spec_read and
 * ms_job_build. */
static ms_status print_workload(const ms_invocation *call) {
    ms_job_request request;
    ms_job job = {0};
    ms_job_spec spec, laid;
    ms_status status = ms_cli_job_request(call, call->positionals[0], &request);
    status = status == MS_OK ? ms_job_spec_read(&request, call->arena, call->diag, &spec) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_status built = ms_job_build(&spec, call->arena, call->diag, &job);
    if (built != MS_OK && built != MS_E_INPUT) {
        return built;
    }
    ms_value *root = ms_value_new_object(call->arena);
    status = add_workload("workload", &spec, root);
    if (built == MS_OK && status == MS_OK) {
        status = with_layout(&job, call->arena, &laid);
        status = status == MS_OK ? add_workload("laid_out", &laid, root) : status;
        add_layout(&job, root);
    }
    if (status != MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    status = ms_cli_print_json(call, root);
    return status == MS_OK && built != MS_OK ? MS_E_NO : status;
}

/* Find the lower bound of the step from computations alone, before communication and memory are
 * known. */
static ms_status bound_by_computation(const ms_invocation *call, findings *found) {
    ms_price_use least;
    ms_estimator *estimator = ms_estimator_new(call->arena);
    if (estimator == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = ms_estimator_bound(estimator, &found->job.spec, call->diag, &least);
    ms_estimator_free(estimator);
    found->computation_bound_s = status == MS_OK ? least.step_s : 0.0;
    return status;
}

/* Estimate the step of the job with the smallest change that fits, exactly as `check` would with
 * these overrides on its command line. */
static ms_status estimate_change(const ms_invocation *call, findings *found) {
    ms_job_spec spec;
    ms_job job;
    ms_estimate estimate;
    ms_status status = ms_job_spec_read_again(&found->job.spec, &found->change.sets, call->arena,
                                              call->diag, &spec);
    status = status == MS_OK ? ms_job_build(&spec, call->arena, call->diag, &job) : status;
    if (status == MS_OK) {
        job.run = found->job.run; /* --no-fold */
        status = ms_job_estimate(&job, call->arena, call->diag, &estimate);
    }
    found->change_step_s = status == MS_OK ? estimate.step_s : 0.0;
    return status;
}

/* Find the smallest change with which the job fits in memory, and estimate its step. */
static ms_status find_change(const ms_invocation *call, findings *found) {
    ms_status status =
        ms_fitting_change_find(&found->job.spec, call->arena, call->diag, &found->change);
    return status == MS_OK && has_fitting_change(found) ? estimate_change(call, found) : status;
}

/* Fill in the findings of the job in found->job: estimate, bound, and changes that save memory. */
static ms_status evaluate(const ms_invocation *call, findings *found) {
    ms_status status = ms_job_estimate(&found->job, call->arena, call->diag, &found->estimate);
    status = status == MS_OK ? bound_by_computation(call, found) : status;
    status = status == MS_OK ? ms_memory_options_find(&found->job.spec, call->arena, call->diag,
                                                      found->options, &found->option_count)
                             : status;
    return status == MS_OK && !found->estimate.fits ? find_change(call, found) : status;
}

/* Print the findings as JSON, text or Markdown. */
static ms_status print_findings(const ms_invocation *call, const findings *found) {
    ms_value *tree = make_tree(call, found);
    if (!ms_cli_has(call, "json")) {
        ms_cli_add_job_page(&found->job, tree);
    }
    return ms_cli_show(call, found->job.name, MS_CHECK_TABLES, tree);
}

/* Draw the pictures of --svg (memory of the pipeline ranks) and --mesh-svg (ranks on the
 * platform). */
static ms_status draw(const ms_invocation *call, const findings *found) {
    static const char *const OF_MESH[] = {"--of=mesh", NULL};
    ms_status status = MS_OK;
    if (ms_cli_has(call, "svg") || ms_cli_has(call, "mesh-svg")) {
        const ms_value *tree = make_tree(call, found);
        status = ms_cli_draw(call, "svg", NULL, tree);
        status = status == MS_OK ? ms_cli_draw(call, "mesh-svg", OF_MESH, tree) : status;
    }
    return status;
}

/* Mode: validate a workload. The options are checked before anything that takes long.  Returns
 * MS_E_NO if the job does not fit in memory and --ignore-memory is not given. */
static ms_status run(const ms_invocation *call) {
    findings found = {0};
    ms_job_request request;
    ms_status status = ms_cli_check_targets(call, TARGETS);
    status = status == MS_OK ? ms_cli_tokens(call, &found.training_tokens) : status;
    if (status == MS_OK && ms_cli_has(call, "effective") && ms_cli_has(call, "json")) {
        return print_workload(call);
    }
    status = status == MS_OK ? ms_cli_load_requested(call, &request, &found.job) : status;
    if (status == MS_OK && ms_cli_has(call, "effective")) {
        return print_effective(call, &found.job);
    }
    status = status == MS_OK ? evaluate(call, &found) : status;
    if (status == MS_OK) {
        ms_cli_note_upkeep(call, found.job.platform, NULL);
        ms_advise_placement(&found.job.mesh, found.job.platform, call->diag);
        status = ms_advise_latency_ahead(&found.job, &found.estimate, call->diag);
    }
    status = status == MS_OK ? draw(call, &found) : status;
    if (status == MS_OK && !ms_cli_uses_stdout(call, TARGETS)) {
        status = print_findings(call, &found);
    }
    bool is_no = !found.estimate.fits && !ms_cli_has(call, "ignore-memory");
    return status == MS_OK && is_no ? MS_E_NO : status;
}

/* Mode: print every key that a workload may have. */
static ms_status print_keys(const ms_invocation *call) {
    ms_buffer page = {0};
    ms_job_spec_write_keys(&page);
    return ms_cli_print_page(call, &page);
}

/* A rule: --keys excludes an option that describes a workload. */
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
    .positionals = {0, 1},
    .options = OPTIONS,
    .modes = MODES,
    .description =
        "Reads and checks a workload with its platform, reports every fault, and prints what "
        "follows without simulating: mesh, memory of every pipeline rank, the expected step time, "
        "and one that no simulation is below. Exits with 1 when the job does not fit in memory; it "
        "then proposes --set pairs that were tried: single changes that save memory, and the "
        "smallest change of mesh, sharding and recomputation with which the job fits.",
    .example = "meshsim check workloads/gpt3-175b-1024.yaml",
    .run = ms_cli_run_mode,
};
