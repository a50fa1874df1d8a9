/* Makes a measured job of the rows of a table (table.h). Structure comes from data-parallel rank 0
 * of the first step; every other step and rank has to have the same operations. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "search/recorded/table.h"

/* Share of a pass by which the next pass may begin before its end: clocks and 32-bit floats are not
 * exact (0.05 % in measured traces). */
static const double OVERLAP_MAX = 0.01;

/* The rows while they are arranged. */
typedef struct arranging {
    ms_recorded *job;
    ms_recorded_node *rows; /* [row_count] sorted by step, dp, stage, kind, seq */
    size_t row_count;
    size_t block; /* rows of a step and data-parallel rank */
    int *nodes;   /* [block] node of each row of a block */
    ms_diag *diag;
} arranging;

/* Compare two numbers for qsort. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* The order of rows: step, data-parallel rank, stage, kind, number; without numbers, start. */
static int compare_rows(const void *a, const void *b) {
    const ms_recorded_node *left = a;
    const ms_recorded_node *right = b;
    int order = ORDER(left->step, right->step);
    order = order != 0 ? order : ORDER(left->dp, right->dp);
    order = order != 0 ? order : ORDER(left->stage, right->stage);
    order = order != 0 ? order : ORDER(left->kind, right->kind);
    order = order != 0 ? order : ORDER(left->seq, right->seq);
    order = order != 0 ? order : ORDER(left->start_ps, right->start_ps);
    return order != 0 ? order : ORDER(left->line, right->line);
}

/* The order of operations on a worker: start; those that start together as in the table. */
static int compare_nodes(const void *a, const void *b) {
    const ms_recorded_node *left = a;
    const ms_recorded_node *right = b;
    int order = ORDER(left->stage, right->stage);
    order = order != 0 ? order : ORDER(left->start_ps, right->start_ps);
    return order != 0 ? order : ORDER(left->line, right->line);
}

/* Report a fault of the operation of a row, at its line.  Returns MS_E_INPUT. */
__attribute__((format(printf, 3, 4))) static ms_status
refuse_row(const arranging *a, const ms_recorded_node *row, const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const ms_mark mark = {.file = a->job->path, .line = (int)row->line};
    return ms_diag_at(a->diag, &mark, NULL, "step %d, dp_rank %d, stage %d: %s %d %s", row->step,
                      row->dp, row->stage, MS_RECORDED_KINDS[row->kind].name, row->seq, what);
}

/* Number the operations of each kind on a worker by start where the table does not; else check that
 * its numbers begin at 0 and miss none. */
static ms_status number_rows(const arranging *a) {
    ms_status status = MS_OK;
    int next = 0;
    bool is_numbered = a->rows[0].seq >= 0;
    for (size_t i = 0; i < a->row_count && a->diag->errors < a->diag->limit; i++) {
        ms_recorded_node *row = &a->rows[i];
        const ms_recorded_node *last = i == 0 ? row : row - 1;
        bool is_same = i > 0 && row->step == last->step && row->dp == last->dp &&
                       row->stage == last->stage && row->kind == last->kind;
        next = is_same ? next + 1 : 0;
        row->seq = is_numbered ? row->seq : next;
        if (is_same && row->seq == last->seq) {
            status = refuse_row(a, row, "is in line %u already", last->line);
        } else if (row->seq != next) {
            status = refuse_row(a, row, "has no number %d before it: operations are missing", next);
        }
        next = row->seq;
    }
    return status;
}

/* List the numbers of the steps; find how many data-parallel ranks and stages there are. */
static ms_status measure(const arranging *a, ms_arena *arena) {
    ms_recorded *job = a->job;
    ms_vector steps = {.item_B = sizeof(int32_t)};
    for (size_t i = 0; i < a->row_count; i++) {
        const ms_recorded_node *row = &a->rows[i];
        if (i == 0 || row->step != row[-1].step) {
            ms_vector_add(&steps, &row->step, 1);
        }
        job->dp = row->dp >= job->dp ? row->dp + 1 : job->dp;
        job->stages = row->stage >= job->stages ? row->stage + 1 : job->stages;
    }
    job->step_count = (int)steps.count;
    job->steps = ms_vector_keep(&steps, arena);
    return job->steps == NULL ? ms_diag_no_memory(a->diag) : MS_OK;
}

/* Make the nodes of the first block of rows. */
static ms_status make_nodes(arranging *a, ms_arena *arena) {
    ms_recorded *job = a->job;
    const ms_recorded_node *first = a->rows;
    while (a->block < a->row_count && a->rows[a->block].step == first->step &&
           a->rows[a->block].dp == first->dp) {
        a->block++;
    }
    job->node_count = (int)a->block;
    job->nodes = MS_NEW(arena, ms_recorded_node, a->block);
    job->first = MS_NEW(arena, int, job->stages + 1);
    a->nodes = MS_NEW(arena, int, a->block);
    if (job->nodes == NULL || job->first == NULL || a->nodes == NULL) {
        return ms_diag_no_memory(a->diag);
    }
    for (size_t i = 0; i < a->block; i++) {
        ms_recorded_node *node = &job->nodes[i];
        bool is_pass = ms_recorded_is_pass(a->rows[i].kind);
        *node = a->rows[i];
        node->row = (int32_t)i;
        node->mc = node->mc < 0 && is_pass ? 0 : node->mc;
        node->gmc = node->gmc < 0 && is_pass ? node->mc * job->stages + node->stage : node->gmc;
    }
    qsort(job->nodes, a->block, sizeof *job->nodes, compare_nodes);
    for (int n = 0; n < job->node_count; n++) {
        a->nodes[job->nodes[n].row] = n;
        job->first[job->nodes[n].stage + 1] = n + 1;
    }
    for (int s = 0; s < job->stages; s++) { /* a stage may have no rows */
        job->first[s + 1] += job->first[s + 1] == 0 ? job->first[s] : 0;
    }
    return MS_OK;
}

/* Report the first difference between a block and the first one.  i: index of the row that differs,
 * which may be of a later block, or beyond the last row.  step, dp: of the block. */
static ms_status report_unlike(const arranging *a, size_t i, int step, int dp) {
    const ms_recorded_node *model = &a->rows[i % a->block];
    const ms_recorded_node *row = &a->rows[i < a->row_count ? i : a->row_count - 1];
    bool is_of_block = i < a->row_count && row->step == step && row->dp == dp;
    ms_recorded_node wanted = *model;
    wanted.step = step;
    wanted.dp = dp;
    if (is_of_block && compare_rows(row, &wanted) < 0) {
        return refuse_row(a, row, "is no operation of step %d, dp_rank %d", a->rows[0].step,
                          a->rows[0].dp);
    }
    wanted.line = row->line;
    return refuse_row(a, &wanted, "is missing, which step %d, dp_rank %d has in line %u",
                      a->rows[0].step, a->rows[0].dp, model->line);
}

/* Check that a block has the operations of the first one, and write its times to the job.  step:
 * index of the step. */
static ms_status take_block(const arranging *a, int step, int dp) {
    ms_recorded *job = a->job;
    size_t first = ((size_t)step * (size_t)job->dp + (size_t)dp) * a->block;
    for (size_t i = 0; i < a->block; i++) {
        const ms_recorded_node *row = &a->rows[first + i];
        const ms_recorded_node *model = &a->rows[i];
        if (first + i >= a->row_count || row->step != job->steps[step] || row->dp != dp ||
            row->stage != model->stage || row->kind != model->kind || row->seq != model->seq) {
            return report_unlike(a, first + i, job->steps[step], dp);
        }
        bool is_pass = ms_recorded_is_pass(row->kind);
        if (is_pass && (row->mb != model->mb || row->mc != model->mc || row->gmc != model->gmc)) {
            return refuse_row(a, row,
                              "is another microbatch or chunk than in step %d, dp_rank 0 (line "
                              "%u): the order of passes has to be equal",
                              a->rows[0].step, model->line);
        }
        size_t at = ((size_t)step * a->block + (size_t)a->nodes[i]) * (size_t)job->dp + (size_t)dp;
        job->delay_ps[at] = row->start_ps;
        job->own_ps[at] = row->length_ps;
    }
    size_t end = first + a->block;
    if (end < a->row_count && a->rows[end].step == job->steps[step] && a->rows[end].dp == dp) {
        return refuse_row(a, &a->rows[end], "is no operation of step %d, dp_rank %d",
                          a->rows[0].step, a->rows[0].dp);
    }
    return MS_OK;
}

/* Check that the passes of a worker follow each other in the order of the first step.  rows: of its
 * step and data-parallel rank. */
static ms_status check_passes(const arranging *a, const ms_recorded_node *rows, int stage) {
    const ms_recorded *job = a->job;
    const ms_recorded_node *last = NULL;
    for (int n = job->first[stage]; n < job->first[stage + 1]; n++) {
        const ms_recorded_node *row = &rows[job->nodes[n].row];
        if (!ms_recorded_is_pass(row->kind)) {
            continue;
        }
        if (last != NULL && (row->pair < 0 || row->pair != last->pair)) {
            int64_t shorter = row->length_ps < last->length_ps ? row->length_ps : last->length_ps;
            int64_t gap = row->start_ps - last->start_ps - last->length_ps;
            if ((double)gap < -OVERLAP_MAX * (double)shorter - 1.0) {
                return refuse_row(a, row,
                                  "starts %.6g s before the end of the pass before it (%s %d): "
                                  "passes overlap, or are not in the order of the first step",
                                  -(double)gap * 1e-12, MS_RECORDED_KINDS[last->kind].name,
                                  last->seq);
            }
        }
        last = row;
    }
    return MS_OK;
}

/* Take the times of all blocks, and check the passes of all workers. */
static ms_status take_blocks(const arranging *a) {
    const ms_recorded *job = a->job;
    ms_status status = MS_OK;
    for (int i = 0; i < job->step_count * job->dp && status == MS_OK; i++) {
        status = take_block(a, i / job->dp, i % job->dp);
    }
    int64_t workers = (int64_t)job->step_count * job->dp * job->stages;
    for (int64_t i = 0; i < workers && status == MS_OK; i++) {
        const ms_recorded_node *rows = a->rows + (size_t)(i / job->stages) * a->block;
        status = check_passes(a, rows, (int)(i % job->stages));
    }
    return status;
}

/* Count virtual stages and microbatches, and check that every virtual stage runs each microbatch
 * forward and backward; find whether messages are labelled. */
static ms_status count_passes(const arranging *a, ms_arena *arena) {
    ms_recorded *job = a->job;
    const ms_mark mark = {.file = job->path};
    job->has_labels = true;
    for (int n = 0; n < job->node_count; n++) {
        const ms_recorded_node *node = &job->nodes[n];
        bool is_message = ms_recorded_is_message(node->kind);
        job->model_stages = node->gmc >= job->model_stages ? node->gmc + 1 : job->model_stages;
        job->has_labels = job->has_labels && (!is_message || (node->gmc >= 0 && node->mb >= 0));
    }
    if (job->model_stages > job->node_count) {
        return ms_diag_at(a->diag, &mark, "gmc", "%d is above the number of operations of a step",
                          job->model_stages - 1);
    }
    int *passes = MS_NEW(arena, int, 4 * (size_t)job->model_stages + 4);
    if (passes == NULL) {
        return ms_diag_no_memory(a->diag);
    }
    for (int n = 0; n < job->node_count; n++) {
        if (ms_recorded_is_pass(job->nodes[n].kind)) {
            passes[4 * job->nodes[n].gmc + job->nodes[n].kind]++;
        }
    }
    job->microbatches = passes[MS_RECORDED_FORWARD];
    for (int g = 0; g < job->model_stages || g == 0; g++) {
        const int *own = passes + 4 * g;
        int backward = own[MS_RECORDED_BACKWARD] + own[MS_RECORDED_INPUT_GRAD];
        int weights = own[MS_RECORDED_BACKWARD] + own[MS_RECORDED_WEIGHT_GRAD];
        if (own[0] != job->microbatches || own[0] == 0 || backward != own[0] || weights != own[0]) {
            return ms_diag_at(a->diag, &mark, NULL,
                              "step %d, dp_rank 0: virtual stage %d (gmc) has %d forward passes, "
                              "%d backward passes or input gradients and %d with weight gradients; "
                              "virtual stage 0 has %d forward passes",
                              job->steps[0], g, own[0], backward, weights, job->microbatches);
        }
    }
    return MS_OK;
}

ms_status ms_recorded_arrange(ms_vector *rows, ms_arena *arena, ms_diag *diag, ms_recorded *job) {
    arranging a = {.job = job, .rows = rows->data, .row_count = rows->count, .diag = diag};
    qsort(a.rows, a.row_count, sizeof *a.rows, compare_rows);
    ms_status status = number_rows(&a);
    status = status == MS_OK ? measure(&a, arena) : status;
    status = status == MS_OK ? make_nodes(&a, arena) : status;
    status = status == MS_OK ? count_passes(&a, arena) : status;
    if (status != MS_OK) {
        return status;
    }
    size_t times = a.block * (size_t)job->dp * (size_t)job->step_count;
    /* A mesh with holes has more places than rows, and would ask for memory beyond all bounds. */
    if (times > 2 * a.row_count + a.block) {
        const ms_mark mark = {.file = job->path};
        return ms_diag_at(diag, &mark, NULL,
                          "%zu rows are missing: %d steps, %d data-parallel ranks, %zu operations "
                          "of step %d, dp_rank 0 make %zu",
                          times - a.row_count, job->step_count, job->dp, a.block, job->steps[0],
                          times);
    }
    job->delay_ps = MS_NEW(arena, int64_t, times);
    job->own_ps = MS_NEW(arena, int64_t, times);
    job->base_ps = MS_NEW(arena, int64_t, job->step_count);
    if (job->delay_ps == NULL || job->own_ps == NULL || job->base_ps == NULL) {
        return ms_diag_no_memory(diag);
    }
    return take_blocks(&a);
}
