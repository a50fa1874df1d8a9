#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/engine.h"
#include "meshsim/progress.h"
#include "meshsim/summary.h"
#include "meshsim/target.h"
#include "meshsim/trace.h"
#include "trace/events.h"
#include "trace/h5.h"
#include "trace/summary.h"

enum { RANK_NAME_B = 32 };

/* ---- /streams ---- */

static void fill_stream_rank(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_dag *dag = column->source;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = dag->ranks[dag->streams[first + i].rank].rank;
    }
}

static void fill_stream_peer(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_dag *dag = column->source;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        int32_t peer = dag->streams[first + i].peer;
        cells[i] = peer < 0 ? -1 : dag->ranks[peer].rank;
    }
}

static void fill_stream_axis(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_dag *dag = column->source;
    int8_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = (int8_t)dag->streams[first + i].axis;
    }
}

static void write_streams(ms_h5 *h5, const ms_dag *dag) {
    const ms_column columns[] = {
        {"rank", MS_H5_I32, "1", "rank of the job", .source = dag, .fill = fill_stream_rank},
        {"peer", MS_H5_I32, "1", "point-to-point: the receiving rank, else -1", .source = dag,
         .fill = fill_stream_peer},
        {"axis", MS_H5_AXIS, "1", "axis it communicates along, none for the compute stream",
         .source = dag, .fill = fill_stream_axis},
    };
    const ms_h5_table table = {
        "streams", "stream", "one row per stream of a simulated rank", (size_t)dag->stream_count,
        columns,   3};
    ms_h5_write_table(h5, &table);
}

/* ---- /ranks, /axes ---- */

#define RANK_CELL(member)                                                                          \
    .source = dag->ranks, .stride = sizeof(ms_dag_rank), .offset = offsetof(ms_dag_rank, member)
#define MEMORY_CELL(member)                                                                        \
    .source = result->memory, .stride = sizeof(ms_rank_memory),                                    \
    .offset = offsetof(ms_rank_memory, member)

static size_t add_time_columns(const ms_result *result, char (*names)[RANK_NAME_B],
                               ms_column *columns) {
    for (size_t i = 0; i < MS_TIME_COUNT; i++) {
        snprintf(names[i], RANK_NAME_B, "%s_s", ms_time_category_name((ms_time_category)i));
        columns[i] = (ms_column){names[i],
                                 MS_H5_F64,
                                 "s",
                                 "share of a step's time; the rank's categories sum to it",
                                 .source = result->metrics.ranks,
                                 .stride = sizeof(ms_rank_metrics),
                                 .offset = offsetof(ms_rank_metrics, time_s) + i * sizeof(double)};
    }
    return MS_TIME_COUNT;
}

static size_t add_memory_columns(const ms_result *result, ms_column *columns) {
    const ms_column memory[] = {
        {"peak_B", MS_H5_F64, "B", "highest memory use", MEMORY_CELL(peak_B)},
        {"peak_time_s", MS_H5_F64, "s", "first instant at which it is reached",
         MEMORY_CELL(peak_time_s)},
        {"parameters_B", MS_H5_F64, "B", "parameters at the peak", MEMORY_CELL(parameter_B)},
        {"gradients_B", MS_H5_F64, "B", "gradients at the peak", MEMORY_CELL(gradient_B)},
        {"optimizer_B", MS_H5_F64, "B", "optimizer state at the peak", MEMORY_CELL(optimizer_B)},
        {"activations_B", MS_H5_F64, "B", "activations at the peak", MEMORY_CELL(activation_B)},
        {"buffers_B", MS_H5_F64, "B", "communication and working buffers at the peak",
         MEMORY_CELL(buffer_B)},
        {"other_B", MS_H5_F64, "B", "everything else at the peak", MEMORY_CELL(other_B)},
        {"inflight_peak", MS_H5_I32, "1", "stage-microbatches kept at once, at most",
         MEMORY_CELL(inflight_peak)},
    };
    memcpy(columns, memory, sizeof memory);
    return sizeof memory / sizeof memory[0];
}

static void fill_gpu(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_result *result = column->source;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = ms_mesh_device(&result->job->mesh, result->dag.ranks[first + i].rank);
    }
}

static void write_ranks(ms_h5 *h5, const ms_result *result) {
    const ms_dag *dag = &result->dag;
    char names[MS_TIME_COUNT][RANK_NAME_B];
    ms_column columns[MS_H5_COLUMNS_MAX] = {
        {"rank", MS_H5_I32, "1", "rank of the job that was simulated", RANK_CELL(rank)},
        {"multiplicity", MS_H5_I32, "1", "ranks it stands for, itself included",
         RANK_CELL(multiplicity)},
        {"pp", MS_H5_I32, "1", "pipeline coordinate", RANK_CELL(pp)},
        {"gpu", MS_H5_I32, "1", "GPU of the platform that the rank sits on", .source = result,
         .fill = fill_gpu},
    };
    size_t count = 4;
    if (result->metrics.ranks != NULL) {
        count += add_time_columns(result, names, columns + count);
    }
    if (result->memory != NULL) {
        count += add_memory_columns(result, columns + count);
    }
    const ms_h5_table table = {
        "ranks", "simulated_rank", "one row per simulated rank", (size_t)dag->rank_count, columns,
        count};
    ms_h5_write_table(h5, &table);
}

typedef struct axis_row {
    int32_t rank;
    uint8_t axis;
    ms_axis_use use;
} axis_row;

#define AXIS_CELL(member)                                                                          \
    .source = rows.data, .stride = sizeof(axis_row), .offset = offsetof(axis_row, member)

static void collect_axes(const ms_result *result, ms_vector *rows) {
    for (int32_t i = 0; result->metrics.ranks != NULL && i < result->dag.rank_count; i++) {
        for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
            const ms_axis_use *use = &result->metrics.ranks[i].axes[axis];
            if (use->bytes > 0 || use->busy_s > 0 || use->wait_s > 0) {
                const axis_row row = {result->dag.ranks[i].rank, (uint8_t)axis, *use};
                ms_vector_add(rows, &row, 1);
            }
        }
    }
}

static void write_axes(ms_h5 *h5, const ms_result *result) {
    ms_vector rows;
    ms_vector_init(&rows, sizeof(axis_row));
    collect_axes(result, &rows);
    if (rows.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    const ms_column columns[] = {
        {"rank", MS_H5_I32, "1", "rank of the job", AXIS_CELL(rank)},
        {"axis", MS_H5_AXIS, "1", "mesh axis", AXIS_CELL(axis)},
        {"bytes", MS_H5_F64, "B", "bytes the rank sends", AXIS_CELL(use.bytes)},
        {"busy_s", MS_H5_F64, "s", "time with its operations between last arrival and end",
         AXIS_CELL(use.busy_s)},
        {"exposed_s", MS_H5_F64, "s", "of it, while the compute stream idles because of this axis",
         AXIS_CELL(use.exposed_s)},
        {"overlapped_s", MS_H5_F64, "s", "of it, while the compute stream runs",
         AXIS_CELL(use.overlapped_s)},
        {"in_idle_s", MS_H5_F64, "s", "of it, during idle time charged to another cause",
         AXIS_CELL(use.in_idle_s)},
        {"wait_s", MS_H5_F64, "s", "own arrival to last arrival, summed over operations",
         AXIS_CELL(use.wait_s)},
    };
    const ms_h5_table table = {
        "axes",     "use",   "communication of a simulated rank along an axis",
        rows.count, columns, sizeof columns / sizeof columns[0]};
    ms_h5_write_table(h5, &table);
    ms_vector_release(&rows);
}

/* ---- /mesh, /steps ---- */

static void write_mesh(ms_h5 *h5, const ms_mesh *mesh) {
    const ms_column columns[] = {
        {"axis", MS_H5_TEXT, "1", "name of the axis", .source = mesh->names,
         .stride = sizeof(const char *)},
        {"size", MS_H5_I32, "1", "ranks along the axis", .source = mesh->sizes,
         .stride = sizeof(int)},
        {"stride", MS_H5_I32, "1", "rank distance of neighbours along the axis",
         .source = mesh->strides, .stride = sizeof(int)},
    };
    const ms_h5_table table = {"mesh",
                               "level",
                               "axes of the device mesh, outermost (slowest varying rank) first",
                               (size_t)mesh->axes,
                               columns,
                               3};
    ms_h5_write_table(h5, &table);
}

static void write_steps(ms_h5 *h5, const ms_result *result) {
    const ms_metrics *metrics = &result->metrics;
    ms_vector rows;
    ms_vector_init(&rows, 2 * sizeof(int64_t));
    for (int i = 0; i < metrics->step_count; i++) {
        const int64_t row[2] = {ms_to_ps(metrics->steps[i].start_s),
                                ms_to_ps(metrics->steps[i].end_s)};
        ms_vector_add(&rows, row, 1);
    }
    if (rows.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    const ms_column columns[] = {
        {"start_ps", MS_H5_I64, "ps", "first start on any rank", .source = rows.data,
         .stride = 2 * sizeof(int64_t)},
        {"end_ps", MS_H5_I64, "ps", "last end on any rank", .source = rows.data,
         .stride = 2 * sizeof(int64_t), .offset = sizeof(int64_t)},
    };
    const ms_h5_table table = {"steps",    "step",  "one row per optimizer step",
                               rows.count, columns, 2};
    ms_h5_write_table(h5, &table);
    ms_vector_release(&rows);
}

/* ---- /tiers, /links ---- */

#define TIER_CELL(member)                                                                          \
    .source = platform->tiers, .stride = sizeof(ms_tier), .offset = offsetof(ms_tier, member)

static void write_tiers(ms_h5 *h5, const ms_platform *platform) {
    const ms_column columns[] = {
        {"name", MS_H5_TEXT, "1", "name of the tier", TIER_CELL(name)},
        {"bandwidth_Bps", MS_H5_F64, "B/s", "nominal capacity of one link, per direction",
         TIER_CELL(bandwidth_Bps)},
        {"efficiency", MS_H5_F64, "1", "share of it that transfers achieve", TIER_CELL(efficiency)},
        {"latency_s", MS_H5_F64, "s", "latency of one link", TIER_CELL(latency_s)},
        {"links", MS_H5_I32, "1", "directed links of the tier", TIER_CELL(links)},
    };
    const ms_h5_table table = {
        "tiers", "tier", "tiers of the platform, innermost first", (size_t)platform->tier_count,
        columns, 5};
    ms_h5_write_table(h5, &table);
}

static void fill_link_name(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_result *result = column->source;
    char *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        char name[MS_H5_TEXT_B];
        int32_t link = result->dag.network.links[first + i].id;
        ms_h5_put_text(cells + i * MS_H5_TEXT_B,
                       ms_platform_link_name(&result->job->platform, link, name, sizeof name));
    }
}

#define LINK_CELL(member)                                                                          \
    .source = dag->network.links, .stride = sizeof(ms_dag_link),                                   \
    .offset = offsetof(ms_dag_link, member)

static void write_links(ms_h5 *h5, const ms_result *result) {
    const ms_dag *dag = &result->dag;
    const ms_timeline *timeline = &result->timeline;
    const ms_column columns[] = {
        {"link", MS_H5_I32, "1", "number of the link in the platform", LINK_CELL(id)},
        {"name", MS_H5_TEXT, "1", "where the link is", .source = result, .fill = fill_link_name},
        {"tier", MS_H5_I32, "1", "row of /tiers", LINK_CELL(tier)},
        {"capacity_Bps", MS_H5_F64, "B/s", "bandwidth that transfers can achieve",
         LINK_CELL(capacity_Bps)},
        {"bytes", MS_H5_F64, "B", "bytes carried in all steps", .source = timeline->link_bytes,
         .stride = sizeof(double)},
        {"busy_s", MS_H5_F64, "s", "time with at least one flow on it",
         .source = timeline->link_busy_s, .stride = sizeof(double)},
        {"peak_use", MS_H5_F64, "1", "largest share of the capacity in use at once",
         .source = timeline->link_peak, .stride = sizeof(double)},
    };
    const ms_h5_table table = {"links",
                               "used_link",
                               "directed links that some transfer of the simulated ranks crosses",
                               (size_t)dag->network.link_count,
                               columns,
                               sizeof columns / sizeof columns[0]};
    ms_h5_write_table(h5, &table);
}

/* ---- /memory, /critical_path ---- */

/* Where the cells of one column of /memory have come to: they are asked for from first to last. */
typedef struct memory_cursor {
    const ms_event_rows *rows;
    int32_t rank; /* simulated rank, and the point of it that comes next */
    int point;
} memory_cursor;

/* Summaries have no timelines, traces of listed ranks theirs. */
static bool has_timeline(const ms_event_rows *rows, int32_t rank) {
    return rows->result->memory != NULL && rows->detail->level != MS_TRACE_SUMMARY &&
           (rows->is_listed == NULL || rows->is_listed[rank]);
}

static const ms_memory_point *next_point(memory_cursor *cursor) {
    const ms_result *result = cursor->rows->result;
    for (; cursor->rank < result->dag.rank_count; cursor->rank++, cursor->point = 0) {
        if (has_timeline(cursor->rows, cursor->rank) &&
            cursor->point < result->memory[cursor->rank].point_count) {
            return &result->memory[cursor->rank].points[cursor->point++];
        }
    }
    return NULL;
}

static const ms_memory_point *point_after(const ms_column *column, size_t row) {
    memory_cursor *cursor = *(memory_cursor *const *)column->source;
    if (row == 0) {
        *cursor = (memory_cursor){.rows = cursor->rows};
    }
    return next_point(cursor);
}

static void fill_point_rank(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const memory_cursor *cursor = *(memory_cursor *const *)column->source;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        (void)point_after(column, first + i);
        cells[i] = cursor->rows->result->dag.ranks[cursor->rank].rank;
    }
}

static void fill_point_time(const ms_column *column, size_t first, size_t count, void *cells_out) {
    int64_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = ms_to_ps(point_after(column, first + i)->time_s);
    }
}

static void fill_point_bytes(const ms_column *column, size_t first, size_t count, void *cells_out) {
    double *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = point_after(column, first + i)->bytes;
    }
}

static void write_memory(ms_h5 *h5, const ms_event_rows *rows) {
    memory_cursor cursors[] = {{.rows = rows}, {.rows = rows}, {.rows = rows}};
    memory_cursor *const places[] = {&cursors[0], &cursors[1], &cursors[2]};
    size_t count = 0;
    for (int32_t i = 0; i < rows->result->dag.rank_count; i++) {
        count += has_timeline(rows, i) ? (size_t)rows->result->memory[i].point_count : 0;
    }
    const ms_column columns[] = {
        {"rank", MS_H5_I32, "1", "rank of the job", .source = &places[0], .fill = fill_point_rank},
        {"time_ps", MS_H5_I64, "ps", "instant of the change", .source = &places[1],
         .fill = fill_point_time},
        {"bytes", MS_H5_F64, "B", "memory in use from then on", .source = &places[2],
         .fill = fill_point_bytes},
    };
    const ms_h5_table table = {"memory", "point", "memory use of each simulated rank over the step",
                               count,    columns, 3};
    ms_h5_write_table(h5, &table);
}

static void write_critical_path(ms_h5 *h5, const ms_metrics *metrics) {
    const char *names[MS_TIME_COUNT];
    double time_s[MS_TIME_COUNT];
    size_t rows = 0;
    for (int i = 0; i < MS_TIME_COUNT; i++) {
        if (i < MS_TIME_BUBBLE_WARMUP || i > MS_TIME_BUBBLE_COOLDOWN) {
            const char *name = ms_time_category_name((ms_time_category)i);
            names[rows] = strncmp(name, "exposed_", 8) == 0 ? name + 8 : name;
            time_s[rows++] = metrics->critical_s[i];
        }
    }
    const ms_column columns[] = {
        {"category", MS_H5_TEXT, "1", "what the time went to", .source = names,
         .stride = sizeof names[0]},
        {"time_s", MS_H5_F64, "s", "time on the critical path; sums to the step time",
         .source = time_s, .stride = sizeof time_s[0]},
    };
    const ms_h5_table table = {
        "critical_path", "part", "the chain of causes from the end of the step to its start", rows,
        columns,         2};
    ms_h5_write_table(h5, &table);
}

/* ---- / and /input ---- */

/* Every key with the value that the run used, so that a later version whose defaults are others
 * shows what it changed. */
static void write_resolved(ms_h5 *h5, ms_h5_object *input, const ms_job *job) {
    ms_buffer text;
    ms_buffer_init(&text);
    if (ms_job_write_resolved(job, &text) != MS_OK) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_document(h5, input, "resolved", ms_buffer_text(&text));
    ms_buffer_release(&text);
}

static void write_head(ms_h5 *h5, const ms_result *result, const char *program_version) {
    const ms_job *job = result->job;
    ms_h5_object *root = &h5->root, input;
    char text[48];
    snprintf(text, sizeof text, "%d.%d.%d", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
    ms_h5_text(h5, root, "format", "meshsim-trace");
    ms_h5_integer(h5, root, "format_version", MS_TRACE_FORMAT_VERSION);
    ms_h5_text(h5, root, "program_version", program_version);
    ms_h5_text(h5, root, "simgrid_version", ms_engine_simgrid_version());
    ms_h5_text(h5, root, "hdf5_version", text);
    ms_h5_integer(h5, root, "seed", job->spec.model.moe.seed);
    ms_h5_name_type(h5, root, "operation_kind", MS_H5_KIND);
    ms_h5_name_type(h5, root, "mesh_axis", MS_H5_AXIS);
    ms_h5_begin(&input, true);
    ms_h5_document(h5, &input, "workload",
                   job->spec.source.text == NULL ? "" : job->spec.source.text);
    ms_h5_document(h5, &input, "platform",
                   job->spec.platform.text == NULL ? "" : job->spec.platform.text);
    if (job->spec.platform.sources_text != NULL && job->spec.platform.sources_text[0] != '\0') {
        ms_h5_document(h5, &input, "sources", job->spec.platform.sources_text);
    }
    if (job->schedule_text != NULL) {
        ms_h5_document(h5, &input, "schedule", job->schedule_text);
    }
    if (job->placement.text != NULL) {
        ms_h5_document(h5, &input, "placement", job->placement.text);
    }
    write_resolved(h5, &input, job);
    ms_h5_link(h5, root, "input", ms_h5_end(h5, &input));
}

static void write_summary(ms_h5 *h5, const ms_result *result, ms_arena *scratch) {
    ms_value *summary = NULL;
    if (ms_summary_build(result, scratch, &summary) != MS_OK) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_summary_write(h5, "summary", summary);
}

static void write_all(ms_h5 *h5, const ms_event_rows *rows, const char *program_version,
                      ms_arena *scratch) {
    const ms_result *result = rows->result;
    write_head(h5, result, program_version);
    ms_event_rows_write(h5, rows);
    write_streams(h5, &result->dag);
    write_ranks(h5, result);
    write_mesh(h5, &result->job->mesh);
    write_steps(h5, result);
    write_axes(h5, result);
    write_tiers(h5, &result->job->platform);
    write_links(h5, result);
    write_memory(h5, rows);
    write_critical_path(h5, &result->metrics);
    write_summary(h5, result, scratch);
    if (rows->detail->whatif != NULL) {
        ms_summary_write(h5, "whatif", rows->detail->whatif);
    }
}

static ms_status write_target(const char *path, const ms_event_rows *rows,
                              const char *program_version, ms_diag *diag) {
    ms_target target;
    ms_arena scratch;
    ms_h5 h5;
    ms_status status = ms_target_open(&target, path, MS_TARGET_FILE, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_arena_init(&scratch);
    ms_h5_create(&h5, target.file, &scratch);
    write_all(&h5, rows, program_version, &scratch);
    status = ms_h5_close(&h5) ? ms_target_commit(&target, diag)
                              : ms_target_fail(&target, h5.cause, diag);
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_trace_write_detail(const char *path, const ms_result *result,
                                const ms_trace_detail *detail, const char *program_version,
                                ms_diag *diag) {
    double end_s = ms_steady_date_s(&result->timeline.steady, result->timeline.makespan_s);
    if (!(end_s <= MS_TRACE_RUN_MAX_S)) {
        ms_diag_error(diag,
                      "cannot write '%s': %.3g s are too long for a trace, which counts "
                      "picoseconds up to %.3g s",
                      path, end_s, MS_TRACE_RUN_MAX_S);
        return MS_E_INPUT;
    }
    ms_arena scratch;
    ms_event_rows rows;
    ms_arena_init(&scratch);
    ms_progress_begin("writing the trace", 0);
    ms_status status = ms_event_rows_choose(result, detail, &scratch, diag, &rows);
    if (status == MS_OK) {
        status = write_target(path, &rows, program_version, diag);
    }
    ms_arena_release(&scratch);
    ms_progress_begin(NULL, 0);
    return status;
}

ms_status ms_trace_write(const char *path, const ms_result *result, const char *program_version,
                         ms_diag *diag) {
    const ms_trace_detail full = {.level = MS_TRACE_FULL};
    return ms_trace_write_detail(path, result, &full, program_version, diag);
}
