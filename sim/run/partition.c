#include "run/partition.h"

#include <math.h>

#include "meshsim/layer_times.h"

/* The ending of a counted noun in a message. */
static const char *plural(int count) {
    return count == 1 ? "" : "s";
}

/* Every stage's layers, as the workload lists them; the model checks their sum. */
static ms_status take_given(const ms_job_spec *spec, ms_diag *diag, ms_job *job) {
    const ms_spec_partition *given = &spec->schedule.partition;
    int stages = job->program.model_stages;
    if (given->first_stage_layers > 0 || given->last_stage_layers > 0 ||
        given->kind != MS_PARTITION_EVEN) {
        return ms_spec_fault(spec, diag, "schedule.stage_layers",
                             "gives every stage its layers; leave 'schedule.first_stage_layers', "
                             "'schedule.last_stage_layers' and 'schedule.partition' out");
    }
    if (given->stage_layers.count != (size_t)stages) {
        return ms_spec_fault(spec, diag, "schedule.stage_layers",
                             "expected %d entries (pp x v), got %zu", stages,
                             given->stage_layers.count);
    }
    job->layout.stage_layers = given->stage_layers.items;
    return MS_OK;
}

/* A row of stages that share layers. */
typedef struct layer_row {
    int first, stages; /* stages first .. first + stages - 1 */
    int layers;
} layer_row;

/* The same number everywhere; false if they do not divide. */
static bool share_evenly(const layer_row *row, int *shares_out) {
    int stages = row->stages;
    if (stages == 0 ? row->layers != 0 : row->layers < stages || row->layers % stages != 0) {
        return false;
    }
    for (int s = 0; s < stages; s++) {
        shares_out[row->first + s] = row->layers / stages;
    }
    return true;
}

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
static void share_balanced(sharing *d, const layer_row *row) {
    int last = d->program->model_stages - 1;
    int left = row->layers;
    for (int s = row->first > 0 ? row->first : 1; s < row->first + row->stages && s < last; s++) {
        add_layers(d, s, 1);
        left--;
    }
    for (; left > 0; left--) {
        int best = row->first + row->stages - 1;
        for (int s = best - 1; s >= row->first; s--) {
            best = is_before(d, s, best) || (s > 0 && !is_before(d, best, s)) ? s : best;
        }
        add_layers(d, best, 1);
    }
}

static ms_status start_sharing(sharing *d, const ms_job *job, ms_arena *arena) {
    d->program = &job->program;
    d->load_s = MS_NEW(arena, double, job->layout.pp);
    d->stage_s = MS_NEW(arena, double, job->program.model_stages);
    if (d->load_s == NULL || d->stage_s == NULL) {
        return MS_E_NOMEM;
    }
    add_load(d, 0, d->times->first_s);
    add_load(d, job->program.model_stages - 1, d->times->last_s);
    return MS_OK;
}

static ms_status fault_shares(const ms_job_spec *spec, const layer_row *row, ms_diag *diag,
                              const ms_job *job) {
    int layers = job->spec.model.layers;
    int stages = job->program.model_stages;
    int given = layers - row->layers;
    int nearest = row->stages <= 0
                      ? 0
                      : (row->layers / row->stages + (row->layers < row->stages)) * row->stages;
    return ms_spec_fault(spec, diag, "schedule",
                         "%d layer%s do not divide among %d virtual stages%s; nearest "
                         "number of layers: %d; or give 'schedule.partition: balanced', "
                         "'schedule.stage_layers', 'schedule.first_stage_layers' and "
                         "'schedule.last_stage_layers'",
                         layers, plural(layers), stages, given > 0 ? " beside the given ends" : "",
                         given + nearest);
}

/* Shares beside the given ends by what layers and ends take on the platform. */
static ms_status balance(const ms_job_spec *spec, const layer_row *row, ms_arena *arena,
                         ms_diag *diag, ms_job *job, int *shares) {
    ms_layer_times times;
    ms_key_diag placed;
    ms_key_diag_init(&placed, spec, "model", diag);
    ms_layer_times_input input = {.platform = &job->platform,
                                  .mesh = &job->mesh,
                                  .expert_mesh = job->expert_mesh,
                                  .model = &job->spec.model,
                                  .layout = &job->layout,
                                  .precision = &job->precision,
                                  .algorithms = spec->algorithms};
    ms_status status = ms_layer_times_find(&input, &placed.diag, &times);
    if (status != MS_OK) {
        return status;
    }
    sharing d = {.times = &times};
    d.shares = shares;
    status = start_sharing(&d, job, arena);
    if (status == MS_OK) {
        for (int s = 0; s < job->program.model_stages; s++) {
            add_load(&d, s, shares[s] * times.layer_s);
        }
        share_balanced(&d, row);
    }
    return status;
}

static ms_status fault_stages(const ms_job_spec *spec, ms_diag *diag, const ms_job *job) {
    int layers = job->spec.model.layers;
    return ms_spec_fault(spec, diag, "schedule",
                         "%d layer%s for %d virtual stages: more stages than layers", layers,
                         plural(layers), job->program.model_stages);
}

ms_status ms_partition_layers(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                              ms_job *job) {
    const ms_spec_partition *given = &spec->schedule.partition;
    if (given->stage_layers.count > 0) {
        return take_given(spec, diag, job);
    }
    int stages = job->program.model_stages;
    int first = given->first_stage_layers;
    int last = given->last_stage_layers;
    layer_row row = {.first = first > 0 ? 1 : 0,
                     .stages = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0),
                     .layers = job->spec.model.layers - first - last};
    int *shares = MS_NEW(arena, int, stages);
    if (shares == NULL) {
        return MS_E_NOMEM;
    }
    shares[0] = first;
    shares[stages - 1] = last > 0 ? last : shares[stages - 1];
    job->layout.stage_layers = shares;
    bool is_balanced = given->kind == MS_PARTITION_BALANCED;
    int empty = is_balanced ? (first == 0) + (last == 0 && stages > 1) : 0;
    if (row.stages >= 0 && row.layers < row.stages - empty) {
        return row.layers < 0 ? fault_shares(spec, &row, diag, job) : fault_stages(spec, diag, job);
    }
    bool is_filled = row.stages < 0 || (row.stages == 0 && row.layers > 0);
    if (is_filled || (!is_balanced && !share_evenly(&row, shares))) {
        return fault_shares(spec, &row, diag, job);
    }
    return is_balanced ? balance(spec, &row, arena, diag, job, shares) : MS_OK;
}
