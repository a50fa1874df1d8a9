#!/usr/bin/python3
"""Turn a JSON file of schedule reference cases into the C table tests/support/schedule_cases.h.

usage: schedule_cases.py CASES.json > schedule_cases.h
Figures are carried over as they stand; scalar costs are spread over the stages.
"""
import json
import sys

HEAD = """\
/* Reference values of pipeline schedules, computed in exact rational arithmetic and checked against
 * the original implementations (Megatron-LM, DeepSpeed, sail-sg zero-bubble, DualPipe, Chimera,
 * PyTorch). Written by schedule_cases.py. */
#ifndef MS_SCHEDULE_CASES_H
#define MS_SCHEDULE_CASES_H

#include <stdbool.h>
#include <stdint.h>

enum { MS_CASE_RANKS = 16, MS_CASE_STAGES = 32 };

typedef struct ms_schedule_case {
    int id;
    const char *schedule;
    int p, v, m, group, splits;
    double pair_scale; /* 0: not given */
    bool is_serial;
    const char *tf_text, *tb_text, *tw_text, *p2p_text; /* as on the command line */
    double tf[MS_CASE_STAGES], tb[MS_CASE_STAGES], tw[MS_CASE_STAGES], p2p[MS_CASE_STAGES];
    double makespan, bubble_fraction, max_span, max_span_bubble;
    double busy[MS_CASE_RANKS], exposed_p2p[MS_CASE_RANKS];
    int peak_inflight[MS_CASE_RANKS], peak_inflight_input[MS_CASE_RANKS];
    int messages[MS_CASE_RANKS], messages_total, parameter_replicas;
    double idle[MS_CASE_RANKS][3]; /* warm-up, steady, cool-down */
    uint32_t crc;
    bool has_formula; /* a closed form gives the makespan */
    bool has_span_formula;
    double formula_span_bubble;
} ms_schedule_case;

/* clang-format off */
static const ms_schedule_case MS_SCHEDULE_CASES[] = {"""
TAIL = """\
};
/* clang-format on */

enum { MS_SCHEDULE_CASE_COUNT = sizeof MS_SCHEDULE_CASES / sizeof MS_SCHEDULE_CASES[0] };

#endif"""


def braces(values):
    return "{" + ", ".join(repr(v) for v in values) + "}"


def cost(name, value, count):
    """The text for the command line and the list for the library."""
    values = value if isinstance(value, list) else [value] * count
    text = ",".join(repr(v) for v in value) if isinstance(value, list) else repr(value)
    assert len(values) == count, name
    return f'.{name}_text = "{text}", .{name} = {braces(values or [0])}'


def row(case):
    stages = case["P"] * case["V"]
    idle = [[i["warmup"], i["steady"], i["cooldown"]] for i in case["idle"]]
    return f"""\
    {{.id = {case["id"]}, .schedule = "{case["schedule"]}", .p = {case["P"]}, .v = {case["V"]}, \
.m = {case["M"]}, .group = {case.get("group", 0)}, .splits = {case.get("splits", 0)}, \
.pair_scale = {case.get("fbscale", 0)!r}, .is_serial = {"true" if case.get("overlap") == "serial" else "false"},
     {cost("tf", case["tf"], stages)}, {cost("tb", case["tb"], stages)},
     {cost("tw", case["tw"], stages)}, {cost("p2p", case["p2p"], stages - 1)},
     .makespan = {case["makespan"]!r}, .bubble_fraction = {case["bubble_fraction"]!r}, \
.max_span = {case["max_span"]!r}, .max_span_bubble = {case["max_span_bubble"]!r},
     .busy = {braces(case["busy"])}, .exposed_p2p = {braces(case["exposed_p2p"])},
     .peak_inflight = {braces(case["peak_inflight"])}, \
.peak_inflight_input = {braces(case["peak_inflight_I"])}, \
.messages = {braces(case["msgs_sent"])}, .messages_total = {case["msgs_total"]}, \
.parameter_replicas = {case["param_replicas"]},
     .idle = {{{", ".join(braces(i) for i in idle)}}}, .crc = 0x{case["order_crc32"]}U, .has_formula = {"true" if case["formula_makespan"] else "false"}, \
.has_span_formula = {"false" if case["formula_span_bubble"] is None else "true"}, \
.formula_span_bubble = {case["formula_span_bubble"] or 0}}},"""


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    print(HEAD)
    for case in cases:
        print(row(case))
    print(TAIL)


if __name__ == "__main__":
    main()
