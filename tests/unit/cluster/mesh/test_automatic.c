/* Meshes from given degrees. */
#include <string.h>

#include "mesh_fixture.h"

typedef struct auto_case {
    const char *platform, *overrides;
    const char *names[4];
    int sizes[4];
    int given;
    const char *order[4]; /* asked for, NULL: default */
    bool may_leave;
    const char *result; /* "dp=64 pp=1 tp=8", or a part of the message */
    bool is_refused;
} auto_case;

static const auto_case CASES[] = {
    {"dgx-h100", "{nodes: 64}", {"tp", "pp"}, {8, 1}, 2, {NULL}, false, "dp=64 pp=1 tp=8 ", false},
    {"dgx-h100",
     "{nodes: 64}",
     {"tp", "ep", "pp"},
     {8, 4, 2},
     3,
     {NULL},
     false,
     "dp=8 pp=2 ep=4 tp=8 ",
     false},
    {"dgx-h100", "{nodes: 4}", {NULL}, {0}, 0, {NULL}, false, "dp=32 ", false},
    {"dgx-h100", "{nodes: 4}", {"dp", "tp"}, {8, 4}, 2, {NULL}, false, "dp=8 tp=4 ", false},
    {"dgx-h100",
     "{nodes: 4}",
     {"tp", "pp"},
     {4, 2},
     2,
     {"pp", "dp", "tp"},
     false,
     "pp=2 dp=4 tp=4 ",
     false},
    {"flat", NULL, {"tp"}, {512}, 1, {NULL}, false, "dp=2 tp=512 ", false},
    {"dgx-h100", "{nodes: 4}", {"tp"}, {16}, 1, {NULL}, true, "dp=2 tp=16 ", false},
    {"dgx-h100",
     "{nodes: 4}",
     {"tp"},
     {16},
     1,
     {NULL},
     false,
     "tp=16 is more than the 8 GPUs that share tier 'nvlink'; the nearest legal is tp=8",
     true},
    {"dgx-h100",
     "{nodes: 3}",
     {"tp"},
     {6},
     1,
     {NULL},
     false,
     "groups of tp=6 leave the 8 GPUs that share tier 'nvlink'; put tp innermost with a size that "
     "divides 8, such as tp=4",
     true},
    {"dgx-h100", "{nodes: 4}", {"tp"}, {8}, 1, {"tp", "dp"}, false, "groups of tp=8 leave", true},
    {"dgx-h100",
     "{nodes: 4}",
     {"tp", "pp"},
     {8, 3},
     2,
     {NULL},
     false,
     "multiply to 24, which does not divide the 32 GPUs of 'dgx-h100'; the nearest product below "
     "that does is 16",
     true},
    {"dgx-h100",
     "{nodes: 4}",
     {"dp", "tp"},
     {8, 8},
     2,
     {NULL},
     false,
     "multiply to 64, 'dgx-h100' has 32 GPUs; dp=4",
     true},
    {"dgx-h100",
     "{nodes: 4}",
     {"tp", "pp"},
     {8, 8},
     2,
     {NULL},
     false,
     "multiply to more than the 32 GPUs",
     true},
    {"dgx-h100",
     "{nodes: 4}",
     {"tp"},
     {8},
     1,
     {"dp", "tp", "pp"},
     false,
     "order names axis 'pp', which has no degree",
     true},
    {"dgx-h100", "{nodes: 4}", {"tp"}, {8}, 1, {"dp"}, false, "order leaves out axis 'tp'", true},
    {"dgx-h100",
     "{nodes: 4}",
     {"tp"},
     {8},
     1,
     {"dp", "tp", "dp"},
     false,
     "axis 'dp' stands twice",
     true},
    {"dgx-h100", "{nodes: 4}", {"tp", "tp"}, {8, 8}, 2, {NULL}, false, "'tp' stands twice", true},
};

static void mesh_text(const ms_mesh *mesh, ms_buffer *out) {
    for (int axis = 0; axis < mesh->axes; axis++) {
        ms_buffer_printf(out, "%s=%d ", mesh->names[axis], mesh->sizes[axis]);
    }
}

Test(mesh_automatic, table) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const auto_case *c = &CASES[i];
        platform_fixture fixture;
        ms_words order = {.items = (const char **)(uintptr_t)c->order};
        while (order.count < 4 && c->order[order.count] != NULL) {
            order.count++;
        }
        const ms_mesh_wish wish = {
            .given = {.names = c->names, .sizes = c->sizes, .axes = c->given},
            .order = order.count == 0 ? NULL : &order,
            .platform = fixture_platform(&fixture, c->platform, c->overrides),
            .may_leave_scale_up_domain = c->may_leave};
        ms_mesh mesh = {.ranks = -7};
        ms_buffer text;
        ms_buffer_init(&text);
        ms_status status = ms_mesh_automatic(&wish, &fixture.diag, &mesh);
        cr_assert_eq(status, c->is_refused ? MS_E_INPUT : MS_OK, "case %zu: %s", i,
                     ms_buffer_text(&fixture.messages));
        if (c->is_refused) {
            cr_assert_eq(mesh.ranks, -7);
            cr_assert_eq(fixture.diag.errors, 1);
            cr_assert_not_null(strstr(ms_buffer_text(&fixture.messages), c->result), "case %zu: %s",
                               i, ms_buffer_text(&fixture.messages));
        } else {
            mesh_text(&mesh, &text);
            cr_assert_str_eq(ms_buffer_text(&text), c->result, "case %zu", i);
            cr_assert_eq(mesh.ranks, ms_platform_gpus(wish.platform));
        }
        ms_buffer_release(&text);
        fixture_release(&fixture);
    }
}
