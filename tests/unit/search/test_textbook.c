/* The textbook's mesh search, every row of its table to the digit. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "search/textbook.h"

typedef struct textbook_row {
    int devices;
    double parameters, rack_Bps;
    size_t legal, fitting;
    const char *best[4]; /* (dp,pp,tp) and milliseconds */
    const char *first_of_three;
} textbook_row;

static const textbook_row ROWS[] = {
    {64,
     70e9,
     25e9,
     28,
     28,
     {"(1,8,8) 50.17", "(1,16,4) 53.12", "(1,32,2) 56.23", "(1,64,1) 61.03"},
     "(2,4,8) 744.42"},
    {64,
     70e9,
     200e9,
     28,
     28,
     {"(1,8,8) 50.17", "(1,16,4) 53.12", "(1,32,2) 56.23", "(1,64,1) 61.03"},
     "(2,4,8) 131.92"},
    {60,
     70e9,
     25e9,
     54,
     54,
     {"(1,10,6) 50.94", "(1,12,5) 51.67", "(1,15,4) 52.50", "(1,20,3) 53.56"},
     "(2,5,6) 792.11"},
    {66,
     70e9,
     25e9,
     27,
     27,
     {"(1,11,6) 51.72", "(1,22,3) 54.69", "(1,33,2) 56.76", "(1,66,1) 62.05"},
     "(2,11,3) 726.62"},
    {64,
     200e9,
     25e9,
     28,
     28,
     {"(1,64,1) 61.03", "(1,32,2) 77.90", "(1,16,4) 85.62", "(1,8,8) 88.08"},
     "(2,16,2) 2068.96"},
    {1024,
     1e12,
     25e9,
     66,
     56,
     {"(2,64,8) 977.70", "(1,64,16) 1936.03", "(1,32,32) 1982.06", "(1,1,1024) 1998.05"},
     "(2,64,8) 977.70"},
};

static const char *text_of(const ms_textbook_mesh *mesh, char text[64]) {
    snprintf(text, 64, "(%d,%d,%d) %.2f", mesh->dp, mesh->pp, mesh->tp, 1e3 * mesh->cost_s);
    return text;
}

Test(textbook, every_row_of_its_table) {
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const textbook_row *row = &ROWS[i];
        ms_arena arena;
        ms_diag diag;
        ms_textbook_mesh *meshes = NULL;
        size_t count = 0, fitting = 0;
        char text[64];
        ms_arena_init(&arena);
        ms_diag_init_mute(&diag);
        ms_textbook input = ms_textbook_usual(row->devices, row->parameters);
        input.rack_Bps = row->rack_Bps;
        cr_assert_eq(ms_textbook_search(&input, &arena, &diag, &meshes, &count, &fitting), MS_OK);
        cr_assert_eq(count, row->legal, "row %zu: %zu legal", i, count);
        cr_assert_eq(fitting, row->fitting, "row %zu: %zu fit", i, fitting);
        for (int place = 0; place < 4; place++) {
            cr_assert_str_eq(text_of(&meshes[place], text), row->best[place], "row %zu", i);
        }
        cr_assert_str_eq(text_of(ms_textbook_first_of_three(meshes, count), text),
                         row->first_of_three, "row %zu", i);
        for (size_t m = 0; m < count; m++) {
            cr_assert_eq(meshes[m].dp * meshes[m].pp * meshes[m].tp, row->devices);
            cr_assert_eq(meshes[m].fits, m < fitting);
        }
        if (row->devices == 64 && row->parameters == 70e9) {
            snprintf(text, sizeof text, "%.2f GB", 1e-9 * meshes[0].memory_B);
            cr_assert_str_eq(text, "17.55 GB");
        }
        ms_arena_release(&arena);
    }
}

Test(textbook, what_is_no_mesh_is_refused) {
    ms_arena arena;
    ms_diag diag;
    ms_textbook_mesh *meshes = NULL;
    size_t count = 0, fitting = 0;
    ms_arena_init(&arena);
    ms_diag_init_mute(&diag);
    ms_textbook input = ms_textbook_usual(0, 70e9);
    cr_assert_eq(ms_textbook_search(&input, &arena, &diag, &meshes, &count, &fitting), MS_E_INPUT);
    input = ms_textbook_usual(64, 70e9);
    input.rack_Bps = 0;
    cr_assert_eq(ms_textbook_search(&input, &arena, &diag, &meshes, &count, &fitting), MS_E_INPUT);
    input = ms_textbook_usual(7, 70e9); /* a prime: no mesh of three kinds */
    cr_assert_eq(ms_textbook_search(&input, &arena, &diag, &meshes, &count, &fitting), MS_OK);
    cr_assert_eq(count, 3);
    cr_assert_null(ms_textbook_first_of_three(meshes, count));
    cr_assert_eq(fitting, 0, "160 GB of state on each of 7 devices");
    ms_arena_release(&arena);
}
