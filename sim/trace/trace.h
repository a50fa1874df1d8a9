/**
 * @file
 * Traces: the HDF5 file of a run, written whole or not at all, and read back.
 *
 * sim/trace/README.md lists every group, column and unit. Times in a trace are whole picoseconds.
 *
 * Nouns of sim/trace, and what the same word means elsewhere:
 * - event: a row of /events: an operation of the graph (simulate/graph/dag.h), or at level `passes`
 *   all computations of a pass. In simulate/engine an event happens at one instant.
 * - level: how much of a run's timeline a trace holds. The dimension of /mesh has this name, too.
 * - table, column, record: a group of the file, one of its datasets, and a row in memory.
 * - object path: the path of a group, dataset or attribute in a file, such as "/events/mb".
 * - copy: an event that is repeated in a later period, of which the file holds only the first one
 *   (repeat.h).
 * - pass, box, row: in report/, the parts of a picture: a box per pass in the row of its rank.
 * - span: in report/, a time in which a rank communicates. In simulate/metrics it is any part of a
 *   rank's time.
 */
#ifndef MESHSIM_TRACE_H
#define MESHSIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"
#include "simulate/run/job.h"

/** Version of the layout written by this program; a reader refuses a higher one. */
#define MS_TRACE_FORMAT_VERSION 2

/** Picoseconds in a second. */
#define MS_PS_PER_S 1e12

/** Longest run that a trace can hold [s]: 64-bit numbers of picoseconds end at 9.22e6 s. */
#define MS_TRACE_RUN_MAX_S 9e6

/** How much of a run's timeline a trace holds. */
typedef enum ms_trace_level {
    MS_TRACE_FULL,    /**< every operation */
    MS_TRACE_RANKS,   /**< operations with a member on a listed rank, with these members alone, and
                         messages to a listed rank */
    MS_TRACE_PASSES,  /**< a row per pass of a rank, and the operations that are in no pass */
    MS_TRACE_SUMMARY, /**< no operations and no timelines of memory */
    MS_TRACE_LEVEL_COUNT,
} ms_trace_level;

/** The parts of a run that a trace holds. All borrowed. */
typedef struct ms_trace_detail {
    ms_trace_level level;
    const int *ranks; /**< [rank_count] at level ranks: listed ranks of the job, all simulated */
    int rank_count;
    const ms_value *whatif; /**< list of objects that becomes /whatif; NULL: none */
} ms_trace_detail;

/** The name of a level, as in the attribute `level` of /events: "full", "ranks", "passes" or
 * "summary". */
const char *ms_trace_level_name(ms_trace_level level);

/** Write the trace of a result at level full.  Returns as ms_trace_write_detail. */
ms_status ms_trace_write(const char *path, const ms_result *result, const char *program_version,
                         ms_diag *diag);

/** Write the trace of a result.
 *  The file is built under a temporary name (target.h), flushed, synced and renamed; after any
 * failure or interrupt the temporary file is gone and an older file at `path` is as it was.  Before
 * a long simulation ms_target_check tells whether it can be written.  The same result gives the
 * same bytes.
 *  result: of ms_job_run; its wall_s and peak_rss_B are not written.  detail: the operations that
 * are written.  program_version: such as "0.1.0".
 *  Returns MS_OK; MS_E_INPUT for more than 9e6 s, which 64-bit picoseconds cannot count, and for a
 * listed rank that is not simulated; MS_E_IO (all reported); MS_E_NOMEM.  O(operations), memory for
 * one chunk of one column, and some bytes per operation except at the levels full and summary. */
ms_status ms_trace_write_detail(const char *path, const ms_result *result,
                                const ms_trace_detail *detail, const char *program_version,
                                ms_diag *diag);

/** Whether a quantity of the summary, by its dotted path, does not depend on the job alone: wall
 * time and memory of the program, versions, paths. Such quantities are not written to traces and
 * not compared. */
bool ms_trace_is_volatile(const char *path);

/** Flags of ms_trace_read for parts that are read on request. The summary, the texts, and the
 * tables /ranks, /streams, /members and /memory are always read. */
enum {
    MS_TRACE_NOTHING = 0,
    MS_TRACE_EVENTS = 1 << 0, /**< the operations */
    MS_TRACE_TABLES = 1 << 1, /**< the small tables and /whatif as trees (ms_trace.tables) */
    MS_TRACE_MERGED = 1 << 2, /**< of a run of more than MS_TRACE_OPERATIONS_MAX operations one
                                 event for all computations of a pass, and no event for
                                 communication of one rank inside a pass (ms_trace_merged.inside) */
};

/** Above this number of operations MS_TRACE_MERGED merges those of a pass. */
enum { MS_TRACE_OPERATIONS_MAX = 200000 };

/** Maximum number of rows of a table in ms_trace.tables; a table with more rows is null there. */
enum { MS_TRACE_TABLE_ROWS_MAX = 200000 };

/** A simulated rank of a trace. */
typedef struct ms_trace_rank {
    int32_t rank;         /**< rank of the job */
    int32_t multiplicity; /**< ranks it stands for, itself included */
    int32_t pp;           /**< pipeline coordinate */
} ms_trace_rank;

/** A stream of a trace. */
typedef struct ms_trace_stream {
    int32_t rank_index; /**< into ms_trace.ranks */
    int32_t peer_index; /**< p2p: the receiver, into ms_trace.ranks; else -1 */
    uint8_t axis;       /**< ms_axis; NONE: a compute stream */
} ms_trace_stream;

/** A member of an event after its first. */
typedef struct ms_trace_member {
    int32_t event;
    int32_t stream;
} ms_trace_member;

/** A point of the memory timelines. */
typedef struct ms_trace_memory {
    int32_t rank_index; /**< into ms_trace.ranks */
    int64_t time_ps;
    double bytes; /**< allocated from here on [B] */
} ms_trace_memory;

/** A row of /events: an operation, or at level passes and where operations are merged all
 * computations of a pass. */
typedef struct ms_trace_event {
    int64_t start_ps;
    int64_t end_ps;
    double bytes; /**< [B] */
    union {
        double flop;       /**< where nothing is merged */
        int64_t waited_ps; /**< where operations are merged: of a pass the time between its
                              computations in which the rank computes nothing; else 0 */
    };
    int32_t rank;   /**< of the job, of the first member */
    int32_t stream; /**< of the first member */
    int32_t mb;     /**< microbatch, -1: none; so are stage, chunk and layer */
    int32_t cause;  /**< the event whose end released this one, -1: none */
    int16_t stage;
    int16_t chunk;
    int16_t layer;
    int16_t step; /**< optimizer step; 0 in files without this column */
    uint8_t kind; /**< ms_op_kind */
    uint8_t axis; /**< ms_axis */
} ms_trace_event;

/** The texts of a run's inputs; NULL: the file has no such text. */
typedef struct ms_trace_inputs {
    const char *workload;  /**< as YAML */
    const char *platform;  /**< as YAML */
    const char *schedule;  /**< the order, as CSV, where a file gave it */
    const char *placement; /**< the GPU of each rank, as CSV, where a file gave it */
    const char *sources;   /**< sources of the platform's numbers (config.h) */
    const char *resolved;  /**< every key with the value that the run used, as lines
                              "KEY = VALUE  # ORIGIN" (config.h) */
} ms_trace_inputs;

/** What MS_TRACE_MERGED has merged. */
typedef struct ms_trace_merged {
    int32_t count; /**< operations that the events were merged from; 0: nothing is merged */
    ms_trace_event *inside; /**< [inside_count] communications of the file inside merged passes,
                               without causes */
    int32_t inside_count;
    ms_repeated_period repeat; /**< where an event of `inside` lies in it, the event stands for its
                                  copies (repeat.h), too */
} ms_trace_merged;

/** A trace in memory; everything in the arena of ms_trace_read. */
typedef struct ms_trace {
    const char *path;
    const char *program_version;
    ms_trace_inputs inputs;
    const ms_value *summary; /**< the tree of `run --json`, without wall time and memory use */
    const ms_value *tables;  /**< MS_TRACE_TABLES: an object of /ranks, /axes, /tiers, /links and
                                /steps, each an object of its columns as lists, and of the list
                                /whatif where the file has it; else NULL */
    ms_trace_level level;    /**< full in files without the attribute */
    int64_t step_ps;         /**< end of the last step, from the start of the run */
    ms_trace_rank *ranks;    /**< [rank_count] */
    int32_t rank_count;
    ms_trace_stream *streams; /**< [stream_count] */
    int32_t stream_count;
    ms_trace_member *members; /**< [member_count], by event */
    int32_t member_count;
    ms_trace_memory *memory; /**< [memory_count], by rank, then time */
    int32_t memory_count;
    ms_trace_event *events; /**< [event_count]; NULL without MS_TRACE_EVENTS */
    int32_t event_count;
    ms_trace_merged merged;
} ms_trace;

/** Read a trace.
 *  A child process reads the file first, because HDF5 itself may crash on a damaged one; then this
 * process reads the same open file and makes the events of the run. Every number is checked:
 * enums and indices lie within their tables, -1 stands for none, counts are at most 2^30, times lie
 * from 0 to step_ps and end no earlier than they start, bytes and FLOP are finite and not negative.
 *  what: flags MS_TRACE_..., or-ed together.  *trace_out: in `arena`.
 *  Returns MS_OK; MS_E_INPUT when the file is no trace, is damaged or was written by a later
 * version; MS_E_IO when the system cannot open or read it; MS_E_NOMEM (all reported).  O(events).
 */
ms_status ms_trace_read(const char *path, unsigned what, ms_arena *arena, ms_diag *diag,
                        ms_trace *trace_out);

#endif
