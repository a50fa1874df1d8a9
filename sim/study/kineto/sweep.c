/* The time of a GPU, instant by instant: what ran, and in which step. Each instant belongs to one
 * step and to one of: computation, communication that nothing computes beside, copies that nothing
 * else runs beside, idle. So the parts of a step sum to it. */
#include <stdlib.h>
#include <string.h>

#include "study/kineto/collect.h"

/* A record begins or ends. */
typedef struct turn {
    int64_t at_ns;
    uint32_t record;
    bool is_end;
} turn;

/* Time of a step. */
typedef struct window {
    int64_t number, from_ns, to_ns;
} window;

/* What may run: a class of computation, copies, or the communication of a flow. */
enum { LANE_COPY = MS_KINETO_COPY, LANE_FLOWS = MS_KINETO_CLASS_COUNT };

typedef struct sweeping {
    ms_kineto_file *file;
    ms_vector windows; /* window, apart and in order */
    size_t next;       /* window under way, or the next one */
    int64_t now_ns;
    int32_t *running; /* [lanes] records */
    int32_t *active;  /* [active_count] lanes in which something runs */
    size_t active_count;
    int32_t computing, communicating, copying; /* records */
    int64_t communicated_ns;                   /* when communication last ran */
    double outside_ns;                         /* busy outside of all steps */
    ms_kineto_step step;                       /* under way, in nanoseconds */
} sweeping;

/* ---- steps ---- */

static int by_number(const void *left, const void *right) {
    const ms_kineto_mark *a = left, *b = right;
    int order = (a->is_gpu > b->is_gpu) - (a->is_gpu < b->is_gpu);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static int by_from(const void *left, const void *right) {
    const window *a = left, *b = right;
    int order = (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* Windows of annotations of one side, which on a GPU come once for each stream. */
static void gather(const ms_vector *marks, bool is_gpu, ms_vector *windows) {
    windows->count = 0;
    for (size_t i = 0; i < marks->count; i++) {
        const ms_kineto_mark *mark = &MS_AT(marks, ms_kineto_mark, i);
        if (mark->is_gpu != is_gpu) {
            continue;
        }
        window *last = windows->count == 0 ? NULL : &MS_AT(windows, window, windows->count - 1);
        if (last == NULL || last->number != mark->number) {
            const window next = {mark->number, mark->start_ns, mark->end_ns};
            ms_vector_add(windows, &next, 1);
        } else {
            last->from_ns = mark->start_ns < last->from_ns ? mark->start_ns : last->from_ns;
            last->to_ns = mark->end_ns > last->to_ns ? mark->end_ns : last->to_ns;
        }
    }
}

/* A step lasts to the next one's start, so that no time between them is lost. */
static void join(ms_vector *windows) {
    qsort(windows->data, windows->count, sizeof(window), by_from);
    for (size_t i = 0; i + 1 < windows->count; i++) {
        MS_AT(windows, window, i).to_ns = MS_AT(windows, window, i + 1).from_ns;
    }
}

/* Steps of the GPU where it has as many as the host: work of a step runs behind the host, and only
 * these say which work is whose. Returns whether there are any. */
static bool find_windows(sweeping *s, ms_kineto_rank *rank) {
    ms_vector *marks = &s->file->marks;
    if (marks->count > 1) {
        qsort(marks->data, marks->count, sizeof(ms_kineto_mark), by_number);
    }
    gather(marks, false, &s->windows);
    size_t of_host = s->windows.count;
    gather(marks, true, &s->windows);
    rank->has_gpu_steps = s->windows.count > 0 && s->windows.count >= of_host;
    if (!rank->has_gpu_steps) {
        gather(marks, false, &s->windows);
    }
    rank->steps = (int64_t)s->windows.count;
    if (s->windows.count > 1) {
        join(&s->windows);
    }
    return s->windows.count > 0;
}

/* ---- instants ---- */

static void begin_step(sweeping *s) {
    if (s->next < s->windows.count) {
        s->step = (ms_kineto_step){.number = MS_AT(&s->windows, window, s->next).number};
    }
}

static void end_step(sweeping *s) {
    const window *done = &MS_AT(&s->windows, window, s->next);
    s->step.wall_s = (double)(done->to_ns - done->from_ns);
    ms_vector_add(&s->file->sums->steps, &s->step, 1);
    s->next++;
    begin_step(s);
}

/* So long what runs ran, inside a step. */
static void pass(sweeping *s, double time_ns) {
    double computing = s->computing, communicating = s->communicating;
    bool is_exposed = s->computing == 0;
    for (size_t i = 0; i < s->active_count; i++) {
        int32_t lane = s->active[i];
        if (lane < MS_KINETO_COMPUTE_COUNT) {
            s->step.class_s[lane] += time_ns * s->running[lane] / computing;
        } else if (lane >= LANE_FLOWS) {
            ms_kineto_flow *flow = &MS_AT(&s->file->sums->flows, ms_kineto_flow, lane - LANE_FLOWS);
            flow->busy_ns += time_ns;
            flow->exposed_ns += is_exposed ? time_ns * s->running[lane] / communicating : 0;
        }
    }
    s->step.busy_s += s->active_count > 0 ? time_ns : 0;
    s->step.communication_s += s->communicating > 0 ? time_ns : 0;
    if (s->computing > 0) {
        s->step.compute_s += time_ns;
    } else if (s->communicating > 0) {
        s->step.exposed_s += time_ns;
    } else if (s->copying > 0) {
        s->step.copy_s += time_ns;
    } else {
        s->step.idle_s += time_ns;
    }
}

/* Go on to an instant, through the ends of steps before it. */
static void advance(sweeping *s, int64_t to_ns) {
    while (s->now_ns < to_ns) {
        const window *w = s->next < s->windows.count ? &MS_AT(&s->windows, window, s->next) : NULL;
        bool is_inside = w != NULL && w->from_ns <= s->now_ns;
        int64_t until_ns = to_ns;
        if (w != NULL) {
            int64_t edge_ns = is_inside ? w->to_ns : w->from_ns;
            until_ns = edge_ns < until_ns ? edge_ns : until_ns;
        }
        double time_ns = (double)(until_ns - s->now_ns);
        if (is_inside) {
            pass(s, time_ns);
        } else {
            s->outside_ns += s->active_count > 0 ? time_ns : 0;
        }
        s->now_ns = until_ns;
        if (is_inside && until_ns == w->to_ns) {
            end_step(s);
        }
    }
}

/* ---- records ---- */

static int32_t lane_of(const sweeping *s, const ms_kineto_record *record) {
    const ms_kineto_sums *sums = s->file->sums;
    ms_kineto_class class = MS_AT(&sums->name_rows, ms_kineto_name, record->name).class;
    return class != MS_KINETO_COMMUNICATION
               ? (int32_t) class
               : LANE_FLOWS + MS_AT(&sums->sent, ms_kineto_sent, record->message).channel;
}

static void set_active(sweeping *s, int32_t lane, bool is_active) {
    size_t at = 0;
    while (at < s->active_count && s->active[at] != lane) {
        at++;
    }
    if (is_active) {
        s->active[s->active_count++] = lane;
    } else {
        s->active[at] = s->active[--s->active_count];
    }
}

/* A record begins (by 1) or ends (by -1). */
static void turn_record(sweeping *s, const ms_kineto_record *record, int32_t by) {
    int32_t lane = lane_of(s, record);
    int32_t before = s->running[lane];
    s->running[lane] += by;
    if (before == 0 || s->running[lane] == 0) {
        set_active(s, lane, before == 0);
    }
    int32_t *sum = lane < MS_KINETO_COMPUTE_COUNT ? &s->computing
                   : lane == LANE_COPY            ? &s->copying
                                                  : &s->communicating;
    *sum += by;
    if (lane >= LANE_FLOWS) {
        s->communicated_ns = s->now_ns;
        ms_kineto_flow *flow = &MS_AT(&s->file->sums->flows, ms_kineto_flow, lane - LANE_FLOWS);
        bool is_inside =
            s->next < s->windows.count && MS_AT(&s->windows, window, s->next).from_ns <= s->now_ns;
        flow->count += by > 0 && is_inside ? 1 : 0;
    } else if (by < 0 && record->launch != MS_KINETO_NONE) {
        bool is_beside = s->communicating > 0 || s->communicated_ns > record->start_ns;
        ms_kineto_launch *launch = &MS_AT(&s->file->launches, ms_kineto_launch, record->launch);
        launch->is_beside = launch->is_beside || is_beside;
    }
}

/* Ends stand before starts at the same instant: what touches does not overlap. */
static int by_time(const void *left, const void *right) {
    const turn *a = left, *b = right;
    int order = (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
    order = order != 0 ? order : (a->is_end < b->is_end) - (a->is_end > b->is_end);
    return order != 0 ? order : (a->record > b->record) - (a->record < b->record);
}

/* Both ends of all records that last, in order. */
static bool list_turns(const ms_vector *records, ms_vector *turns) {
    for (size_t i = 0; i < records->count; i++) {
        const ms_kineto_record *record = &MS_AT(records, ms_kineto_record, i);
        const turn both[2] = {{record->start_ns, (uint32_t)i, false},
                              {record->end_ns, (uint32_t)i, true}};
        if (record->end_ns > record->start_ns && ms_vector_add(turns, both, 2) == NULL) {
            return false;
        }
    }
    if (turns->count > 1) {
        qsort(turns->data, turns->count, sizeof(turn), by_time);
    }
    return true;
}

/* Shapes get the calls of their operators. */
static void count_shapes(ms_kineto_file *file) {
    for (size_t i = 0; i < file->launches.count; i++) {
        const ms_kineto_launch *launch = &MS_AT(&file->launches, ms_kineto_launch, i);
        if (launch->shape == MS_KINETO_NONE || launch->kernels == 0) {
            continue;
        }
        ms_kineto_sized *row = &MS_AT(&file->sums->shapes, ms_kineto_sized, launch->shape);
        row->count++;
        row->beside += launch->is_beside ? 1 : 0;
        row->total_ns += launch->time_ns;
        row->alone_ns += launch->is_beside ? 0 : launch->time_ns;
    }
}

/* Where there are no annotations: from the first start to the last end. */
static void add_whole(sweeping *s, const ms_vector *turns) {
    const window whole = {MS_KINETO_NONE, turns->count == 0 ? 0 : MS_AT(turns, turn, 0).at_ns,
                          turns->count == 0 ? 0 : MS_AT(turns, turn, turns->count - 1).at_ns};
    ms_vector_add(&s->windows, &whole, 1);
}

static void run(sweeping *s, const ms_vector *turns) {
    int64_t first_ns = turns->count == 0 ? INT64_MAX : MS_AT(turns, turn, 0).at_ns;
    int64_t window_ns = MS_AT(&s->windows, window, 0).from_ns;
    s->now_ns = first_ns < window_ns ? first_ns : window_ns;
    s->communicated_ns = INT64_MIN;
    begin_step(s);
    for (size_t i = 0; i < turns->count; i++) {
        const turn *at = &MS_AT(turns, turn, i);
        advance(s, at->at_ns);
        turn_record(s, &MS_AT(&s->file->records, ms_kineto_record, at->record),
                    at->is_end ? -1 : 1);
    }
    while (s->next < s->windows.count) { /* steps that go on after the last kernel, or are empty */
        const window *w = &MS_AT(&s->windows, window, s->next);
        if (w->to_ns > s->now_ns) {
            advance(s, w->to_ns);
        } else {
            end_step(s);
        }
    }
}

/* Nanoseconds of a step, or of several that nothing parts, as seconds of one. */
static void scale_step(ms_kineto_step *step, int64_t rank, double steps) {
    double *times[] = {&step->wall_s,    &step->busy_s, &step->compute_s, &step->communication_s,
                       &step->exposed_s, &step->copy_s, &step->idle_s};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        *times[i] /= steps * 1e9;
    }
    for (int i = 0; i < MS_KINETO_COMPUTE_COUNT; i++) {
        step->class_s[i] /= steps * 1e9;
    }
    step->rank = rank;
}

ms_status ms_kineto_file_sweep(ms_kineto_file *file, int64_t whole_steps, ms_kineto_rank *rank) {
    ms_kineto_sums *sums = file->sums;
    size_t lanes = LANE_FLOWS + sums->flows.count, first = sums->steps.count;
    sweeping s = {.file = file,
                  .running = MS_NEW(sums->arena, int32_t, lanes),
                  .active = MS_NEW(sums->arena, int32_t, lanes)};
    ms_vector turns;
    ms_vector_init(&turns, sizeof(turn));
    ms_vector_init(&s.windows, sizeof(window));
    bool is_short = s.running == NULL || s.active == NULL || !list_turns(&file->records, &turns);
    if (!is_short && !find_windows(&s, rank)) {
        add_whole(&s, &turns);
    }
    is_short = is_short || s.windows.failed;
    if (!is_short) {
        run(&s, &turns);
        count_shapes(file);
    }
    for (size_t i = first; i < sums->steps.count; i++) {
        scale_step(&MS_AT(&sums->steps, ms_kineto_step, i), rank->rank,
                   rank->steps == 0 ? (double)whole_steps : 1);
    }
    rank->outside_s = s.outside_ns / 1e9;
    ms_vector_release(&turns);
    ms_vector_release(&s.windows);
    return is_short || sums->steps.failed ? MS_E_NOMEM : MS_OK;
}
