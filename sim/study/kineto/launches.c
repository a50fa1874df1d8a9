/* A kernel's `External id` is its operator's where Kineto linked them. Versions about PyTorch 1.13
 * have the kernel's own correlation there (facebookresearch/HolisticTraceAnalysis, its
 * test of call stacks): then the call of CUDA with that correlation tells thread and time of the
 * launch, and the operator is the innermost one that ran there. Operators of which nothing is to be
 * known are not kept, so what they launched inside of another is told by its class. */
#include "study/kineto/launches.h"

#include <stdlib.h>
#include <string.h>

/* Operators that are looked through for one that lasts until a launch, from the latest one before
 * it: they hardly stand in one another. */
enum { NESTED_MAX = 16 };

static int by_id(const void *left, const void *right) {
    const ms_kineto_launch *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static int by_correlation(const void *left, const void *right) {
    const ms_kineto_call *a = left, *b = right;
    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static int by_thread(const void *left, const void *right) {
    const ms_kineto_place *a = left, *b = right;
    int order = (a->thread > b->thread) - (a->thread < b->thread);
    return order != 0 ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void sort(ms_vector *vector, int (*order)(const void *, const void *)) {
    if (vector->count > 1) {
        qsort(vector->data, vector->count, vector->item_B, order);
    }
}

/* Index of the launch of an external id; MS_KINETO_NONE: of none that matters. */
static int64_t find_launch(const ms_kineto_file *file, int64_t id) {
    size_t low = 0, high = file->launches.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (MS_AT(&file->launches, ms_kineto_launch, middle).id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = id != MS_KINETO_NONE && low < file->launches.count &&
                    MS_AT(&file->launches, ms_kineto_launch, low).id == id;
    return is_found ? (int64_t)low : MS_KINETO_NONE;
}

/* The call of CUDA that launched a record; NULL: it is not in the trace. */
static const ms_kineto_call *find_call(const ms_kineto_file *file, int64_t correlation) {
    const ms_kineto_call wanted = {.correlation = correlation};
    return correlation == MS_KINETO_NONE || file->calls.count == 0
               ? NULL
               : bsearch(&wanted, file->calls.data, file->calls.count, sizeof wanted,
                         by_correlation);
}

/* The innermost operator that ran on a thread at a time, among those that are kept. */
static int64_t find_place(const ms_kineto_file *file, const ms_kineto_call *call) {
    size_t low = 0, high = file->places.count;
    const ms_kineto_place wanted = {.thread = call->thread, .start_ns = call->time_ns};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_thread(&MS_AT(&file->places, ms_kineto_place, middle), &wanted) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int i = 0; i < NESTED_MAX && low > 0; i++, low--) {
        const ms_kineto_place *place = &MS_AT(&file->places, ms_kineto_place, low - 1);
        if (place->thread != call->thread) {
            break;
        }
        if (place->end_ns >= call->time_ns) {
            return find_launch(file, place->id);
        }
    }
    return MS_KINETO_NONE;
}

/* Whether a kernel's class is what its operator computes or sends. */
static bool is_of(const ms_kineto_file *file, const ms_kineto_record *record, int64_t launch) {
    const ms_kineto_launch *launched = &MS_AT(&file->launches, ms_kineto_launch, launch);
    ms_kineto_class class = MS_AT(&file->sums->name_rows, ms_kineto_name, record->name).class;
    if (launched->shape == MS_KINETO_NONE) {
        return class == MS_KINETO_COMMUNICATION;
    }
    const char *kernel = MS_AT(&file->sums->shapes, ms_kineto_sized, launched->shape).work.kernel;
    bool is_attention = strncmp(kernel, "attention", strlen("attention")) == 0;
    return class == (is_attention ? MS_KINETO_ATTENTION : MS_KINETO_GEMM);
}

static int64_t operator_of(const ms_kineto_file *file, const ms_kineto_record *record) {
    bool is_own = record->launch == record->correlation; /* which says nothing of an operator */
    int64_t by_external = find_launch(file, record->launch);
    if (by_external != MS_KINETO_NONE && !is_own) {
        return by_external;
    }
    const ms_kineto_call *call = find_call(file, record->correlation);
    int64_t by_time = call == NULL ? MS_KINETO_NONE : find_place(file, call);
    return by_time != MS_KINETO_NONE && is_of(file, record, by_time) ? by_time : by_external;
}

ms_status ms_kineto_link(ms_kineto_file *file) {
    sort(&file->launches, by_id);
    sort(&file->calls, by_correlation);
    sort(&file->places, by_thread);
    for (size_t i = 0; i < file->records.count; i++) {
        ms_kineto_record *record = &MS_AT(&file->records, ms_kineto_record, i);
        record->launch = operator_of(file, record);
        if (record->launch != MS_KINETO_NONE && record->message == MS_KINETO_NONE) {
            record->message = MS_AT(&file->launches, ms_kineto_launch, record->launch).message;
        }
    }
    return ms_kineto_sums_failed(file->sums) ? MS_E_NOMEM : MS_OK;
}
