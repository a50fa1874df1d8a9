/* A fabric kind is added by its row alone: read, refused, routed, named, cut, drawn. */
#include "platform_fixture.h"
#include "toy_fabric.h"

static const char OVERRIDES[] = "{nodes: 8, fabric: {kind: full-mesh, cables: 3}}";

Test(platform_toy_fabric, is_unknown_without_its_row) {
    platform_fixture fixture;
    fixture_init(&fixture);
    cr_assert_eq(fixture_load(&fixture, "flat", OVERRIDES), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&fixture.messages),
                              "expected one of flat, rails, leaf-spine or torus"));
    fixture_release(&fixture);
}

Test(platform_toy_fabric, is_a_platform_with_its_row) {
    platform_fixture fixture;
    ms_route route;
    char name[64];
    ms_fabric_add_kind(&TOY_FABRIC);
    const ms_platform *platform = fixture_platform(&fixture, "flat", OVERRIDES);
    cr_assert_eq(ms_platform_check(platform, &fixture.diag), MS_OK, "%s",
                 ms_buffer_text(&fixture.messages));
    cr_assert_str_eq(platform->fabric, "full-mesh");
    cr_assert_eq(platform->link_count, 8 * 7);
    cr_assert_eq(ms_platform_scale_up_domain(platform), 8);
    ms_platform_route(platform, 5, 2, &route);
    cr_assert_eq(route.count, 1);
    cr_assert_str_eq(ms_platform_link_name(platform, route.links[0], name, sizeof name),
                     "fabric:pair12:down");
    cr_assert_eq(ms_platform_link(platform, route.links[0]).capacity_Bps, 3 * 25e9);
    cr_assert_eq(ms_platform_bisection_Bps(platform), 4 * 4 * 3 * 25e9);
    fixture_release(&fixture);
}

Test(platform_toy_fabric, has_rings_in_the_callers_order_only) {
    platform_fixture fixture;
    ms_ring_orders orders = {.rings = -1};
    const int gpus[] = {0, 1, 2, 3};
    ms_fabric_add_kind(&TOY_FABRIC);
    const ms_platform *platform = fixture_platform(&fixture, "flat", OVERRIDES);
    cr_assert_eq(ms_platform_rings(platform, gpus, 4, &fixture.arena, &orders), MS_OK);
    cr_assert_eq(orders.rings, 0);
    fixture_release(&fixture);
}

Test(platform_toy_fabric, is_laid_out_and_exported) {
    platform_fixture fixture;
    ms_buffer text;
    ms_fabric_add_kind(&TOY_FABRIC);
    const ms_platform *platform = fixture_platform(&fixture, "flat", OVERRIDES);
    ms_buffer_init(&text);
    ms_platform_layout layout;
    ms_platform_layout_of(platform, &layout);
    cr_assert_eq(layout.nodes_per_unit, platform->nodes);
    cr_assert_eq(layout.spine_tier, -1);
    cr_assert_eq(ms_platform_write_simgrid_xml(platform, &fixture.diag, &text), MS_OK);
    static const char *const WORDS[] = {"src=\"gpu-7\" dst=\"gpu-0\"",
                                        "<link_ctn id=\"fabric:pair21:down\"/>"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        cr_assert_not_null(strstr(ms_buffer_text(&text), WORDS[i]), "%s", WORDS[i]);
    }
    ms_buffer_release(&text);
    fixture_release(&fixture);
}

typedef struct toy_fault {
    const char *platform, *overrides, *words;
} toy_fault;

/* Its keys and the others' know of each other, and what only some kinds have is refused. */
static const toy_fault FAULTS[] = {
    {"flat", "{fabric: {kind: full-mesh, cables: 17}}", "fabric.cables: expected 1 to 16"},
    {"flat", "{fabric: {kind: full-mesh, cabels: 2}}", "unknown key; did you mean 'cables'?"},
    {"flat", "{fabric: {kind: full-mesh, shape: [2]}}",
     "a 'full-mesh' fabric has no such key; it belongs to 'torus'"},
    {"flat", "{fabric: {cables: 2}}", "a 'flat' fabric has no such key; it belongs to 'full-mesh'"},
    {"flat", "{fabric: {kind: full-mash}}", "leaf-spine, torus or full-mesh"},
    {"flat", "{fabric: {kind: full-mesh}, routing: ecmp}", "routing: 'ecmp' chooses"},
    {"flat", "{nodes: none, fabric: {kind: full-mesh, cables: 0}}", "fabric.cables: expected"},
};

Test(platform_toy_fabric, faults) {
    ms_fabric_add_kind(&TOY_FABRIC);
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        platform_fixture fixture;
        fixture_init(&fixture);
        ms_status status = fixture_load(&fixture, FAULTS[i].platform, FAULTS[i].overrides);
        const char *text = ms_buffer_text(&fixture.messages);
        cr_assert_eq(status, MS_E_INPUT, "case %zu: %d: %s", i, status, text);
        cr_assert_not_null(strstr(text, FAULTS[i].words), "case %zu: %s", i, text);
        fixture_release(&fixture);
    }
}
