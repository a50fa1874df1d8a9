#include "estimate/pass_map.h"

#include <math.h>

/* Communicators of one rank that a pass may use. */
enum { STREAMS_MAX = 16 };

/* Clocks of a rank while passes run. */
typedef struct clocks {
    double computed_s; /* the compute stream is free */
    int ids[STREAMS_MAX];
    double free_s[STREAMS_MAX];
    int count;
} clocks;

/* A pass under way. */
typedef struct pass_run {
    const ms_pass_view *pass;
    double *end_s;   /* [count] of asynchronous segments; -INFINITY: nothing to wait for */
    double chain_s;  /* end of what holds up the next segment */
    double inputs_s; /* the first segment that is not asynchronous waits for them */
    int next;
    bool is_held; /* the newest segment is a collective that holds up those behind it */
    ms_pass_op *ops;
    int op_count;
} pass_run;

int ms_communicator_of(const ms_segment *segment) {
    unsigned axes = segment->group_axes;
    axes = axes != 0 ? axes : MS_AXIS_BIT(segment->axis);
    return (int)axes * MS_AXIS_COUNT + (int)segment->axis;
}

/* When a communicator is free; one more is made where it is new. */
static double *free_of(clocks *c, int id) {
    int i = 0;
    while (i < c->count && c->ids[i] != id) {
        i++;
    }
    if (i == c->count && i < STREAMS_MAX) {
        c->ids[i] = id;
        c->free_s[i] = -INFINITY;
        c->count++;
    }
    return &c->free_s[i < STREAMS_MAX ? i : STREAMS_MAX - 1];
}

static bool runs_now(const ms_segment *segment, unsigned unit) {
    static const unsigned BITS[] = {[MS_WHEN_FIRST] = MS_UNIT_FIRST,
                                    [MS_WHEN_LAST] = MS_UNIT_LAST,
                                    [MS_WHEN_ROUND] = MS_UNIT_CLOSES_ROUND};
    return segment->when == MS_WHEN_ALWAYS || (unit & BITS[segment->when]) != 0;
}

/* End of the last of the collectives beside the pass that a segment waits for. */
static double waited_s(const pass_run *run, const ms_segment *segment) {
    double until_s = -INFINITY;
    for (int i = 0; i < segment->wait_count; i++) {
        until_s = fmax(until_s, run->end_s[segment->waits[i]]);
    }
    return until_s;
}

static void note_op(pass_run *run, double start_s, double end_s, int layer) {
    if (run->ops != NULL) {
        run->ops[run->op_count++] =
            (ms_pass_op){.start_s = start_s, .end_s = end_s, .layer = layer};
    }
}

static void run_collective(pass_run *run, clocks *c, const ms_segment *segment, double time_s) {
    double *free_s = free_of(c, ms_communicator_of(segment));
    double start_s = fmax(fmax(run->chain_s, *free_s), waited_s(run, segment));
    if (!segment->is_async) {
        start_s = fmax(start_s, run->inputs_s);
        run->inputs_s = -INFINITY;
        run->chain_s = start_s + time_s;
        run->is_held = true;
    } else {
        run->end_s[run->next] = start_s + time_s;
    }
    *free_s = start_s + time_s;
    note_op(run, start_s, start_s + time_s, segment->layer);
}

static void run_segment(pass_run *run, clocks *c) {
    const ms_segment *segment = &run->pass->segments[run->next];
    double time_s = run->pass->time_s[run->next];
    run->end_s[run->next] = -INFINITY;
    if (!runs_now(segment, run->pass->unit) || time_s < 0.0) {
        return;
    }
    if (segment->is_collective) {
        run_collective(run, c, segment, time_s);
        return;
    }
    double start_s = fmax(fmax(run->chain_s, run->inputs_s), waited_s(run, segment));
    start_s = fmax(start_s, c->computed_s);
    run->inputs_s = -INFINITY;
    run->chain_s = c->computed_s = start_s + time_s;
    note_op(run, start_s, run->chain_s, segment->layer);
}

/* Go on to the end; until_held: only up to where the next segment waits for a collective, and at
 * least one segment. */
static void run_on(pass_run *run, clocks *c, bool until_held) {
    run->is_held = false;
    for (bool is_first = true; run->next < run->pass->count; is_first = false) {
        const ms_segment *segment = &run->pass->segments[run->next];
        bool waits = !is_first && waited_s(run, segment) > -INFINITY;
        if (until_held && (run->is_held || waits)) {
            return;
        }
        run_segment(run, c);
        run->next++;
    }
    run->chain_s = fmax(run->chain_s, run->inputs_s);
}

static bool is_waited_for(const ms_segment *segments, int count, int async) {
    for (int i = async + 1; i < count; i++) {
        for (int k = 0; k < segments[i].wait_count; k++) {
            if (segments[i].waits[k] == async) {
                return true;
            }
        }
    }
    return false;
}

void ms_carried_add(ms_carried *carried, const ms_segment *segments, int count) {
    for (int i = 0; i < count; i++) {
        if (!segments[i].is_async || is_waited_for(segments, count, i)) {
            continue;
        }
        int id = ms_communicator_of(&segments[i]);
        int k = 0;
        while (k < carried->count && carried->ids[k] != id) {
            k++;
        }
        if (k == carried->count && k < MS_CARRIED_MAX) {
            carried->ids[carried->count++] = id;
        }
    }
}

/* Clocks of which one stands at 0 and the others play no part. */
static clocks clocks_from(const ms_carried *carried, int source) {
    clocks c = {.computed_s = -INFINITY};
    for (int k = 0; k < carried->count; k++) {
        *free_of(&c, carried->ids[k]) = source == MS_FROM_STREAM + k ? 0.0 : -INFINITY;
    }
    return c;
}

void ms_pass_map_make(const ms_pass_view *pass, const ms_pass_view *second,
                      const ms_carried *carried, double *end_s, ms_pass_map *map_out) {
    for (int source = 0; source < MS_FROM_STREAM + carried->count; source++) {
        clocks c = clocks_from(carried, source);
        pass_run start = {.pass = pass,
                          .end_s = end_s,
                          .chain_s = source == MS_FROM_RANK ? 0.0 : -INFINITY,
                          .inputs_s = source == MS_FROM_INPUT ? 0.0 : -INFINITY};
        pass_run runs[2] = {start, start};
        if (second == NULL) {
            run_on(&runs[0], &c, false);
        } else {
            runs[1].pass = second;
            runs[1].end_s = end_s + pass->count;
            while (runs[0].next < pass->count || runs[1].next < second->count) {
                run_on(&runs[0], &c, true);
                run_on(&runs[1], &c, true);
            }
            runs[0].chain_s = fmax(runs[0].chain_s, runs[1].chain_s);
        }
        map_out->end_s[source] = runs[0].chain_s;
        for (int k = 0; k < carried->count; k++) {
            map_out->stream_s[k][source] = c.free_s[k];
        }
    }
}

int ms_pass_ops(const ms_pass_view *pass, double from_s, double *end_s, ms_pass_op *ops_out,
                double *until_out) {
    clocks c = {.computed_s = -INFINITY};
    pass_run run = {
        .pass = pass, .end_s = end_s, .chain_s = from_s, .inputs_s = -INFINITY, .ops = ops_out};
    run_on(&run, &c, false);
    *until_out = run.chain_s;
    return run.op_count;
}
