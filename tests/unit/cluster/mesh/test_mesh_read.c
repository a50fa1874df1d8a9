/* The workload's `mesh:` mapping. */
#include "cluster/mesh/mesh.h"
#include "platform_fixture.h"

typedef struct good_case {
    const char *yaml;
    const char *shape; /* "pp=2 dp=1 .." outermost first */
} good_case;

static const good_case GOOD[] = {
    {"{pp: 2, dp: 4, tp: 8}", "pp=2 dp=4 cp=1 tp=8"},
    {"{}", "pp=1 dp=1 cp=1 tp=1"},
    {"{dp: 4, pp: 2, order: [dp, pp, tp]}", "dp=4 pp=2 tp=1"},
    {"{order: [replica, tp], tp: 2, replica: 3}", "replica=3 tp=2"},
    {"{ep: 8, order: [pp, dp, ep, tp]}", "pp=1 dp=1 ep=8 tp=1"},
    {"{dp: 2, cp: 1, ep: 1, order: [dp, tp]}", "dp=2 tp=1"},
};

static ms_status read_text(platform_fixture *fixture, const char *yaml, ms_mesh *mesh) {
    ms_node *mapping = NULL;
    fixture_init(fixture);
    ms_status status =
        ms_yaml_parse(yaml, strlen(yaml), "mesh.yaml", &fixture->arena, &fixture->diag, &mapping);
    return status == MS_OK ? ms_mesh_read(mapping, "mesh", &fixture->arena, &fixture->diag, mesh)
                           : status;
}

Test(mesh_read, good) {
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        platform_fixture fixture;
        ms_mesh mesh;
        cr_assert_eq(read_text(&fixture, GOOD[i].yaml, &mesh), MS_OK, "%s",
                     ms_buffer_text(&fixture.messages));
        ms_buffer text;
        ms_buffer_init(&text);
        for (int axis = 0; axis < mesh.axes; axis++) {
            ms_buffer_printf(&text, "%s%s=%d", axis == 0 ? "" : " ", mesh.names[axis],
                             mesh.sizes[axis]);
        }
        cr_assert_str_eq(ms_buffer_text(&text), GOOD[i].shape);
        ms_buffer_release(&text);
        fixture_release(&fixture);
    }
}

Test(mesh_read, no_mapping_is_one_rank) {
    platform_fixture fixture;
    ms_mesh mesh;
    fixture_init(&fixture);
    cr_assert_eq(ms_mesh_read(NULL, "mesh", &fixture.arena, &fixture.diag, &mesh), MS_OK);
    cr_assert_eq(mesh.ranks, 1);
    fixture_release(&fixture);
}

typedef struct bad_case {
    const char *yaml;
    int errors;
    const char *place; /* line:column of the first */
    const char *words;
} bad_case;

static const bad_case BAD[] = {
    {"pp: 0\n", 1, "mesh.yaml:1:5", "mesh.pp"},
    {"pp: two\n", 1, "mesh.yaml:1:5", "mesh.pp"},
    {"pp: 2\ndb: 4\n", 1, "mesh.yaml:2:1", "did you mean 'dp'?"},
    {"ep: 4\nxx: 4\n", 2, "mesh.yaml:1:1",
     "'ep' does not stand in 'mesh.order'; add it there, or leave "
     "it out: an axis of size 1 need not stand in it"},
    {"cp: 2\norder: [pp, dp]\n", 1, "mesh.yaml:1:1", "; add it there"},
    {"xx: 1\n", 1, "mesh.yaml:1:1", "'xx' does not stand in 'mesh.order'"},
    {"order: [dp, dp]\n", 1, "mesh.yaml:1:13", "'dp' stands twice"},
    {"order: dp\n", 1, "mesh.yaml:1:8", "expected a sequence of 1 to 8"},
    {"order: []\n", 1, "mesh.yaml:1:8", "expected a sequence of 1 to 8"},
    {"order: [a, b, c, d, e, f, g, h, i]\n", 1, "mesh.yaml:1:8", "expected a sequence of 1 to 8"},
    {"order: [[a]]\n", 1, "mesh.yaml:1:9", "expected the name of an axis"},
    {"order: [order]\n", 1, "mesh.yaml:1:9", "expected the name of an axis"},
    {"dp: 2\norder: [pp, tp]\n", 1, "mesh.yaml:1:1", "'dp' does not stand"},
    {"dp: 8192\ntp: 8192\n", 1, "", "16777216"},
};

Test(mesh_read, bad) {
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        platform_fixture fixture;
        ms_mesh mesh = {.ranks = -7};
        cr_assert_eq(read_text(&fixture, BAD[i].yaml, &mesh), MS_E_INPUT, "case %zu", i);
        cr_assert_eq(mesh.ranks, -7);
        const char *text = ms_buffer_text(&fixture.messages);
        cr_assert_eq(fixture.diag.errors, BAD[i].errors, "case %zu: %s", i, text);
        cr_assert_not_null(strstr(text, BAD[i].words), "case %zu: %s", i, text);
        cr_assert_eq(strncmp(text, BAD[i].place, strlen(BAD[i].place)), 0, "case %zu: %s", i, text);
        fixture_release(&fixture);
    }
}
