/* Running out of memory at every single allocation: no crash, the right status, one message. */
#include <criterion/criterion.h>

#include "every_field.h"
#include "sink.h"

static const char *const GOOD =
    "gpus_per_node: 8\nlink: &l {bandwidth: 1 GB/s}\nmodel: {again: *l, x: [1, 2]}\n"
    "layers: [1, 2, 3]\nweights: 0.5\nforward: [1 ms]\norder: [a, b]\n";
static const char *const BAD =
    "gpus_per_nod: 8\nlink: &l {bandwidth: 1, bandwidth: 2}\n<<: *l\nlayers: [x, 0]\n"
    "forward: 1\norder: a\nschedule: x\n";

static ms_status everything(sink *s, const char *text) {
    ms_node *root = NULL;
    ms_node *over = NULL;
    every_field x = {0};
    ms_status status = sink_parse(s, text, &root);
    if (status == MS_OK) {
        status = ms_node_set(root, "model.deep.er=[1, {a: b}]", &s->arena, &s->diag);
    }
    if (status == MS_OK) {
        status = sink_parse(s, "model: {x: {y: z}}\nmore: [1]\n", &over);
    }
    if (status == MS_OK) {
        status = ms_node_overlay(root, over, &s->arena);
        if (status == MS_E_NOMEM) {
            ms_diag_error(&s->diag, "out of memory"); /* overlay has no sink of its own */
        }
    }
    if (status == MS_OK) {
        status = ms_config_read(root, EVERY_FIELDS, "", &x, &s->arena, &s->diag);
    }
    return status;
}

static void fail_everywhere(const char *text, ms_status at_last) {
    for (long allocations = 0;; allocations++) {
        sink s;
        sink_init(&s);
        ms_arena_fail_after(&s.arena, allocations);
        ms_status status = everything(&s, text);
        const char *said = sink_text(&s);
        if (status != MS_E_NOMEM) {
            cr_assert_eq(status, at_last, "after %ld: %s", allocations, said);
            cr_assert_gt(allocations, 20);
            cr_assert_null(strstr(said, "out of memory"));
            sink_release(&s);
            return;
        }
        const char *message = strstr(said, "meshsim: error: out of memory\n");
        cr_assert_not_null(message, "after %ld: %s", allocations, said);
        cr_assert_null(strstr(message + 1, "meshsim: error: out of memory\n"), "said twice");
        cr_assert_lt(allocations, 10000);
        sink_release(&s);
    }
}

Test(memory, good_text) {
    /* 'more' is no key of the table, so the end is bad input once memory suffices */
    fail_everywhere(GOOD, MS_E_INPUT);
}

Test(memory, bad_text) {
    fail_everywhere(BAD, MS_E_INPUT);
}
