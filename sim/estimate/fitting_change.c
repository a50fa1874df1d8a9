/* Finds the smallest change of mesh, sharding and recomputation with which a job fits in memory
 * (memory_options.h). For each mesh of the job's ranks there is a list of overrides that make it; a
 * choice of sharding and recomputation adds its own. All changes of one override are tried, then
 * all of two, and so on, until some fit. */
#include "estimate/memory_options.h"
#include "estimate/trial.h"

/* Maximum number of passes of all pipeline ranks of a mesh that is tried, unless the job has more
 * already. The estimator keeps the order of passes of each mesh: without this limit a job of 4,096
 * sequences on 1,024 GPUs took 0.8 GB and 1.5 times as long. Meshes beyond it have few replicas and
 * a long pipeline. */
enum { PASSES_MAX = 1 << 16 };

/* A mesh of the job's ranks. */
typedef struct trial_mesh {
    ms_axis_sizes sizes;
    ms_trial_sets sets;          /* overrides that make it of the job's mesh */
    bool is_balanced;            /* with a balanced partition */
    bool is_judged, is_hopeless; /* hopeless: it was judged, and fits with no choice */
} trial_mesh;

/* Choices beside the mesh: sharding, recomputation and sequence parallelism. */
typedef struct trial_choice {
    int zero;           /* stage of ZeRO */
    bool reduces_every; /* gradients are reduced every microbatch (data_parallel.reduce) */
    ms_recompute recompute;
    bool has_sequence_parallel;
} trial_choice;

/* A search under way. */
typedef struct fit_search {
    ms_trials trials;
    ms_vector meshes;  /* of trial_mesh */
    ms_axis_sizes now; /* of the job */
    long sequences;    /* per step, of the job and of all changes */
    ms_arena *arena;   /* the lists of the result */
    ms_fitting_change best;
} fit_search;

/* ---- meshes ---- */

/* Number of groups of ranks that process different sequences, with `sizes` as the job's axes: the
 * product of dp, of axes with names of their own and, without an experts' mesh, of ep. */
static long replicas_of(const ms_job_spec *spec, const ms_axis_sizes *sizes) {
    const ms_axis_sizes now = ms_trial_axes(spec);
    const long ep_now = spec->experts.ep > 0 ? 1 : now.ep;
    const long others = ms_spec_ranks(spec) / ((long)now.tp * now.pp * now.cp * ep_now * now.dp);
    return sizes->dp * others * (spec->experts.ep > 0 ? 1 : sizes->ep);
}

/* Number of forward and backward passes of all pipeline ranks in a step. */
static double passes_of(const fit_search *search, const ms_axis_sizes *sizes) {
    const long unit = search->trials.spec->batch.micro * replicas_of(search->trials.spec, sizes);
    const long microbatches = search->sequences / unit;
    return 2.0 * sizes->pp * (double)microbatches;
}

/* Append the overrides of the partition: a list of layers per stage is removed if the number of
 * stages changes, and is_balanced asks for a balanced partition. */
static void add_partition(fit_search *search, int pp, bool is_balanced, ms_trial_sets *sets) {
    const ms_spec_partition *partition = &search->trials.spec->schedule.partition;
    if (pp != search->now.pp && partition->stage_layers.count > 0) {
        ms_trial_add(&search->trials, sets, "schedule.stage_layers=null");
    }
    if (is_balanced) {
        ms_trial_add(&search->trials, sets, "schedule.partition=balanced");
    }
}

/* Append a mesh with its overrides to the meshes that are tried, unless it cannot split the
 * sequences of a step evenly or has too many passes. */
static ms_status add_mesh(fit_search *search, const ms_axis_sizes *sizes, bool is_balanced) {
    const ms_spec_batch *batch = &search->trials.spec->batch;
    const long unit = batch->micro * replicas_of(search->trials.spec, sizes);
    trial_mesh mesh = {.sizes = *sizes, .is_balanced = is_balanced};
    const double passes = passes_of(search, sizes);
    if (search->sequences % unit != 0 ||
        (passes > PASSES_MAX && passes > passes_of(search, &search->now))) {
        return MS_OK;
    }
    ms_trial_add_axes(&search->trials, sizes, &mesh.sets);
    if (batch->microbatches > 0 && batch->microbatches != search->sequences / unit) {
        ms_trial_add(&search->trials, &mesh.sets, "batch.microbatches=%ld",
                     search->sequences / unit);
    }
    add_partition(search, sizes->pp, is_balanced, &mesh.sets);
    return ms_vector_add(&search->meshes, &mesh, 1) == NULL ? MS_E_NOMEM : MS_OK;
}

/* Visitor of the meshes of the job's ranks: append each one whose tp divides the heads and whose ep
 * divides the experts. A mesh whose stages may not divide the layers is tried with a balanced
 * partition, too.  context: fit_search. */
static ms_status visit(void *context, const ms_axis_sizes *sizes) {
    fit_search *search = context;
    const ms_job_spec *spec = search->trials.spec;
    const bool is_other = sizes->pp != search->now.pp;
    const bool may_be_uneven = spec->model.layers % sizes->pp != 0 || spec->schedule.chunks > 1;
    const bool is_even = spec->schedule.partition.kind == MS_PARTITION_EVEN;
    const int experts = spec->model.moe.experts;
    if (spec->model.heads % sizes->tp != 0 ||
        (sizes->ep > 1 && (experts == 0 || experts % sizes->ep != 0))) {
        return MS_OK;
    }
    ms_status status = add_mesh(search, sizes, false);
    if (status == MS_OK && is_other && may_be_uneven && is_even) {
        status = add_mesh(search, sizes, true);
    }
    return status;
}

/* Visitor in place of `visit` where the experts have a mesh of their own: the ep of that mesh is
 * varied apart from the other axes, over powers of two and its present value. */
static ms_status visit_with_expert_mesh(void *context, const ms_axis_sizes *sizes) {
    fit_search *search = context;
    const ms_job_spec *spec = search->trials.spec;
    const int stage_ranks = (int)(ms_spec_ranks(spec) / sizes->pp);
    ms_status status = MS_OK;
    ms_axis_sizes with = *sizes;
    for (with.ep = 1; with.ep <= stage_ranks && with.ep <= spec->model.moe.experts; with.ep++) {
        const bool is_taken = (with.ep & (with.ep - 1)) == 0 || with.ep == search->now.ep;
        if (status == MS_OK && is_taken && stage_ranks % (with.ep * spec->experts.tp) == 0) {
            status = visit(search, &with);
        }
    }
    return status;
}

/* The maximum of two numbers. */
static int at_least(int a, int b) {
    return a > b ? a : b;
}

/* List all meshes with the job's number of ranks. tp is limited to the ranks that share the fast
 * links, pp to the layers, ep to the experts, each with at least its present size. */
static ms_status list_meshes(fit_search *search) {
    const ms_job_spec *spec = search->trials.spec;
    const ms_axis_sizes now = search->now;
    const bool has_expert_mesh = spec->experts.ep > 0;
    const int product = now.tp * now.pp * now.cp * (has_expert_mesh ? 1 : now.ep) * now.dp;
    const ms_mesh_walk walk = {
        .ranks = product,
        .most = {.tp = at_least(now.tp, ms_platform_scale_up_domain(spec->platform.cluster)),
                 .pp = at_least(now.pp, spec->model.layers),
                 .cp = product,
                 .ep = has_expert_mesh ? 1 : at_least(now.ep, spec->model.moe.experts)},
        .beside = now};
    return ms_mesh_walk_all(&walk, has_expert_mesh ? visit_with_expert_mesh : visit, search);
}

/* ---- choices ---- */

/* The choices of the job. Recomputation of some layers only counts as none, since full
 * recomputation still saves memory. */
static trial_choice choice_now(const ms_job_spec *spec) {
    const bool is_full =
        spec->choices.recompute == MS_RECOMPUTE_FULL && spec->choices.recompute_layers == 0;
    return (trial_choice){.zero = spec->choices.zero,
                          .reduces_every = spec->reduce == MS_REDUCE_EVERY,
                          .recompute = spec->choices.recompute == MS_RECOMPUTE_FULL && !is_full
                                           ? MS_RECOMPUTE_NONE
                                           : spec->choices.recompute,
                          .has_sequence_parallel = spec->choices.has_sequence_parallel};
}

/* Append the overrides that turn the job's choices into `choice`. */
static void add_choice(fit_search *search, const trial_choice *choice, ms_trial_sets *sets) {
    ms_trials *trials = &search->trials;
    const ms_job_spec *spec = trials->spec;
    const trial_choice now = choice_now(spec);
    if (choice->zero != now.zero) {
        ms_trial_add(trials, sets, "data_parallel.zero=%d", choice->zero);
    }
    if (choice->reduces_every != now.reduces_every) {
        ms_trial_add(trials, sets, "data_parallel.reduce=every");
    }
    if (choice->recompute != now.recompute && choice->recompute == MS_RECOMPUTE_SELECTIVE) {
        ms_trial_add(trials, sets, "recompute=selective");
    } else if (choice->recompute != now.recompute) {
        if (spec->choices.recompute != MS_RECOMPUTE_FULL) {
            ms_trial_add(trials, sets, "recompute=full");
        }
        if (spec->choices.recompute_layers > 0) {
            ms_trial_add(trials, sets, "recompute_layers=0");
        }
    }
    if (choice->has_sequence_parallel && !now.has_sequence_parallel) {
        ms_trial_add_sequence_parallel(trials, sets);
    }
}

/* Whether reducing gradients every microbatch is possible with a ZeRO stage, and a change of the
 * job. Without pipeline ranks ZeRO 2 and 3 do so by default (MS_SPEC_OPEN). */
static bool may_reduce_every(const fit_search *search, const trial_mesh *mesh, int zero) {
    const int reduce = search->trials.spec->reduce;
    return zero >= 2 && reduce != MS_REDUCE_EVERY && (mesh->sizes.pp > 1 || reduce != MS_SPEC_OPEN);
}

/* Keep a change if it is better than the best so far: if it fits and has a shorter step or, where
 * none fits so far, if it has a smaller peak. sets: overrides of the change. Returns MS_OK;
 * MS_E_NOMEM. */
static ms_status take_better(fit_search *search, const ms_trial_sets *sets,
                             const ms_fitting_change *found) {
    ms_fitting_change *best = &search->best;
    bool is_better =
        !best->is_tried || (found->fits && !best->fits) ||
        (found->fits ? found->step_s < best->step_s : !best->fits && found->peak_B < best->peak_B);
    if (!is_better) {
        return MS_OK;
    }
    *best = *found;
    best->is_tried = true;
    return ms_trial_keep(sets, search->arena, &best->sets);
}

/* Find the memory of a choice on a mesh. If it does not fit, it may become the best so far.
 *  *was_laid_out_out: whether it was not refused. *fits_out: whether it fits.  Returns MS_OK, also
 * for a refusal. */
static ms_status try_choice(fit_search *search, const trial_mesh *mesh, const trial_choice *choice,
                            bool *was_laid_out_out, bool *fits_out) {
    ms_trials *trials = &search->trials;
    ms_trial_sets sets = mesh->sets;
    ms_fitting_change found = {0};
    add_choice(search, choice, &sets);
    ms_status status = ms_trial_fit(trials, &sets, &found.peak_B, &found.fits);
    *was_laid_out_out = status == MS_OK;
    *fits_out = status == MS_OK && found.fits;
    if (status == MS_OK && !found.fits) {
        status = take_better(search, &sets, &found);
    }
    return ms_trial_is_refused(status) ? MS_OK : status;
}

/* Find the memory of a choice on a mesh and, if it fits, its step, if choice and mesh together make
 * exactly `overrides` overrides. It may become the best so far. */
static ms_status time_choice(fit_search *search, const trial_mesh *mesh, const trial_choice *choice,
                             size_t overrides) {
    ms_trials *trials = &search->trials;
    ms_trial_sets sets = mesh->sets;
    ms_job_spec spec;
    ms_spec_estimate estimate;
    add_choice(search, choice, &sets);
    if (sets.count != overrides) {
        return MS_OK;
    }
    bool was_laid_out = false, fits = false;
    ms_status status = try_choice(search, mesh, choice, &was_laid_out, &fits);
    if (status != MS_OK || !fits) {
        return status;
    }
    status = ms_trial_read(trials, &sets, &spec);
    if (status == MS_OK) {
        status = ms_estimator_run(trials->estimator, &spec, &trials->mute, &estimate);
    }
    if (status == MS_OK) {
        const ms_fitting_change found = {
            .fits = estimate.fits, .peak_B = estimate.peak_B, .step_s = estimate.step_s};
        status = take_better(search, &sets, &found);
    }
    return ms_trial_is_refused(status) ? MS_OK : status;
}

/* Find whether a mesh fits with a ZeRO stage and the choices that save most memory. Where these are
 * refused, the next weaker ones are tried. The bits of `weaker` leave out, in this order: reduction
 * every microbatch, sequence parallelism, full recomputation. */
static ms_status judge_zero(fit_search *search, const trial_mesh *mesh, int zero,
                            bool *was_laid_out_out, bool *fits_out) {
    const trial_choice now = choice_now(search->trials.spec);
    ms_status status = MS_OK;
    *was_laid_out_out = *fits_out = false;
    for (int weaker = 0; weaker < 8 && !*was_laid_out_out && status == MS_OK; weaker++) {
        const trial_choice choice = {
            .zero = zero,
            .reduces_every =
                now.reduces_every || ((weaker & 1) == 0 && may_reduce_every(search, mesh, zero)),
            .has_sequence_parallel =
                now.has_sequence_parallel || ((weaker & 2) == 0 && mesh->sizes.tp > 1),
            .recompute = (weaker & 4) == 0 ? MS_RECOMPUTE_FULL : now.recompute};
        status = try_choice(search, mesh, &choice, was_laid_out_out, fits_out);
    }
    return status;
}

/* Find whether a mesh fits with any choice, and keep the answer: a hopeless mesh is not tried
 * further. */
static ms_status judge(fit_search *search, trial_mesh *mesh) {
    bool was_laid_out = false, fits = false, is_enough = false;
    ms_status status = MS_OK;
    const int now = search->trials.spec->choices.zero;
    /* what ZeRO 3 gathers may take more memory than it saves; ZeRO 2 lies between the others */
    const int zeros[] = {3, at_least(now, 1), now};
    for (int i = 0; i < 3 && !fits && !is_enough && status == MS_OK; i++) {
        if (i == 0 || zeros[i] != zeros[i - 1]) {
            status = judge_zero(search, mesh, zeros[i], &was_laid_out, &fits);
            /* finding a balanced partition takes ten times as long as all else */
            is_enough = mesh->is_balanced && was_laid_out;
        }
    }
    mesh->is_judged = true;
    mesh->is_hopeless = !fits;
    return status;
}

/* ---- the search ---- */

/* Try a choice with each kind of recomputation that recomputes at least as much as the job does. */
static ms_status try_recomputations(fit_search *search, const trial_mesh *mesh, trial_choice choice,
                                    size_t overrides) {
    static const ms_recompute KINDS[] = {MS_RECOMPUTE_NONE, MS_RECOMPUTE_SELECTIVE,
                                         MS_RECOMPUTE_FULL};
    const trial_choice now = choice_now(search->trials.spec);
    const bool has_more[] = {now.recompute == MS_RECOMPUTE_NONE, now.recompute != MS_RECOMPUTE_FULL,
                             true};
    ms_status status = MS_OK;
    for (int i = 0; i < 3 && status == MS_OK; i++) {
        if (has_more[i]) {
            choice.recompute = KINDS[i];
            status = time_choice(search, mesh, &choice, overrides);
        }
    }
    return status;
}

/* Try all choices that make `overrides` overrides together with the mesh. ZeRO, reduction and
 * sequence parallelism are only strengthened. A mesh that leaves no override for a choice is tried
 * as it is, without being judged first. */
static ms_status try_mesh(fit_search *search, trial_mesh *mesh, size_t overrides) {
    const trial_choice now = choice_now(search->trials.spec);
    trial_choice choice;
    ms_status status = MS_OK;
    if (mesh->sets.count < overrides && !mesh->is_judged) {
        status = judge(search, mesh);
    }
    if (mesh->is_hopeless || mesh->sets.count > overrides) {
        return status;
    }
    for (choice.zero = now.zero; choice.zero <= 3; choice.zero++) {
        for (int every = 0; every <= may_reduce_every(search, mesh, choice.zero); every++) {
            for (int sp = 0; sp <= (mesh->sizes.tp > 1 && !now.has_sequence_parallel); sp++) {
                choice.reduces_every = now.reduces_every || every;
                choice.has_sequence_parallel = now.has_sequence_parallel || sp;
                if (status == MS_OK) {
                    status = try_recomputations(search, mesh, choice, overrides);
                }
            }
        }
    }
    return status;
}

/* Try all meshes with an increasing number of overrides, until some change fits. */
static ms_status search_all(fit_search *search) {
    ms_status status = list_meshes(search);
    for (size_t overrides = 1;
         overrides <= MS_TRIAL_SETS_MAX && status == MS_OK && !search->best.fits; overrides++) {
        for (size_t i = 0; i < search->meshes.count && status == MS_OK; i++) {
            status = try_mesh(search, &MS_AT(&search->meshes, trial_mesh, i), overrides);
        }
    }
    return status;
}

/* The number of sequences of a step stays as it is, so it is computed first: from the batch, or
 * from the microbatches of all replicas. */
ms_status ms_fitting_change_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                                 ms_fitting_change *change_out) {
    fit_search search = {.now = ms_trial_axes(spec), .arena = arena};
    if (!spec->has_model) {
        *change_out = search.best;
        return MS_OK;
    }
    const long replicas = replicas_of(spec, &search.now);
    search.sequences = spec->batch.global > 0
                           ? spec->batch.global
                           : spec->batch.microbatches * spec->batch.micro * replicas;
    ms_vector_init(&search.meshes, sizeof(trial_mesh));
    ms_status status = ms_trials_init(&search.trials, spec);
    status = status == MS_OK ? search_all(&search) : status;
    ms_vector_release(&search.meshes);
    ms_trials_release(&search.trials);
    if (status == MS_OK) {
        *change_out = search.best;
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}
