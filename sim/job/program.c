/* Sets a job's order of passes (its program), built by the schedule's kind or read from a CSV file,
 * and the members of the layout that follow from the order. */
#include <string.h>

#include "job/internal.h"
#include "schedule/schedule_csv.h"

/* Most passes that are simulated. A pass of a model is four operations or more, and 4e7 operations
 * are the limit. */
enum { PASSES_MAX = 10000000 };

/* How many values of schedule.v a message proposes at most. */
enum { CHUNKS_LISTED = 8 };

/* Refuse an order with more passes than can be simulated, before memory is allocated for it. */
static ms_status check_passes(const ms_job_spec *spec, const ms_schedule_spec *order,
                              ms_diag *diag) {
    int own = ms_schedule_kind_traits(order->kind).chunks;
    int chunks = order->chunks > 0 ? order->chunks : own > 0 ? own : 1;
    double stages = (double)order->pipeline_ranks * chunks;
    double passes = 2.0 * stages * order->microbatches * order->slices;
    if (passes <= PASSES_MAX) {
        return MS_OK;
    }
    return ms_spec_fault(spec, diag, "batch",
                         "%d microbatches on %.0f virtual stages are %.3g passes, more than the "
                         "limit of %.3g",
                         order->microbatches, stages, passes, (double)PASSES_MAX);
}

/* Set the sizes and choices that the schedule's kind makes an order from. Bytes between the fields
 * are 0, as such structs are compared byte by byte. */
static void find_order(const ms_job *job, ms_schedule_spec *order) {
    const ms_job_spec *spec = &job->spec;
    memset(order, 0, sizeof *order);
    order->kind = spec->schedule.kind;
    order->pipeline_ranks = job->layout.pp;
    order->chunks = spec->schedule.chunks;
    order->microbatches = job->microbatches;
    order->group = spec->schedule.group;
    order->slices = spec->schedule.slices;
    order->is_reordered = spec->schedule.is_reordered;
}

/* Append the numbers of virtual stages per rank that divide the layers evenly. */
static void list_even_chunks(const ms_job_spec *spec, int ranks, ms_buffer *out) {
    int count = 0;
    for (int chunks = 2; chunks <= spec->model.layers && count < CHUNKS_LISTED; chunks++) {
        const ms_open_stages open = ms_spec_open_stages(spec, ranks * chunks);
        if (open.count > 0 && open.layers >= open.count && open.layers % open.count == 0) {
            ms_buffer_printf(out, "%s%d", count == 0 ? "expected " : ", ", chunks);
            count++;
        }
    }
    if (count > 0) {
        ms_buffer_printf(out, ", which divide%s the %d layers among %d ranks",
                         count == 1 ? "s" : "", spec->model.layers, ranks);
    }
}

/* Write to `out`, which is empty, which values of 'schedule.v' (virtual stages per rank) fit the
 * job: the one that 'schedule.stage_layers' needs; else, without a balanced partition, those that
 * divide the layers evenly; else the range with at least one layer for each stage. Values begin at
 * 2, as the kinds that get here need several stages per rank. */
static void propose_chunks(const ms_job_spec *spec, int ranks, ms_buffer *out) {
    size_t listed = spec->schedule.partition.stage_layers.count;
    int most = spec->has_model ? spec->model.layers / ranks : 0;
    bool is_balanced = spec->schedule.partition.kind == MS_PARTITION_BALANCED;
    if (!spec->has_model) {
        ms_buffer_puts(out, "expected 2 or more");
    } else if (listed > 0 && listed % (size_t)ranks == 0) {
        ms_buffer_printf(out, "expected %zu, as 'schedule.stage_layers' has %zu entries",
                         listed / (size_t)ranks, listed);
    } else if (!is_balanced) {
        list_even_chunks(spec, ranks, out);
    }
    if (out->length == 0 && most >= 2) {
        ms_buffer_printf(out, "expected 2 to %d%s", most,
                         is_balanced ? "" : " with 'schedule.partition: balanced'");
    } else if (out->length == 0) {
        ms_buffer_printf(out, "and %d layers are fewer than two for each of %d ranks",
                         spec->model.layers, ranks);
    }
}

/* Report a missing `schedule.v` in a kind that takes any number of virtual stages, with values that
 * would do. */
ms_status ms_spec_check_chunks(const ms_job_spec *spec, int ranks, ms_diag *diag) {
    const ms_spec_schedule *schedule = &spec->schedule;
    if (schedule->chunks != 0 || ms_schedule_kind_traits(schedule->kind).chunks != 0) {
        return MS_OK;
    }
    ms_buffer values;
    ms_buffer_init(&values);
    propose_chunks(spec, ranks, &values);
    ms_status status = ms_spec_fault(
        spec, diag, "schedule.v", "'%s' needs the number of virtual stages per pipeline rank; %s",
        ms_schedule_kind_name(schedule->kind), ms_buffer_text(&values));
    ms_buffer_release(&values);
    return status;
}

/* Build the order of the schedule's kind. */
static ms_status build_by_kind(ms_job *job, ms_arena *arena, ms_diag *diag) {
    const ms_job_spec *spec = &job->spec;
    ms_schedule_spec order;
    find_order(job, &order);
    ms_status status = ms_spec_check_chunks(spec, job->layout.pp, diag);
    status = status == MS_OK ? check_passes(spec, &order, diag) : status;
    if (status == MS_OK) {
        ms_key_diag at_key;
        ms_key_diag_init(&at_key, spec, "schedule", diag);
        status = ms_schedule_build(&order, arena, &at_key.diag, &job->program);
    }
    return status;
}

/* Check that the sizes of a schedule file are those of the mesh, of the batch and, if it is given,
 * of `schedule.v`, and that all ranks have equally many stages. */
static ms_status check_sizes(const ms_job *job, const ms_program *program, ms_diag *diag) {
    const ms_job_spec *spec = &job->spec;
    const ms_schedule_spec *found = &program->spec;
    const struct {
        const char *what, *key;
        int found, wanted;
    } SIZES[] = {{"pipeline ranks", "mesh.pp", found->pipeline_ranks, job->layout.pp},
                 {"stages per rank", "schedule.v", found->chunks, spec->schedule.chunks},
                 {"microbatches", "batch", found->microbatches, job->microbatches}};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        if (SIZES[i].wanted != 0 && SIZES[i].found != SIZES[i].wanted) {
            bool may_be_slices = /* of microbatches, the last row */
                i == 2 && found->slices == 1 && SIZES[i].found % SIZES[i].wanted == 0;
            return ms_spec_fault(spec, diag, "schedule.kind",
                                 "'csv:%s' has %d %s, and '%s' gives %d%s", spec->schedule.csv,
                                 SIZES[i].found, SIZES[i].what, SIZES[i].key, SIZES[i].wanted,
                                 may_be_slices ? "; if they are slices of sequences, "
                                                 "'schedule.splits' says how many make one"
                                               : "");
        }
    }
    if (program->model_stages != found->pipeline_ranks * found->chunks) {
        return ms_spec_fault(spec, diag, "schedule.kind",
                             "'csv:%s' has %d stages on %d ranks; on a platform every rank has "
                             "equally many",
                             spec->schedule.csv, program->model_stages, found->pipeline_ranks);
    }
    return MS_OK;
}

/* Check that keys which shape the order of a kind are not given beside a schedule file. */
static ms_status check_keys(const ms_job_spec *spec, ms_diag *diag) {
    const struct {
        const char *path;
        bool is_set;
    } OF_KINDS[] = {{"schedule.group", spec->schedule.group != 0},
                    {"schedule.reorder", spec->schedule.is_reordered}};
    for (size_t i = 0; i < sizeof OF_KINDS / sizeof OF_KINDS[0]; i++) {
        if (OF_KINDS[i].is_set) {
            return ms_spec_fault(spec, diag, OF_KINDS[i].path,
                                 "makes an order, and 'csv:%s' has its own; leave it out",
                                 spec->schedule.csv);
        }
    }
    return MS_OK;
}

/* Read the order from the workload's schedule file, whose relative path starts at the spec's
 * folder. */
static ms_status read_file(ms_job *job, ms_arena *arena, ms_diag *diag) {
    const ms_job_spec *spec = &job->spec;
    const char *path = spec->schedule.csv;
    const char *name = ms_arena_printf(arena, MS_SPEC_CSV_PREFIX "%s", path);
    path = path[0] == '/' ? path : ms_arena_printf(arena, "%s/%s", spec->folder, path);
    if (path == NULL || name == NULL) {
        return MS_E_NOMEM;
    }
    ms_csv_table table;
    ms_program program;
    int slices = spec->schedule.slices < 1 ? 1 : spec->schedule.slices; /* less was reported */
    ms_status status = ms_csv_load(path, arena, diag, &table);
    status = status == MS_OK ? ms_csv_program(&table, name, slices, arena, diag, &program) : status;
    status = status == MS_OK ? check_sizes(job, &program, diag) : status;
    status = status == MS_OK ? check_keys(spec, diag) : status;
    if (status == MS_OK) {
        job->program = program;
        job->schedule_text = table.text;
    }
    return status;
}

/* Set when whole stages are gathered (ZeRO 3): as data_parallel.gather_stages says, else as the
 * schedule file does, unless other keys say how parameters are gathered. */
static ms_status place_gathers(ms_job *job, ms_arena *arena, ms_diag *diag) {
    int gather_stages = job->spec.gather_stages;
    ms_program *program = &job->program;
    if (gather_stages != MS_SPEC_OPEN || job->layout.keeps_parameters ||
        job->layout.has_gather_overlap) {
        program->shard_moves = NULL;
    }
    ms_status status = MS_OK;
    if (gather_stages > 0) {
        status = ms_program_place_unshards(program, gather_stages, arena, diag);
    }
    return status;
}

/* Check that the schedule has rounds where gradients are reduced once per round. */
static ms_status check_rounds(const ms_job *job, ms_diag *diag) {
    if (job->layout.reduce != MS_REDUCE_ROUND || job->program.round > 0) {
        return MS_OK;
    }
    return ms_spec_fault(&job->spec, diag, "data_parallel.reduce",
                         "'round' needs a schedule that takes microbatches in groups "
                         "(interleaved, interleaved_torch, interleaved_flexible, zb1p), and '%s' "
                         "does not; expected 'last' or 'every'",
                         job->program.name);
}

/* Set the members of the layout that follow from the order. */
static void apply_order(ms_job *job) {
    const ms_program *program = &job->program;
    job->layout.has_placed_unshards =
        job->spec.gather_stages > 0 || (job->layout.zero >= 3 && program->shard_moves != NULL);
    job->layout.chunks = program->spec.chunks;
    job->layout.directions = program->parameter_replicas;
    job->layout.slices = program->spec.slices;
    job->layout.stage_rank = program->stage_rank;
}

/* Build the job's order of passes, place its gathers, and set what follows for the layout.
 * has_pairs is set before serial overlap takes the pairs apart. */
ms_status ms_spec_build_program(ms_job *job, ms_arena *arena, ms_diag *diag) {
    const ms_spec_schedule *schedule = &job->spec.schedule;
    ms_status status =
        schedule->csv != NULL ? read_file(job, arena, diag) : build_by_kind(job, arena, diag);
    if (status != MS_OK) {
        return status;
    }
    job->has_pairs = ms_program_has_pairs(&job->program);
    if (schedule->overlap == MS_OVERLAP_SERIAL) {
        ms_program_part_pairs(&job->program);
    }
    status = place_gathers(job, arena, diag);
    status = status == MS_OK ? check_rounds(job, diag) : status;
    apply_order(job);
    return status;
}

/* Set the key of a job's order of passes: everything that the order follows from. */
void ms_job_find_order_key(const ms_job *job, ms_job_order_key *key_out) {
    memset(key_out, 0, sizeof *key_out);
    find_order(job, &key_out->order);
    key_out->csv = job->spec.schedule.csv;
    key_out->gather_stages = job->spec.gather_stages;
    key_out->is_serial = job->spec.schedule.overlap == MS_OVERLAP_SERIAL;
    key_out->keeps_parameters = job->layout.keeps_parameters;
    key_out->has_gather_overlap = job->layout.has_gather_overlap;
    key_out->has_rounds = job->layout.reduce == MS_REDUCE_ROUND;
}

/* Give a job the order of passes of another job with the same key. */
void ms_job_take_order(ms_job *job, const ms_job *other) {
    job->program = other->program;
    job->schedule_text = other->schedule_text;
    job->has_pairs = other->has_pairs;
    apply_order(job);
}
