/* Balanced shares: each layer to the stage whose pipeline rank is least busy so far. */
#include "meshsim/layer_partition.h"

#include <math.h>

/* Stages while layers are shared out to them one by one. */
typedef struct sharing {
    const ms_program *program;
    const ms_layer_times *times;
    int *shares;     /* [S] */
    double *load_s;  /* [P] of a pipeline rank so far, both directions */
    double *stage_s; /* [S] */
} sharing;

static void add_load(sharing *d, int stage, double time_s) {
    d->stage_s[stage] += time_s;
    for (int s = stage; s < d->program->stages; s += d->program->model_stages) {
        d->load_s[d->program->stage_rank[s]] += time_s;
    }
}

static void add_layers(sharing *d, int stage, int count) {
    d->shares[stage] += count;
    add_load(d, stage, count * d->times->layer_s);
}

/* Load of the busiest rank that has a stage. */
static double holder_load_s(const sharing *d, int stage) {
    double load_s = 0.0;
    for (int s = stage; s < d->program->stages; s += d->program->model_stages) {
        load_s = fmax(load_s, d->load_s[d->program->stage_rank[s]]);
    }
    return load_s;
}

/* Whether `a` is to have the next layer rather than `b`: its rank is less busy, or as busy and the
 * stage itself less. */
static bool is_before(const sharing *d, int a, int b) {
    double tie_s = 1e-9 * d->times->layer_s;
    double gap_s = holder_load_s(d, a) - holder_load_s(d, b);
    return fabs(gap_s) > tie_s ? gap_s < 0 : d->stage_s[a] < d->stage_s[b] - tie_s;
}

/* Each layer to a stage of the rank that is least busy so far; of several alike to the first one
 * between the model's ends. Stages between the ends have one at least. */
static void share_layers(sharing *d, const ms_open_stages *open) {
    int last = d->program->model_stages - 1;
    int left = open->layers;
    for (int s = open->first > 0 ? open->first : 1; s < open->first + open->count && s < last;
         s++) {
        add_layers(d, s, 1);
        left--;
    }
    for (; left > 0; left--) {
        int best = open->first + open->count - 1;
        for (int s = best - 1; s >= open->first; s--) {
            best = is_before(d, s, best) || (s > 0 && !is_before(d, best, s)) ? s : best;
        }
        add_layers(d, best, 1);
    }
}

ms_status ms_layer_partition_times(const ms_job_spec *spec, const ms_job_layout *laid_out,
                                   ms_diag *diag, ms_layer_times *times_out) {
    ms_key_diag placed;
    ms_key_diag_init(&placed, spec, "model", diag);
    const ms_layer_times_input input = {.platform = spec->platform.cluster,
                                        .mesh = &laid_out->mesh,
                                        .expert_mesh = laid_out->expert_mesh,
                                        .model = &spec->model,
                                        .layout = &laid_out->layout,
                                        .precision = &laid_out->precision,
                                        .algorithms = spec->algorithms};
    return ms_layer_times_find(&input, &placed.diag, times_out);
}

/* What the stages have without the layers that are to be shared out. */
static void add_given(sharing *d, const ms_spec_partition *given) {
    int last = d->program->model_stages - 1;
    add_load(d, 0, d->times->first_s);
    add_load(d, last, d->times->last_s);
    add_layers(d, 0, given->first_stage_layers);
    add_layers(d, last, given->last_stage_layers);
}

ms_status ms_layer_partition_share(const ms_job_spec *spec, const ms_layer_times *times,
                                   ms_arena *arena, ms_job_layout *laid_out) {
    const ms_program *program = &laid_out->program;
    sharing d = {.program = program,
                 .times = times,
                 .shares = MS_NEW(arena, int, program->model_stages),
                 .load_s = MS_NEW(arena, double, laid_out->layout.pp),
                 .stage_s = MS_NEW(arena, double, program->model_stages)};
    if (d.shares == NULL || d.load_s == NULL || d.stage_s == NULL) {
        return MS_E_NOMEM;
    }
    const ms_open_stages open = ms_spec_open_stages(spec, program->model_stages);
    add_given(&d, &spec->schedule.partition);
    share_layers(&d, &open);
    laid_out->layout.stage_layers = d.shares;
    return MS_OK;
}

ms_status ms_layer_partition_balance(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                                     ms_job_layout *laid_out) {
    if (laid_out->layout.stage_layers != NULL) {
        return MS_OK;
    }
    ms_layer_times times;
    ms_status status = ms_layer_partition_times(spec, laid_out, diag, &times);
    return status == MS_OK ? ms_layer_partition_share(spec, &times, arena, laid_out) : status;
}
