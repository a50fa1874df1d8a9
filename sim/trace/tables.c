/* The columns of the tables that are written and read (tables.h). */
#include "trace/tables.h"

#include "base/event.h"

#define COUNT_MAX MS_TRACE_COUNT_MAX
#define PS_MAX    (MS_TRACE_RUN_MAX_S * MS_PS_PER_S)
#define BYTES_MAX 0x1p62
#define FLOP_MAX  1e30

#define IN_STEP(member) .offset = offsetof(ms_trace_step, member)
static const ms_column STEPS[] = {
    {"start_ps", MS_H5_I64, "ps", "first start on any rank", IN_STEP(start_ps), 0, MS_HIGH_UNREAD},
    {"end_ps", MS_H5_I64, "ps", "last end on any rank", IN_STEP(end_ps), 0, PS_MAX},
};
const ms_trace_table MS_TABLE_STEPS = {"steps", "step", "one row per optimizer step",
                                       MS_COLUMNS(ms_trace_step, STEPS)};

#define IN_AXIS(member) .offset = offsetof(ms_trace_axis, member)
static const ms_column MESH[] = {
    {"axis", MS_H5_TEXT, "1", "name of the axis", IN_AXIS(name), 0, MS_HIGH_UNREAD},
    {"size", MS_H5_I32, "1", "ranks along the axis", IN_AXIS(size), 1, COUNT_MAX,
     .is_optional = true},
    {"stride", MS_H5_I32, "1", "rank distance of neighbours along the axis", IN_AXIS(stride), 0,
     MS_HIGH_UNREAD},
};
const ms_trace_table MS_TABLE_MESH = {
    "mesh", "level", "axes of the device mesh, outermost (slowest varying rank) first",
    MS_COLUMNS(ms_trace_axis, MESH)};

#define IN_RANK(member) .offset = offsetof(ms_trace_rank, member)
static const ms_column RANKS[] = {
    {"rank", MS_H5_I32, "1", "rank of the job that was simulated", IN_RANK(rank), 0, COUNT_MAX},
    {"multiplicity", MS_H5_I32, "1", "ranks it stands for, itself included", IN_RANK(multiplicity),
     1, COUNT_MAX},
    {"pp", MS_H5_I32, "1", "pipeline coordinate", IN_RANK(pp), 0, COUNT_MAX},
};
const ms_trace_table MS_TABLE_RANKS = {"ranks", "simulated_rank", "one row per simulated rank",
                                       MS_COLUMNS(ms_trace_rank, RANKS)};

#define IN_STREAM(member) .offset = offsetof(ms_trace_stream, member)
static const ms_column STREAMS[] = {
    {"rank", MS_H5_I32, "1", "rank of the job", IN_STREAM(rank_index), 0, COUNT_MAX},
    {"peer", MS_H5_I32, "1", "point-to-point: the receiving rank, else -1", IN_STREAM(peer_index),
     -1, COUNT_MAX},
    {"axis", MS_H5_AXIS, "1", "axis it communicates along, none for the compute stream",
     IN_STREAM(axis), 0, MS_AXIS_COUNT - 1},
};
const ms_trace_table MS_TABLE_STREAMS = {"streams", "stream",
                                         "one row per stream of a simulated rank",
                                         MS_COLUMNS(ms_trace_stream, STREAMS)};

#define IN_EVENT(member) .offset = offsetof(ms_trace_event, member)
static const ms_column EVENTS[] = {
    {"start_ps", MS_H5_I64, "ps", "start of the operation", IN_EVENT(start_ps), 0, MS_HIGH_RUN_END},
    {"end_ps", MS_H5_I64, "ps", "end of the operation", IN_EVENT(end_ps), 0, MS_HIGH_RUN_END},
    {"rank", MS_H5_I32, "1", "rank of the job of the first member", IN_EVENT(rank), 0, COUNT_MAX},
    {"stream", MS_H5_I32, "1", "stream of the first member, row of /streams", IN_EVENT(stream), 0,
     MS_HIGH_STREAM},
    {"kind", MS_H5_KIND, "1", "what the operation does", IN_EVENT(kind), 0, MS_OP_KIND_COUNT - 1},
    {"axis", MS_H5_AXIS, "1", "mesh axis of a communication, none for a computation",
     IN_EVENT(axis), 0, MS_AXIS_COUNT - 1},
    {"stage", MS_H5_I16, "1", "virtual pipeline stage, -1 none", IN_EVENT(stage), -1, COUNT_MAX},
    {"chunk", MS_H5_I16, "1", "which of its rank's stages it is, -1 none", IN_EVENT(chunk), -1,
     COUNT_MAX},
    {"mb", MS_H5_I32, "1", "microbatch, of sequences in K parts microbatch * K + part; -1 none",
     IN_EVENT(mb), -1, COUNT_MAX},
    {"step", MS_H5_I16, "1", "optimizer step, row of /steps", IN_EVENT(step), 0, MS_HIGH_STEP,
     .is_optional = true},
    {"layer", MS_H5_I16, "1", "layer of the model, -1 none", IN_EVENT(layer), -1, COUNT_MAX},
    {"bytes", MS_H5_F64, "B",
     "communication: bytes each member sends; computation: bytes moved to and from memory",
     IN_EVENT(bytes), 0, BYTES_MAX},
    {"flop", MS_H5_F64, "FLOP", "floating-point operations executed", IN_EVENT(flop), 0, FLOP_MAX},
    {"cause", MS_H5_I32, "1", "event whose end released this one, -1 none", IN_EVENT(cause), -1,
     MS_HIGH_EVENT},
};
const ms_trace_table MS_TABLE_EVENTS = {"events", "event",
                                        "one row per operation, in order of the graph",
                                        MS_COLUMNS(ms_trace_event, EVENTS)};
const ms_trace_table MS_TABLE_PASSES = {"events", "event",
                                        "one row per pass, and per operation that is in none",
                                        MS_COLUMNS(ms_trace_event, EVENTS)};

#define IN_MEMBER(member) .offset = offsetof(ms_trace_member, member)
static const ms_column MEMBERS[] = {
    {"event", MS_H5_I32, "1", "row of /events", IN_MEMBER(event), 0, MS_HIGH_EVENT},
    {"stream", MS_H5_I32, "1", "row of /streams", IN_MEMBER(stream), 0, MS_HIGH_STREAM},
};
const ms_trace_table MS_TABLE_MEMBERS = {"members", "member",
                                         "members of collective operations after their first",
                                         MS_COLUMNS(ms_trace_member, MEMBERS)};

#define IN_MEMORY(member) .offset = offsetof(ms_trace_memory, member)
static const ms_column MEMORY[] = {
    {"rank", MS_H5_I32, "1", "rank of the job", IN_MEMORY(rank_index), 0, COUNT_MAX},
    {"time_ps", MS_H5_I64, "ps", "instant of the change", IN_MEMORY(time_ps), 0, MS_HIGH_RUN_END},
    {"bytes", MS_H5_F64, "B", "memory in use from then on", IN_MEMORY(bytes), 0, BYTES_MAX},
};
const ms_trace_table MS_TABLE_MEMORY = {"memory", "point",
                                        "memory use of each simulated rank over the step",
                                        MS_COLUMNS(ms_trace_memory, MEMORY)};
