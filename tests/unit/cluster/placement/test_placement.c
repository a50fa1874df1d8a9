/* Ranks on GPUs: in order, by nodes, by a file; what is left is idle or a spare. */
#include "cluster/placement/placement.h"
#include "platform_fixture.h"

#include <stdlib.h>
#include <unistd.h>

/* Four nodes of two GPUs. */
static const char FOUR[] = "{nodes: 4, node: {gpus: 2, nics: 2}}";

typedef struct placed {
    platform_fixture fixture;
    ms_rank_placement_choice choice;
    ms_rank_placement placement;
    ms_status status;
} placed;

static void place(placed *p, const char *mapping, const char *folder, int ranks) {
    ms_node *node = NULL;
    const ms_platform *platform = fixture_platform(&p->fixture, "dgx-a100", FOUR);
    memset(&p->placement, 0, sizeof p->placement);
    if (mapping != NULL) {
        cr_assert_eq(ms_yaml_parse(mapping, strlen(mapping), "mapping", &p->fixture.arena,
                                   &p->fixture.diag, &node),
                     MS_OK);
    }
    p->status = ms_placement_read(node, folder, &p->fixture.arena, &p->fixture.diag, &p->choice);
    if (p->status == MS_OK) {
        p->status = ms_placement_make(&p->choice, platform, ranks, &p->fixture.arena,
                                      &p->fixture.diag, &p->placement);
    }
}

/* "4 5 0 | idle 3 | spare 1 3" */
static const char *text_of(placed *p, int ranks) {
    const ms_rank_placement *placement = &p->placement;
    const char *text = "";
    for (int rank = 0; rank < ranks; rank++) {
        text = ms_arena_printf(&p->fixture.arena, "%s%d ", text, placement->gpus[rank]);
    }
    text = ms_arena_printf(&p->fixture.arena, "%s| idle %d | spare", text, placement->idle_gpus);
    for (int i = 0; i < placement->spare_count; i++) {
        text = ms_arena_printf(&p->fixture.arena, "%s %d", text, placement->spares[i]);
    }
    return text;
}

typedef struct placement_case {
    const char *mapping;
    int ranks;
    const char *placed;
} placement_case;

static const placement_case CASES[] = {
    {"{spares: 0}", 8, "0 1 2 3 4 5 6 7 | idle 0 | spare"},
    {"{spares: 0}", 3, "0 1 2 | idle 5 | spare"},
    {"{spares: 1}", 3, "0 1 2 | idle 3 | spare 3"},
    {"{spares: 2}", 4, "0 1 2 3 | idle 0 | spare 2 3"},
    {"{spares: [0, 2]}", 3, "2 3 6 | idle 1 | spare 0 2"},
    {"{nodes: [3, 0-1]}", 5, "6 7 0 1 2 | idle 3 | spare"},
    {"{nodes: \"3,0-1\"}", 5, "6 7 0 1 2 | idle 3 | spare"},
    {"{nodes: 2}", 2, "4 5 | idle 6 | spare"},
    {"{nodes: [3, 1], spares: 1}", 4, "6 7 2 3 | idle 2 | spare 2"},
    {"{nodes: [3, 1], spares: [0]}", 4, "6 7 2 3 | idle 2 | spare 0"},
    {"{order: [gpu, node]}", 6, "0 2 4 6 1 3 | idle 2 | spare"},
    {"{order: [gpu, node], spares: 1}", 6, "0 2 4 1 3 5 | idle 0 | spare 3"},
    {"{order: [node, gpu], nodes: [1]}", 2, "2 3 | idle 6 | spare"},
};

Test(placement, by_nodes) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        placed p;
        place(&p, CASES[i].mapping, NULL, CASES[i].ranks);
        cr_assert_eq(p.status, MS_OK, "case %zu: %s", i, ms_buffer_text(&p.fixture.messages));
        cr_assert_str_eq(text_of(&p, CASES[i].ranks), CASES[i].placed, "case %zu", i);
        fixture_release(&p.fixture);
    }
}

Test(placement, is_left_out_without_the_key) {
    placed p;
    place(&p, NULL, NULL, 8);
    cr_assert_eq(p.status, MS_OK);
    cr_assert_not(p.choice.is_given);
    cr_assert_null(p.placement.gpus);
    cr_assert_eq(p.placement.idle_gpus + p.placement.spare_count, 0);
    fixture_release(&p.fixture);
}

/* Every GPU has one use, and counts agree with them. */
Test(placement, uses_add_up) {
    placed p;
    int counts[3] = {0};
    place(&p, "{nodes: [1, 3], spares: 1}", NULL, 3);
    cr_assert_eq(p.status, MS_OK);
    for (int gpu = 0; gpu < 8; gpu++) {
        counts[p.placement.uses[gpu]]++;
    }
    cr_assert_eq(counts[MS_GPU_USED], 3);
    cr_assert_eq(counts[MS_GPU_IDLE], p.placement.idle_gpus);
    cr_assert_eq(counts[MS_GPU_SPARE], p.placement.spare_gpus);
    cr_assert_eq(p.placement.idle_gpus, 3);
    cr_assert_eq(p.placement.spare_gpus, 2);
    cr_assert_eq(p.placement.spares[0], 2);
    fixture_release(&p.fixture);
}

/* Written and read again, a choice is what it was; another one is not. */
static bool are_lists_equal(const ms_ints *a, const ms_ints *b) {
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

/* Whether two choices ask for the same, folders of their files aside. */
static bool is_placement_equal(const ms_rank_placement_choice *a,
                               const ms_rank_placement_choice *b) {
    bool is_file_equal =
        a->file == NULL || b->file == NULL ? a->file == b->file : strcmp(a->file, b->file) == 0;
    return is_file_equal && a->is_given == b->is_given && a->is_cyclic == b->is_cyclic &&
           a->spare_count == b->spare_count && are_lists_equal(&a->nodes, &b->nodes) &&
           are_lists_equal(&a->spares, &b->spares);
}

Test(placement, choices_come_back) {
    static const char *const MAPPINGS[] = {"{spares: 0}",
                                           "{nodes: [3, 0-2, 7], spares: 1}",
                                           "{nodes: [3, 0-2], spares: 1}",
                                           "{nodes: [3, 0-2], spares: 2}",
                                           "{nodes: [3, 0-2], spares: [1, 5-6]}",
                                           "{order: [gpu, node]}",
                                           "{file: 'a: b.csv'}",
                                           "{file: c.csv, spares: [5]}"};
    enum { COUNT = sizeof MAPPINGS / sizeof MAPPINGS[0] };
    platform_fixture fixture;
    ms_rank_placement_choice choices[COUNT];
    fixture_init(&fixture);
    for (size_t i = 0; i < COUNT; i++) {
        ms_node *mapping = NULL;
        ms_node *written = NULL;
        ms_rank_placement_choice again;
        ms_buffer text;
        ms_buffer_init(&text);
        cr_assert_eq(ms_yaml_parse(MAPPINGS[i], strlen(MAPPINGS[i]), "mapping", &fixture.arena,
                                   &fixture.diag, &mapping),
                     MS_OK);
        cr_assert_eq(ms_placement_read(mapping, NULL, &fixture.arena, &fixture.diag, &choices[i]),
                     MS_OK);
        cr_assert_eq(ms_placement_write(&choices[i], &fixture.arena, &written), MS_OK);
        ms_node_write(written, &text);
        cr_assert_eq(ms_yaml_parse(ms_buffer_text(&text), text.length, "written", &fixture.arena,
                                   &fixture.diag, &mapping),
                     MS_OK, "%s", ms_buffer_text(&text));
        cr_assert_eq(ms_placement_read(mapping, NULL, &fixture.arena, &fixture.diag, &again), MS_OK,
                     "%s", ms_buffer_text(&text));
        cr_assert(is_placement_equal(&choices[i], &again), "%s", ms_buffer_text(&text));
        for (size_t j = 0; j < i; j++) {
            cr_assert_not(is_placement_equal(&choices[i], &choices[j]), "%zu %zu", i, j);
        }
        ms_buffer_release(&text);
    }
    fixture_release(&fixture);
}

Test(placement, no_choice_is_written_as_nothing) {
    const ms_rank_placement_choice none = {.is_given = false};
    platform_fixture fixture;
    ms_node *written = NULL;
    fixture_init(&fixture);
    cr_assert_eq(ms_placement_write(&none, &fixture.arena, &written), MS_OK);
    cr_assert_null(written);
    fixture_release(&fixture);
}

typedef struct fault_case {
    const char *mapping;
    int ranks;
    const char *words;
} fault_case;

static const fault_case FAULTS[] = {
    {"{nodes: [4]}", 1, "no node 4: the platform 'dgx-a100' has 0 to 3"},
    {"{nodes: [1, 0-1]}", 1, "node 1 stands twice"},
    {"{nodes: [1], spares: [1]}", 1, "node 1 is a spare"},
    {"{nodes: [1]}", 3, "3 ranks do not fit on 1 node of 2 GPUs"},
    {"{spares: 1}", 7, "7 ranks do not fit on 3 nodes of 2 GPUs"},
    {"{spares: 9}", 1, "1 rank does not fit on 0 nodes"},
    {"{nodes: [0, 1, 2], spares: 2}", 5, "2 spare nodes, but 5 ranks leave 1 of 4 free"},
    {"{spares: [4]}", 1, "no spare node 4: the platform 'dgx-a100' has 0 to 3"},
    {"{spares: [1, 1]}", 1, "spare node 1 stands twice"},
    {"{nodes: []}", 1, "placement.nodes: names no node"},
    {"{nodes: [a]}", 1, "placement.nodes: expected numbers of nodes"},
    {"{nodes: [3-1]}", 1, "placement.nodes: expected numbers of nodes"},
    {"{nodes: {a: 1}}", 1, "placement.nodes: expected numbers of nodes"},
    {"{spares: -1}", 1, "placement.spares: expected numbers of nodes"},
    {"{spares: 99999999}", 1, "placement.spares: expected fewer than"},
    {"{order: [gpu]}", 1, "placement.order: expected [node, gpu] or [gpu, node]"},
    {"{order: [gpu, gpu]}", 1, "placement.order: expected [node, gpu] or [gpu, node]"},
    {"{file: x.csv, nodes: [1]}", 1, "placement.nodes: the file 'x.csv' places every rank"},
    {"{file: x.csv, order: [gpu, node]}", 1, "placement.order: the file 'x.csv' places every"},
    {"{file: /no/such/file.csv}", 1, "/no/such/file.csv"},
    {"{node: [1]}", 1, "placement.node: unknown key; did you mean 'nodes'?"},
};

Test(placement, faults) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        placed p;
        place(&p, FAULTS[i].mapping, NULL, FAULTS[i].ranks);
        const char *text = ms_buffer_text(&p.fixture.messages);
        cr_assert_eq(p.status, MS_E_INPUT, "case %zu: %d %s", i, p.status, text);
        cr_assert_not_null(strstr(text, FAULTS[i].words), "case %zu: %s", i, text);
        fixture_release(&p.fixture);
    }
}

/* ---- files ---- */

/* Place four ranks by a file of this text. */
static void place_by_file(placed *p, const char *text, const char *mapping) {
    char folder[] = "/tmp/meshsim-placement-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ranks.csv", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    place(p, mapping, folder, 4);
    unlink(path);
    rmdir(folder);
}

Test(placement, by_a_file) {
    static const char *const TEXTS[] = {
        "0,6\n1,0\n2,7\n3,1\n",
        "rank,gpu\r\n3,1\r\n2,7\r\n1,0\r\n0,6\r\n",
        "# where they are\n\nrank, gpu\n 0 , 6\n\"1\",0\n2,7\n\n3,1",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        placed p;
        place_by_file(&p, TEXTS[i], "{file: ranks.csv, spares: 1}");
        cr_assert_eq(p.status, MS_OK, "text %zu: %s", i, ms_buffer_text(&p.fixture.messages));
        cr_assert_str_eq(text_of(&p, 4), "6 0 7 1 | idle 2 | spare 2");
        fixture_release(&p.fixture);
    }
}

static const struct {
    const char *text, *words[2];
} FILES[] = {
    {"0,0\n1,1\n2,2\n", {"ranks.csv: error: 1 of 4 ranks stand nowhere, the first is rank 3"}},
    {"", {"the first is rank 0"}},
    {"0,0\n0,1\n2,2\n3,3\n", {"ranks.csv:2: error: rank 0 stands in line 1 already"}},
    {"0,0\n1,0\n2,2\n3,3\n", {"ranks.csv:2: error: GPU 0 has rank 0 already, by line 1"}},
    {"0,0\n1,8\n2,2\n4,3\n",
     {"ranks.csv:2: error: no GPU 8: the platform 'dgx-a100' has 0 to 7",
      "ranks.csv:4: error: no rank 4: the mesh has 0 to 3"}},
    {"0\n1,1\n2,2\n3,3\n", {"ranks.csv:1: error: expected a rank and its GPU, such as 0,8"}},
    {"0,0\n1,1,1\n2,2\n3,3\n", {"ranks.csv:2: error: expected a rank and its GPU"}},
    {"0,0\n1,-1\n2,2\n3,3\n", {"ranks.csv:2: error: expected a rank and its GPU"}},
    {"0,0\n1,99999999999999999999999999\n2,2\n3,3\n", {"ranks.csv:2: error: expected a rank"}},
    {"0,0\nrank,1\n2,2\n3,3\n", {"ranks.csv:2: error: expected a rank and its GPU"}},
    {"0,0\n1,\"1\n2,2\n3,3\n", {"ranks.csv:2: error: expected a rank and its GPU"}},
};

Test(placement, faults_of_files_have_their_line) {
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        placed p;
        place_by_file(&p, FILES[i].text, "{file: ranks.csv}");
        const char *text = ms_buffer_text(&p.fixture.messages);
        cr_assert_eq(p.status, MS_E_INPUT, "case %zu: %s", i, text);
        for (size_t w = 0; w < 2 && FILES[i].words[w] != NULL; w++) {
            cr_assert_not_null(strstr(text, FILES[i].words[w]), "case %zu: %s", i, text);
        }
        fixture_release(&p.fixture);
    }
}

Test(placement, a_file_leaves_named_spares_free) {
    placed p;
    place_by_file(&p, "0,0\n1,1\n2,2\n3,5\n", "{file: ranks.csv, spares: [2]}");
    cr_assert_eq(p.status, MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&p.fixture.messages),
                              "node 2 is a spare, but 'ranks.csv' puts rank 3 on it"));
    fixture_release(&p.fixture);
}
