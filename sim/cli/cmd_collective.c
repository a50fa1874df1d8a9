/* meshsim collective: nccl-tests on a cluster that need not exist. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "meshsim/advice.h"
#include "meshsim/collective.h"
#include "meshsim/engine.h"
#include "meshsim/lower.h"
#include "meshsim/units.h"

enum { ROWS_MAX = 64 };

static const ms_option OPTIONS[] = {
    {.name = "platform",
     .argument = "P.yaml",
     .arguments = 1,
     .help = "platform file, or the name of one; required"},
    {.name = "set",
     .argument = "KEY=VALUE",
     .arguments = 1,
     .is_repeatable = true,
     .help = "override a key of the platform, such as platform.nodes=128"},
    {.name = "ranks",
     .letter = 'n',
     .argument = "RANKS",
     .arguments = 1,
     .fallback = "all GPUs",
     .help = "ranks 0..RANKS-1 on the first GPUs"},
    {.name = "begin",
     .letter = 'b',
     .argument = "SIZE",
     .arguments = 1,
     .fallback = "1 MiB",
     .help = "smallest message"},
    {.name = "end",
     .letter = 'e',
     .argument = "SIZE",
     .arguments = 1,
     .fallback = "16 GiB",
     .help = "largest message"},
    {.name = "factor",
     .letter = 'f',
     .argument = "F",
     .arguments = 1,
     .fallback = "2",
     .help = "each message is F times the one before"},
    {.name = "algorithm",
     .argument = "A",
     .arguments = 1,
     .fallback = "auto",
     .help = "auto (so far a ring for every size; direct for p2p and all_to_all), ring, tree "
             "(all_reduce) or direct"},
    {.name = "fidelity",
     .argument = "L",
     .arguments = 1,
     .fallback = "flow",
     .help = "analytic (no contention) or flow (transfers share links)"},
    MS_OPTION_JSON,
    {0},
};

/* What the command line asks for. */
typedef struct study {
    ms_coll_kind kind;
    ms_fidelity fidelity;
    int ranks;
    double sizes[ROWS_MAX];
    double times_s[ROWS_MAX];
    int rows;
    ms_coll_algorithm algorithm; /* asked for */
    ms_dag dag;
    ms_timeline timeline;
    double wall_s;
} study;

static ms_status read_kind(const ms_invocation *call, study *s) {
    static const ms_coll_kind BUILT[] = {
        MS_COLL_P2P,        MS_COLL_ALL_REDUCE, MS_COLL_REDUCE_SCATTER,
        MS_COLL_ALL_GATHER, MS_COLL_ALL_TO_ALL, MS_COLL_RING_SHIFT};
    const char *name = call->positionals[0];
    const char *names[sizeof BUILT / sizeof BUILT[0]];
    for (size_t i = 0; i < sizeof BUILT / sizeof BUILT[0]; i++) {
        names[i] = ms_coll_kind_name(BUILT[i]);
        if (strcmp(name, names[i]) == 0) {
            s->kind = BUILT[i];
            return MS_OK;
        }
    }
    const char *nearest = ms_nearest_word(name, names, sizeof BUILT / sizeof BUILT[0]);
    ms_diag_error(call->diag,
                  "unknown collective '%s'%s%s%s; expected p2p, all_reduce, "
                  "reduce_scatter, all_gather, all_to_all or ring_shift",
                  name, nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                  nearest == NULL ? "" : "'?");
    return MS_E_USAGE;
}

static ms_status read_choice(const ms_invocation *call, study *s) {
    const char *algorithm = ms_cli_value(call, "algorithm", "auto");
    if (ms_coll_algorithm_read(s->kind, algorithm, &s->algorithm) != MS_OK) {
        char words[128];
        ms_diag_error(call->diag, "algorithm '%s' is not built for %s; expected %s", algorithm,
                      ms_coll_kind_name(s->kind),
                      ms_coll_algorithm_words(s->kind, words, sizeof words));
        return MS_E_USAGE;
    }
    const char *fidelity = ms_cli_value(call, "fidelity", "flow");
    s->fidelity = MS_FIDELITY_FLOW;
    if (strcmp(fidelity, "analytic") == 0) {
        s->fidelity = MS_FIDELITY_ANALYTIC;
    } else if (strcmp(fidelity, "flow") != 0) {
        ms_diag_error(call->diag, "unknown fidelity '%s'; expected analytic or flow", fidelity);
        return MS_E_USAGE;
    }
    return MS_OK;
}

static ms_status read_size(const ms_invocation *call, const char *name, const char *fallback,
                           double *size_out) {
    const char *reason = "";
    const char *given = ms_cli_value(call, name, fallback);
    if (ms_unit_parse(given, MS_DIM_BYTES, size_out, &reason) != MS_OK) {
        ms_diag_error(call->diag, "--%s '%s': %s", name, given, reason);
        return MS_E_USAGE;
    }
    return MS_OK;
}

static ms_status read_sizes(const ms_invocation *call, study *s) {
    double begin_B = 0.0;
    double end_B = 0.0;
    double factor = 2.0;
    ms_status status = read_size(call, "begin", "1 MiB", &begin_B);
    status = status == MS_OK ? read_size(call, "end", "16 GiB", &end_B) : status;
    status = status == MS_OK ? ms_cli_number(call, "factor", 2.0, &factor) : status;
    if (status != MS_OK) {
        return status;
    }
    if (!(factor > 1.0) || begin_B < 1.0 || end_B < begin_B) {
        ms_diag_error(call->diag, "expected 1 B <= begin <= end and a factor above 1");
        return MS_E_USAGE;
    }
    for (double size_B = begin_B; size_B <= end_B; size_B *= factor) {
        if (s->rows == ROWS_MAX) {
            ms_diag_error(call->diag, "more than %d sizes; use a larger --factor", (int)ROWS_MAX);
            return MS_E_USAGE;
        }
        s->sizes[s->rows++] = floor(size_B);
    }
    return MS_OK;
}

static ms_status read_ranks(const ms_invocation *call, const ms_platform *platform, study *s) {
    long ranks = 0;
    long gpus = ms_platform_gpus(platform);
    bool is_p2p = s->kind == MS_COLL_P2P;
    ms_status status = ms_cli_int(call, "ranks", is_p2p ? 2 : gpus, 2, gpus, &ranks);
    if (status == MS_OK && is_p2p && ranks != 2) {
        ms_diag_error(call->diag, "p2p takes 2 ranks, got %ld", ranks);
        return MS_E_USAGE;
    }
    s->ranks = (int)ranks;
    return status;
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static ms_status simulate(const ms_invocation *call, const ms_platform *platform, study *s) {
    ms_collective_row row = {.kind = s->kind,
                             .algorithm = s->algorithm,
                             .members = s->ranks,
                             .sizes_B = s->sizes,
                             .count = s->rows};
    double start_s = now_s();
    ms_status status = ms_lower_collectives(platform, &row, call->diag, &s->dag);
    if (status == MS_OK) {
        status = ms_engine_run(&s->dag, s->fidelity, call->arena, call->diag, &s->timeline);
    }
    for (int i = 0; status == MS_OK && i < s->rows; i++) {
        s->times_s[i] = s->timeline.end_s[i] - s->timeline.start_s[i];
    }
    s->wall_s = now_s() - start_s;
    return status;
}

/* Bandwidth that a time means; nothing takes no time only where links are unlimited. */
static double bandwidth_Bps(const study *s, int row, bool is_bus) {
    double size_B = s->sizes[row];
    double time_s = s->times_s[row];
    if (!(time_s > 0.0)) {
        return INFINITY;
    }
    return is_bus ? ms_coll_busbw_Bps(s->kind, s->ranks, size_B, time_s) : size_B / time_s;
}

/* The algorithm that a row was simulated with. */
static ms_coll_algorithm used(const study *s, int row) {
    return (ms_coll_algorithm)s->dag.works[s->dag.ops[row].work].algorithm;
}

static ms_value *make_json(const ms_invocation *call, const study *s) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value *rows = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    for (int i = 0; i < s->rows; i++) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_double(row, "size_B", s->sizes[i]);
        ms_value_add_double(row, "time_s", s->times_s[i]);
        ms_value_add_double(row, "algbw_Bps", bandwidth_Bps(s, i, false));
        ms_value_add_double(row, "busbw_Bps", bandwidth_Bps(s, i, true));
        ms_value_add_string(row, "algorithm", ms_coll_algorithm_name(used(s, i)));
        ms_value_add_string(row, "protocol", "simple");
    }
    ms_value *engine = ms_value_add(root, "engine", MS_VALUE_OBJECT);
    ms_value_add_int(engine, "ops", s->dag.op_count);
    ms_value_add_int(engine, "flows", s->timeline.flows);
    ms_value_add_int(engine, "simulated_ranks", s->dag.rank_count);
    ms_value_add_double(engine, "wall_s", s->wall_s);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    /* Linux counts the peak resident set in KiB */
    ms_value_add_double(engine, "peak_rss_B", 1024.0 * (double)usage.ru_maxrss);
    return root;
}

/* The algorithm of all rows; MS_ALGORITHM_AUTO where they differ. */
static ms_coll_algorithm common_algorithm(const study *s) {
    ms_coll_algorithm common = used(s, 0);
    for (int i = 1; i < s->rows; i++) {
        common = used(s, i) == common ? common : MS_ALGORITHM_AUTO;
    }
    return common;
}

static void print_table(const ms_platform *platform, const study *s, ms_buffer *page) {
    ms_buffer_printf(page, "# %s on %d GPUs of %s, %s, fidelity %s\n", ms_coll_kind_name(s->kind),
                     s->ranks, platform->name, ms_coll_algorithm_name(common_algorithm(s)),
                     ms_fidelity_name(s->fidelity));
    ms_buffer_printf(page, "#%15s %16s %14s %14s\n", "size (B)", "time (us)", "algbw (GB/s)",
                     "busbw (GB/s)");
    for (int i = 0; i < s->rows; i++) {
        ms_buffer_printf(page, "%16.0f %16.2f %14.2f %14.2f\n", s->sizes[i], 1e6 * s->times_s[i],
                         1e-9 * bandwidth_Bps(s, i, false), 1e-9 * bandwidth_Bps(s, i, true));
    }
}

/* Latency of a row's collective: what no bandwidth would take away. */
static double latency_s(const study *s, int row) {
    return ms_dag_work_latency_s(&s->dag, &s->dag.works[s->dag.ops[row].work]);
}

/* Small messages among many: the ring's steps take the time, which another algorithm would not. */
static void warn_of_latency(const ms_invocation *call, const study *s) {
    int last = -1;
    for (int i = 0; i < s->rows; i++) {
        bool is_ring = used(s, i) == MS_ALGORITHM_RING;
        last = is_ring && latency_s(s, i) > MS_LATENCY_DOMINATES * s->times_s[i] ? i : last;
    }
    if (s->ranks <= 2 || last < 0) {
        return;
    }
    char small[32];
    char large[32];
    char time[32];
    ms_diag_warning(call->diag,
                    "latency is most of the ring's time up to %s (%.0f %% of %s for %s among "
                    "%d); " MS_AUTO_IS_RING,
                    ms_unit_format(s->sizes[last], MS_DIM_BYTES, large, sizeof large),
                    100.0 * latency_s(s, 0) / s->times_s[0],
                    ms_unit_format(s->times_s[0], MS_DIM_TIME, time, sizeof time),
                    ms_unit_format(s->sizes[0], MS_DIM_BYTES, small, sizeof small), s->ranks);
}

static ms_status run_study(const ms_invocation *call, study *s) {
    ms_platform platform;
    const char *name = ms_cli_value(call, "platform", NULL);
    if (name == NULL) {
        ms_diag_error(call->diag, "expected --platform P.yaml");
        return MS_E_USAGE;
    }
    ms_status status = ms_cli_load_platform(call, name, &platform);
    status = status == MS_OK ? read_ranks(call, &platform, s) : status;
    status = status == MS_OK ? simulate(call, &platform, s) : status;
    if (status != MS_OK) {
        return status;
    }
    if (ms_cli_has(call, "json")) {
        status = ms_cli_print_json(call, make_json(call, s));
    } else {
        ms_buffer page;
        ms_buffer_init(&page);
        print_table(&platform, s, &page);
        status = ms_cli_print_page(call, &page);
    }
    if (status == MS_OK) {
        warn_of_latency(call, s);
    }
    return status;
}

static ms_status run(const ms_invocation *call) {
    study s = {0};
    ms_dag_init(&s.dag);
    ms_status status = read_kind(call, &s);
    status = status == MS_OK ? read_choice(call, &s) : status;
    status = status == MS_OK ? read_sizes(call, &s) : status;
    status = status == MS_OK ? run_study(call, &s) : status;
    ms_dag_release(&s.dag);
    return status;
}

const ms_command ms_cmd_collective = {
    .name = "collective",
    .summary = "time a collective on a platform, as nccl-tests prints it",
    .positional_help = "KIND",
    .positionals_min = 1,
    .positionals_max = 1,
    .options = OPTIONS,
    .description =
        "KIND is p2p, all_reduce, reduce_scatter, all_gather, all_to_all or ring_shift (every rank "
        "sends its buffer to the next one). Runs it on an otherwise "
        "idle platform for a row of sizes and prints time, algorithm bandwidth and bus "
        "bandwidth as nccl-tests defines them. With auto, all_reduce, reduce_scatter, all_gather "
        "and ring_shift are a ring at every size; NCCL takes trees and faster protocols for small "
        "messages, so a warning says where the latency of the ring's steps is most of its time. "
        "--algorithm tree lays all_reduce out as NCCL's double binary tree of nodes with a chain "
        "inside each.",
    .example = "meshsim collective all_reduce --platform platforms/flat.yaml -n 64 -e 1GiB",
    .run = run,
};
