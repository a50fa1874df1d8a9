/* From records to rows: the calls of each kernel, message and shape. */
#include <stdio.h>
#include <string.h>

#include "study/kineto/classes.h"
#include "study/kineto/launches.h"

enum { KEY_B = 160, DEVICES_MAX = 64 };

/* ---- the GPU ---- */

/* The one with most work: a process of a training job has one, and copies that it takes part in on
 * others. *others_out: events of these. */
static int32_t find_device(const ms_kineto_file *file, size_t *others_out) {
    int32_t devices[DEVICES_MAX] = {0};
    size_t counts[DEVICES_MAX] = {0}, known = 0, best = 0;
    for (size_t i = 0; i < file->records.count; i++) {
        int32_t device = MS_AT(&file->records, ms_kineto_record, i).device;
        size_t at = 0;
        while (at < known && devices[at] != device) {
            at++;
        }
        if (at == known && known < DEVICES_MAX) {
            devices[known++] = device;
        }
        counts[at < known ? at : 0]++;
    }
    for (size_t i = 1; i < known; i++) {
        best = counts[i] > counts[best] ? i : best;
    }
    *others_out = file->records.count - counts[best];
    return devices[best];
}

static void keep_device(ms_kineto_file *file, int32_t device) {
    size_t kept = 0;
    for (size_t i = 0; i < file->records.count; i++) {
        ms_kineto_record *record = &MS_AT(&file->records, ms_kineto_record, i);
        if (record->device == device) {
            MS_AT(&file->records, ms_kineto_record, kept) = *record;
            kept++;
        }
    }
    file->records.count = kept;
}

/* ---- rows ---- */

static void add_call(ms_kineto_calls *calls, int64_t time_ns) {
    bool is_first = calls->count == 0;
    calls->min_ns = is_first || time_ns < calls->min_ns ? time_ns : calls->min_ns;
    calls->max_ns = is_first || time_ns > calls->max_ns ? time_ns : calls->max_ns;
    calls->total_ns += time_ns;
    calls->count++;
}

static void add_stream(ms_kineto_name *name, int32_t stream) {
    int at = 0;
    while (at < name->stream_count && at < MS_KINETO_STREAMS && name->streams[at] != stream) {
        at++;
    }
    if (at == name->stream_count && at < MS_KINETO_STREAMS) {
        name->streams[name->stream_count++] = stream;
    } else if (at == MS_KINETO_STREAMS) {
        name->stream_count = MS_KINETO_STREAMS + 1;
    }
}

/* Row of the communication of a kind in a group. What has no kind that is simulated is of kind
 * "other", whatever it does. */
static int32_t add_flow(ms_kineto_sums *sums, ms_coll_kind coll, const ms_kineto_message *message) {
    char key[KEY_B];
    bool is_new = false;
    const char *group = message == NULL                 ? ""
                        : message->described[0] != '\0' ? message->described
                                                        : message->group;
    int64_t size = message == NULL || message->group_size < 1 ? 0 : message->group_size;
    snprintf(key, sizeof key, "%d\n%s\n%lld", (int)coll, group, (long long)size);
    int32_t number = ms_names_add(&sums->flow_keys, key, &is_new);
    if (is_new) {
        const ms_kineto_flow row = {
            .coll = coll, .group = ms_arena_strdup(sums->arena, group), .group_size = size};
        ms_vector_add(&sums->flows, &row, 1);
    }
    return number;
}

/* Row of a kernel's message. A collective that the trace names "coalesced" is what its kernel is.
 */
static int32_t add_sent(ms_kineto_sums *sums, const ms_kineto_record *record) {
    char key[KEY_B];
    bool is_new = false;
    const ms_kineto_message *message =
        record->message == MS_KINETO_NONE
            ? NULL
            : &MS_AT(&sums->messages, ms_kineto_message, record->message);
    ms_coll_kind coll = message == NULL ? MS_COLL_NONE : ms_kineto_coll_of(message->collective);
    if (coll == MS_COLL_NONE) {
        coll = MS_AT(&sums->name_rows, ms_kineto_name, record->name).coll;
    }
    snprintf(key, sizeof key, "%d\n%d", record->message, (int)coll);
    int32_t number = ms_names_add(&sums->sent_keys, key, &is_new);
    if (is_new) {
        const ms_kineto_sent row = {
            .message = record->message, .coll = coll, .channel = add_flow(sums, coll, message)};
        ms_vector_add(&sums->sent, &row, 1);
    }
    return number;
}

static void count_record(ms_kineto_file *file, ms_kineto_record *record) {
    ms_kineto_sums *sums = file->sums;
    int64_t time_ns = record->end_ns - record->start_ns;
    ms_kineto_name *name = &MS_AT(&sums->name_rows, ms_kineto_name, record->name);
    add_call(&name->calls, time_ns);
    add_stream(name, record->stream);
    if (name->class == MS_KINETO_COMMUNICATION) {
        record->message = add_sent(sums, record);
        if (!ms_kineto_sums_failed(sums) && record->message >= 0) {
            add_call(&MS_AT(&sums->sent, ms_kineto_sent, record->message).calls, time_ns);
        }
    }
    if (record->launch != MS_KINETO_NONE) {
        ms_kineto_launch *launch = &MS_AT(&file->launches, ms_kineto_launch, record->launch);
        launch->time_ns += time_ns;
        launch->kernels++;
    }
}

ms_status ms_kineto_file_count(ms_kineto_file *file, const char *name, int32_t *device_out) {
    const ms_mark mark = {.file = name};
    size_t others = 0;
    if (file->records.count == 0) {
        ms_diag_at(file->sums->diag, &mark, NULL,
                   "no work of a GPU: expected events of the categories kernel, gpu_memcpy or "
                   "gpu_memset (a profile with ProfilerActivity.CUDA has them)");
        return MS_E_INPUT;
    }
    if (ms_kineto_link(file) != MS_OK) {
        return MS_E_NOMEM;
    }
    *device_out = find_device(file, &others);
    if (others > 0) {
        ms_diag_note(file->sums->diag, &mark, NULL,
                     "%zu events are of other GPUs than %d, which has most, and left out", others,
                     *device_out);
        keep_device(file, *device_out);
    }
    for (size_t i = 0; i < file->records.count && !ms_kineto_sums_failed(file->sums); i++) {
        count_record(file, &MS_AT(&file->records, ms_kineto_record, i));
    }
    return ms_kineto_sums_failed(file->sums) ? MS_E_NOMEM : MS_OK;
}
