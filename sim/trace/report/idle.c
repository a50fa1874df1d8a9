#include "trace/report/idle.h"

ms_status ms_idle_phases_find(const ms_trace *trace, const ms_vector *boxes, ms_arena *arena,
                              ms_idle_phases *phases_out) {
    ms_gantt *gantt = MS_NEW(arena, ms_gantt, 1);
    ms_gantt_sorted sorted;
    if (gantt == NULL) {
        return MS_E_NOMEM;
    }
    gantt->rows = trace->rank_count;
    gantt->boxes = boxes->data;
    gantt->box_count = boxes->count;
    gantt->end = (double)trace->step_ps / MS_PS_PER_S;
    ms_status status = ms_gantt_sort(gantt, gantt->end, arena, &sorted);
    if (status == MS_OK) {
        *phases_out = (ms_idle_phases){.steady = sorted.steady, .steps = sorted.steps};
    }
    return status;
}

ms_time_category ms_idle_category(const ms_idle_phases *phases, const ms_idle_piece *idle) {
    if (idle->cause == MS_IDLE_OWN || idle->cause == MS_IDLE_FOREIGN) {
        return ms_time_category_of_axis((ms_axis)idle->axis);
    }
    if (idle->cause != MS_IDLE_BUBBLE) {
        return idle->cause == MS_IDLE_IMBALANCE ? MS_TIME_IMBALANCE : MS_TIME_OTHER;
    }
    int32_t last = phases->steps - 1;
    int32_t step = idle->step < 0 ? 0 : idle->step > last ? last : idle->step;
    const ms_gantt_steady *steady = &phases->steady[idle->row * phases->steps + step];
    double middle = 0.5 * (double)(idle->start_ps + idle->end_ps) / MS_PS_PER_S;
    return middle < steady->start ? MS_TIME_BUBBLE_WARMUP
           : middle < steady->end ? MS_TIME_BUBBLE_STEADY
                                  : MS_TIME_BUBBLE_COOLDOWN;
}
