#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "trace_fixture.h"

#include "trace/report/report.h"

static const char *name_in(trace_fixture *f, const char *name) {
    return ms_arena_printf(&f->arena, "%s/%s", f->folder, name);
}

static ms_status write_one(trace_fixture *f, const char *path) {
    const char *const traces[] = {f->path};
    return ms_report_write(traces, 1, MS_GANTT_PIPELINE_RANKS, 0.0, path, &f->diag);
}

Test(report_write, the_ending_chooses_the_kind) {
    trace_fixture f;
    size_t length = 0;
    trace_fixture_write(&f, TRACE_SMALL);
    const char *svg = name_in(&f, "a.b.svg");
    const char *json = name_in(&f, "a.json");
    cr_assert_eq(write_one(&f, svg), MS_OK);
    cr_assert_eq(strncmp(trace_fixture_read_file(&f, svg, &length), "<svg", 4), 0);
    cr_assert_eq(write_one(&f, json), MS_OK);
    cr_assert_eq(strncmp(trace_fixture_read_file(&f, json, &length), "{\"displayTimeUnit", 17), 0);
    cr_assert_eq(trace_fixture_files(&f), 3);
    trace_fixture_release(&f);
}

/* A gzip file without time or name in its header, from the same trace the same bytes. */
Test(report_write, a_viewer_trace_is_compressed_by_its_ending) {
    trace_fixture f;
    size_t lengths[3] = {0};
    trace_fixture_write(&f, TRACE_SMALL);
    const char *paths[3] = {name_in(&f, "a.json"), name_in(&f, "a.json.gz"),
                            name_in(&f, "b.json.gz")};
    const char *bytes[3];
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(write_one(&f, paths[i]), MS_OK);
        bytes[i] = trace_fixture_read_file(&f, paths[i], &lengths[i]);
    }
    cr_assert_eq(memcmp(bytes[1], "\x1f\x8b\x08\0\0\0\0\0", 8), 0);
    cr_assert_lt(4 * lengths[1], lengths[0]);
    cr_assert_eq(lengths[1], lengths[2]);
    cr_assert_eq(memcmp(bytes[1], bytes[2], lengths[1]), 0);
    /* the last four bytes tell the length of the text */
    const unsigned char *tail = (const unsigned char *)bytes[1] + lengths[1] - 4;
    cr_assert_eq(tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16, lengths[0]);
    trace_fixture_release(&f);
}

Test(report_write, pictures_of_traces_are_stacked_and_viewer_traces_are_not) {
    trace_fixture f;
    size_t length = 0;
    trace_fixture_write(&f, TRACE_SMALL);
    const char *traces[MS_GANTT_PICTURES_MAX + 1];
    for (size_t i = 0; i < MS_GANTT_PICTURES_MAX + 1; i++) {
        traces[i] = f.path;
    }
    const char *svg = name_in(&f, "a.svg");
    cr_assert_eq(
        ms_report_write(traces, MS_GANTT_PICTURES_MAX, MS_GANTT_PIPELINE_RANKS, 0.0, svg, &f.diag),
        MS_OK);
    const char *text = trace_fixture_read_file(&f, svg, &length);
    size_t panels = 0;
    for (const char *at = text; (at = strstr(at, "<g class=\"panel\"")) != NULL; at++) {
        panels++;
    }
    cr_assert_eq(panels, (size_t)MS_GANTT_PICTURES_MAX);
    cr_assert_not_null(strstr(text, ">t.h5 \xc2\xb7 small: 1f1b, 2 pipeline ranks"));
    cr_assert_eq(ms_report_write(traces, MS_GANTT_PICTURES_MAX + 1, MS_GANTT_PIPELINE_RANKS, 0.0,
                                 svg, &f.diag),
                 MS_E_USAGE);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "at most 8 traces"));
    cr_assert_eq(
        ms_report_write(traces, 2, MS_GANTT_PIPELINE_RANKS, 0.0, name_in(&f, "a.json"), &f.diag),
        MS_E_USAGE);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "viewer is made of one run, got 2"));
    cr_assert_eq(
        ms_report_write(traces, 2, MS_GANTT_PIPELINE_RANKS, 0.0, name_in(&f, "a.html"), &f.diag),
        MS_OK, "a page sets them side by side");
    cr_assert_eq(trace_fixture_files(&f), 3);
    trace_fixture_release(&f);
}

Test(report_write, says_that_a_step_without_time_cannot_be_drawn) {
    static const char NO_TIME[] =
        "platform: {file: " MS_SOURCE_DIR "/platforms/ideal.yaml, nodes: 2}\n"
        "mesh: {pp: 2}\n"
        "costs: {forward: 0 s, input_gradient: 0 s}\n"
        "batch: {microbatches: 2}\n";
    trace_fixture f;
    trace_fixture_write(&f, NO_TIME);
    cr_assert_eq(write_one(&f, name_in(&f, "a.svg")), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "takes no time"));
    f.messages.length = 0;
    cr_assert_eq(write_one(&f, name_in(&f, "a.html")), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "takes no time"));
    cr_assert_eq(write_one(&f, name_in(&f, "a.json")), MS_OK);
    trace_fixture_release(&f);
}

/* A disk that fills up: at every size the older report stays, and no other file. */
Test(report_write, a_full_disk_leaves_the_older_report, .timeout = 60) {
    trace_fixture f;
    size_t length = 0;
    trace_fixture_write(&f, TRACE_SMALL);
    const char *path = name_in(&f, "a.json");
    cr_assert_eq(write_one(&f, path), MS_OK);
    const char *before = trace_fixture_read_file(&f, path, &length);
    for (rlim_t limit = 0; limit < length; limit += 1 + length / 5) {
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit size = {limit, limit};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &size);
            ms_status status = write_one(&f, path);
            bool says = strstr(ms_buffer_text(&f.messages), "File too large") != NULL;
            _exit(status == MS_E_IO && says ? 0 : 1);
        }
        int state = 0;
        cr_assert_eq(waitpid(child, &state, 0), child);
        cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0, "limit %lu", (unsigned long)limit);
        size_t after_length = 0;
        const char *after = trace_fixture_read_file(&f, path, &after_length);
        cr_assert(after_length == length && memcmp(before, after, length) == 0);
        cr_assert_eq(trace_fixture_files(&f), 2);
    }
    trace_fixture_release(&f);
}

static ms_status keep(void *context, const char *text, size_t length) {
    ms_buffer_add(context, text, length);
    return MS_OK;
}

/* Sum of the slices of a rank that have this name and stand for idle time [s]. */
static double sum_idle(const char *json, int32_t rank_index, const char *name) {
    char like[96];
    double sum_us = 0.0;
    snprintf(like, sizeof like, "\"name\":\"%s\",\"cat\":\"idle\",\"cname\":\"", name);
    for (const char *line = strchr(json, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        int pid = -1;
        double at = 0.0;
        double length = 0.0;
        bool is_slice =
            sscanf(line + 1, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%*d,\"ts\":%lf,\"dur\":%lf", &pid,
                   &at, &length) == 3;
        const char *end = strchr(line + 1, '\n');
        const char *found = strstr(line + 1, like);
        if (is_slice && pid == rank_index && found != NULL && (end == NULL || found < end)) {
            sum_us += length;
        }
    }
    return 1e-6 * sum_us;
}

/* Idle time stands in a viewer's trace under the names of time_share, and sums up to it. */
Test(report_write, idle_slices_are_those_of_the_metrics) {
    static const char *const SETS[] = {NULL, "schedule.kind=gpipe", "schedule.kind=zbh1",
                                       "batch.microbatches=7"};
    for (size_t i = 0; i < sizeof SETS / sizeof SETS[0]; i++) {
        trace_fixture f;
        ms_trace trace;
        ms_buffer json;
        trace_fixture_init(&f);
        trace_fixture_run(&f, TRACE_SMALL, SETS[i]);
        cr_assert_eq(ms_trace_write(f.path, &f.result, "0.0.1", &f.diag), MS_OK);
        cr_assert_eq(ms_trace_read(f.path, MS_TRACE_EVENTS, &f.arena, &f.diag, &trace), MS_OK);
        ms_buffer_init(&json);
        cr_assert_eq(ms_chrome_write(&trace, keep, &json), MS_OK);
        for (int32_t rank = 0; rank < trace.rank_count; rank++) {
            for (int c = MS_TIME_BUBBLE_WARMUP; c < MS_TIME_COUNT; c++) {
                double shown_s = sum_idle(ms_buffer_text(&json), rank,
                                          ms_time_category_name((ms_time_category)c));
                cr_assert_float_eq(shown_s, f.result.metrics.ranks[rank].time_s[c], 1e-9,
                                   "case %zu rank %d %s: %g", i, rank,
                                   ms_time_category_name((ms_time_category)c), shown_s);
            }
        }
        cr_assert_gt(sum_idle(ms_buffer_text(&json), 1, "bubble_warmup"), 0.0);
        ms_buffer_release(&json);
        trace_fixture_release(&f);
    }
}

/* Perfetto colours slices by their names: those of a kind have one, in Chrome's palette too. */
Test(report_write, slices_of_a_kind_have_one_name_and_colour) {
    trace_fixture f;
    size_t length = 0;
    trace_fixture_write(&f, TRACE_SMALL);
    const char *path = name_in(&f, "a.json");
    cr_assert_eq(write_one(&f, path), MS_OK);
    const char *json = trace_fixture_read_file(&f, path, &length);
    static const char *const HAS[] = {
        "\"name\":\"F\",\"cat\":\"forward\",\"cname\":\"rail_response\",\"args\":{\"event\":",
        "\"name\":\"B\",\"cat\":\"backward\",\"cname\":\"rail_load\"", "\"mb\":3",
        "\"waits_for\":\"own communication\"",
        "\"waits_for\":\"computation of another pipeline rank\""};
    for (size_t i = 0; i < sizeof HAS / sizeof HAS[0]; i++) {
        cr_assert_not_null(strstr(json, HAS[i]), "%s", HAS[i]);
    }
    cr_assert_null(strstr(json, "\"name\":\"F 0\""));
    trace_fixture_release(&f);
}

typedef struct small_sink {
    size_t pieces;
    size_t largest;
    size_t room; /* pieces that are taken */
} small_sink;

static ms_status take(void *context, const char *text, size_t length) {
    small_sink *sink = context;
    (void)text;
    sink->largest = length > sink->largest ? length : sink->largest;
    return sink->pieces++ < sink->room ? MS_OK : MS_E_INTERRUPTED;
}

Test(report_write, a_chrome_trace_comes_in_small_pieces_and_can_be_stopped) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, "batch.microbatches=3000");
    cr_assert_eq(ms_trace_write(f.path, &f.result, "0.0.1", &f.diag), MS_OK);
    cr_assert_eq(ms_trace_read(f.path, MS_TRACE_EVENTS, &f.arena, &f.diag, &trace), MS_OK);
    small_sink all = {.room = SIZE_MAX};
    cr_assert_eq(ms_chrome_write(&trace, take, &all), MS_OK);
    cr_assert_gt(all.pieces, 10U);
    cr_assert_leq(all.largest, 65536U);
    small_sink some = {.room = 3};
    cr_assert_eq(ms_chrome_write(&trace, take, &some), MS_E_INTERRUPTED);
    cr_assert_eq(some.pieces, 4U);
    trace_fixture_release(&f);
}
