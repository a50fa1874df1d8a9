/* Seq1F1B: 1F1B on parts of a sequence. The parts of a microbatch go forwards in order, since a
 * part needs the keys and values of the one before, and backwards the other way round. Source: Sun
 * et al., "Seq1F1B: Efficient Sequence-Level Pipeline Parallelism", 2024. */
#include "schedule/internal.h"

static void unit(const ms_pairs *pairs, ms_pass pass, int64_t k, ms_action_list *list) {
    int64_t splits = pairs->spec->splits;
    int64_t part = pass == MS_PASS_F ? k : k / splits * splits + splits - 1 - k % splits;
    ms_action_list_add(list, pass, pairs->rank, (int)part);
}

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t total = (int64_t)spec->microbatches * spec->splits;
    int64_t warmup = (int64_t)spec->pipeline_ranks - rank - 2 + spec->splits;
    ms_pairs pairs = {
        .spec = spec,
        .rank = rank,
        .total = total,
        .warmup = warmup < total ? warmup : total,
        .unit = unit,
    };
    ms_generate_pairs(&pairs, list);
}

const ms_schedule_type ms_schedule_seq1f1b = {
    .name = "seq1f1b",
    .summary = "1F1B over parts of sequences",
    .passes = 2,
    .directions = 1,
    .chunks = 1,
    .options = MS_TAKES_SPLITS,
    .place = ms_place_loop,
    .generate = generate,
};
