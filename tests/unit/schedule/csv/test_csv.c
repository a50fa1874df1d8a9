/* Schedule files: round trips, both dialects, lowering, and what is wrong with broken ones. */
#include <stdio.h>
#include <string.h>

#include "schedule/schedule_csv.h"
#include "schedule_fixture.h"

static ms_status read_slices(fixture *f, const char *text, int slices, ms_program *program) {
    ms_csv_table table;
    ms_status status = ms_csv_read(text, strlen(text), "order.csv", &f->arena, &f->diag, &table);
    return status == MS_OK
               ? ms_csv_program(&table, "csv:order.csv", slices, &f->arena, &f->diag, program)
               : status;
}

static ms_status read_program(fixture *f, const char *text, ms_program *program) {
    return read_slices(f, text, 1, program);
}

/* A file that must read, as it is written again. */
static void expect_same_bytes(const char *text) {
    fixture f;
    fixture_init(&f);
    ms_csv_table table;
    cr_assert_eq(ms_csv_read(text, strlen(text), "order.csv", &f.arena, &f.diag, &table), MS_OK,
                 "%s", ms_buffer_text(&f.talk));
    ms_buffer out;
    ms_buffer_init(&out);
    ms_csv_write(&table, &out);
    cr_assert_str_eq(ms_buffer_text(&out), text);
    ms_buffer_release(&out);
    fixture_release(&f);
}

Test(schedule_csv, round_trips_to_the_byte) {
    static const char *const TEXTS[] = {
        "0F0,0B0\n",
        "0F0,0B0",
        "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n",
        "0F0,0F1,2F0,,2F1,2B0,2W0,0F2,2B1,2W1\n,,1F0\n",
        "0F0,,,0I0,0W0,\n,1F0,1B0,,\n",
        "0F0,1F0,(0F1;1B0)OVERLAP_F_B,1F1,0B0,1B1,0B1\n",
        ("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
         "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n"),
        "0F0,0BW0\n1F0,1B0,1W0\n",
        "0F0,0B0\n\n",
        " 0F0 ,\t, 0B0\r\n1F0, ,1B0\n",
        "\xEF\xBB\xBF\"0F0\",0F1,\"0B0\",\" 0B1 \"\r\n",
        "( 0F0 ;1B0)OVERLAP_F_B",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        expect_same_bytes(TEXTS[i]);
    }
}

/* Written and read again, every kind has the same order, placement and times. */
Test(schedule_csv, every_kind_comes_back) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        fixture f;
        fixture_init(&f);
        bool takes_two = ms_schedule_kind_traits((ms_schedule_kind)kind).chunks == 0;
        int slices = kind == MS_SCHEDULE_SEQ1F1B ? 2 : 1;
        ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, 4, takes_two ? 2 : 0, 8, 0);
        spec.slices = slices;
        ms_program program = fixture_build(&f, &spec);
        for (int form = 0; form < 4; form++) {
            ms_csv_form how = {.has_sends = (form & 1) != 0, .has_shards = (form & 2) != 0};
            ms_csv_table table;
            cr_assert_eq(ms_csv_lower(&program, &how, &f.arena, &f.diag, &table), MS_OK, "%s",
                         ms_buffer_text(&f.talk));
            ms_buffer text;
            ms_buffer_init(&text);
            ms_csv_write(&table, &text);
            ms_program again;
            cr_assert_eq(read_slices(&f, ms_buffer_text(&text), slices, &again), MS_OK, "%s: %s",
                         program.name, ms_buffer_text(&f.talk));
            cr_assert_eq(ms_program_crc32(&again), ms_program_crc32(&program), "%s", program.name);
            cr_assert_eq(again.model_stages, program.model_stages, "%s", program.name);
            cr_assert_eq(again.mb_count, program.mb_count);
            cr_assert_eq(again.spec.microbatches, program.spec.microbatches);
            cr_assert_eq(again.spec.chunks, program.spec.chunks);
            cr_assert_eq(again.spec.slices, program.spec.slices);
            cr_assert_eq(again.parameter_replicas, program.parameter_replicas);
            ms_schedule_costs costs =
                fixture_even_costs(&f, program.model_stages, (const double[]){1, 2, 0.5, 0.25});
            cr_assert_eq(fixture_evaluate(&f, &again, &costs).makespan,
                         fixture_evaluate(&f, &program, &costs).makespan, "%s", program.name);
            ms_buffer_release(&text);
        }
        fixture_release(&f);
    }
}

static void expect_program(const char *text, const char *compute_only, int p, int v, int m) {
    fixture f;
    fixture_init(&f);
    ms_program program;
    cr_assert_eq(read_program(&f, text, &program), MS_OK, "%s", ms_buffer_text(&f.talk));
    cr_assert_eq(program.spec.pipeline_ranks, p);
    cr_assert_eq(program.spec.chunks, v);
    cr_assert_eq(program.spec.microbatches, m);
    cr_assert_eq((int)program.spec.kind, MS_SCHEDULE_CUSTOM);
    ms_buffer out;
    ms_buffer_init(&out);
    fixture_write_csv(&f, &program, &out);
    cr_assert_str_eq(ms_buffer_text(&out), compute_only);
    ms_buffer_release(&out);
    fixture_release(&f);
}

Test(schedule_csv, dialects_blanks_and_communication) {
    /* legacy by BW, and by W without I; today's letters otherwise */
    expect_program("0F0,0BW0\n1F0,1B0,1W0\n", "0F0,0B0\n1F0,1I0,1W0\n", 2, 1, 1);
    expect_program("0F0,0B0,0W0\n", "0F0,0I0,0W0\n", 1, 1, 1);
    expect_program("0F0,0I0,0W0\n1F0,1B0\n", "0F0,0I0,0W0\n1F0,1B0\n", 2, 1, 1);
    expect_program(" 0F0 ,\t, 0B0\r\n,1F0, ,1B0\r\n", "0F0,0B0\n1F0,1B0\n", 2, 1, 1);
    expect_program("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "0F0,0B0\n1F0,1B0\n",
                   2, 1, 1);
    expect_program("0F0,0B0,0REDUCE_GRAD\n1F0,1B0,1REDUCE_GRAD\n", "0F0,0B0\n1F0,1B0\n", 2, 1, 1);
    expect_program("0F0,1F0,1B0,0B0\n", "0F0,1F0,1B0,0B0\n", 1, 2, 1);
    /* three stages on two ranks, in an order of their own */
    expect_program("1F0,1B0\n0F0,2F0,2B0,0B0\n", "1F0,1B0\n0F0,2F0,2B0,0B0\n", 2, 2, 1);
}

/* Orders of the original, from its published files. */
Test(schedule_csv, lowering_as_the_original_does) {
    static const struct {
        ms_schedule_spec spec;
        ms_csv_form form;
        const char *line; /* must stand in the file */
    } ROWS[] = {
        {SPEC(MS_SCHEDULE_INTERLEAVED_TORCH, 2, 2, 2, 0),
         {.has_sends = true},
         "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3RECV_F1,3B0,3SEND_B0,"
         "1RECV_B0,"},
        {SPEC(MS_SCHEDULE_DUALPIPEV, 4, 2, 10, 0),
         {.has_sends = false},
         "3F0,4F0,3F1,4F1,3F2,4F2,3F3,4F3,3F4,4B0,(4F4;3B0)OVERLAP_F_B,(3F5;4B1)OVERLAP_F_B,"},
        {SPEC(MS_SCHEDULE_DUALPIPEV, 4, 2, 10, 0),
         {.has_sends = false},
         ",4I8,3I8,4I9,3I9,4W8,3W8,4W9,3W9\n"},
        {SPEC(MS_SCHEDULE_1F1B, 2, 1, 1, 0),
         {.has_sends = true, .has_shards = true},
         "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
         "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n"},
        /* a fourth stage pushes out the one that is not among the next three */
        {SPEC(MS_SCHEDULE_LOOPED_BFS, 1, 4, 1, 0),
         {.has_shards = true},
         "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,2F0,3F0,3B0,3REDUCE_GRAD,3RESHARD,"
         "0UNSHARD,2B0,2REDUCE_GRAD,2RESHARD,1B0,"},
        {SPEC(MS_SCHEDULE_ZBH1, 1, 1, 2, 0), {.merges_pairs = true}, "0F0,0B0,0F1,0B1\n"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program program = fixture_build(&f, &ROWS[i].spec);
        ms_csv_table table;
        cr_assert_eq(ms_csv_lower(&program, &ROWS[i].form, &f.arena, &f.diag, &table), MS_OK);
        ms_buffer out;
        ms_buffer_init(&out);
        ms_csv_write(&table, &out);
        cr_assert_not_null(strstr(ms_buffer_text(&out), ROWS[i].line), "row %zu: %s", i,
                           ms_buffer_text(&out));
        ms_buffer_release(&out);
        fixture_release(&f);
    }
}

/* What is refused: the place and the rule. */
Test(schedule_csv, broken_files_are_explained) {
    static const struct {
        const char *text, *words;
    } BAD[] = {
        {"", "order.csv: error: expected one line per pipeline rank, got an empty file"},
        {"0F0,0B0\n1X0\n", "order.csv:2:1: error: rank 1, cell 1: '1X0' is no action"},
        {"0F0,0SENDF0\n", "did you mean the type 'SEND_F'?"},
        {"0F0, 0B\n", "order.csv:1:6: error: rank 0, cell 2: '0B' has no microbatch"},
        {"0UNSHARD3\n", "has a microbatch, and its type takes none"},
        {"F0\n", "'F0' is no action"},
        {"0F0x\n", "'0F0x' is no action"},
        {"40000F0\n", "stage above the limit"},
        {"0F99999999999999999999\n", "microbatch above the limit"},
        {"(0F0;0B1\n", "is no pair; expected (2F4;1B0)OVERLAP_F_B"},
        {"(0F0)OVERLAP_F_B\n", "has one member"},
        {"(0F0;0B1;0F2)OVERLAP_F_B\n", "more than two members"},
        {"(0F0;0SEND_F1)OVERLAP_F_B\n", "overlaps communication"},
        {"(0F0;0F1)OVERLAP_F_B,0B0,0B1\n", "a pair is one forward and one backward pass"},
        {"(0F0;0B0)OVERLAP_F_B\n", "overlapped with the other pass of the same work"},
        {"0F0,0I0,0BW0\n", "mixes the types I and BW"},
        {"0F0,0B0\n\n", "order.csv:2: error: rank 1: the line has no forward or backward pass"},
        {"0UNSHARD\n", "the file has no forward or backward pass"},
        {"0F0,0B0\n0F1,0B1\n",
         "order.csv:2:1: error: rank 1, cell 1: '0F1': stage 0 stands on rank 0 already"},
        {"0F0,2F0,2B0,0B0\n", "stage 1 stands on no rank, and the stages go to 2"},
        {"0F0,0F1000000,0B0\n", "makes at least 2000002 passes, and the file has 3"},
        {"0F0,0B0\n1B0,1F0\n",
         "order.csv:2:1: error: rank 1, cell 1: '1B0' comes before its forward pass"},
        {"0F0,0F0,0B0\n", "order.csv:1:5: error: rank 0, cell 2: '0F0' stands twice"},
        {"0F0,0W0,0I0\n", "'0W0' comes before its input gradient"},
        {"0F0,0I0\n", "order.csv:1: error: rank 0: '0W0' is missing"},
        {"0F0,0F1,0B0\n", "'0B1' is missing"},
        {"0F0,0F1,0B0,0B1\n1F1,1F2,1B0,1B1\n",
         "order.csv:2:1: error: rank 1, cell 1: '1F1' is the first forward pass of the stage, and "
         "it has no '1F0'; microbatches count from 0"},
        {"0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n",
         "order.csv:1:5: error: rank 0, cell 2: the schedule deadlocks: rank 0 at '0B0' (line 1, "
         "cell 2) waits for 1B0 of rank 1; rank 1 at '1F1' (line 2, cell 1) waits for 0F1 of rank "
         "0"},
        {"0F0,,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "order.csv:1:5: error: rank 0, cell 2: the cell is empty"},
        {"0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "'0B0' comes before its RECV_B"},
        {"0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "'0SEND_F0' is missing"},
        {"0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "'0SEND_F0' is sent before its forward pass"},
        {"0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "'0SEND_F0' stands twice"},
        {"0F0,0SEND_F0,0SEND_B0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "has no neighbour on another rank there"},
        {"0F0,0SEND_F0,0RECV_B0,0B0,1UNSHARD\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "'1UNSHARD' is of a stage or microbatch that this rank has no pass of"},
        {"0F0,0F1,0RECV_B0,0SEND_F0,0SEND_F1,0RECV_B1,0B0,0B1\n"
         "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
         "the messages deadlock: rank 0 at '0RECV_B0' (line 1, cell 3) waits for a message of rank "
         "1; rank 1 at '1RECV_F0' (line 2, cell 1) waits for a message of rank 0"},
        {"\xEF\xBB\xBF\"0F0\", \"0Q0\",0B0\n", "order.csv:1:8: error: rank 0, cell 2: '0Q0'"},
        {"\"0F0\",\"0B0\n", "order.csv:1:7: error: rank 0, cell 2: '\"0B0' has a quote that does "
                            "not close on its line"},
        {"\"0F0\"x,0B0\n", "has more behind its closing quote"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program program = {.stages = -7};
        cr_assert_eq(read_program(&f, BAD[i].text, &program), MS_E_INPUT, "row %zu", i);
        cr_assert_eq(f.diag.errors, 1, "row %zu: %s", i, ms_buffer_text(&f.talk));
        cr_assert_not_null(strstr(ms_buffer_text(&f.talk), BAD[i].words), "row %zu: %s", i,
                           ms_buffer_text(&f.talk));
        cr_assert_eq(program.stages, -7, "row %zu wrote its output", i);
        fixture_release(&f);
    }
}

/* The type that was meant is named only where there is little doubt. */
Test(schedule_csv, hints) {
    static const struct {
        const char *cell, *hint; /* "": none */
    } ROWS[] = {
        {"0B0)OVERLAP_F_B", ""},  {"0b0", "'B'"},          {"0X0", ""},   {"0FF0", ""},
        {"0send_f0", "'SEND_F'"}, {"0SENDF0", "'SEND_F'"}, {"0f", "'F'"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program program;
        cr_assert_eq(read_program(&f, ROWS[i].cell, &program), MS_E_INPUT);
        const char *hint = strstr(ms_buffer_text(&f.talk), "did you mean the type ");
        cr_assert_eq(hint == NULL, ROWS[i].hint[0] == '\0', "%s: %s", ROWS[i].cell,
                     ms_buffer_text(&f.talk));
        cr_assert(hint == NULL || strstr(hint, ROWS[i].hint) != NULL, "%s", hint);
        fixture_release(&f);
    }
}

/* Slices of sequences: the sizes, and the order that attention needs. */
Test(schedule_csv, slices_of_sequences) {
    static const char ORDER[] = "0F0,0F1,0F2,0F3,0B1,0B0,0B3,0B2\n";
    fixture f;
    fixture_init(&f);
    ms_program program;
    cr_assert_eq(read_slices(&f, ORDER, 2, &program), MS_OK, "%s", ms_buffer_text(&f.talk));
    cr_assert_eq(program.mb_count, 4);
    cr_assert_eq(program.spec.microbatches, 2);
    cr_assert_eq(program.spec.slices, 2);
    cr_assert_eq(read_slices(&f, ORDER, 3, &program), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "no whole sequences of K = 3 slices each"));
    cr_assert_eq(read_slices(&f, ORDER, 4, &program), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk),
                              "cell 5: '0B1' comes before the gradient of the next slice"));
    fixture_release(&f);
}

/* What no schedule can be is refused before it is kept. */
Test(schedule_csv, too_many_lines) {
    enum { LINES = 40000 };
    fixture f;
    fixture_init(&f);
    ms_buffer text;
    ms_buffer_init(&text);
    for (int i = 0; i < LINES; i++) {
        ms_buffer_puts(&text, "\n");
    }
    ms_program program;
    cr_assert_eq(read_program(&f, ms_buffer_text(&text), &program), MS_E_INPUT);
    cr_assert_eq(f.diag.errors, 1);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "more lines than the limit of 32767"));
    ms_buffer_release(&text);
    fixture_release(&f);
}

Test(schedule_csv, all_faults_of_a_file_at_once) {
    fixture f;
    fixture_init(&f);
    ms_program program;
    cr_assert_eq(read_program(&f, "0F0,x,0B0\ny,1F0\n1Z1\n", &program), MS_E_INPUT);
    cr_assert_eq(f.diag.errors, 3);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "order.csv:1:5:"));
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "    1 | 0F0,x,0B0\n      |     ^\n"));
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "order.csv:3:1:"));
    fixture_release(&f);
}

Test(schedule_csv, running_out_of_memory_is_reported) {
    static const char TEXT[] = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
    int refused = 0;
    for (long allocations = 0; allocations < 8; allocations++) {
        fixture f;
        fixture_init(&f);
        ms_arena_fail_after(&f.arena, allocations);
        ms_program program = {.stages = -7};
        ms_status status = read_program(&f, TEXT, &program);
        if (status != MS_OK) {
            refused++;
            cr_assert_eq(status, MS_E_NOMEM);
            cr_assert_eq(f.diag.errors, 1);
            cr_assert_eq(program.stages, -7);
        }
        fixture_release(&f);
    }
    cr_assert_geq(refused, 6);
}
