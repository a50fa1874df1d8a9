/* Measured collectives: nccl-tests points among the facts of hardware. */
#include <math.h>
#include <string.h>

#include "meshsim/collective.h"
#include "study/cases_file.h"
#include "study/cases_rules.h"

/* Size at which the bandwidth of large messages is compared where the source gives none. */
static const double PLATEAU_B = 16.0 * 1024 * 1024 * 1024;
static const double US_IN_S = 1e-6;

typedef struct point_text {
    double size_B, time_us, busbw_gb_s;
} point_text;

typedef struct table_text {
    const char *system, *kind, *source;
    int ranks, nodes;
    const ms_node *points, *unread;
} table_text;

static const ms_field POINT_FIELDS[] = {
    {.key = "bytes",
     .type = MS_FIELD_NUMBER,
     .offset = offsetof(point_text, size_B),
     .maximum = 1e15,
     .help = "size as nccl-tests counts it; null: the plateau of large messages"},
    {.key = "time_us",
     .type = MS_FIELD_NUMBER,
     .offset = offsetof(point_text, time_us),
     .maximum = 1e12,
     .help = "time, in microseconds"},
    {.key = "busbw_gb_s",
     .type = MS_FIELD_NUMBER,
     .offset = offsetof(point_text, busbw_gb_s),
     .maximum = 1e9,
     .help = "bus bandwidth, in GB/s"},
    {0},
};

static const ms_field TABLE_FIELDS[] = {
    {.key = "system",
     .type = MS_FIELD_STRING,
     .offset = offsetof(table_text, system),
     .is_required = true,
     .help = "the cluster in the source's words"},
    {.key = "op",
     .type = MS_FIELD_STRING,
     .offset = offsetof(table_text, kind),
     .is_required = true,
     .help = "all_reduce, all_gather, reduce_scatter or all_to_all"},
    {.key = "ranks",
     .type = MS_FIELD_INT,
     .offset = offsetof(table_text, ranks),
     .is_required = true,
     .minimum = 2,
     .maximum = 1 << 24,
     .help = "GPUs that take part"},
    {.key = "nodes",
     .type = MS_FIELD_INT,
     .offset = offsetof(table_text, nodes),
     .is_required = true,
     .minimum = 1,
     .maximum = 1 << 24,
     .help = "nodes that they are on"},
    {.key = "points",
     .type = MS_FIELD_NODE,
     .offset = offsetof(table_text, points),
     .is_required = true,
     .help = "sizes with their time or bus bandwidth"},
    {.key = "source",
     .type = MS_FIELD_STRING,
     .offset = offsetof(table_text, source),
     .help = "where it was published"},
    {.key = "trust", .type = MS_FIELD_NODE, .offset = offsetof(table_text, unread)},
    {.key = "note", .type = MS_FIELD_NODE, .offset = offsetof(table_text, unread)},
    {0},
};

/* Of a file of hardware facts only the points are of use here; the other facts are known by name.
 */
typedef struct facts_text {
    const ms_node *points, *unread;
} facts_text;

#define FACT(key_)                                                                                 \
    { .key = (key_), .type = MS_FIELD_NODE, .offset = offsetof(facts_text, unread) }

static const ms_field FACTS_FIELDS[] = {
    {.key = "nccl_tests",
     .type = MS_FIELD_NODE,
     .offset = offsetof(facts_text, points),
     .is_required = true,
     .help = "measured collectives"},
    FACT("gpus"),
    FACT("nccl_tuning"),
    FACT("busbw_definition"),
    FACT("a100_all_reduce_table"),
    FACT("deepep"),
    FACT("gemm"),
    FACT("calculon_a100"),
    FACT("simumax_b200"),
    {0},
};

/* How sources timed their points, by words of the source and of the system; others by nccl-tests
 * with a process for each GPU. Source: S. Bekman's book runs `all_reduce_perf -g 8` on its A100;
 * its own script, of that commit, times one call between two events, after a barrier. */
static const struct {
    const char *source, *system;
    ms_coll_timing timing;
} TIMINGS[] = {{"stas00/ml-engineering 744d01e1", "A100", MS_TIMING_ONE_THREAD},
               {"stas00/ml-engineering 744d01e1", NULL, MS_TIMING_LONE_CALL}};

static ms_coll_timing timing_of(const table_text *table) {
    for (size_t i = 0; i < sizeof TIMINGS / sizeof TIMINGS[0]; i++) {
        bool is_system =
            TIMINGS[i].system == NULL || ms_case_says(table->system, TIMINGS[i].system);
        if (ms_case_says(table->source, TIMINGS[i].source) && is_system) {
            return TIMINGS[i].timing;
        }
    }
    return MS_TIMING_QUEUED;
}

ms_status ms_cases_add_collective(const ms_cases_reading *reading, ms_case_collective point,
                                  double time_s, double busbw_Bps) {
    if (!(time_s > 0) && !(busbw_Bps > 0)) {
        return MS_E_RANGE;
    }
    /* busbw = size / time * factor, so a bandwidth stands for a time */
    point.measured_s =
        time_s > 0 ? time_s
                   : ms_coll_busbw_Bps(point.kind, point.ranks, point.size_B, 1.0) / busbw_Bps;
    ms_vector_add(&reading->out->collectives, &point, 1);
    return MS_OK;
}

ms_coll_kind ms_cases_coll_kind(const char *name) {
    static const ms_coll_kind KINDS[] = {MS_COLL_ALL_REDUCE, MS_COLL_ALL_GATHER,
                                         MS_COLL_REDUCE_SCATTER, MS_COLL_ALL_TO_ALL};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(ms_coll_kind_name(KINDS[i]), name) == 0) {
            return KINDS[i];
        }
    }
    return MS_COLL_NONE;
}

static ms_status read_kind(const ms_cases_reading *reading, const ms_node *table, const char *name,
                           ms_coll_kind *kind_out) {
    *kind_out = ms_cases_coll_kind(name);
    if (*kind_out != MS_COLL_NONE) {
        return MS_OK;
    }
    return ms_config_fault(reading->diag, ms_node_get(table, "op"), "nccl_tests.op",
                           "unknown collective '%s'; expected all_reduce, all_gather, "
                           "reduce_scatter or all_to_all",
                           name);
}

static ms_status read_point(const ms_cases_reading *reading, ms_node *node,
                            ms_case_collective point) {
    point_text text = {.size_B = 0};
    static const char PATH[] = "nccl_tests.points";
    for (ms_node **place = &node->first; *place != NULL;) {
        if (ms_cases_is_null(*place)) {
            *place = (*place)->next;
        } else {
            place = &(*place)->next;
        }
    }
    ms_status status =
        ms_config_read(node, POINT_FIELDS, PATH, &text, reading->arena, reading->diag);
    if (status != MS_OK) {
        return status;
    }
    point.is_plateau = !(text.size_B > 0);
    point.size_B = point.is_plateau ? PLATEAU_B : text.size_B;
    status = ms_cases_add_collective(reading, point, text.time_us * US_IN_S,
                                     text.busbw_gb_s * MS_GB_S_IN_BPS);
    return status == MS_OK ? MS_OK
                           : ms_config_fault(reading->diag, node, PATH,
                                             "expected time_us or busbw_gb_s, got neither");
}

static ms_status read_table(const ms_cases_reading *reading, const ms_node *node) {
    table_text text = {.points = NULL};
    ms_case_collective point = {.size_B = 0};
    ms_status status =
        ms_config_read(node, TABLE_FIELDS, "nccl_tests", &text, reading->arena, reading->diag);
    if (status == MS_OK) {
        status = read_kind(reading, node, text.kind, &point.kind);
    }
    if (status == MS_OK && text.points->type != MS_NODE_SEQUENCE) {
        status = ms_config_fault(reading->diag, text.points, "nccl_tests.points",
                                 "expected a list of points");
    }
    if (status != MS_OK) {
        return status;
    }
    point.system = text.system;
    point.source = text.source;
    point.timing = timing_of(&text);
    point.ranks = text.ranks;
    point.nodes = text.nodes;
    for (ms_node *child = text.points->first; child != NULL; child = child->next) {
        ms_status one = read_point(reading, child, point);
        status = status == MS_OK ? one : status;
    }
    return status;
}

ms_status ms_cases_read_points(const ms_cases_reading *reading, const ms_node *root) {
    facts_text facts = {.points = NULL};
    ms_status status =
        ms_config_read(root, FACTS_FIELDS, "", &facts, reading->arena, reading->diag);
    if (status == MS_OK && facts.points->type != MS_NODE_SEQUENCE) {
        status = ms_config_fault(reading->diag, facts.points, "nccl_tests",
                                 "expected a list of measured collectives");
    }
    if (status != MS_OK) {
        return status;
    }
    for (const ms_node *child = facts.points->first; child != NULL; child = child->next) {
        ms_status one = read_table(reading, child);
        status = status == MS_OK ? one : status;
    }
    return reading->out->collectives.failed ? ms_diag_no_memory(reading->diag) : status;
}
