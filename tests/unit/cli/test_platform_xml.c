/* The SimGrid file means the same to SimGrid as to us: routes of random pairs have the same limited
 * links, bottleneck and latency. An engine reads one platform and a process has one engine, so one
 * test per platform. */
#include <criterion/criterion.h>
#include <math.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <unistd.h>
#include <xbt/dynar.h>

#include "base/random.h"
#include "cluster/platform/platform.h"
#include "ms_run.h"
#include "platform_fixture.h"

enum { PAIRS = 100 };

static void load_in_simgrid(const char *path) {
    static char program[] = "test", quiet[] = "--log=root.thres:warning";
    char *words[] = {program, quiet, NULL};
    int count = 2;
    simgrid_init(&count, words);
    simgrid_load_platform(path);
    simgrid_run_until(0); /* the zone's graph is numbered when the engine first runs */
}

/* Limited links of SimGrid's route, in order, joined by spaces. */
static void simgrid_links(sg_host_t from, sg_host_t to, ms_buffer *out) {
    xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
    sg_host_get_route(from, to, links);
    for (size_t i = 0; i < xbt_dynar_length(links); i++) {
        sg_link_t link = *(sg_link_t *)xbt_dynar_get_ptr(links, i);
        if (sg_link_get_bandwidth(link) < 1e18) {
            ms_buffer_printf(out, "%s ", sg_link_get_name(link));
        }
    }
    xbt_dynar_free(&links);
}

static double our_links(const ms_platform *platform, const ms_route *route, ms_buffer *out) {
    double bottleneck_Bps = 1e18; /* what stands in for an unlimited link in the file */
    for (int i = 0; i < route->count; i++) {
        char name[96];
        ms_link_info link = ms_platform_link(platform, route->links[i]);
        bottleneck_Bps = fmin(bottleneck_Bps, link.capacity_Bps);
        ms_buffer_printf(out, "%s ",
                         ms_platform_link_name(platform, route->links[i], name, sizeof name));
    }
    return bottleneck_Bps;
}

static void compare_pair(const ms_platform *platform, int from, int to) {
    char name[2][32];
    ms_route route;
    ms_buffer ours, theirs;
    snprintf(name[0], sizeof name[0], "gpu-%d", from);
    snprintf(name[1], sizeof name[1], "gpu-%d", to);
    sg_host_t hosts[2] = {sg_host_by_name(name[0]), sg_host_by_name(name[1])};
    cr_assert_not_null(hosts[0]);
    cr_assert_not_null(hosts[1]);
    ms_buffer_init(&ours);
    ms_buffer_init(&theirs);
    ms_platform_route(platform, from, to, &route);
    double bottleneck_Bps = our_links(platform, &route, &ours);
    simgrid_links(hosts[0], hosts[1], &theirs);
    cr_assert_str_eq(ms_buffer_text(&theirs), ms_buffer_text(&ours), "%d to %d: %s", from, to,
                     ms_buffer_text(&theirs));
    double latency_s = sg_host_get_route_latency(hosts[0], hosts[1]);
    cr_assert_leq(fabs(latency_s - route.latency_s), 1e-12 * route.latency_s, "%d to %d: %g %g",
                  from, to, latency_s, route.latency_s);
    cr_assert_eq(sg_host_get_route_bandwidth(hosts[0], hosts[1]), bottleneck_Bps, "%d to %d", from,
                 to);
    ms_buffer_release(&ours);
    ms_buffer_release(&theirs);
}

static uint64_t test_seed(void) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? 20240607 : strtoull(text, NULL, 10);
}

/* Write the file with the program, for the platform that ms_platform_load gives. */
static void export(const char *name, const char *const *sets, const char *path) {
    char file[512];
    const char *words[16] = {"platform", file, "--simgrid-xml", path};
    size_t count = 4;
    snprintf(file, sizeof file, MS_SOURCE_DIR "/platforms/%s.yaml", name);
    for (size_t i = 0; sets[i] != NULL; i++) {
        words[count++] = "--set";
        words[count++] = sets[i];
    }
    ms_run_result result = ms_run_with(&(ms_run_setup){0}, words);
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    ms_run_release(&result);
}

static const ms_platform *load(platform_fixture *fixture, const char *name,
                               const char *const *sets) {
    static const char *const FOLDERS[] = {MS_SOURCE_DIR "/platforms", NULL};
    ms_node *root = NULL;
    fixture_init(fixture);
    cr_assert_eq(ms_yaml_parse("platform: {}", 12, "sets", &fixture->arena, &fixture->diag, &root),
                 MS_OK);
    for (size_t i = 0; sets[i] != NULL; i++) {
        cr_assert_eq(ms_node_set(root, sets[i], &fixture->arena, &fixture->diag), MS_OK);
    }
    cr_assert_eq(ms_platform_load(name, FOLDERS, ms_node_get(root, "platform"), &fixture->arena,
                                  &fixture->diag, &fixture->platform, NULL),
                 MS_OK, "%s", ms_buffer_text(&fixture->messages));
    return &fixture->platform;
}

/* name: of a shipped platform.  sets: overrides, NULL at the end. */
static void compare(const char *name, const char *const *sets) {
    char folder[] = "/tmp/meshsim-xml-XXXXXX";
    char path[64];
    platform_fixture fixture;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/p.xml", folder);
    const ms_platform *platform = load(&fixture, name, sets);
    export(name, sets, path);
    load_in_simgrid(path);
    int gpus = ms_platform_gpus(platform);
    cr_assert_eq(sg_host_count(), (size_t)gpus);
    uint64_t seed = test_seed();
    ms_random random = {.state = seed};
    for (int i = 0; i < PAIRS; i++) {
        int from = (int)ms_random_range(&random, 0, gpus - 1);
        int to = (int)ms_random_range(&random, 0, gpus - 2);
        compare_pair(platform, from, to >= from ? to + 1 : to);
    }
    unlink(path);
    rmdir(folder);
    fixture_release(&fixture);
}

#define XML_TEST(name, platform, ...)                                                              \
    Test(platform_xml, name) {                                                                     \
        compare(platform, (const char *const[]){__VA_ARGS__});                                     \
    }

XML_TEST(flat, "flat", NULL)
XML_TEST(ideal, "ideal", NULL)
XML_TEST(dgx_a100, "dgx-a100", NULL)
XML_TEST(dgx_a100_five_units, "dgx-a100", "platform.nodes=100", NULL)
XML_TEST(dgx_a100_without_pxn, "dgx-a100", "platform.nodes=50", "platform.pxn=false", NULL)
XML_TEST(dgx_a100_shared_nics, "dgx-a100", "platform.nodes=50", "platform.node.nics=4", NULL)
XML_TEST(dgx_a100_shared_nics_without_pxn, "dgx-a100", "platform.nodes=50", "platform.node.nics=3",
         "platform.pxn=false", NULL)
XML_TEST(selene, "selene-a100", "platform.nodes=128", NULL)
XML_TEST(selene_small_pods, "selene-a100", "platform.nodes=128", "platform.fabric.nodes_per_unit=8",
         "platform.fabric.units_per_pod=3", NULL)
XML_TEST(selene_small_pods_without_pxn, "selene-a100", "platform.nodes=128",
         "platform.fabric.nodes_per_unit=8", "platform.fabric.units_per_pod=3",
         "platform.pxn=false", NULL)
XML_TEST(dgx_h100, "dgx-h100", "platform.nodes=96", NULL)
XML_TEST(hypothetical, "hypothetical-two-tier", NULL)
XML_TEST(hypothetical_unlimited_spine, "hypothetical-two-tier",
         "platform.tiers.spine.bandwidth=unlimited", NULL)
XML_TEST(meta_roce, "meta-roce-h100", "platform.nodes=128", "platform.fabric.units_per_pod=8", NULL)
XML_TEST(h800, "h800", "platform.nodes=128", NULL)
XML_TEST(gb200, "gb200-nvl72", "platform.nodes=14", NULL)
XML_TEST(two_sites, "two-sites", "platform.nodes=128", "platform.fabric.units_per_pod=2", NULL)
XML_TEST(torus, "tpu-v4", "platform.nodes=16", NULL)
XML_TEST(torus_of_1024, "tpu-v4", "platform.nodes=256", NULL)
XML_TEST(torus_of_odd_sides, "tpu-v4", "platform.nodes=105", "platform.fabric.shape=[5, 7, 12]",
         NULL)
XML_TEST(tori_over_a_network, "tpu-v4", "platform.nodes=96", "platform.fabric.shape=[4, 4, 8]",
         NULL)
XML_TEST(flat_torus, "tpu-v4", "platform.nodes=16", "platform.fabric.shape=[8, 8]", NULL)
