/* Compute-only CSV: one line per rank, cells "<stage><pass><mb>", overlapped pairs
 * "(<cell>;<cell>)OVERLAP_F_B", LF ends, no header, no empty cells. Source: the format of
 * torch.distributed.pipelining (_PipelineScheduleRuntime._load_csv, "compute_only"). */
#include "base/checksum.h"
#include "schedule/internal.h"

/* Takes the text piece by piece, so that the checksum needs no copy of it. */
typedef struct text_sink {
    ms_buffer *buffer; /* NULL: only the checksum */
    uint32_t crc;
} text_sink;

static void put(text_sink *sink, const char *text, size_t length) {
    if (sink->buffer != NULL) {
        ms_buffer_add(sink->buffer, text, length);
        return;
    }
    sink->crc = ms_crc32_add(sink->crc, text, length);
}

/* Decimal digits of a number >= 0, right-aligned in front of `end`. Returns their start. */
static char *put_digits(char *end, int number) {
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

static void put_cell(text_sink *sink, const ms_action *action) {
    char cell[32];
    char *at = put_digits(cell + sizeof cell, action->mb);
    *--at = ms_pass_name((ms_pass)action->pass)[0];
    at = put_digits(at, action->stage);
    put(sink, at, (size_t)(cell + sizeof cell - at));
}

static void put_rank(text_sink *sink, const ms_program *program, int rank) {
    static const char PAIR_END[] = ")OVERLAP_F_B";
    bool is_second = false;
    for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
        const ms_action *action = &program->actions[i];
        if (i > program->first[rank]) {
            put(sink, is_second ? ";" : ",", 1);
        }
        if (action->is_overlapped != 0) {
            put(sink, "(", 1);
        }
        put_cell(sink, action);
        if (is_second) {
            put(sink, PAIR_END, sizeof PAIR_END - 1);
        }
        is_second = action->is_overlapped != 0;
    }
    put(sink, "\n", 1);
}

static void put_program(text_sink *sink, const ms_program *program) {
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        put_rank(sink, program, rank);
    }
}

void ms_program_write_csv(const ms_program *program, ms_buffer *out) {
    text_sink sink = {.buffer = out};
    put_program(&sink, program);
}

uint32_t ms_program_crc32(const ms_program *program) {
    text_sink sink = {.buffer = NULL};
    put_program(&sink, program);
    return sink.crc;
}
