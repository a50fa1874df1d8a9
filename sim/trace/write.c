/* Writes the trace of a run (ms_trace_write_detail): tables, texts and summary. A child process
 * writes them into a temporary file, as HDF5 crashes where memory runs out; the file takes the
 * trace's name when it is complete. A write_ function below writes the table, or the texts, of its
 * name; README.md describes them. */
#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "base/target.h"
#include "base/text.h"
#include "simulate/engine/engine.h"
#include "trace/events.h"
#include "trace/summary.h"
#include "trace/trace.h"

enum { RANK_NAME_B = 32, RANK_COLUMNS_MAX = 32 };

/* Storage for the rows of a table: zeros; NULL when memory runs out, which ms_h5_write_table
 * reports. */
static void *make_rows(ms_h5 *h5, int64_t count, size_t row_B) {
    return ms_arena_alloc(h5->scratch, (size_t)count, row_B);
}

/* ---- /streams, /mesh, /steps ---- */

/* Write /streams. rank_index and peer_index hold ranks of the job in the file, as ms_column
 * describes the table. */
static void write_streams(ms_h5 *h5, const ms_dag *dag) {
    ms_trace_stream *rows = make_rows(h5, dag->stream_count, sizeof *rows);
    for (int32_t i = 0; rows != NULL && i < dag->stream_count; i++) {
        const ms_dag_stream *stream = &dag->streams[i];
        rows[i].rank_index = dag->ranks[stream->rank].rank;
        rows[i].peer_index = stream->peer < 0 ? -1 : dag->ranks[stream->peer].rank;
        rows[i].axis = (uint8_t)stream->axis;
    }
    ms_h5_write_table(h5, &MS_TABLE_STREAMS, rows, (size_t)dag->stream_count);
}

/* Write /mesh: the axes, outermost first. */
static void write_mesh(ms_h5 *h5, const ms_mesh *mesh) {
    ms_trace_axis *rows = make_rows(h5, mesh->axes, sizeof *rows);
    for (int i = 0; rows != NULL && i < mesh->axes; i++) {
        rows[i] = (ms_trace_axis){mesh->names[i], mesh->sizes[i], mesh->strides[i]};
    }
    ms_h5_write_table(h5, &MS_TABLE_MESH, rows, (size_t)mesh->axes);
}

/* Write /steps. */
static void write_steps(ms_h5 *h5, const ms_metrics *metrics) {
    ms_trace_step *rows = make_rows(h5, metrics->step_count, sizeof *rows);
    for (int i = 0; rows != NULL && i < metrics->step_count; i++) {
        const ms_step_times *step = &metrics->steps[i];
        rows[i] = (ms_trace_step){ms_to_ps(step->start_s), ms_to_ps(step->end_s)};
    }
    ms_h5_write_table(h5, &MS_TABLE_STEPS, rows, (size_t)metrics->step_count);
}

/* ---- /ranks, /axes ---- */

/* A row of /ranks: the columns that are read back, and the others. */
typedef struct rank_row {
    ms_trace_rank rank;
    int32_t gpu;
    double time_s[MS_TIME_COUNT];
    ms_rank_memory memory;
} rank_row;

#define IN_RANK(member) .offset = offsetof(rank_row, member)
static const ms_column GPU = {"gpu", MS_H5_I32, "1", "GPU of the platform that the rank sits on",
                              IN_RANK(gpu)};
static const ms_column MEMORY[] = {
    {"peak_B", MS_H5_F64, "B", "highest memory use", IN_RANK(memory.held.total_B)},
    {"peak_time_s", MS_H5_F64, "s", "first instant at which it is reached",
     IN_RANK(memory.peak_time_s)},
    {"parameters_B", MS_H5_F64, "B", "parameters at the peak", IN_RANK(memory.held.parameter_B)},
    {"gradients_B", MS_H5_F64, "B", "gradients at the peak", IN_RANK(memory.held.gradient_B)},
    {"optimizer_B", MS_H5_F64, "B", "optimizer state at the peak",
     IN_RANK(memory.held.optimizer_B)},
    {"activations_B", MS_H5_F64, "B", "activations at the peak", IN_RANK(memory.held.activation_B)},
    {"buffers_B", MS_H5_F64, "B", "communication and working buffers at the peak",
     IN_RANK(memory.held.buffer_B)},
    {"other_B", MS_H5_F64, "B", "everything else at the peak", IN_RANK(memory.held.other_B)},
    {"inflight_peak", MS_H5_I32, "1", "stage-microbatches kept at once, at most",
     IN_RANK(memory.inflight_peak)},
};

/* The table /ranks: the columns that are read back, then GPU, times and memory.  names:
 * [MS_TIME_COUNT] storage for the names of the columns of times.  columns: [RANK_COLUMNS_MAX]
 * storage. */
static ms_trace_table rank_table(char (*names)[RANK_NAME_B], ms_column *columns) {
    ms_trace_table table = MS_TABLE_RANKS;
    size_t count = table.column_count;
    memcpy(columns, table.columns, count * sizeof *columns);
    columns[count++] = GPU;
    for (size_t i = 0; i < MS_TIME_COUNT; i++) {
        snprintf(names[i], RANK_NAME_B, "%s_s", ms_time_category_name((ms_time_category)i));
        columns[count++] = (ms_column){names[i], MS_H5_F64, "s",
                                       "share of a step's time; the rank's categories sum to it",
                                       .offset = offsetof(rank_row, time_s) + i * sizeof(double)};
    }
    memcpy(columns + count, MEMORY, sizeof MEMORY);
    table.columns = columns;
    table.column_count = count + sizeof MEMORY / sizeof MEMORY[0];
    table.record_B = sizeof(rank_row);
    return table;
}

/* Write /ranks: position, times and memory of each simulated rank. */
static void write_ranks(ms_h5 *h5, const ms_result *result) {
    const ms_dag *dag = &result->dag;
    char names[MS_TIME_COUNT][RANK_NAME_B];
    ms_column columns[RANK_COLUMNS_MAX];
    const ms_trace_table table = rank_table(names, columns);
    rank_row *rows = make_rows(h5, dag->rank_count, sizeof *rows);
    for (int32_t i = 0; rows != NULL && i < dag->rank_count; i++) {
        const ms_dag_rank *rank = &dag->ranks[i];
        rows[i] = (rank_row){.rank = {rank->rank, rank->multiplicity, rank->pp},
                             .gpu = ms_mesh_device(&result->job->mesh, rank->rank),
                             .memory = result->memory[i]};
        memcpy(rows[i].time_s, result->metrics.ranks[i].time_s, sizeof rows[i].time_s);
    }
    ms_h5_write_table(h5, &table, rows, (size_t)dag->rank_count);
}

/* A row of /axes. */
typedef struct axis_row {
    int32_t rank; /* of the job */
    uint8_t axis;
    ms_axis_use use;
} axis_row;

#define IN_AXIS(member) .offset = offsetof(axis_row, member)
static const ms_column AXES[] = {
    {"rank", MS_H5_I32, "1", "rank of the job", IN_AXIS(rank)},
    {"axis", MS_H5_AXIS, "1", "mesh axis", IN_AXIS(axis)},
    {"bytes", MS_H5_F64, "B", "bytes the rank sends", IN_AXIS(use.bytes)},
    {"busy_s", MS_H5_F64, "s", "time with its operations between last arrival and end",
     IN_AXIS(use.busy_s)},
    {"exposed_s", MS_H5_F64, "s", "of it, while the compute stream idles because of this axis",
     IN_AXIS(use.exposed_s)},
    {"overlapped_s", MS_H5_F64, "s", "of it, while the compute stream runs",
     IN_AXIS(use.overlapped_s)},
    {"in_idle_s", MS_H5_F64, "s", "of it, during idle time charged to another cause",
     IN_AXIS(use.in_idle_s)},
    {"wait_s", MS_H5_F64, "s", "own arrival to last arrival, summed over operations",
     IN_AXIS(use.wait_s)},
};
static const ms_trace_table AXES_TABLE = {
    "axes", "use", "communication of a simulated rank along an axis", MS_COLUMNS(axis_row, AXES)};

/* Write /axes: for each simulated rank a row for each axis along which it communicates. */
static void write_axes(ms_h5 *h5, const ms_result *result) {
    axis_row *rows = make_rows(h5, (int64_t)result->dag.rank_count * MS_AXIS_COUNT, sizeof *rows);
    size_t count = 0;
    for (int32_t i = 0; rows != NULL && i < result->dag.rank_count; i++) {
        for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
            const ms_axis_use *use = &result->metrics.ranks[i].axes[axis];
            if (use->bytes > 0 || use->busy_s > 0 || use->wait_s > 0) {
                rows[count++] = (axis_row){result->dag.ranks[i].rank, (uint8_t)axis, *use};
            }
        }
    }
    ms_h5_write_table(h5, &AXES_TABLE, rows, count);
}

/* ---- /tiers, /links ---- */

#define IN_TIER(member) .offset = offsetof(ms_tier, member)
static const ms_column TIERS[] = {
    {"name", MS_H5_TEXT, "1", "name of the tier", IN_TIER(name)},
    {"bandwidth_Bps", MS_H5_F64, "B/s", "nominal capacity of one link, per direction",
     IN_TIER(bandwidth_Bps)},
    {"efficiency", MS_H5_F64, "1", "share of it that transfers achieve", IN_TIER(efficiency)},
    {"latency_s", MS_H5_F64, "s", "latency of one link", IN_TIER(latency_s)},
    {"links", MS_H5_I32, "1", "directed links of the tier", IN_TIER(links)},
};
static const ms_trace_table TIERS_TABLE = {
    "tiers", "tier", "tiers of the platform, innermost first", MS_COLUMNS(ms_tier, TIERS)};

/* A row of /links. */
typedef struct link_row {
    ms_dag_link link;
    const char *name;
    double bytes, busy_s, peak_use;
} link_row;

#define IN_LINK(member) .offset = offsetof(link_row, member)
static const ms_column LINKS[] = {
    {"link", MS_H5_I32, "1", "number of the link in the platform", IN_LINK(link.id)},
    {"name", MS_H5_TEXT, "1", "where the link is", IN_LINK(name)},
    {"tier", MS_H5_I32, "1", "row of /tiers", IN_LINK(link.tier)},
    {"capacity_Bps", MS_H5_F64, "B/s", "bandwidth that transfers can achieve",
     IN_LINK(link.capacity_Bps)},
    {"bytes", MS_H5_F64, "B", "bytes carried in all steps", IN_LINK(bytes)},
    {"busy_s", MS_H5_F64, "s", "time with at least one flow on it", IN_LINK(busy_s)},
    {"peak_use", MS_H5_F64, "1", "largest share of the capacity in use at once", IN_LINK(peak_use)},
};
static const ms_trace_table LINKS_TABLE = {
    "links", "used_link", "directed links that some transfer of the simulated ranks crosses",
    MS_COLUMNS(link_row, LINKS)};

/* Write /links: load of all links that some transfer crosses. */
static void write_links(ms_h5 *h5, const ms_result *result) {
    const ms_dag_network *network = &result->dag.network;
    const ms_timeline *timeline = &result->timeline;
    link_row *rows = make_rows(h5, network->link_count, sizeof *rows);
    char(*names)[MS_H5_TEXT_B] = make_rows(h5, network->link_count, sizeof *names);
    for (int32_t i = 0; rows != NULL && names != NULL && i < network->link_count; i++) {
        (void)ms_platform_link_name(result->job->platform, network->links[i].id, names[i],
                                    MS_H5_TEXT_B);
        rows[i] = (link_row){network->links[i], names[i], timeline->link_bytes[i],
                             timeline->link_busy_s[i], timeline->link_peak[i]};
    }
    ms_h5_write_table(h5, &LINKS_TABLE, names == NULL ? NULL : rows, (size_t)network->link_count);
}

/* ---- /memory, /critical_path ---- */

/* Whether the memory timeline of a rank is written: a summary has none, and a trace of listed ranks
 * has those of these ranks. */
static bool has_timeline(const ms_event_choice *choice, int32_t rank) {
    return choice->detail->level != MS_TRACE_SUMMARY &&
           (choice->is_listed == NULL || choice->is_listed[rank]);
}

/* Write /memory: the timelines of the ranks that the trace holds. */
static void write_memory(ms_h5 *h5, const ms_event_choice *choice) {
    const ms_result *result = choice->result;
    ms_vector points = {.item_B = sizeof(ms_trace_memory)};
    for (int32_t rank = 0; rank < result->dag.rank_count; rank++) {
        const ms_rank_memory *memory = &result->memory[rank];
        int count = has_timeline(choice, rank) ? memory->point_count : 0;
        for (int i = 0; i < count; i++) {
            const ms_trace_memory row = {result->dag.ranks[rank].rank,
                                         ms_to_ps(memory->points[i].time_s),
                                         memory->points[i].bytes};
            ms_vector_add(&points, &row, 1);
        }
    }
    if (points.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_write_table(h5, &MS_TABLE_MEMORY, points.data, points.count);
    ms_vector_release(&points);
}

/* A row of /critical_path. */
typedef struct path_row {
    const char *category;
    double time_s;
} path_row;

static const ms_column PATH[] = {
    {"category", MS_H5_TEXT, "1", "what the time went to", .offset = offsetof(path_row, category)},
    {"time_s", MS_H5_F64, "s", "time on the critical path; sums to the step time",
     .offset = offsetof(path_row, time_s)},
};
static const ms_trace_table PATH_TABLE = {
    "critical_path", "part", "the chain of causes from the end of the step to its start",
    MS_COLUMNS(path_row, PATH)};

/* Write /critical_path. Bubbles are left out, as the path has none; "exposed_tp" is named "tp". */
static void write_critical_path(ms_h5 *h5, const ms_metrics *metrics) {
    path_row rows[MS_TIME_COUNT];
    size_t count = 0;
    for (int i = 0; i < MS_TIME_COUNT; i++) {
        if (i < MS_TIME_BUBBLE_WARMUP || i > MS_TIME_BUBBLE_COOLDOWN) {
            const char *name = ms_time_category_name((ms_time_category)i);
            name += strncmp(name, "exposed_", 8) == 0 ? 8 : 0;
            rows[count++] = (path_row){name, metrics->critical_s[i]};
        }
    }
    ms_h5_write_table(h5, &PATH_TABLE, rows, count);
}

/* ---- / and /input ---- */

/* Write /input/resolved: every key with the value that the run used. Where a later version has
 * other defaults, the two can be compared. */
static void write_resolved(ms_h5 *h5, hid_t input, const ms_job *job) {
    ms_buffer text = {0};
    if (ms_job_write_resolved(job, &text) != MS_OK) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_document(h5, input, "resolved", ms_buffer_text(&text));
    ms_buffer_release(&text);
}

/* Write the attributes of the root. */
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

/* Write the group /input: the texts of workload, platform and others that the job has. */
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

/* Write a tree as a text of JSON. */
static void write_tree(ms_h5 *h5, const char *name, const ms_value *tree) {
    ms_buffer text = {0};
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
    return ms_word_index(path, VOLATILE, sizeof VOLATILE / sizeof VOLATILE[0]) >= 0;
}

/* Write /summary. */
static void write_summary(ms_h5 *h5, const ms_result *result) {
    ms_value *summary = NULL;
    if (ms_summary_build(result, h5->scratch, &summary) == MS_OK) {
        write_tree(h5, "summary", summary);
    } else {
        ms_h5_fail(h5, "out of memory");
    }
}

/* Input of the child process. */
typedef struct trace_contents {
    const char *path; /* of the temporary file */
    const ms_event_choice *choice;
    const char *program_version;
} trace_contents;

/* Write all parts of a trace. */
static void write_all(ms_h5 *h5, const trace_contents *contents) {
    const ms_event_choice *choice = contents->choice;
    const ms_result *result = choice->result;
    write_head(h5, result, contents->program_version);
    write_input(h5, result->job);
    ms_events_write(h5, choice);
    write_streams(h5, &result->dag);
    write_ranks(h5, result);
    write_mesh(h5, &result->job->mesh);
    write_steps(h5, &result->metrics);
    write_axes(h5, result);
    ms_h5_write_table(h5, &TIERS_TABLE, result->job->platform->tiers,
                      (size_t)result->job->platform->tier_count);
    write_links(h5, result);
    write_memory(h5, choice);
    write_critical_path(h5, &result->metrics);
    write_summary(h5, result);
    if (choice->detail->whatif != NULL) {
        write_tree(h5, "whatif", choice->detail->whatif);
    }
}

/* Main function of the child process: write the file. context: trace_contents. cause_out: receives
 * the text of a failure. */
static ms_status write_in_child(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    const trace_contents *contents = context;
    ms_arena scratch;
    ms_h5 h5;
    if (!ms_h5_start()) {
        snprintf(cause_out, MS_CHILD_CAUSE_B, "out of memory");
        return MS_E_NOMEM;
    }
    ms_arena_init(&scratch);
    ms_h5_create(&h5, contents->path, &scratch);
    write_all(&h5, contents);
    bool is_written = ms_h5_close(&h5);
    snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", h5.cause);
    ms_arena_release(&scratch);
    return is_written ? MS_OK : MS_E_IO;
}

/* Write the trace to a temporary file, and rename it to `path` when it is complete. */
static ms_status write_target(const char *path, const ms_event_choice *choice,
                              const char *program_version, ms_diag *diag) {
    static const ms_child_options HDF5 = {.library = "HDF5"};
    ms_target target;
    char cause[MS_CHILD_CAUSE_B];
    ms_status status = ms_target_open(&target, path, MS_TARGET_FILE, diag);
    if (status != MS_OK) {
        return status;
    }
    /* Opened by its descriptor: by its name, the child would make the file again after an interrupt
     * of this process has removed it. */
    char open_file[32];
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", target.file);
    trace_contents contents = {open_file, choice, program_version};
    status = ms_child_run(write_in_child, &contents, &HDF5, cause);
    return status == MS_OK ? ms_target_commit(&target, diag) : ms_target_fail(&target, cause, diag);
}

/* A run whose picoseconds do not fit into 64 bits is refused before anything is written. */
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
    ms_event_choice choice;
    ms_arena_init(&scratch);
    ms_progress_begin("writing the trace", 0);
    ms_status status = ms_events_choose(result, detail, &scratch, diag, &choice);
    if (status == MS_OK) {
        status = write_target(path, &choice, program_version, diag);
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
