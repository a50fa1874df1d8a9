/* Traces of some ranks as tables: each file by itself, then all of them together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/kineto/classes.h"
#include "study/kineto/collect.h"

enum { UNKNOWN_SHOWN = 5 };

/* ---- a file ---- */

static ms_status refuse_meshsim(const char *name, ms_diag *diag) {
    const ms_mark mark = {.file = name};
    ms_diag_at(diag, &mark, NULL,
               "expected a trace of PyTorch's profiler, got one that meshsim wrote; 'meshsim "
               "compare' takes two of those");
    return MS_E_INPUT;
}

static void note_faults(const ms_kineto_faults *faults, const char *name, ms_diag *diag) {
    const ms_mark negative = {.file = name, .line = faults->negative_line};
    const ms_mark without = {.file = name, .line = faults->without_line};
    if (faults->negative > 0) {
        ms_diag_note(diag, &negative, NULL,
                     "%lld events, the first of them here, last less than no time, and are left "
                     "out",
                     (long long)faults->negative);
    }
    if (faults->without_times > 0) {
        ms_diag_note(diag, &without, NULL,
                     "%lld events, the first of them here, have no 'ts' or no 'dur', and are left "
                     "out",
                     (long long)faults->without_times);
    }
}

static ms_status check_head(const ms_kineto_head *head, const char *name, ms_diag *diag) {
    const ms_mark mark = {.file = name};
    if (head->is_meshsim) {
        return refuse_meshsim(name, diag);
    }
    if (!head->has_events) {
        ms_diag_at(diag, &mark, NULL, "no traceEvents, which a trace of PyTorch's profiler has");
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* Records of a file, and what stands beside its events. */
static ms_status read_events(const ms_kineto_source *source, const char *name, ms_kineto_file *file,
                             ms_arena *arena, ms_kineto_rank *rank) {
    ms_kineto_reader *reader = NULL;
    const ms_kineto_sink sink = {file, ms_kineto_collect};
    ms_arena own; /* of what reading alone needs */
    ms_arena_init(&own);
    ms_status status = ms_kineto_reader_new(name, &sink, &own, file->sums->diag, &reader);
    if (status == MS_OK) {
        ms_stream *stream = ms_kineto_reader_stream(reader);
        status = source->text != NULL ? ms_stream_read_text(stream, source->text, source->text_B)
                                      : ms_stream_read_file(stream, name);
        const ms_kineto_head *head = ms_kineto_reader_head(reader);
        status = status == MS_OK ? check_head(head, name, file->sums->diag) : status;
        if (status == MS_OK) {
            note_faults(ms_kineto_reader_faults(reader), name, file->sums->diag);
            rank->rank = head->rank;
            rank->world_size = head->world_size;
            rank->device = head->device[0] == '\0' ? NULL : ms_arena_strdup(arena, head->device);
        }
    }
    if (reader != NULL) {
        ms_kineto_reader_release(reader);
    }
    ms_arena_release(&own);
    return status;
}

static ms_status read_file(const ms_kineto_source *source, const char *name, ms_kineto_sums *sums,
                           ms_kineto_rank *rank) {
    ms_kineto_file file;
    int32_t device = 0;
    *rank = (ms_kineto_rank){.file = name};
    ms_kineto_file_init(&file, sums);
    ms_status status = read_events(source, name, &file, sums->arena, rank);
    status = status == MS_OK ? ms_kineto_file_count(&file, name, &device) : status;
    if (status == MS_OK) {
        rank->kernels = (int64_t)file.records.count;
        status = ms_kineto_file_sweep(&file, source->steps, rank);
    }
    ms_kineto_file_release(&file);
    return status;
}

/* The files are those of ranks of one job. */
static ms_status check_ranks(const ms_kineto_rank *ranks, size_t count, ms_diag *diag) {
    const ms_kineto_rank *last = &ranks[count - 1];
    const ms_mark mark = {.file = last->file};
    for (size_t i = 0; i + 1 < count; i++) {
        if (last->rank >= 0 && ranks[i].rank == last->rank) {
            ms_diag_at(diag, &mark, NULL, "distributedInfo: rank %lld is that of '%s', too",
                       (long long)last->rank, ranks[i].file);
            return MS_E_INPUT;
        }
        if (last->world_size >= 0 && ranks[i].world_size >= 0 &&
            ranks[i].world_size != last->world_size) {
            ms_diag_at(diag, &mark, NULL,
                       "distributedInfo: expected a world of %lld ranks, as in '%s', got %lld",
                       (long long)ranks[i].world_size, ranks[i].file, (long long)last->world_size);
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}

/* ---- tables ---- */

static const char *list_streams(const ms_kineto_name *name, ms_arena *arena) {
    char text[160] = "";
    size_t used = 0;
    for (int i = 0; i < name->stream_count && i < MS_KINETO_STREAMS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i == 0 ? "" : " ",
                                 name->streams[i]);
    }
    return ms_arena_printf(arena, "%s%s", text,
                           name->stream_count > MS_KINETO_STREAMS ? " ..." : "");
}

static double seconds(int64_t ns) {
    return (double)ns / 1e9;
}

static int by_total(const void *left, const void *right) {
    const ms_kineto_kernel *a = left, *b = right;
    int order = (a->total_s < b->total_s) - (a->total_s > b->total_s);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static bool fill_kernels(const ms_kineto_sums *sums, ms_kineto_trace *trace) {
    trace->kernels = MS_NEW(sums->arena, ms_kineto_kernel, sums->name_rows.count);
    for (size_t i = 0; i < sums->name_rows.count && trace->kernels != NULL; i++) {
        const ms_kineto_name *row = &MS_AT(&sums->name_rows, ms_kineto_name, i);
        if (row->calls.count == 0) {
            continue; /* only on another GPU */
        }
        trace->kernels[trace->kernel_count++] =
            (ms_kineto_kernel){.name = MS_AT(&sums->names.texts, const char *, i),
                               .class_of = row->class,
                               .class_name = ms_kineto_class_name(row->class),
                               .count = row->calls.count,
                               .total_s = seconds(row->calls.total_ns),
                               .mean_s = seconds(row->calls.total_ns) / (double)row->calls.count,
                               .min_s = seconds(row->calls.min_ns),
                               .max_s = seconds(row->calls.max_ns),
                               .streams = list_streams(row, sums->arena)};
    }
    if (trace->kernel_count > 1) {
        qsort(trace->kernels, trace->kernel_count, sizeof trace->kernels[0], by_total);
    }
    return trace->kernels != NULL;
}

/* Bytes of the whole buffer: what goes in, or of an all-gather what comes out. */
static double whole_buffer(const ms_kineto_message *message, ms_coll_kind coll) {
    int64_t elements = coll == MS_COLL_ALL_GATHER ? message->out_elements : message->in_elements;
    int element_B = ms_kineto_type_B(message->type);
    return elements < 0 || element_B == 0 ? (double)NAN : (double)elements * element_B;
}

static void name_message(const ms_kineto_sums *sums, const ms_kineto_sent *sent,
                         ms_kineto_collective *row) {
    const ms_kineto_flow *flow = &MS_AT(&sums->flows, ms_kineto_flow, sent->channel);
    row->group = flow->group[0] == '\0' ? NULL : flow->group;
    row->group_size = flow->group_size;
    row->collective = row->kind == NULL ? "other" : row->kind;
    row->size_B = (double)NAN;
    if (sent->message != MS_KINETO_NONE) {
        const ms_kineto_message *message =
            &MS_AT(&sums->messages, ms_kineto_message, sent->message);
        row->collective = message->collective;
        row->type = message->type[0] == '\0' ? NULL : message->type;
        row->size_B = whole_buffer(message, sent->coll);
    }
}

static int by_collective_total(const void *left, const void *right) {
    const ms_kineto_collective *a = left, *b = right;
    int order = (a->total_s < b->total_s) - (a->total_s > b->total_s);
    order = order != 0 ? order : strcmp(a->collective, b->collective);
    return order != 0 ? order : (a->size_B < b->size_B) - (a->size_B > b->size_B);
}

static bool fill_collectives(const ms_kineto_sums *sums, ms_kineto_trace *trace) {
    trace->collectives = MS_NEW(sums->arena, ms_kineto_collective, sums->sent.count);
    for (size_t i = 0; i < sums->sent.count && trace->collectives != NULL; i++) {
        const ms_kineto_sent *sent = &MS_AT(&sums->sent, ms_kineto_sent, i);
        ms_kineto_collective *row = &trace->collectives[trace->collective_count++];
        *row = (ms_kineto_collective){
            .coll = sent->coll,
            .kind = sent->coll == MS_COLL_NONE ? NULL : ms_coll_kind_name(sent->coll),
            .count = sent->calls.count,
            .total_s = seconds(sent->calls.total_ns),
            .mean_s = seconds(sent->calls.total_ns) / (double)sent->calls.count,
            .min_s = seconds(sent->calls.min_ns),
            .max_s = seconds(sent->calls.max_ns)};
        name_message(sums, sent, row);
        row->collective = ms_arena_strdup(sums->arena, row->collective);
        row->type = row->type == NULL ? NULL : ms_arena_strdup(sums->arena, row->type);
    }
    if (trace->collective_count > 1) {
        qsort(trace->collectives, trace->collective_count, sizeof trace->collectives[0],
              by_collective_total);
    }
    return trace->collectives != NULL;
}

static int by_busy(const void *left, const void *right) {
    const ms_kineto_channel *a = left, *b = right;
    int order = (a->busy_s < b->busy_s) - (a->busy_s > b->busy_s);
    order = order != 0 ? order : strcmp(a->kind, b->kind);
    return order != 0 ? order : strcmp(a->group, b->group);
}

static bool fill_channels(const ms_kineto_sums *sums, double steps, ms_kineto_trace *trace) {
    trace->channels = MS_NEW(sums->arena, ms_kineto_channel, sums->flows.count);
    for (size_t i = 0; i < sums->flows.count && trace->channels != NULL; i++) {
        const ms_kineto_flow *flow = &MS_AT(&sums->flows, ms_kineto_flow, i);
        trace->channels[trace->channel_count++] = (ms_kineto_channel){
            .kind = flow->coll == MS_COLL_NONE ? "other" : ms_coll_kind_name(flow->coll),
            .coll = flow->coll,
            .group = flow->group,
            .group_size = flow->group_size,
            .count = (double)flow->count / steps,
            .busy_s = flow->busy_ns / steps / 1e9,
            .exposed_s = flow->exposed_ns / steps / 1e9};
    }
    if (trace->channel_count > 1) {
        qsort(trace->channels, trace->channel_count, sizeof trace->channels[0], by_busy);
    }
    return trace->channels != NULL;
}

static int by_shape_total(const void *left, const void *right) {
    const ms_kineto_shape *a = left, *b = right;
    double a_s = a->mean_s * (double)a->count, b_s = b->mean_s * (double)b->count;
    int order = (a_s < b_s) - (a_s > b_s);
    order = order != 0 ? order : strcmp(a->kernel, b->kernel);
    return order != 0 ? order : strcmp(a->shape, b->shape);
}

static bool fill_shapes(const ms_kineto_sums *sums, ms_kineto_trace *trace) {
    trace->shapes = MS_NEW(sums->arena, ms_kineto_shape, sums->shapes.count);
    for (size_t i = 0; i < sums->shapes.count && trace->shapes != NULL; i++) {
        const ms_kineto_sized *row = &MS_AT(&sums->shapes, ms_kineto_sized, i);
        int64_t alone = row->count - row->beside;
        if (row->count == 0) {
            continue; /* no kernel of it is in the trace */
        }
        trace->shapes[trace->shape_count++] = (ms_kineto_shape){
            .kernel = row->work.kernel,
            .shape = ms_arena_strdup(sums->arena, row->work.shape),
            .type = ms_arena_strdup(sums->arena, row->work.type),
            .why = row->work.why == NULL && row->total_ns == 0 ? "its kernels take no time"
                                                               : row->work.why,
            .count = row->count,
            .beside = row->beside,
            .mean_s = alone > 0 ? seconds(row->alone_ns) / (double)alone
                                : seconds(row->total_ns) / (double)row->count};
    }
    if (trace->shape_count > 1) {
        qsort(trace->shapes, trace->shape_count, sizeof trace->shapes[0], by_shape_total);
    }
    return trace->shapes != NULL;
}

/* The mean of steps, which sums as each of them does. */
static ms_kineto_step mean_step(const ms_kineto_step *steps, size_t count) {
    ms_kineto_step mean = {.rank = -1, .number = -1};
    for (size_t i = 0; i < count; i++) {
        mean.wall_s += steps[i].wall_s / (double)count;
        mean.busy_s += steps[i].busy_s / (double)count;
        mean.compute_s += steps[i].compute_s / (double)count;
        mean.communication_s += steps[i].communication_s / (double)count;
        mean.exposed_s += steps[i].exposed_s / (double)count;
        mean.copy_s += steps[i].copy_s / (double)count;
        mean.idle_s += steps[i].idle_s / (double)count;
        for (int j = 0; j < MS_KINETO_COMPUTE_COUNT; j++) {
            mean.class_s[j] += steps[i].class_s[j] / (double)count;
        }
    }
    return mean;
}

static ms_status fill_tables(const ms_kineto_source *source, const ms_kineto_sums *sums,
                             ms_kineto_trace *trace) {
    double steps = 0;
    for (size_t i = 0; i < trace->rank_count; i++) {
        int64_t own = trace->ranks[i].steps;
        steps += (double)(own == 0 ? source->steps : own);
    }
    trace->step_count = sums->steps.count;
    trace->steps = MS_NEW(sums->arena, ms_kineto_step, trace->step_count);
    if (trace->steps == NULL || !fill_kernels(sums, trace) || !fill_collectives(sums, trace) ||
        !fill_channels(sums, steps, trace) || !fill_shapes(sums, trace) ||
        sums->arena->has_failed) {
        return MS_E_NOMEM;
    }
    if (trace->step_count > 0) {
        memcpy(trace->steps, sums->steps.data, trace->step_count * sizeof trace->steps[0]);
    }
    trace->mean = mean_step(trace->steps, trace->step_count);
    return MS_OK;
}

/* What no rule knows is computation of class "other": the user should know what that is. */
static void note_unknown(const ms_kineto_trace *trace, ms_diag *diag) {
    double total_s = 0;
    size_t count = 0;
    ms_buffer names;
    ms_buffer_init(&names);
    for (size_t i = 0; i < trace->kernel_count; i++) {
        const ms_kineto_kernel *kernel = &trace->kernels[i];
        if (kernel->class_of == MS_KINETO_OTHER) {
            total_s += kernel->total_s;
            if (count++ < UNKNOWN_SHOWN) {
                ms_buffer_printf(&names, "%s'%.80s'", count == 1 ? "" : ", ", kernel->name);
            }
        }
    }
    if (count > 0) {
        ms_diag_note(diag, NULL, NULL,
                     "%zu kernels have names that no rule knows, %.6g s altogether; they count as "
                     "computation of class 'other'; the longest: %s",
                     count, total_s, ms_buffer_text(&names));
    }
    ms_buffer_release(&names);
}

ms_status ms_kineto_read(const ms_kineto_source *source, ms_arena *arena, ms_diag *diag,
                         ms_kineto_trace *trace_out) {
    ms_kineto_sums sums;
    ms_kineto_trace trace = {.rank_count = 0};
    trace.ranks = MS_NEW(arena, ms_kineto_rank, source->file_count);
    ms_kineto_sums_init(&sums, arena, diag);
    ms_status status = trace.ranks == NULL ? MS_E_NOMEM : MS_OK;
    for (size_t i = 0; i < source->file_count && status == MS_OK; i++) {
        status = read_file(source, source->files[i], &sums, &trace.ranks[i]);
        trace.rank_count = i + 1;
        status = status == MS_OK ? check_ranks(trace.ranks, trace.rank_count, diag) : status;
    }
    status = status == MS_OK ? fill_tables(source, &sums, &trace) : status;
    ms_kineto_sums_release(&sums);
    if (status == MS_OK) {
        note_unknown(&trace, diag);
        *trace_out = trace;
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}
