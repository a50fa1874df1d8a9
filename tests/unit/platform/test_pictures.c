/* Pictures: Graphviz and SVG. */
#include "platform_fixture.h"

typedef struct picture_case {
    const char *platform, *overrides;
    const char *words[6]; /* each stands in the SVG */
} picture_case;

static const picture_case SVG[] = {
    {"selene-a100",
     NULL,
     {">core: 8 links<", ">spine of pod 0<", ">spine of pod 3<", ">unit 27: 20 nodes<",
      ">184 Gbit/s a link, 7 us<", ">GPU 7<"}},
    {"dgx-a100", NULL, {">spine<", ">16 nodes<", ">one leaf switch per rail<"}},
    {"dgx-a100", "{nodes: 50}", {">unit 2: 10 nodes<"}},
    {"flat", NULL, {">1024 nodes<", ">25 GB/s a link, 500 ns<"}},
    {"ideal", NULL, {">unlimited a link, 0 s<"}},
    {"dgx-a100", "{node: {gpus: 72}}", {">GPU 14<", ">..<"}},
    {"tpu-v4", NULL, {">pod 0: 16 x 16 x 16<", ">ici: 24576 links<", ">45 GB/s a link, 1 us<"}},
    {"tpu-v4", "{nodes: 4096}", {">pod 2: 16 x 16 x 16<", ">dcn: 8192 links<", "first of 4 pods"}},
    {"tpu-v4", "{nodes: 2, fabric: {shape: [8]}}", {">pod 0: 8<"}},
    {"flat",
     "{name: 'a<b & \"c\"', gpu: {name: \"x\\ny\"}}",
     {"a&lt;b &amp; &quot;c&quot;: 1024 nodes of 1 x x?y<"}},
};

Test(platform_svg, shows_the_levels) {
    for (size_t i = 0; i < sizeof SVG / sizeof SVG[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, SVG[i].platform, SVG[i].overrides);
        ms_buffer text;
        ms_buffer_init(&text);
        ms_platform_write_svg(platform, NULL, &text);
        for (size_t w = 0; w < 6 && SVG[i].words[w] != NULL; w++) {
            cr_assert_not_null(strstr(ms_buffer_text(&text), SVG[i].words[w]), "case %zu: no %s", i,
                               SVG[i].words[w]);
        }
        cr_assert_lt(text.length, 60000U);
        ms_buffer_release(&text);
        fixture_release(&fixture);
    }
}

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* A job's use of GPUs: of four nodes of two GPUs one is used, one half idle, two are spares; of a
 * torus' 16 chips three are idle and one is a spare. */
Test(platform_svg, shows_what_a_job_leaves) {
    static const uint8_t NODES[8] = {0, 0, 0, 1, 2, 2, 2, 2};
    static const uint8_t CHIPS[16] = {
        [3] = MS_GPU_IDLE, [5] = MS_GPU_IDLE, [6] = MS_GPU_IDLE, [9] = MS_GPU_SPARE};
    static const struct {
        const char *platform, *overrides;
        const uint8_t *uses;
        size_t idle, spare; /* shapes with the fill, one of each in the legend */
        const char *words[3];
    } CASES[] = {
        {"dgx-a100",
         "{nodes: 4, node: {gpus: 2, nics: 2}}",
         NODES,
         5, /* page, legend, half a node, and the two GPUs of the node that is opened up */
         2, /* legend, and two nodes as one shape */
         {">3 GPUs with a rank<", ">1 GPU idle<", ">4 GPUs spare<"}},
        {"tpu-v4",
         "{nodes: 4, fabric: {shape: [4, 4]}}",
         CHIPS,
         5, /* page, legend, chips */
         2,
         {">12 GPUs with a rank<", ">3 GPUs idle<", ">1 GPU spare<"}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform =
            fixture_platform(&fixture, CASES[i].platform, CASES[i].overrides);
        ms_buffer text;
        ms_buffer_init(&text);
        ms_platform_write_svg(platform, CASES[i].uses, &text);
        const char *svg = ms_buffer_text(&text);
        for (size_t w = 0; w < 3; w++) {
            cr_assert_not_null(strstr(svg, CASES[i].words[w]), "case %zu: %s", i, svg);
        }
        cr_assert_eq(count_of(svg, "fill=\"#fff"), CASES[i].idle, "case %zu: %s", i, svg);
        cr_assert_eq(count_of(svg, "fill=\"#eaae80\""), CASES[i].spare, "case %zu: %s", i, svg);
        ms_buffer_release(&text);
        fixture_release(&fixture);
    }
}

/* Value of an attribute of the tag at `tag`. */
static double attribute(const char *tag, const char *name) {
    const char *at = strstr(tag, name);
    cr_assert_not_null(at);
    return strtod(at + strlen(name), NULL);
}

/* Room of the text of the tag at `text`: the box that it stands in the middle of, the column left
 * of the drawing, or the page. */
static double room_of(const char *text, const char *box) {
    bool is_label = strncmp(text, "<text text-anchor=\"middle\"", 26) == 0;
    double x = attribute(text, " x=\"");
    bool is_beside = x < 17.0 && attribute(text, "font-size=\"") == 12.0;
    return is_label ? attribute(box, " width=\"") : is_beside ? 210.0 - x : 1000.0 - x;
}

/* No text is wider than its room, letters counted as 0.6 of their size, and it is in the look of
 * the other pictures. */
Test(platform_svg, texts_keep_to_their_room) {
    static const char *const CASES[][2] = {
        {"dgx-h100", NULL},
        {"meta-roce-h100", NULL},
        {"gb200-nvl72", NULL},
        {"selene-a100", "{nodes: 262144}"},
        {"tpu-v4", "{nodes: 4096}"},
        {"flat",
         "{name: a-name-that-is-longer-than-anyone-would-give-a-cluster-in-earnest-but-is-allowed, "
         "gpu: {name: and-so-is-that-of-its-accelerators-of-which-there-may-be-many}}"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        platform_fixture fixture;
        const ms_platform *platform = fixture_platform(&fixture, CASES[i][0], CASES[i][1]);
        ms_buffer svg;
        ms_buffer_init(&svg);
        ms_platform_write_svg(platform, NULL, &svg);
        const char *box = NULL;
        for (const char *at = ms_buffer_text(&svg); (at = strchr(at + 1, '<')) != NULL;) {
            box = strncmp(at, "<rect", 5) == 0 ? at : box;
            if (strncmp(at, "<text ", 6) == 0) {
                const char *words = strchr(at, '>') + 1;
                double width = 0.6 * attribute(at, "font-size=\"") * (double)strcspn(words, "<");
                cr_assert_leq(width, room_of(at, box), "case %zu: %.100s", i, at);
            }
        }
        cr_assert_not_null(strstr(ms_buffer_text(&svg), "font-family=\"Helvetica, Arial"));
        ms_buffer_release(&svg);
        fixture_release(&fixture);
    }
}

/* A large platform's graph stays small: one shape per level. */
Test(platform_dot, large_platforms_are_summed_up) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "selene-a100", "{nodes: 262144}");
    ms_buffer text;
    ms_buffer_init(&text);
    ms_platform_write_dot(platform, &text);
    cr_assert_lt(text.length, 2000U);
    cr_assert_not_null(strstr(ms_buffer_text(&text), "262144 nodes"));
    cr_assert_not_null(strstr(ms_buffer_text(&text), "104864 leaf switches"));
    cr_assert_not_null(strstr(ms_buffer_text(&text), "1873 spine layers"));
    cr_assert_not_null(
        strstr(ms_buffer_text(&text), "spine -- core [label=\"1873 x 206.1 Tbit/s\"]"));
    ms_buffer_release(&text);
    fixture_release(&fixture);
}

Test(platform_dot, names_cannot_leave_their_quotes) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(
        &fixture, "dgx-a100", "{nodes: 2, name: \"a\\nb\", gpu: {name: 'g\"]; x [label=\"\\'}}");
    ms_buffer text;
    ms_buffer_init(&text);
    ms_platform_write_dot(platform, &text);
    cr_assert_eq(strncmp(ms_buffer_text(&text), "// a?b: 2 nodes", 15), 0);
    cr_assert_not_null(strstr(ms_buffer_text(&text), "8 x g\\\"]; x [label=\\\"\\\\\"];"));
    ms_buffer_release(&text);
    fixture_release(&fixture);
}

/* Each pair of neighbours is one edge: 3 a chip, and where two chips face each other both ways
 * round, one. */
static int count_edges(const char *overrides, const char *edge, ms_buffer *text) {
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "tpu-v4", overrides);
    int count = 0;
    ms_buffer_init(text);
    ms_platform_write_dot(platform, text);
    for (const char *at = strstr(ms_buffer_text(text), edge); at != NULL;
         at = strstr(at + 1, edge)) {
        count++;
    }
    fixture_release(&fixture);
    return count;
}

Test(platform_dot, tori) {
    ms_buffer text;
    cr_assert_eq(count_edges("{nodes: 16}", "-- chip", &text), 3 * 64);
    ms_buffer_release(&text);
    cr_assert_eq(count_edges("{nodes: 2}", "-- chip", &text), 12); /* a cube */
    ms_buffer_release(&text);
    cr_assert_eq(count_edges("{nodes: 4, fabric: {shape: [4, 2]}}", "-- network", &text), 4);
    cr_assert_not_null(
        strstr(ms_buffer_text(&text), "chip8 -- network [label=\"1 x 52.7 Gbit/s\"]"));
    ms_buffer_release(&text);
    cr_assert_eq(count_edges("{nodes: 2048}", "-- network", &text), 2);
    cr_assert_not_null(
        strstr(ms_buffer_text(&text), "pod1 -- network [label=\"1024 x 52.7 Gbit/s"));
    ms_buffer_release(&text);
    cr_assert_eq(count_edges("{nodes: 102400}", "-- network", &text), 1);
    cr_assert_not_null(strstr(ms_buffer_text(&text), "100 pods, each"));
    ms_buffer_release(&text);
}
