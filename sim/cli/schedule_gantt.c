#include "cli/schedule_gantt.h"

static ms_status draw(const ms_invocation *call, const ms_gantt *gantts, size_t count,
                      const char *path) {
    ms_buffer svg;
    ms_buffer_init(&svg);
    ms_status status = ms_gantt_write_svg(gantts, count, &svg);
    svg.failed = svg.failed || status == MS_E_NOMEM;
    if (status != MS_E_RANGE) {
        return ms_cli_write_file(call, path, &svg);
    }
    ms_diag_error(call->diag, "cannot draw '%s': %s takes no time", path,
                  count == 1 ? "the schedule" : "one of the schedules");
    ms_buffer_release(&svg);
    return MS_E_USAGE; /* all costs came from options */
}

ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_drawn_schedule *drawn,
                                size_t count, const char *path) {
    ms_gantt gantts[MS_GANTT_PICTURES_MAX];
    if (count == 0) {
        ms_diag_error(call->diag,
                      "cannot draw '%s': none of the schedules is possible here; the table, "
                      "without '--gantt', says why",
                      path);
        return MS_E_NO;
    }
    if (count > MS_GANTT_PICTURES_MAX) {
        return ms_diag_usage(call->diag,
                             "cannot draw '%s': at most %d schedules are stacked in a picture, got "
                             "%zu; name fewer with '--compare'",
                             path, MS_GANTT_PICTURES_MAX, count);
    }
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < count; i++) {
        status = ms_gantt_from_schedule(&drawn[i], call->arena, &gantts[i]);
    }
    return status == MS_OK ? draw(call, gantts, count, path) : ms_diag_no_memory(call->diag);
}
