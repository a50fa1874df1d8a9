/* From events to records: what is kept of each, while the file streams by. */
#include "study/kineto/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/kineto/classes.h"

enum { KEY_B = 320 };

/* ---- lifetimes ---- */

void ms_kineto_sums_init(ms_kineto_sums *sums, ms_arena *arena, ms_diag *diag) {
    *sums = (ms_kineto_sums){.arena = arena, .diag = diag};
    ms_names_init(&sums->names, arena);
    ms_names_init(&sums->message_keys, arena);
    ms_names_init(&sums->sent_keys, arena);
    ms_names_init(&sums->flow_keys, arena);
    ms_names_init(&sums->shape_keys, arena);
    ms_vector_init(&sums->name_rows, sizeof(ms_kineto_name));
    ms_vector_init(&sums->messages, sizeof(ms_kineto_message));
    ms_vector_init(&sums->sent, sizeof(ms_kineto_sent));
    ms_vector_init(&sums->flows, sizeof(ms_kineto_flow));
    ms_vector_init(&sums->shapes, sizeof(ms_kineto_sized));
    ms_vector_init(&sums->steps, sizeof(ms_kineto_step));
}

void ms_kineto_sums_release(ms_kineto_sums *sums) {
    ms_names_release(&sums->names);
    ms_names_release(&sums->message_keys);
    ms_names_release(&sums->sent_keys);
    ms_names_release(&sums->flow_keys);
    ms_names_release(&sums->shape_keys);
    ms_vector_release(&sums->name_rows);
    ms_vector_release(&sums->messages);
    ms_vector_release(&sums->sent);
    ms_vector_release(&sums->flows);
    ms_vector_release(&sums->shapes);
    ms_vector_release(&sums->steps);
}

static bool has_failed(const ms_names *names) {
    return names->texts.failed || names->slots.failed;
}

bool ms_kineto_sums_failed(const ms_kineto_sums *sums) {
    return sums->arena->has_failed || has_failed(&sums->names) || has_failed(&sums->message_keys) ||
           has_failed(&sums->sent_keys) || has_failed(&sums->flow_keys) ||
           has_failed(&sums->shape_keys) || sums->name_rows.failed || sums->messages.failed ||
           sums->sent.failed || sums->flows.failed || sums->shapes.failed || sums->steps.failed;
}

void ms_kineto_file_init(ms_kineto_file *file, ms_kineto_sums *sums) {
    *file = (ms_kineto_file){.sums = sums};
    ms_vector_init(&file->records, sizeof(ms_kineto_record));
    ms_vector_init(&file->launches, sizeof(ms_kineto_launch));
    ms_vector_init(&file->places, sizeof(ms_kineto_place));
    ms_vector_init(&file->calls, sizeof(ms_kineto_call));
    ms_vector_init(&file->marks, sizeof(ms_kineto_mark));
}

void ms_kineto_file_release(ms_kineto_file *file) {
    ms_vector_release(&file->records);
    ms_vector_release(&file->launches);
    ms_vector_release(&file->places);
    ms_vector_release(&file->calls);
    ms_vector_release(&file->marks);
}

/* ---- rows ---- */

static int32_t add_name(ms_kineto_sums *sums, const ms_kineto_event *event) {
    bool is_new = false;
    int32_t number = ms_names_add(&sums->names, event->name, &is_new);
    if (is_new) {
        ms_kineto_name row = {.class = event->category == MS_KINETO_KERNEL
                                           ? ms_kineto_class_of(event->name, strlen(event->name))
                                           : MS_KINETO_COPY};
        bool has_message = event->message->collective[0] != '\0';
        row.class = has_message ? MS_KINETO_COMMUNICATION : row.class;
        row.coll =
            row.class == MS_KINETO_COMMUNICATION ? ms_kineto_coll_of(event->name) : MS_COLL_NONE;
        ms_vector_add(&sums->name_rows, &row, 1);
    }
    return number;
}

/* Number of what an event says that it sends; MS_KINETO_NONE: nothing. */
static int32_t add_message(ms_kineto_sums *sums, const ms_kineto_message *message) {
    char key[KEY_B];
    bool is_new = false;
    if (message->collective[0] == '\0') {
        return MS_KINETO_NONE;
    }
    snprintf(key, sizeof key, "%s\n%s\n%s\n%s\n%lld\n%lld\n%lld", message->collective,
             message->type, message->group, message->described, (long long)message->in_elements,
             (long long)message->out_elements, (long long)message->group_size);
    int32_t number = ms_names_add(&sums->message_keys, key, &is_new);
    if (is_new) {
        ms_vector_add(&sums->messages, message, 1);
    }
    return number;
}

static int32_t add_shape(ms_kineto_sums *sums, const ms_kineto_work *work) {
    char key[KEY_B];
    bool is_new = false;
    snprintf(key, sizeof key, "%s\n%s\n%s\n%s", work->kernel, work->shape, work->type,
             work->why == NULL ? "" : work->why);
    int32_t number = ms_names_add(&sums->shape_keys, key, &is_new);
    if (is_new) {
        const ms_kineto_sized row = {.work = *work};
        ms_vector_add(&sums->shapes, &row, 1);
    }
    return number;
}

/* ---- events ---- */

static bool collect_work(ms_kineto_file *file, const ms_kineto_event *event) {
    ms_kineto_record record = {.start_ns = event->start_ns,
                               .end_ns = event->start_ns + event->duration_ns,
                               .launch = event->external_id,
                               .correlation = event->correlation,
                               .name = add_name(file->sums, event),
                               .message = add_message(file->sums, event->message),
                               .stream = (int32_t)event->stream,
                               .device = (int32_t)event->device};
    return record.name >= 0 && ms_vector_add(&file->records, &record, 1) != NULL;
}

static bool collect_operator(ms_kineto_file *file, const ms_kineto_event *event) {
    ms_kineto_work work;
    ms_kineto_launch launch = {.id = event->external_id,
                               .shape = MS_KINETO_NONE,
                               .message = add_message(file->sums, event->message)};
    if (event->external_id == MS_KINETO_NONE) {
        return true;
    }
    if (ms_kineto_work_of(event, &work)) {
        launch.shape = add_shape(file->sums, &work);
    }
    const ms_kineto_place place = {.id = event->external_id,
                                   .thread = event->thread,
                                   .start_ns = event->start_ns,
                                   .end_ns = event->start_ns + event->duration_ns};
    bool is_wanted = launch.shape != MS_KINETO_NONE || launch.message != MS_KINETO_NONE;
    return !is_wanted || (ms_vector_add(&file->launches, &launch, 1) != NULL &&
                          ms_vector_add(&file->places, &place, 1) != NULL);
}

/* Calls that launch kernels: cudaLaunchKernel, cudaLaunchKernelExC, cuLaunchKernel,
 * hipModuleLaunchKernel and others. */
static bool collect_call(ms_kineto_file *file, const ms_kineto_event *event) {
    const ms_kineto_call call = {
        .correlation = event->correlation, .thread = event->thread, .time_ns = event->start_ns};
    bool is_wanted = event->correlation != MS_KINETO_NONE && strstr(event->name, "Launch") != NULL;
    return !is_wanted || ms_vector_add(&file->calls, &call, 1) != NULL;
}

static const char STEP[] = "ProfilerStep";

static bool is_step(const ms_kineto_event *event) {
    return strncmp(event->name, STEP, sizeof STEP - 1) == 0;
}

static bool collect_mark(ms_kineto_file *file, const ms_kineto_event *event) {
    const char *digits = event->name + sizeof STEP - 1;
    ms_kineto_mark mark = {.number = strtoll(*digits == '#' ? digits + 1 : digits, NULL, 10),
                           .start_ns = event->start_ns,
                           .end_ns = event->start_ns + event->duration_ns,
                           .is_gpu = event->category == MS_KINETO_GPU_ANNOTATION};
    return ms_vector_add(&file->marks, &mark, 1) != NULL;
}

static bool collect(ms_kineto_file *file, const ms_kineto_event *event) {
    switch (event->category) {
    case MS_KINETO_KERNEL:
    case MS_KINETO_MEMCPY:
    case MS_KINETO_MEMSET:
        return collect_work(file, event);
    case MS_KINETO_OPERATOR: /* which annotations were, too, before PyTorch 1.11 */
        return is_step(event) ? collect_mark(file, event) : collect_operator(file, event);
    case MS_KINETO_RUNTIME:
        return collect_call(file, event);
    case MS_KINETO_ANNOTATION:
    case MS_KINETO_GPU_ANNOTATION:
        return !is_step(event) || collect_mark(file, event);
    default:
        return true;
    }
}

bool ms_kineto_collect(void *context, const ms_kineto_event *event) {
    ms_kineto_file *file = context;
    return collect(file, event) && !ms_kineto_sums_failed(file->sums);
}
