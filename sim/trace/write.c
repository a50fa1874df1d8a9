/* A trace of a run: its tables, texts and summary, written by a child process into a temporary file
 * that takes the trace's name when it is complete. */
#include <stdio.h>
#include <string.h>

#include "meshsim/engine.h"
#include "meshsim/progress.h"
#include "meshsim/summary.h"
#include "meshsim/target.h"
#include "meshsim/trace.h"
#include "trace/child.h"
#include "trace/events.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { RANK_NAME_B = 32, RANK_COLUMNS_MAX = 32 };

/* ---- /streams ---- */

typedef struct stream_row {
    int32_t rank;
    int32_t peer;
    int8_t axis;
} stream_row;

static void write_streams(ms_h5 *h5, const ms_dag *dag) {
    stream_row *rows = MS_NEW(h5->scratch, stream_row, dag->stream_count);
    for (int32_t i = 0; rows != NULL && i < dag->stream_count; i++) {
        const ms_dag_stream *stream = &dag->streams[i];
        rows[i] = (stream_row){
            .rank = dag->ranks[stream->rank].rank,
            .peer = stream->peer < 0 ? -1 : dag->ranks[stream->peer].rank,
            .axis = (int8_t)stream->axis,
        };
    }
    if (rows == NULL) {
        ms_h5_fail(h5, "out of memory");
    }
    const ms_column columns[] = {
        {"rank", MS_H5_I32, "1", "rank of the job", MS_RECORD(rows, stream_row, rank)},
        {"peer", MS_H5_I32, "1", "point-to-point: the receiving rank, else -1",
         MS_RECORD(rows, stream_row, peer)},
        {"axis", MS_H5_AXIS, "1", "axis it communicates along, none for the compute stream",
         MS_RECORD(rows, stream_row, axis)},
    };
    const ms_h5_table table = {"streams", "stream", "one row per stream of a simulated rank",
                               (size_t)dag->stream_count};
    ms_h5_write_table(h5, &table, columns, 3);
}

/* ---- /ranks, /axes ---- */

#define RANK_CELL(member)   MS_RECORD(dag->ranks, ms_dag_rank, member)
#define MEMORY_CELL(member) MS_RECORD(result->memory, ms_rank_memory, member)

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
    return COUNT_OF(memory);
}

static void fill_gpu(const void *source, size_t rows, void *cells_out) {
    const ms_result *result = source;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < rows; i++) {
        cells[i] = ms_mesh_device(&result->job->mesh, result->dag.ranks[i].rank);
    }
}

static void write_ranks(ms_h5 *h5, const ms_result *result) {
    const ms_dag *dag = &result->dag;
    char names[MS_TIME_COUNT][RANK_NAME_B];
    ms_column columns[RANK_COLUMNS_MAX] = {
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
    const ms_h5_table table = {"ranks", "simulated_rank", "one row per simulated rank",
                               (size_t)dag->rank_count};
    ms_h5_write_table(h5, &table, columns, count);
}

typedef struct axis_row {
    int32_t rank;
    uint8_t axis;
    ms_axis_use use;
} axis_row;

#define AXIS_CELL(member) MS_RECORD(rows.data, axis_row, member)

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
    const ms_h5_table table = {"axes", "use", "communication of a simulated rank along an axis",
                               rows.count};
    ms_h5_write_table(h5, &table, columns, COUNT_OF(columns));
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
    const ms_h5_table table = {"mesh", "level",
                               "axes of the device mesh, outermost (slowest varying rank) first",
                               (size_t)mesh->axes};
    ms_h5_write_table(h5, &table, columns, 3);
}

static void write_steps(ms_h5 *h5, const ms_metrics *metrics) {
    const ms_column columns[] = {
        {"start_ps", MS_H5_PS, "ps", "first start on any rank",
         MS_RECORD(metrics->steps, ms_step_times, start_s)},
        {"end_ps", MS_H5_PS, "ps", "last end on any rank",
         MS_RECORD(metrics->steps, ms_step_times, end_s)},
    };
    const ms_h5_table table = {"steps", "step", "one row per optimizer step",
                               (size_t)metrics->step_count};
    ms_h5_write_table(h5, &table, columns, 2);
}

/* ---- /tiers, /links ---- */

#define TIER_CELL(member) MS_RECORD(platform->tiers, ms_tier, member)

static void write_tiers(ms_h5 *h5, const ms_platform *platform) {
    const ms_column columns[] = {
        {"name", MS_H5_TEXT, "1", "name of the tier", TIER_CELL(name)},
        {"bandwidth_Bps", MS_H5_F64, "B/s", "nominal capacity of one link, per direction",
         TIER_CELL(bandwidth_Bps)},
        {"efficiency", MS_H5_F64, "1", "share of it that transfers achieve", TIER_CELL(efficiency)},
        {"latency_s", MS_H5_F64, "s", "latency of one link", TIER_CELL(latency_s)},
        {"links", MS_H5_I32, "1", "directed links of the tier", TIER_CELL(links)},
    };
    const ms_h5_table table = {"tiers", "tier", "tiers of the platform, innermost first",
                               (size_t)platform->tier_count};
    ms_h5_write_table(h5, &table, columns, 5);
}

static void fill_link_name(const void *source, size_t rows, void *cells_out) {
    const ms_result *result = source;
    for (size_t i = 0; i < rows; i++) {
        char *cell = (char *)cells_out + i * MS_H5_TEXT_B;
        int32_t link = result->dag.network.links[i].id;
        memset(cell, 0, MS_H5_TEXT_B);
        (void)ms_platform_link_name(result->job->platform, link, cell, MS_H5_TEXT_B);
    }
}

#define LINK_CELL(member) MS_RECORD(dag->network.links, ms_dag_link, member)

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
    const ms_h5_table table = {"links", "used_link",
                               "directed links that some transfer of the simulated ranks crosses",
                               (size_t)dag->network.link_count};
    ms_h5_write_table(h5, &table, columns, COUNT_OF(columns));
}

/* ---- /memory, /critical_path ---- */

typedef struct memory_row {
    int32_t rank;
    ms_memory_point point;
} memory_row;

/* Summaries have no timelines, traces of listed ranks theirs. */
static bool has_timeline(const ms_event_rows *rows, int32_t rank) {
    return rows->result->memory != NULL && rows->detail->level != MS_TRACE_SUMMARY &&
           (rows->is_listed == NULL || rows->is_listed[rank]);
}

static void add_timeline(const ms_result *result, int32_t rank, ms_vector *points) {
    const ms_rank_memory *memory = &result->memory[rank];
    for (int i = 0; i < memory->point_count; i++) {
        const memory_row row = {result->dag.ranks[rank].rank, memory->points[i]};
        ms_vector_add(points, &row, 1);
    }
}

static void write_memory(ms_h5 *h5, const ms_event_rows *rows) {
    ms_vector points;
    ms_vector_init(&points, sizeof(memory_row));
    for (int32_t rank = 0; rank < rows->result->dag.rank_count; rank++) {
        if (has_timeline(rows, rank)) {
            add_timeline(rows->result, rank, &points);
        }
    }
    if (points.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    const ms_column columns[] = {
        {"rank", MS_H5_I32, "1", "rank of the job", MS_RECORD(points.data, memory_row, rank)},
        {"time_ps", MS_H5_PS, "ps", "instant of the change",
         MS_RECORD(points.data, memory_row, point.time_s)},
        {"bytes", MS_H5_F64, "B", "memory in use from then on",
         MS_RECORD(points.data, memory_row, point.bytes)},
    };
    const ms_h5_table table = {"memory", "point", "memory use of each simulated rank over the step",
                               points.count};
    ms_h5_write_table(h5, &table, columns, 3);
    ms_vector_release(&points);
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
    const ms_h5_table table = {"critical_path", "part",
                               "the chain of causes from the end of the step to its start", rows};
    ms_h5_write_table(h5, &table, columns, 2);
}

/* ---- / and /input ---- */

/* Every key with the value that the run used, so that a later version whose defaults are others
 * shows what it changed. */
static void write_resolved(ms_h5 *h5, hid_t input, const ms_job *job) {
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
    char text[48];
    snprintf(text, sizeof text, "%d.%d.%d", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
    ms_h5_text(h5, h5->file, "format", "meshsim-trace");
    ms_h5_integer(h5, h5->file, "format_version", MS_TRACE_FORMAT_VERSION);
    ms_h5_text(h5, h5->file, "program_version", program_version);
    ms_h5_text(h5, h5->file, "simgrid_version", ms_engine_simgrid_version());
    ms_h5_text(h5, h5->file, "hdf5_version", text);
    ms_h5_integer(h5, h5->file, "seed", job->spec.model.moe.seed);
}

static void write_input(ms_h5 *h5, const ms_job *job) {
    const char *sources = job->spec.platform.sources_text;
    const struct {
        const char *name;
        const char *text; /* NULL: the job has none */
    } DOCUMENTS[] = {
        {"workload", job->spec.source.text == NULL ? "" : job->spec.source.text},
        {"platform", job->spec.platform.text == NULL ? "" : job->spec.platform.text},
        {"sources", sources == NULL || sources[0] == '\0' ? NULL : sources},
        {"schedule", job->schedule_text},
        {"placement", job->placement.text},
    };
    hid_t input = ms_h5_group(h5, h5->file, "input");
    for (size_t i = 0; i < sizeof DOCUMENTS / sizeof DOCUMENTS[0]; i++) {
        if (DOCUMENTS[i].text != NULL) {
            ms_h5_document(h5, input, DOCUMENTS[i].name, DOCUMENTS[i].text);
        }
    }
    write_resolved(h5, input, job);
    (void)H5Gclose(input);
}

/* A tree as a text of JSON. */
static void write_tree(ms_h5 *h5, const char *name, const ms_value *tree) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(tree, 0, &text);
    if (text.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_document(h5, h5->file, name, ms_buffer_text(&text));
    ms_buffer_release(&text);
}

bool ms_trace_is_volatile(const char *path) {
    static const char *const VOLATILE[] = {
        "engine.wall_s", "engine.peak_rss_B", "program_version", "simgrid_version",
        "hdf5_version",  "workload_path",     "platform_path"};
    for (size_t i = 0; i < sizeof VOLATILE / sizeof VOLATILE[0]; i++) {
        if (strcmp(path, VOLATILE[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Take out of "engine" what differs from run to run. */
static void leave_out_usage(const ms_value *summary) {
    ms_value *engine = summary->first;
    while (strcmp(engine->key, "engine") != 0) {
        engine = engine->next;
    }
    for (ms_value **at = &engine->first; *at != NULL;) {
        char path[64];
        snprintf(path, sizeof path, "engine.%s", (*at)->key);
        if (ms_trace_is_volatile(path)) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
}

static void write_summary(ms_h5 *h5, const ms_result *result) {
    ms_value *summary = NULL;
    if (ms_summary_build(result, h5->scratch, &summary) == MS_OK) {
        leave_out_usage(summary);
        write_tree(h5, "summary", summary);
    } else {
        ms_h5_fail(h5, "out of memory");
    }
}

/* What the child writes. */
typedef struct trace_contents {
    const char *path; /* of the temporary file */
    const ms_event_rows *rows;
    const char *program_version;
} trace_contents;

static void write_all(ms_h5 *h5, const trace_contents *contents) {
    const ms_event_rows *rows = contents->rows;
    const ms_result *result = rows->result;
    write_head(h5, result, contents->program_version);
    write_input(h5, result->job);
    ms_event_rows_write(h5, rows);
    write_streams(h5, &result->dag);
    write_ranks(h5, result);
    write_mesh(h5, &result->job->mesh);
    write_steps(h5, &result->metrics);
    write_axes(h5, result);
    write_tiers(h5, result->job->platform);
    write_links(h5, result);
    write_memory(h5, rows);
    write_critical_path(h5, &result->metrics);
    write_summary(h5, result);
    if (rows->detail->whatif != NULL) {
        write_tree(h5, "whatif", rows->detail->whatif);
    }
}

static ms_status write_in_child(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    const trace_contents *contents = context;
    ms_arena scratch;
    ms_h5 h5;
    ms_arena_init(&scratch);
    ms_h5_create(&h5, contents->path, &scratch);
    write_all(&h5, contents);
    bool is_written = ms_h5_close(&h5);
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", h5.cause);
    ms_arena_release(&scratch);
    return is_written ? MS_OK : MS_E_IO;
}

static ms_status write_target(const char *path, const ms_event_rows *rows,
                              const char *program_version, ms_diag *diag) {
    static const ms_child_limits NONE = {0};
    ms_target target;
    char cause[MS_CHILD_CAUSE_B];
    ms_status status = ms_target_open(&target, path, MS_TARGET_FILE, diag);
    if (status != MS_OK) {
        return status;
    }
    /* by its descriptor: by its name the child would make the file anew after an interrupt of this
     * process has removed it */
    char open_file[32];
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", target.file);
    trace_contents contents = {open_file, rows, program_version};
    status = ms_child_run(write_in_child, &contents, &NONE, cause);
    return status == MS_OK ? ms_target_commit(&target, diag) : ms_target_fail(&target, cause, diag);
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
