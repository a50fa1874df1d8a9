#include <criterion/criterion.h>
#include <string.h>

#include "base/event.h"

/* The numbers stand in trace files: these may never change. */
Test(event, numbers_and_names_of_trace_files) {
    static const char *const AXES[] = {"none", "tp", "cp", "ep", "pp", "dp", "other"};
    static const char *const COLLECTIVES[] = {
        "none", "p2p", "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"};
    static const char *const OPERATIONS[] = {
        "forward", "input_gradient", "weight_gradient", "backward",   "recompute",  "optimizer",
        "p2p",     "all_reduce",     "reduce_scatter",  "all_gather", "all_to_all", "broadcast"};
    static const char *const PASSES[] = {"F", "I", "W", "B"};
    for (int i = 0; i < 7; i++) {
        cr_assert_str_eq(ms_axis_name((ms_axis)i), AXES[i]);
        cr_assert_str_eq(ms_coll_kind_name((ms_coll_kind)i), COLLECTIVES[i]);
    }
    for (int i = 0; i < 12; i++) {
        cr_assert_str_eq(ms_op_kind_name((ms_op_kind)i), OPERATIONS[i]);
    }
    for (int i = 0; i < 4; i++) {
        cr_assert_str_eq(ms_pass_name((ms_pass)i), PASSES[i]);
    }
}

Test(event, numbers_out_of_range_have_a_name_too) {
    static const int NUMBERS[] = {-1, 100, -2147483647};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        cr_assert_str_eq(ms_axis_name((ms_axis)NUMBERS[i]), "unknown");
        cr_assert_str_eq(ms_coll_kind_name((ms_coll_kind)NUMBERS[i]), "unknown");
        cr_assert_str_eq(ms_op_kind_name((ms_op_kind)NUMBERS[i]), "unknown");
        cr_assert_str_eq(ms_pass_name((ms_pass)NUMBERS[i]), "?");
    }
}

Test(event, axis_names_read_back) {
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
        cr_assert_eq(ms_axis_from_name(ms_axis_name((ms_axis)axis)), (ms_axis)axis);
    }
    cr_assert_eq(ms_axis_from_name("mine"), MS_AXIS_OTHER);
    cr_assert_eq(ms_axis_from_name("none"), MS_AXIS_OTHER);
    cr_assert_eq(ms_axis_from_name(""), MS_AXIS_OTHER);
}

Test(event, a_collective_is_carried_out_by_its_namesake) {
    for (int kind = MS_COLL_P2P; kind < MS_COLL_COUNT; kind++) {
        cr_assert_str_eq(ms_op_kind_name(ms_op_kind_of_coll((ms_coll_kind)kind)),
                         ms_coll_kind_name((ms_coll_kind)kind));
    }
}

Test(event, passes_are_computed_by_their_namesakes) {
    static const ms_op_kind KINDS[] = {MS_OP_FORWARD, MS_OP_INPUT_GRAD, MS_OP_WEIGHT_GRAD,
                                       MS_OP_BACKWARD};
    static const ms_pass PASSES[] = {MS_PASS_F, MS_PASS_I, MS_PASS_W, MS_PASS_B};
    for (int i = 0; i < MS_PASS_COUNT; i++) {
        cr_assert_eq(ms_op_kind_of_pass(PASSES[i]), KINDS[i]);
    }
}
