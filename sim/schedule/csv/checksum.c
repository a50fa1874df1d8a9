/* The checksum of a program's compute-only CSV, without making its text: one line per rank, cells
 * "<stage><pass><mb>", overlapped pairs "(<cell>;<cell>)OVERLAP_F_B", LF ends, no header, no empty
 * cells. Source: the format of torch.distributed.pipelining (_PipelineScheduleRuntime._load_csv,
 * "compute_only"). */
#include "base/checksum.h"
#include "schedule/internal.h"

/* Decimal digits of a number >= 0, right-aligned in front of `end`. Returns their start. */
static char *put_digits(char *end, int number) {
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

/* Add the text of one cell to a CRC. Returns the new CRC. */
static uint32_t add_cell(uint32_t crc, const ms_action *action) {
    char cell[32]; /* written from its end, so in reverse: microbatch, pass, stage */
    char *at = put_digits(cell + sizeof cell, action->mb);
    *--at = ms_pass_name((ms_pass)action->pass)[0];
    at = put_digits(at, action->stage);
    return ms_crc32_add(crc, at, (size_t)(cell + sizeof cell - at));
}

/* Add the line of one rank to a CRC: its cells in the order of its list. Returns the new CRC. */
static uint32_t add_rank(uint32_t crc, const ms_program *program, int rank) {
    static const char PAIR_END[] = ")OVERLAP_F_B";
    bool is_second = false; /* whether the action is the second of an overlapped pair */
    for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
        const ms_action *action = &program->actions[i];
        if (i > program->first[rank]) {
            crc = ms_crc32_add(crc, is_second ? ";" : ",", 1);
        }
        if (action->is_overlapped != 0) {
            crc = ms_crc32_add(crc, "(", 1);
        }
        crc = add_cell(crc, action);
        if (is_second) {
            crc = ms_crc32_add(crc, PAIR_END, sizeof PAIR_END - 1);
        }
        is_second = action->is_overlapped != 0;
    }
    return ms_crc32_add(crc, "\n", 1);
}

/* CRC-32 of a program's compute-only CSV text. */
uint32_t ms_program_crc32(const ms_program *program) {
    uint32_t crc = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        crc = add_rank(crc, program, rank);
    }
    return crc;
}
