#include "cli/show_result.h"

#include <math.h>
#include <stdio.h>

#include "cli/show_text.h"
#include "meshsim/units.h"

enum { BAR_WIDTH = 34 };

typedef char text[32];

static const char *time_text(double time_s, char *out) {
    return ms_unit_format(time_s, MS_DIM_TIME, out, sizeof(text));
}

static const char *bytes_text(double bytes, char *out) {
    return ms_unit_format(bytes, MS_DIM_BYTES, out, sizeof(text));
}

/* Which tier the groups of each axis reach across. */
static void show_tiers(const ms_job *job, const ms_mesh *mesh, const char *label, ms_buffer *out) {
    const char *before = label;
    for (int a = 0; a < mesh->axes; a++) {
        int tier = ms_mesh_axis_tier(mesh, a, job->platform);
        if (tier >= 0) {
            ms_buffer_printf(out, "%s%s %s", before, mesh->names[a],
                             job->platform->tiers[tier].name);
            before = ", ";
        }
    }
    ms_buffer_printf(out, "%s", before[0] == ',' ? "\n" : "");
}

static void show_axes(const ms_mesh *mesh, const char *label, ms_buffer *out) {
    ms_buffer_printf(out, "%s", label);
    for (int a = 0; a < mesh->axes; a++) {
        ms_buffer_printf(out, "%s%s %d", a > 0 ? " x " : "", mesh->names[a], mesh->sizes[a]);
    }
}

/* The mesh, and the experts' own view of it. */
static void show_meshes(const ms_job *job, ms_buffer *out) {
    show_axes(&job->mesh, "mesh       ", out);
    ms_buffer_printf(out, " = %d GPUs (outermost first)\n", job->mesh.ranks);
    if (job->placement.idle_gpus + job->placement.spare_gpus > 0) {
        ms_buffer_puts(out, "placement  ");
        ms_placement_describe(&job->placement, out);
        ms_buffer_puts(out, "\n");
    }
    show_tiers(job, &job->mesh, "tiers      ", out);
    if (job->expert_mesh != NULL) {
        show_axes(job->expert_mesh, "experts    ", out);
        ms_buffer_printf(out, "\n");
        show_tiers(job, job->expert_mesh, "  tiers    ", out);
    }
}

void ms_show_job(const ms_job *job, ms_buffer *out) {
    ms_buffer_printf(out, "workload   %s\n", job->name);
    if (job->spec.framework.name != NULL) {
        ms_buffer_printf(out, "framework  %s\n", job->spec.framework.name);
    }
    ms_buffer_printf(out, "platform   %s: %d node%s x %d %s\n", job->platform->name,
                     job->platform->nodes, job->platform->nodes == 1 ? "" : "s",
                     job->platform->gpus_per_node, job->platform->gpu.name);
    show_meshes(job, out);
    ms_buffer_printf(out, "schedule   %s, %s%d stages, %d microbatches", job->program.name,
                     job->program.parameter_replicas > 1 ? "twice " : "", job->program.model_stages,
                     job->microbatches);
    if (job->spec.has_model) {
        ms_buffer_printf(out, " of %d, batch %d", job->layout.micro_batch, job->global_batch);
    }
    ms_buffer_printf(out, "\n");
    if (job->spec.simulation.steps > 1) {
        ms_buffer_printf(out, "steps      %d, %s\n", job->spec.simulation.steps,
                         ms_job_is_validated_late(job) ? "updates validated afterwards"
                                                       : "all ranks meet before they update");
    }
}

static void show_bar(double share, ms_buffer *out) {
    int filled = (int)lround(share * BAR_WIDTH);
    ms_buffer_printf(out, "%s", filled > 0 ? "  " : "");
    for (int i = 0; i < filled; i++) {
        ms_buffer_puts(out, "#");
    }
}

static void show_share(const ms_result *result, const char *name, double share, ms_buffer *out) {
    text time;
    if (share < 5e-6) {
        return;
    }
    ms_buffer_printf(out, "  %-16s %10s %6.2f %%", name,
                     time_text(share * result->metrics.step_time_s, time), 100.0 * share);
    show_bar(share, out);
    ms_buffer_puts(out, "\n");
}

/* `other` as the parts that it consists of: alone it says nothing. */
static void show_shares(const ms_result *result, ms_buffer *out) {
    ms_buffer_printf(out, "\nwhere the time goes (mean over GPUs)\n");
    for (int c = 0; c < MS_TIME_OTHER; c++) {
        show_share(result, ms_time_category_name((ms_time_category)c), result->metrics.share[c],
                   out);
        if (c == MS_TIME_COMPUTE) {
            show_share(result, "  of it slow-down", result->metrics.slowed_share, out);
        }
    }
    for (int part = 0; part < MS_OTHER_COUNT; part++) {
        text name;
        snprintf(name, sizeof name, "%s: %s", ms_time_category_name(MS_TIME_OTHER),
                 ms_other_part_name((ms_other_part)part));
        show_share(result, name, result->metrics.other_share[part], out);
    }
}

/* A GPU's own communication; what stalls it is also exposed, but it may wait for other GPUs' too.
 */
static void show_comm(const ms_result *result, ms_buffer *out) {
    ms_buffer_printf(
        out,
        "\nGPU's own communication  sent      busy  stalling overlapped   in idle   waiting\n");
    for (int a = MS_AXIS_TP; a < MS_AXIS_COUNT; a++) {
        const ms_axis_use *use = &result->metrics.axes[a];
        if (use->bytes <= 0.0 && use->busy_s <= 0.0) {
            continue;
        }
        text sent;
        text busy;
        text stalling;
        text overlapped;
        text in_idle;
        text waiting;
        ms_buffer_printf(out, "  %-15s %11s %9s %9s %10s %9s %9s\n", ms_axis_name((ms_axis)a),
                         bytes_text(use->bytes, sent), time_text(use->busy_s, busy),
                         time_text(use->exposed_s, stalling),
                         time_text(use->overlapped_s, overlapped),
                         time_text(use->in_idle_s, in_idle), time_text(use->wait_s, waiting));
    }
}

/* One row of the memory table: label, bytes, share of the capacity. */
static void show_memory_row(const char *label, double bytes, double capacity_B, ms_buffer *out) {
    text size;
    if (bytes > 0.0) {
        ms_buffer_printf(out, "  %-16s %10s %6.2f %%\n", label, bytes_text(bytes, size),
                         100.0 * bytes / capacity_B);
    }
}

/* How often a GPU that takes part does it: a whole number unless GPUs or steps differ. */
static double times_of(const ms_result *result, const ms_coll_row *row) {
    return row->count_per_rank * result->job->mesh.ranks / row->ranks;
}

/* Communication that took longer than on idle links, and by how much: overlap pays for what it
 * hides with shared links. */
static void show_contention(const ms_result *result, ms_buffer *out) {
    bool has_title = false;
    for (int i = 0; i < result->metrics.collective_count; i++) {
        const ms_coll_row *row = &result->metrics.collectives[i];
        if (row->time_s <= 1.01 * row->alone_s) {
            continue;
        }
        text time;
        text alone;
        text size;
        ms_buffer_printf(out, "%s",
                         has_title
                             ? ""
                             : "\nslowed by sharing links        size     alone    shared   slower"
                               "  times on GPUs\n");
        has_title = true;
        ms_buffer_printf(out, "  %-5s %-15s %11s %9s %9s %6.2f x %6.4g %7.0f\n",
                         ms_axis_name(row->axis), ms_coll_kind_name(row->kind),
                         bytes_text(row->size_B, size), time_text(row->alone_s, alone),
                         time_text(row->time_s, time), row->time_s / row->alone_s,
                         times_of(result, row), row->ranks);
    }
}

static void show_memory(const ms_result *result, ms_buffer *out) {
    const ms_rank_memory *peak = &result->memory[result->peak_rank];
    if (!result->job->spec.has_model) {
        return;
    }
    char usable[96];
    ms_buffer_printf(out, "\nmemory at the peak (rank %d): %s\n  %s\n",
                     result->dag.ranks[result->peak_rank].rank,
                     result->fits ? "fits" : "DOES NOT FIT",
                     ms_show_capacity(&result->job->platform->gpu, usable, sizeof usable));
    double capacity_B = result->capacity_B;
    show_memory_row("parameters", peak->parameter_B, capacity_B, out);
    show_memory_row("gradients", peak->gradient_B, capacity_B, out);
    show_memory_row("optimizer", peak->optimizer_B, capacity_B, out);
    show_memory_row("activations", peak->activation_B, capacity_B, out);
    show_memory_row("buffers", peak->buffer_B, capacity_B, out);
    show_memory_row("total", peak->peak_B, capacity_B, out);
}

/* What a step costs, where the platform's file says what GPUs are rented for or take. */
static void show_price(const ms_platform *platform, const ms_run_figures *figures, ms_buffer *out) {
    text energy;
    bool has_rent = ms_price_has_rent(platform);
    bool has_power = ms_price_has_power(platform);
    if (!has_rent && !has_power) {
        return;
    }
    ms_buffer_puts(out, "           ");
    if (has_rent) {
        ms_buffer_printf(out, "%.3g USD a step", figures->cost_USD);
    }
    if (figures->cost_USD_per_million_tokens > 0.0) {
        ms_buffer_printf(out, ", %.3g USD per million tokens",
                         figures->cost_USD_per_million_tokens);
    }
    if (has_power) {
        ms_buffer_printf(out, "%s%s a step", has_rent ? "   " : "",
                         ms_unit_format(figures->energy_J, MS_DIM_ENERGY, energy, sizeof energy));
    }
    ms_buffer_puts(out, "\n");
}

static void show_headline(const ms_result *result, ms_buffer *out) {
    text step;
    ms_run_figures figures;
    ms_result_figures(result, &figures);
    ms_buffer_printf(out, "\nstep time  %s", time_text(result->metrics.step_time_s, step));
    if (result->job->spec.has_model) {
        ms_buffer_printf(
            out, "   %.1f TFLOP/s per GPU   MFU %.1f %%   HFU %.1f %%\n           %.0f tokens/s",
            figures.model_tflops_per_gpu, 100.0 * figures.mfu, 100.0 * figures.hfu,
            figures.tokens_per_s);
    }
    ms_buffer_printf(out, "   bubble %.2f %%\n", 100.0 * figures.bubble_fraction);
    if (!result->fold.is_exact) {
        text least;
        text most;
        ms_buffer_printf(out, "           between %s and %s, as %s\n",
                         time_text(result->bounds_s[0], least),
                         time_text(result->bounds_s[1], most),
                         result->fold.is_chaotic ? "rounding errors grow"
                                                 : "ranks stand for others that differ");
    }
    show_price(result->job->platform, &figures, out);
    int steps = result->metrics.step_count;
    if (steps > 1) {
        ms_buffer_printf(out, "           mean of %d step%s after the first\n", steps - 1,
                         steps == 2 ? "" : "s");
    }
}

static const char TITLE[] =
    "\npieces of passes that shared links with other traffic, timed without it\n";

/* Pieces of passes whose collectives were timed without the traffic that they met. */
static void show_risks(const ms_result *result, ms_buffer *out) {
    for (int i = 0; i < result->risk_count; i++) {
        const ms_granularity_risk *risk = &result->risks[i];
        ms_buffer_printf(out, "%s  %-14s stages %d to %d: %s %s met", i > 0 ? "" : TITLE,
                         ms_op_kind_name(risk->op_kind), risk->stage_first, risk->stage_last,
                         ms_axis_name(risk->axis), ms_coll_kind_name(risk->kind));
        const char *before = " ";
        for (int axis = MS_AXIS_NONE + 1; axis < MS_AXIS_COUNT; axis++) {
            if (risk->with & MS_AXIS_BIT(axis)) {
                ms_buffer_printf(out, "%s%s", before, ms_axis_name((ms_axis)axis));
                before = ", ";
            }
        }
        ms_buffer_printf(out, " in %lld of %lld\n", (long long)risk->met, (long long)risk->pieces);
    }
}

void ms_show_result(const ms_result *result, ms_buffer *out) {
    ms_show_job(result->job, out);
    show_headline(result, out);
    show_shares(result, out);
    show_comm(result, out);
    show_contention(result, out);
    show_memory(result, out);
    show_risks(result, out);
    text wall;
    const ms_lower_fold *fold = &result->fold;
    const char *all = fold->is_chaotic ? "every one, as rounding errors grow" : "every one";
    const char *how = result->job->run.no_fold ? all
                      : fold->is_exact         ? "folded"
                                               : "folded, not exact";
    ms_buffer_printf(out,
                     "\nsimulated  %d rank%s (%s), %d operations%s,\n           %lld flows in %s\n",
                     result->dag.rank_count, result->dag.rank_count == 1 ? "" : "s", how,
                     result->dag.op_count, result->dag.network.pieces.count > 0 ? " of passes" : "",
                     (long long)result->timeline.flows, time_text(result->wall_s, wall));
    if (result->fast_forwarded > 0) {
        ms_buffer_printf(out, "           %d of %d microbatches, as they repeat the others\n",
                         result->job->microbatches - result->fast_forwarded,
                         result->job->microbatches);
    }
}
