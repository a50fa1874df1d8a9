/* Measured beside predicted: the mean step of a trace and the simulated step of a job, part by
 * part. Both columns sum to their step; what only one side has stands there alone. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "meshsim/kineto.h"

enum { PARTS_MAX = 32 };

/* Of communication of which nobody says whose it is. */
static const ms_axis AXIS_UNMATCHED = MS_AXIS_NONE;

/* ---- the predicted side ---- */

/* Predicted seconds of a GPU and step. */
typedef struct predicted {
    double time_s[MS_TIME_COUNT], other_s[MS_OTHER_COUNT], slowed_s;
    double class_s[MS_KINETO_COMPUTE_COUNT];
} predicted;

/* Class of a simulated kernel, by the names that sim/model gives them. */
static ms_kineto_class class_of_kernel(const ms_kernel *kernel) {
    static const struct {
        const char *start;
        ms_kineto_class class_of;
    } NAMES[] = {
        {"embedding_dropout", MS_KINETO_ELEMENTWISE},
        {"embedding", MS_KINETO_EMBEDDING},
        {"position_embedding", MS_KINETO_EMBEDDING},
        {"cross_entropy", MS_KINETO_LOSS},
        {"softmax", MS_KINETO_ATTENTION},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (strncmp(kernel->name, NAMES[i].start, strlen(NAMES[i].start)) == 0) {
            return NAMES[i].class_of;
        }
    }
    if (kernel->shape[0] == 'b') { /* "b1 s4096 a32 kv8 d128" */
        return MS_KINETO_ATTENTION;
    }
    return kernel->flop > 0 && strchr(kernel->shape, 'x') != NULL ? MS_KINETO_GEMM
                                                                  : MS_KINETO_ELEMENTWISE;
}

/* Add the times of the ranks of a pipeline rank (-1: all), of which each counts `share`. */
static ms_status add_ranks(const ms_result *result, int pp, double share, ms_arena *arena,
                           predicted *sum) {
    double *calls = NULL, weights = 0;
    const ms_dag *dag = &result->dag;
    ms_status status = ms_result_kernel_calls(result, pp, arena, &calls);
    for (int k = 0; status == MS_OK && k < result->job->costs.kernel_count; k++) {
        const ms_kernel *kernel = &result->job->costs.kernels[k];
        sum->class_s[class_of_kernel(kernel)] += share * calls[k] * kernel->time_s;
    }
    for (int32_t i = 0; i < dag->rank_count; i++) {
        weights += pp < 0 || dag->ranks[i].pp == pp ? dag->ranks[i].multiplicity : 0;
    }
    for (int32_t i = 0; i < dag->rank_count; i++) {
        const ms_rank_metrics *rank = &result->metrics.ranks[i];
        double weight = share * dag->ranks[i].multiplicity / weights;
        if (pp >= 0 && dag->ranks[i].pp != pp) {
            continue;
        }
        for (int c = 0; c < MS_TIME_COUNT; c++) {
            sum->time_s[c] += weight * rank->time_s[c];
        }
        for (int o = 0; o < MS_OTHER_COUNT; o++) {
            sum->other_s[o] += weight * rank->other_s[o];
        }
        sum->slowed_s += weight * rank->slowed_s;
    }
    return status;
}

/* Whether the trace says which ranks of this job it is of. */
static bool has_ranks(const ms_kineto_trace *trace, const ms_mesh *mesh) {
    for (size_t i = 0; i < trace->rank_count; i++) {
        const ms_kineto_rank *rank = &trace->ranks[i];
        if (rank->rank < 0 || rank->rank >= mesh->ranks || rank->world_size != mesh->ranks) {
            return false;
        }
    }
    return true;
}

/* The predicted times of the traced ranks: of those of their pipeline ranks. */
static ms_status predict(const ms_kineto_trace *trace, const ms_result *result, ms_arena *arena,
                         predicted *sum, bool *is_of_traced) {
    const ms_mesh *mesh = &result->job->mesh;
    int pipeline = ms_mesh_size(mesh, MS_AXIS_PP);
    ms_status status = MS_OK;
    *is_of_traced = has_ranks(trace, mesh);
    if (!*is_of_traced) {
        return add_ranks(result, -1, 1, arena, sum);
    }
    for (int pp = 0; pp < pipeline && status == MS_OK; pp++) {
        size_t traced = 0;
        for (size_t i = 0; i < trace->rank_count; i++) {
            int own = ms_mesh_coordinate(mesh, (int)trace->ranks[i].rank, MS_AXIS_PP);
            traced += own == pp ? 1 : 0;
        }
        if (traced > 0) {
            status = add_ranks(result, pp, (double)traced / (double)trace->rank_count, arena, sum);
        }
    }
    return status;
}

/* ---- process groups and axes ---- */

/* Whether a word stands in a name, between its ends, underscores and other marks. */
static bool has_word(const char *name, const char *word) {
    size_t length = strlen(word);
    for (const char *at = name; *at != '\0'; at++) {
        bool is_start = at == name || strchr("_- :.", at[-1]) != NULL;
        if (is_start && strncasecmp(at, word, length) == 0 &&
            strchr("_- :.", at[length]) != NULL) { /* finds the end, too */
            return true;
        }
    }
    return false;
}

/* Axis that a group's maker names it after; AXIS_UNMATCHED: none. Sources: Megatron Core,
 * parallel_state.py ("TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP_WITH_CP"); PyTorch's
 * DeviceMesh ("mesh_dp_shard") and default group ("default_pg"). The data parallel groups of others
 * stand first: they are of two axes. */
static ms_axis axis_of_name(const char *group) {
    static const struct {
        const char *word;
        ms_axis axis;
    } WORDS[] = {
        {"data", MS_AXIS_DP},      {"dp", MS_AXIS_DP},         {"fsdp", MS_AXIS_DP},
        {"optimizer", MS_AXIS_DP}, {"pipeline", MS_AXIS_PP},   {"pp", MS_AXIS_PP},
        {"embedding", MS_AXIS_PP}, {"expert", MS_AXIS_EP},     {"ep", MS_AXIS_EP},
        {"context", MS_AXIS_CP},   {"cp", MS_AXIS_CP},         {"tensor", MS_AXIS_TP},
        {"tp", MS_AXIS_TP},        {"default", MS_AXIS_OTHER}, {"world", MS_AXIS_OTHER},
        {"model", MS_AXIS_OTHER},
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (has_word(group, WORDS[i].word)) {
            return WORDS[i].axis;
        }
    }
    return AXIS_UNMATCHED;
}

/* The one axis with such communication in groups of such a size; AXIS_UNMATCHED: none, or several.
 */
static ms_axis axis_of_size(const ms_metrics *metrics, const ms_kineto_channel *channel) {
    ms_axis found = AXIS_UNMATCHED;
    for (int i = 0; i < metrics->collective_count; i++) {
        const ms_coll_row *row = &metrics->collectives[i];
        bool is_like =
            row->kind == channel->coll && (channel->group_size == 0 || row->kind == MS_COLL_P2P ||
                                           row->group_size == channel->group_size);
        if (is_like && found != AXIS_UNMATCHED && found != row->axis) {
            return AXIS_UNMATCHED;
        }
        found = is_like ? row->axis : found;
    }
    return found;
}

static ms_axis axis_of(const ms_metrics *metrics, const ms_kineto_channel *channel) {
    ms_axis named = axis_of_name(channel->group);
    return named != AXIS_UNMATCHED ? named : axis_of_size(metrics, channel);
}

/* ---- communication ---- */

static const char *axis_word(ms_axis axis) {
    return axis == AXIS_UNMATCHED ? "unmatched" : ms_axis_name(axis);
}

/* Row of an axis and kind, made where there is none yet. */
static ms_kineto_matched *find_row(ms_kineto_comparison *out, ms_axis axis, ms_coll_kind kind) {
    const char *words[] = {axis_word(axis),
                           kind == MS_COLL_NONE ? "other" : ms_coll_kind_name(kind)};
    for (size_t i = 0; i < out->communication_count; i++) {
        ms_kineto_matched *row = &out->communication[i];
        if (strcmp(row->axis, words[0]) == 0 && strcmp(row->kind, words[1]) == 0) {
            return row;
        }
    }
    ms_kineto_matched *row = &out->communication[out->communication_count++];
    *row = (ms_kineto_matched){.axis = words[0],
                               .kind = words[1],
                               .measured_calls = NAN,
                               .predicted_calls = NAN,
                               .measured_busy_s = NAN,
                               .predicted_busy_s = NAN,
                               .measured_exposed_s = NAN,
                               .predicted_exposed_s = NAN};
    return row;
}

static void add_to(double *sum, double value) {
    *sum = (isnan(*sum) ? 0 : *sum) + value;
}

static void add_measured(const ms_kineto_channel *channel, ms_arena *arena,
                         ms_kineto_matched *row) {
    const char *name = channel->group[0] == '\0' ? "-" : channel->group;
    row->groups = row->groups == NULL ? name : ms_arena_printf(arena, "%s %s", row->groups, name);
    add_to(&row->measured_calls, channel->count);
    add_to(&row->measured_busy_s, channel->busy_s);
    add_to(&row->measured_exposed_s, channel->exposed_s);
}

/* Rows of an axis, measured and predicted. */
static void add_axis(const ms_kineto_trace *trace, const ms_metrics *metrics, ms_axis axis,
                     ms_arena *arena, ms_kineto_comparison *out) {
    for (size_t i = 0; i < trace->channel_count; i++) {
        const ms_kineto_channel *channel = &trace->channels[i];
        if (axis_of(metrics, channel) == axis) {
            add_measured(channel, arena, find_row(out, axis, channel->coll));
        }
    }
    for (int i = 0; i < metrics->collective_count; i++) {
        const ms_coll_row *row = &metrics->collectives[i];
        if (row->axis == axis) {
            ms_kineto_matched *match = find_row(out, axis, row->kind);
            add_to(&match->predicted_calls, row->count_per_rank);
            add_to(&match->predicted_busy_s, row->count_per_rank * (row->time_s + row->wait_s));
        }
    }
}

/* Seconds that an axis is exposed for. */
static double exposed_of(const predicted *sum, ms_axis axis) {
    return axis == MS_AXIS_OTHER ? sum->other_s[MS_OTHER_NORM]
                                 : sum->time_s[ms_time_category_of_axis(axis)];
}

/* The one row from `first` on that is predicted; NULL: none, or several. */
static ms_kineto_matched *only_predicted(const ms_kineto_comparison *out, size_t first) {
    ms_kineto_matched *only = NULL;
    for (size_t i = first; i < out->communication_count; i++) {
        if (!isnan(out->communication[i].predicted_calls)) {
            if (only != NULL) {
                return NULL;
            }
            only = &out->communication[i];
        }
    }
    return only;
}

static ms_status list_communication(const ms_kineto_trace *trace, const ms_result *result,
                                    const predicted *sum, ms_arena *arena,
                                    ms_kineto_comparison *out) {
    const ms_metrics *metrics = &result->metrics;
    size_t most = trace->channel_count + (size_t)metrics->collective_count;
    out->communication = MS_NEW(arena, ms_kineto_matched, most);
    if (out->communication == NULL) {
        return MS_E_NOMEM;
    }
    for (int axis = MS_AXIS_NONE; axis < MS_AXIS_COUNT; axis++) {
        size_t first = out->communication_count;
        add_axis(trace, metrics, (ms_axis)axis, arena, out);
        ms_kineto_matched *only = only_predicted(out, first);
        if (axis != MS_AXIS_NONE && only != NULL) {
            only->predicted_exposed_s = exposed_of(sum, (ms_axis)axis);
        }
    }
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

/* ---- parts of the step ---- */

static void add_part(ms_kineto_comparison *out, const char *part, int level, double measured_s,
                     double predicted_s) {
    double measured = isnan(measured_s) ? 0 : measured_s;
    double other = isnan(predicted_s) ? 0 : predicted_s;
    if (level < 2 || measured > 0 || other > 0) {
        out->parts[out->part_count++] = (ms_kineto_part){
            .part = part,
            .level = level,
            .measured_s = measured_s,
            .predicted_s = predicted_s,
            .difference_s = other - measured,
            .ratio = measured > 0 && other > 0 ? other / measured : NAN,
        };
    }
}

static void add_computation(const ms_kineto_step *mean, const predicted *sum, ms_arena *arena,
                            ms_kineto_comparison *out) {
    double compute_s = sum->time_s[MS_TIME_COMPUTE], rest_s = compute_s - sum->slowed_s;
    double optimizer_s = sum->time_s[MS_TIME_OPTIMIZER];
    add_part(out, "computation", 1, mean->compute_s, compute_s + optimizer_s);
    for (int i = 0; i < MS_KINETO_OTHER; i++) {
        const char *name =
            ms_arena_printf(arena, "computation.%s", ms_kineto_class_name((ms_kineto_class)i));
        add_part(out, name, 2, mean->class_s[i],
                 i == MS_KINETO_OPTIMIZER ? optimizer_s : sum->class_s[i]);
        rest_s -= sum->class_s[i];
    }
    /* times of passes that a workload gives as `costs:` are of no class */
    rest_s = rest_s > 1e-9 * compute_s ? rest_s : NAN;
    add_part(out, "computation.other", 2, mean->class_s[MS_KINETO_OTHER], rest_s);
    add_part(out, "computation.slowed_by_communication", 2, NAN, sum->slowed_s);
}

/* Measured exposed seconds of an axis; NAN: none of its communication is in the trace. */
static double measured_exposed(const ms_kineto_comparison *out, ms_axis axis) {
    double sum_s = NAN;
    for (size_t i = 0; i < out->communication_count; i++) {
        const ms_kineto_matched *row = &out->communication[i];
        if (strcmp(row->axis, axis_word(axis)) == 0 && !isnan(row->measured_exposed_s)) {
            add_to(&sum_s, row->measured_exposed_s);
        }
    }
    return sum_s;
}

/* All that is no computation. A kernel of NCCL waits for its peers: bubbles of the pipeline are
 * measured as its communication, and predicted apart. So only the sum can be held to the other. */
static void add_waiting(const ms_kineto_step *mean, const predicted *sum, ms_arena *arena,
                        ms_kineto_comparison *out) {
    const double *time_s = sum->time_s;
    double waiting_s = 0;
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        waiting_s += c == MS_TIME_COMPUTE || c == MS_TIME_OPTIMIZER ? 0 : time_s[c];
    }
    add_part(out, "waiting", 1, mean->exposed_s + mean->copy_s + mean->idle_s, waiting_s);
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
        const char *name = ms_arena_printf(arena, "waiting.%s", ms_axis_name((ms_axis)axis));
        add_part(out, name, 2, measured_exposed(out, (ms_axis)axis),
                 exposed_of(sum, (ms_axis)axis));
    }
    add_part(out, "waiting.unmatched", 2, measured_exposed(out, AXIS_UNMATCHED), NAN);
    add_part(out, "waiting.copies", 2, mean->copy_s, NAN);
    add_part(out, "waiting.bubble", 2, NAN,
             time_s[MS_TIME_BUBBLE_WARMUP] + time_s[MS_TIME_BUBBLE_STEADY] +
                 time_s[MS_TIME_BUBBLE_COOLDOWN]);
    add_part(out, "waiting.imbalance", 2, NAN, time_s[MS_TIME_IMBALANCE]);
    add_part(out, "waiting.idle", 2, mean->idle_s, sum->other_s[MS_OTHER_HOST]);
}

ms_status ms_kineto_compare(const ms_kineto_trace *trace, const ms_result *result, ms_arena *arena,
                            ms_kineto_comparison *comparison_out) {
    ms_kineto_comparison out = {.parts = MS_NEW(arena, ms_kineto_part, PARTS_MAX)};
    predicted sum = {.slowed_s = 0};
    ms_status status = out.parts == NULL ? MS_E_NOMEM : MS_OK;
    status = status == MS_OK ? predict(trace, result, arena, &sum, &out.is_of_traced) : status;
    status = status == MS_OK ? list_communication(trace, result, &sum, arena, &out) : status;
    if (status == MS_OK) {
        add_part(&out, "step", 0, trace->mean.wall_s, result->metrics.step_time_s);
        add_computation(&trace->mean, &sum, arena, &out);
        add_waiting(&trace->mean, &sum, arena, &out);
        status = arena->has_failed ? MS_E_NOMEM : MS_OK;
    }
    if (status == MS_OK) {
        *comparison_out = out;
    }
    return status;
}
