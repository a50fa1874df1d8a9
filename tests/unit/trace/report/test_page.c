/* HTML pages: how columns are packed, what a page promises, slack by hand. */
#include <inttypes.h>

#include "trace/report/html/page.h"
#include "trace_fixture.h"
#include "trace_page.h"

/* The vectors of RFC 4648, section 10. */
Test(page, bytes_as_base64) {
    static const char *const CASES[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer out;
        ms_buffer_init(&out);
        ms_base64_write(CASES[i][0], strlen(CASES[i][0]), &out);
        cr_assert_str_eq(ms_buffer_text(&out), CASES[i][1]);
        ms_buffer_release(&out);
    }
}

static int64_t read_signed(const unsigned char **at) {
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

Test(page, numbers_in_pieces_of_seven_bits) {
    static const int64_t NUMBERS[] = {0,
                                      1,
                                      -1,
                                      63,
                                      -64,
                                      64,
                                      8191,
                                      -8192,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      1234567890123456789};
    enum { COUNT = sizeof NUMBERS / sizeof NUMBERS[0] };
    ms_buffer out;
    ms_buffer_init(&out);
    for (size_t i = 0; i < COUNT; i++) {
        ms_varint_put_signed(&out, NUMBERS[i]);
    }
    const unsigned char *at = (const unsigned char *)out.data;
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_eq(read_signed(&at), NUMBERS[i], "%" PRId64, NUMBERS[i]);
    }
    cr_assert_eq((const char *)at, out.data + out.length);
    out.length = 0;
    ms_varint_put(&out, 300); /* Protocol Buffers, Encoding: 10101100 00000010 */
    cr_assert_eq(out.length, 2);
    cr_assert_eq((unsigned char)out.data[0], 0xAC);
    cr_assert_eq((unsigned char)out.data[1], 0x02);
    ms_buffer_release(&out);
}

static void read_trace(trace_fixture *f, ms_trace *trace_out) {
    cr_assert_eq(
        ms_trace_read(f->path, MS_TRACE_EVENTS | MS_TRACE_TABLES, &f->arena, &f->diag, trace_out),
        MS_OK, "%s", ms_buffer_text(&f->messages));
}

static const char *make_page(trace_fixture *f, const char *workload, ms_buffer *page) {
    ms_trace trace;
    trace_fixture_write(f, workload);
    read_trace(f, &trace);
    ms_buffer_init(page);
    cr_assert_eq(write_trace_page(&trace, MS_GANTT_PIPELINE_RANKS, page), MS_OK);
    return ms_buffer_text(page);
}

Test(page, asks_for_nothing_and_says_so) {
    trace_fixture f;
    ms_buffer page;
    const char *text = make_page(&f, TRACE_SMALL, &page);
    cr_assert_eq(strncmp(text, "<!DOCTYPE html>", 15), 0);
    const char *policy = strstr(text, "Content-Security-Policy\" content=\"default-src 'none'; ");
    cr_assert_not_null(policy);
    cr_assert_lt(policy, strstr(text, "<style>"), "what comes before it is not held by it");
    cr_assert_not_null(strstr(policy, "script-src 'sha256-"));
    cr_assert_null(strstr(text, "unsafe-"));
    cr_assert_null(strstr(text, "://"), "%.60s", strstr(text, "://"));
    cr_assert_null(strstr(text, "{{"), "%.60s", strstr(text, "{{"));
    const ms_page_text *const scripts[] = {&MS_PAGE_TRACE_SCRIPT, &MS_PAGE_RESULTS_SCRIPT};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        cr_assert_null(strstr(scripts[i]->text, "</script"));
        cr_assert_null(strstr(scripts[i]->text, "innerHTML"));
    }
    ms_buffer_release(&page);
    trace_fixture_release(&f);
}

/* A workload's name and its text are the reader's, who may have them from anybody. */
Test(page, names_do_not_leave_their_place) {
    char workload[600];
    snprintf(workload, sizeof workload, "name: 'x</script><script>alert(1)</script><!-- \"&'\n%s",
             TRACE_SMALL + strlen("name: small\n"));
    trace_fixture f;
    ms_buffer page;
    const char *text = make_page(&f, workload, &page);
    cr_assert_null(strstr(text, "alert(1)</"));
    cr_assert_null(strstr(text, "<!-- "));
    cr_assert_not_null(strstr(text, "<title>x&lt;/script&gt;"));
    cr_assert_not_null(strstr(text, "\\u003c/script>\\u003cscript>alert(1)"));
    ms_buffer_release(&page);
    trace_fixture_release(&f);
}

Test(page, a_trace_without_operations_has_one_too) {
    trace_fixture f;
    ms_trace trace;
    ms_buffer page;
    const ms_trace_detail summary = {.level = MS_TRACE_SUMMARY};
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    cr_assert_eq(ms_trace_write_detail(f.path, &f.result, &summary, "0.0.1", &f.diag), MS_OK);
    read_trace(&f, &trace);
    ms_buffer_init(&page);
    cr_assert_eq(write_trace_page(&trace, MS_GANTT_PIPELINE_RANKS, &page), MS_OK);
    cr_assert_not_null(strstr(ms_buffer_text(&page), "\"rows\":[]"));
    cr_assert_null(strstr(ms_buffer_text(&page), "\"items\""));
    ms_buffer_release(&page);
    trace_fixture_release(&f);
}

/* The first computation of a kind for a microbatch on a pipeline rank. */
static int32_t find_event(const ms_trace *trace, int32_t pp, uint8_t kind, int32_t mb) {
    for (int32_t i = 0; i < trace->event_count; i++) {
        const ms_trace_stream *stream = &trace->streams[trace->events[i].stream];
        if (stream->axis == MS_AXIS_NONE && trace->ranks[stream->rank_index].pp == pp &&
            trace->events[i].kind == kind && trace->events[i].mb == mb) {
            return i;
        }
    }
    cr_assert_fail("no such event");
    return -1;
}

/* 1F1B on two ranks, forward 1 ms, backward 2 ms, four microbatches. The second rank's passes wait
 * for the first one's or follow each other, so none of them has slack. On the first rank the
 * forward pass of microbatch 1 is over one backward pass, 2 ms, before the second rank takes it;
 * and the backward pass of microbatch 2 is over one forward pass, 1 ms, before the gradient of the
 * last one comes. */
Test(page, slack_of_a_pipeline_by_hand) {
    trace_fixture f;
    ms_trace trace;
    ms_slack slack;
    trace_fixture_write(&f, TRACE_SMALL);
    read_trace(&f, &trace);
    cr_assert_eq(ms_slack_find(&trace, &f.arena, &slack), MS_OK);
    for (int32_t mb = 0; mb < 4; mb++) {
        cr_assert_eq(slack.slack_ps[find_event(&trace, 1, MS_OP_FORWARD, mb)], 0);
        cr_assert_eq(slack.slack_ps[find_event(&trace, 1, MS_OP_BACKWARD, mb)], 0);
    }
    cr_assert_eq(slack.slack_ps[find_event(&trace, 0, MS_OP_FORWARD, 0)], 0);
    cr_assert_eq(slack.slack_ps[find_event(&trace, 0, MS_OP_BACKWARD, 3)], 0);
    int64_t forward_ps = slack.slack_ps[find_event(&trace, 0, MS_OP_FORWARD, 1)];
    int64_t backward_ps = slack.slack_ps[find_event(&trace, 0, MS_OP_BACKWARD, 2)];
    cr_assert(llabs(forward_ps - 2000000000) <= 4, "%" PRId64, forward_ps);
    cr_assert(llabs(backward_ps - 1000000000) <= 4, "%" PRId64, backward_ps);
    ms_path_span before = {.start_ps = trace.step_ps};
    for (size_t i = 0; i < slack.span_count; i++) {
        cr_assert_eq(slack.spans[i].end_ps, before.start_ps);
        before = slack.spans[i];
    }
    cr_assert_eq(before.start_ps, 0);
    cr_assert_eq(trace.ranks[before.rank_index].pp, 0);
    for (int32_t i = 0; i < trace.event_count; i++) {
        cr_assert_geq(slack.slack_ps[i], 0);
        cr_assert_leq(slack.slack_ps[i], trace.step_ps - trace.events[i].end_ps);
    }
    trace_fixture_release(&f);
}
