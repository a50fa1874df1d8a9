/* Faulty workloads: each is refused with a message that names the place and what was expected. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <sys/stat.h>

#include "job_fixture.h"

static const char BASE[] =
    "name: base\n"
    "platform: {file: dgx-a100, nodes: 1}\n"
    "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 51200, sequence: 1024}\n"
    "mesh: {dp: 2, pp: 2, tp: 2, order: [pp, dp, tp]}\n"
    "schedule: {kind: 1f1b}\n"
    "batch: {global: 16, micro: 1}\n";

/* One edit of BASE (find -> put; find NULL: put is appended) and parts of the messages. */
typedef struct fault_case {
    const char *find;
    const char *put;
    const char *says[5];
    int faults; /* how many are reported */
} fault_case;

static const fault_case CASES[] = {
    /* keys */
    {NULL, "fidelitty: flow\n", {":7:1: error: fidelitty: unknown key", "'fidelity'"}, 1},
    {"kind: 1f1b", "knd: 1f1b", {":5:12: error: schedule.knd: unknown key", "'kind'"}, 1},
    {"layers: 8", "layer: 8", {":3:20: error: model.layer: unknown key", "'layers'"}, 1},
    {NULL, "batch: {global: 8}\n", {":7:1: error: repeated key 'batch', first at line 6"}, 1},
    {"model: {", "modl: {", {"modl: unknown key", "either 'model' or 'costs', got neither"}, 2},
    {NULL,
     "costs: {forward: 1 ms, input_gradient: 1 ms}\n",
     {":7:8: error:", "either 'model' or 'costs', got both"},
     1},
    {"platform: {file: dgx-a100, nodes: 1}", "", {"platform: this key is required"}, 1},
    {"mesh: {dp: 2, pp: 2, tp: 2, order: [pp, dp, tp]}", "", {"mesh: this key is required"}, 1},
    {"batch: {global: 16, micro: 1}", "", {"batch: expected 'global'"}, 1},
    {"hidden: 1024, ", "", {"model.hidden: this key is required"}, 1},
    /* given costs; the first line is the model's */
    {"model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 51200, sequence: 1024}",
     "costs: {forward: [1 ms, 2 ms, 3 ms], input_gradient: 1 ms, optimizer: [1 s, 2 s, 3 s]}",
     {":3:18: error: costs.forward: list of '3' values, expected one value or 2",
      "costs.optimizer: list of '3' values, expected one value or 2"},
     2},
    /* types, units, ranges */
    {"layers: 8",
     "layers: eight",
     {":3:28: error: model.layers: expected a whole number, got 'eight'", "^~~~~"},
     1},
    {NULL,
     "precision: {optimizer: 12}\n",
     {":7:24: error: precision.optimizer: expected a unit after the number"},
     1},
    {NULL, "precision: {optimizer: 12 s}\n", {"'12 s' is a time, expected a size"}, 1},
    {"global: 16", "global: 0", {":6:17: error: batch.global: expected 1 to"}, 1},
    {"global: 16", "global: 8 GB", {"batch.global: expected a whole number, got '8 GB'"}, 1},
    {NULL, "steps: 0\n", {":7:8: error: steps: expected 1 to 64, got '0'"}, 1},
    {NULL,
     "seed: 7\n",
     {":7:1: error: seed: this key is gone: nothing was drawn by it; 'model.moe.seed' draws"},
     1},
    {NULL, "recompute: some\n", {"expected one of none, full or selective, got 'some'"}, 1},
    {NULL, "data_parallel: {zero: 4}\n", {":7:23: error: data_parallel.zero", "got '4'"}, 1},
    /* placement */
    {"nodes: 1}",
     "nodes: 3}",
     {":4:7: error: mesh: pp 2 x dp 2 x tp 2 needs 8 GPUs, the platform 'dgx-a100' has 24 (3 nodes "
      "of 8); 'placement' may leave GPUs idle"},
     1},
    {NULL,
     "placement: {spares: 1}\n",
     {":7:12: error: placement: 8 ranks do not fit on 0 nodes of 8 GPUs, the others are spares"},
     1},
    {NULL, "placement: {nods: [0]}\n", {":7:13: error: placement.nods: unknown key", "'nodes'"}, 1},
    {NULL, "placement: 5\n", {":7:12: error: placement: expected a mapping"}, 1},
    /* mesh */
    {"tp: 2,",
     "tp: 4,",
     {":4:7: error: mesh: pp 2 x dp 2 x tp 4 needs 16 GPUs", "has 8 (1 node of 8)"},
     1},
    {"nodes: 1}", "nodes: 2}", {"mesh: pp 2 x dp 2 x tp 2 needs 8 GPUs", "has 16"}, 1},
    {"dp: 2, pp: 2, tp: 2, order: [pp, dp, tp]",
     "left: 2, right: 2, pp: 2, order: [pp, left, right]",
     {"mesh.right: a second axis with a name of its own, of size 2"},
     1},
    {NULL,
     "data_parallel: {zero: 3, shard: [tp]}\n",
     {"data_parallel.shard: 'tp' is no axis of replicas of this mesh"},
     1},
    {"order: [pp, dp, tp]", "order: [pp, dp]", {"mesh.tp: axis 'tp' does not stand in"}, 1},
    {"order: [pp, dp, tp]", "order: [pp, tp, tp]", {":4:45:", "axis 'tp' stands twice"}, 1},
    {"dp: 2", "dp: 0", {":4:12: error: mesh.dp: expected 1 to"}, 1},
    /* layers and stages */
    {"layers: 8", "layers: 1", {":5:11: error: schedule: 1 layer for 2 virtual stages"}, 1},
    {"layers: 8",
     "layers: 9",
     {"9 layers do not divide among 2",
      "nearest number of layers: 8; or give 'schedule.partition: "},
     1},
    {"kind: 1f1b", "kind: 1f1b, stage_layers: [4, 5]", {"sum to '9', the model has 8"}, 1},
    {"kind: 1f1b", "kind: 1f1b, stage_layers: [4]", {":5:38:", "expected 2 entries (pp x v)"}, 1},
    {"kind: 1f1b",
     "kind: 1f1b, stage_layers: [4, 4], first_stage_layers: 3",
     {"schedule.stage_layers: gives every stage its layers", "'schedule.first_stage_layers'"},
     1},
    {"kind: 1f1b",
     "kind: 1f1b, stage_layers: [4, 4], partition: balanced",
     {"schedule.stage_layers: gives every stage its layers"},
     1},
    {"kind: 1f1b",
     "kind: 1f1b, deal: even",
     {"schedule.deal: unknown key; it is 'partition' now"},
     1},
    {"kind: 1f1b",
     "kind: 1f1b, partition: odd",
     {"schedule.partition: expected one of even or balanced"},
     1},
    {"kind: 1f1b",
     "kind: interleaved, v: 6, partition: balanced",
     {"8 layers for 12 virtual stages: more stages than layers"},
     1},
    {"kind: 1f1b",
     "kind: interleaved, v: 4, partition: balanced, first_stage_layers: 3",
     {"8 layers for 8 virtual stages: more stages than layers"},
     1},
    {"kind: 1f1b", "kind: 1f1b, first_stage_layers: 9", {"beside the given ends"}, 1},
    {"kind: 1f1b", "kind: 1f1b, first_stage_layers: 0", {"expected 1 to 100000, got '0'"}, 1},
    /* schedules */
    {"1f1b",
     "1f2b",
     {":5:18: error: schedule.kind: unknown schedule '1f2b'", "'1f1b'? (known: gpipe, 1f1b,"},
     1},
    {"kind: 1f1b", "kind: 1f1b, v: 2", {":5:11: error: schedule:", "V = '2'"}, 1},
    {"kind: 1f1b", "kind: 1f1b, group: 3", {":5:11: error: schedule:", "N = '3'"}, 1},
    {"kind: 1f1b", "kind: 1f1b, v: two", {":5:27: error: schedule.v: expected a whole number"}, 1},
    {"kind: 1f1b", "kind: 1f1b, splits: 2", {":5:11: error: schedule:", "K = '2'"}, 1},
    {"kind: 1f1b", "kind: seq1f1b, splits: 0", {"schedule.splits: expected 1 to", "'0'"}, 1},
    {"kind: 1f1b", "kind: 1f1b, reorder: true", {":5:11: error: schedule:", "only vhalf"}, 1},
    {"kind: 1f1b", "kind: 1f1b, overlap: both", {"schedule.overlap: expected one of fused"}, 1},
    {"kind: 1f1b", "kind: 1f1b, sends: sync", {"schedule.sends: expected one of async"}, 1},
    {"kind: 1f1b}\nbatch: {global: 16",
     "kind: dualpipe}\nbatch: {global: 14",
     {":5:11: error: schedule: dualpipe", "M = '7'", "nearest legal M: 6 or 8"},
     1},
    {"kind: 1f1b", "kind: csv:none.csv", {"/none.csv: error: no such file"}, 1},
    {"kind: 1f1b", "kind: 'csv:'", {"schedule.kind: 'csv:' names no file; expected csv:FILE"}, 1},
    {"kind: 1f1b}\nbatch: {global: 16",
     "kind: interleaved, v: 2}\nbatch: {global: 14",
     {":5:11: error: schedule: M = '7'", "nearest legal M: 6 or 8"},
     1},
    /* batch */
    {"global: 16", "global: 15", {":6:17: error: batch.global: 15 sequences", "14 or 16"}, 1},
    {"global: 16, micro: 1",
     "microbatches: 1000, micro: 50001",
     {":6:8: error: batch: 1000 microbatches of 50001 on 2 replicas are more than 100000000"},
     1},
    {"micro: 1", "micro: 3", {"do not divide into microbatches of 3", "12 or 18"}, 1},
    {"micro: 1", "microbatches: 3", {":6:35:", "3 disagrees with batch.global, which gives 8"}, 1},
    {"global: 16",
     "global: 100000000",
     {":6:8: error: batch: 50000000 microbatches", "are 2e+08 passes"},
     1},
    /* model and degrees */
    {"heads: 16", "heads: 7", {"model.heads: '7' heads do not divide hidden size 1024"}, 1},
    {"type: gpt", "type: llama", {"model.ffn: key is missing"}, 1},
    {"type: gpt", "type: bert", {":3:15: error: model.type: expected one of gpt or llama"}, 1},
    {"heads: 16", "heads: 1", {":3:8: error: model: tensor-parallel degree '2' does not fit 1"}, 1},
    /* platforms */
    {"file: dgx-a100",
     "file: dgx-a10",
     {":2:11: error: platform: no platform 'dgx-a10'", "did you mean 'dgx-a100'?"},
     1},
    {"file: dgx-a100", "file: ./nowhere.yaml", {"platform: no platform '"}, 1},
    {"file: dgx-a100, ", "", {"platform.file: expected the name or path of a platform file"}, 1},
    {"nodes: 1}",
     "nodes: 1, gpu: {type: a100-sxm4-80g}}",
     {":2:50: error: gpu.type: no GPU type", "did you mean 'a100-sxm4-80gb'?"},
     1},
    {"nodes: 1}",
     "nodes: 1, tiers: {rial: {bandwidth: 1 GB/s}}}",
     {":2:46: error: tiers: the platform has no tier 'rial'; did you mean 'rail'?"},
     1},
    {"nodes: 1}", "nodes: 1, nics: 4}", {":2:38: error: nics: unknown key"}, 1},
    {"nodes: 1}", "nodes: 1, gpu: {hbm: 1 GiB}}", {"gpu.reserve: leaves no memory"}, 1},
    /* several at once, in one run */
    {"layers: 8", "layers: 8x", {"model.layers: expected a whole number"}, 1},
    {"vocab: 51200, sequence: 1024}\nmesh: {dp: 2,",
     "vocab: many, sequence: 1024}\nfoo: 1\nfidelity: x\nmesh: {dp: -2,",
     {"model.vocab: expected", "foo: unknown key", "fidelity: expected one of",
      "mesh.dp: expected"},
     4},
};

static ms_status load_edited(job_fixture *f, const char *find, const char *put) {
    ms_buffer text;
    ms_buffer_init(&text);
    const char *at = find == NULL ? BASE + strlen(BASE) : strstr(BASE, find);
    cr_assert_not_null(at, "'%s' does not stand in the base", find);
    ms_buffer_add(&text, BASE, (size_t)(at - BASE));
    ms_buffer_puts(&text, put);
    ms_buffer_puts(&text, at + (find == NULL ? 0 : strlen(find)));
    ms_status status = job_fixture_load_text(f, ms_buffer_text(&text));
    ms_buffer_release(&text);
    return status;
}

ParameterizedTestParameters(job_load, fault) {
    static int indices[sizeof CASES / sizeof CASES[0]];
    for (int i = 0; i < (int)(sizeof CASES / sizeof CASES[0]); i++) {
        indices[i] = i;
    }
    return cr_make_param_array(int, indices, sizeof CASES / sizeof CASES[0]);
}

ParameterizedTest(int *index, job_load, fault) {
    const fault_case *c = &CASES[*index];
    job_fixture f;
    ms_status status = load_edited(&f, c->find, c->put);
    const char *said = ms_buffer_text(&f.messages);
    cr_assert_eq(status, MS_E_INPUT, "'%s': %s: %s", c->put, ms_status_name(status), said);
    for (size_t i = 0; i < sizeof c->says / sizeof c->says[0] && c->says[i] != NULL; i++) {
        cr_assert_not_null(strstr(said, c->says[i]), "'%s' expected in:\n%s", c->says[i], said);
    }
    cr_assert_eq(f.diag.errors, c->faults, "%d faults:\n%s", f.diag.errors, said);
    job_fixture_release(&f);
}

Test(job_load, base_is_sound) {
    job_fixture f;
    cr_assert_eq(load_edited(&f, NULL, "# nothing\n"), MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(f.job.mesh.ranks, 8);
    cr_assert_eq(f.job.microbatches, 8);
    job_fixture_release(&f);
}

/* Keys that only a model gives a meaning are refused beside costs, each by name. */
Test(job_load, costs_leave_the_keys_of_models_out) {
    job_fixture f;
    ms_status status = job_fixture_load_text(&f, "platform: {file: ideal, nodes: 2}\n"
                                                 "mesh: {pp: 2, order: [pp]}\n"
                                                 "costs: {forward: 1 ms, input_gradient: 1 ms}\n"
                                                 "schedule: {kind: 1f1b, stage_layers: [1, 1]}\n"
                                                 "batch: {microbatches: 4}\n"
                                                 "precision: {parameters: bf16}\n"
                                                 "data_parallel: {zero: 1}\n"
                                                 "pipeline: {scatter_gather: true}\n"
                                                 "recompute: full\n");
    const char *said = ms_buffer_text(&f.messages);
    cr_assert_eq(status, MS_E_INPUT);
    cr_assert_eq(f.diag.errors, 5, "%s", said);
    static const char *const KEYS[] = {
        "precision:", "data_parallel:", "pipeline:", "recompute:", "stage_layers:"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        cr_assert_not_null(strstr(said, KEYS[i]), "%s", said);
    }
    job_fixture_release(&f);
}

/* A list of costs has as many entries as stages, and says where it has not. */
Test(job_load, costs_count_their_entries) {
    job_fixture f;
    ms_status status =
        job_fixture_load_text(&f, "platform: {file: ideal, nodes: 2}\n"
                                  "mesh: {pp: 2, order: [pp]}\n"
                                  "costs: {forward: [1 ms, 2 ms, 3 ms], input_gradient: 1 ms}\n"
                                  "batch: {microbatches: 4}\n");
    cr_assert_eq(status, MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "costs.forward: list of '3' values"),
                       "%s", ms_buffer_text(&f.messages));
    job_fixture_release(&f);
}

/* A text of a kind that is no workload at all. */
static const struct {
    const char *text;
    const char *says;
} TEXTS[] = {
    {"", ":1:1: error: expected keys and values, got nothing"},
    {"# only a comment\n", ":1:1: error: expected keys and values, got nothing"},
    {"hello\n", ":1:1: error: expected keys and values, got 'hello'"},
    {"- a\n- b\n", ":1:1: error: expected keys and values, got a list"},
    {"name: &a [*a]\n", ":1:11: error: this alias contains itself"},
    {"name: \xff\xfe\n", ":1:7: error: expected UTF-8 text, got the byte 0xff"},
    {"name: {a: 1\n", "error: not valid YAML"},
    {"a: 1\n---\nb: 2\n", ":2:1: error:"},
};

Test(job_load, texts_that_are_no_workload) {
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        job_fixture f;
        cr_assert_eq(job_fixture_load_text(&f, TEXTS[i].text), MS_E_INPUT, "text %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), TEXTS[i].says), "text %zu: %s", i,
                           ms_buffer_text(&f.messages));
        job_fixture_release(&f);
    }
}

/* Twenty faults are told, the rest is counted. */
Test(job_load, many_faults_are_cut_with_a_count) {
    ms_buffer more;
    ms_buffer_init(&more);
    for (int i = 0; i < 30; i++) {
        ms_buffer_printf(&more, "unknown_%d: 1\n", i);
    }
    job_fixture f;
    cr_assert_eq(load_edited(&f, NULL, ms_buffer_text(&more)), MS_E_INPUT);
    ms_diag_finish(&f.diag);
    const char *said = ms_buffer_text(&f.messages);
    int told = 0;
    for (const char *at = strstr(said, "error:"); at != NULL; at = strstr(at + 1, "error:")) {
        told++;
    }
    cr_assert_eq(told, 20, "%d told", told);
    cr_assert_not_null(strstr(said, "and 10 more faults"));
    ms_buffer_release(&more);
    job_fixture_release(&f);
}

/* A relative path of a platform starts at the workload's folder, also for a workload without one.
 */
Test(job_load, relative_platforms_start_at_the_workload) {
    char folder[] = "/tmp/meshsim-load-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    FILE *file = fopen("own.yaml", "w");
    fputs("name: own\nnodes: 2\nnode: {gpus: 1}\ngpu: {type: ideal}\n"
          "tiers: {fabric: {bandwidth: 1 GB/s}}\nfabric: {kind: flat}\n",
          file);
    fclose(file);
    file = fopen("w.yaml", "w");
    fputs("platform: ./own.yaml\nmesh: {pp: 2, order: [pp]}\n"
          "costs: {forward: 1 ms, input_gradient: 1 ms}\nbatch: {microbatches: 4}\n",
          file);
    fclose(file);
    static const char *const PATHS[] = {"w.yaml", "./w.yaml", NULL};
    for (size_t i = 0; PATHS[i] != NULL; i++) {
        job_fixture f;
        job_fixture_init(&f);
        ms_dag_init(&f.result.dag);
        ms_job_request request = {.workload = PATHS[i], .data_folder = MS_SOURCE_DIR};
        cr_assert_eq(ms_job_load(&request, &f.arena, &f.diag, &f.job), MS_OK, "%s: %s", PATHS[i],
                     ms_buffer_text(&f.messages));
        cr_assert_str_eq(f.job.platform->name, "own");
        cr_assert_str_eq(f.job.name, "w");
        job_fixture_release(&f);
    }
    cr_assert_eq(unlink("own.yaml") + unlink("w.yaml") + chdir("/") + rmdir(folder), 0);
}

/* Overrides reach every level, in the order given; a platform named so drops the file's changes. */
Test(job_load, overrides_reach_workload_and_platform) {
    const char *sets[] = {"mesh.tp=4",
                          "platform.nodes=2",
                          "platform.tiers.rail.bandwidth=100GB/s",
                          "platform.gpu.hbm=60 GiB",
                          "schedule.kind=gpipe",
                          "schedule.kind=1f1b",
                          NULL};
    job_fixture f;
    cr_assert_eq(job_fixture_load(&f, "tiny", sets, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert_eq(f.job.mesh.ranks, 16);
    cr_assert_eq(ms_platform_gpus(f.job.platform), 16);
    cr_assert_float_eq(f.job.platform->tiers[1].bandwidth_Bps, 100e9, 1.0);
    cr_assert_float_eq(f.job.platform->gpu.hbm_B, 60.0 * 1073741824.0, 1.0);
    cr_assert_str_eq(f.job.program.name, "1f1b");
    job_fixture_release(&f);
    const char *other[] = {"platform=dgx-h100", "platform.nodes=1", NULL};
    cr_assert_eq(job_fixture_load(&f, "tiny", other, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert_str_eq(f.job.platform->name, "dgx-h100");
    job_fixture_release(&f);
}

/* What a workload beside `order.csv`, of two ranks and four microbatches, says. */
typedef struct file_case {
    const char *workload;
    const char *says; /* NULL: it is sound */
} file_case;

#define OF_FILE(pp, schedule, batch)                                                               \
    "platform: {file: ideal, nodes: " pp "}\nmesh: {pp: " pp ", order: [pp]}\n"                    \
    "costs: {forward: 1 ms, input_gradient: 1 ms}\nschedule: {kind: csv:order.csv" schedule "}\n"  \
    "batch: {microbatches: " batch "}\n"

static const file_case FILE_CASES[] = {
    {OF_FILE("2", "", "4"), NULL},
    {OF_FILE("2", ", v: 1", "4"), NULL},
    {OF_FILE("4", "", "4"),
     ":4:18: error: schedule.kind: 'csv:order.csv' has 2 pipeline ranks, and 'mesh.pp' gives 4"},
    {OF_FILE("2", "", "6"), "'csv:order.csv' has 4 microbatches, and 'batch' gives 6"},
    {OF_FILE("2", ", v: 2", "4"),
     "'csv:order.csv' has 1 stages per rank, and 'schedule.v' gives 2"},
    {OF_FILE("2", ", group: 2", "4"), ":4:40: error: schedule.group: makes an order"},
    {OF_FILE("2", "", "2"), "and 'batch' gives 2; if they are slices of sequences, "
                            "'schedule.splits' says how many make one"},
    {OF_FILE("2", ", splits: 2", "2"),
     "order.csv:1:9: error: rank 0, cell 3: '0B0' comes before the gradient of the next slice"},
    {OF_FILE("2", ", splits: 3", "2"), "no whole sequences of K = 3 slices each"},
};

/* A file's order starts at the workload's folder, and its sizes are the workload's. */
Test(job_load, orders_from_a_file) {
    char folder[] = "/tmp/meshsim-load-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    FILE *file = fopen("order.csv", "w");
    fputs("0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n", file);
    fclose(file);
    char path[64];
    snprintf(path, sizeof path, "%s/w.yaml", folder);
    for (size_t i = 0; i < sizeof FILE_CASES / sizeof FILE_CASES[0]; i++) {
        const file_case *c = &FILE_CASES[i];
        file = fopen("w.yaml", "w");
        fputs(c->workload, file);
        fclose(file);
        cr_assert_eq(chdir("/"), 0);
        job_fixture f;
        job_fixture_init(&f);
        ms_dag_init(&f.result.dag);
        ms_job_request request = {.workload = path, .data_folder = MS_SOURCE_DIR};
        ms_status status = ms_job_load(&request, &f.arena, &f.diag, &f.job);
        const char *said = ms_buffer_text(&f.messages);
        cr_assert_eq(status, c->says == NULL ? MS_OK : MS_E_INPUT, "case %zu: %s", i, said);
        cr_assert(c->says == NULL || strstr(said, c->says) != NULL, "case %zu: %s", i, said);
        if (c->says == NULL) {
            cr_assert_str_eq(f.job.program.name, "csv:order.csv");
            cr_assert_eq(f.job.program.actions[2].pass, MS_PASS_B);
        }
        job_fixture_release(&f);
        cr_assert_eq(chdir(folder), 0);
    }
    cr_assert_eq(unlink("order.csv") + unlink("w.yaml") + chdir("/") + rmdir(folder), 0);
}

/* Kinds of two stages per rank need no `v`. */
Test(job_load, schedules_know_their_own_v) {
    static const struct {
        const char *kind;
        int chunks;
    } KINDS[] = {{"schedule.kind=1f1b", 1}, {"schedule.kind=zbv", 2}, {"schedule.kind=vhalf", 2}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        const char *sets[] = {KINDS[i].kind, NULL};
        job_fixture f;
        cr_assert_eq(job_fixture_load(&f, "tiny", sets, NULL, false), MS_OK, "%s",
                     ms_buffer_text(&f.messages));
        cr_assert_eq(f.job.layout.chunks, KINDS[i].chunks);
        cr_assert_eq(f.job.layout.stage_layers[0], 4 / KINDS[i].chunks);
        job_fixture_release(&f);
    }
}

/* ---- resolved inputs ---- */

Test(job_load, resolved_inputs_hold_what_was_decided) {
    static const char *const LINES[] = {
        "\nmesh.tp = 2  # typed\n",
        "\nmesh.cp = 1  # default\n",
        "\nmodel.kv_heads = 16  # derived\n",
        "\nmodel.norm = layer  # derived\n",
        "\nmodel.mla =  # not given\n",
        "\nbatch.microbatches = 8  # derived\n",
        "\ndata_parallel.reduce = last  # derived\n",
        "\ncontext_parallel.overlap = false  # derived\n",
        "\nplatform.file = dgx-a100  # typed\n",
        "\nplatform.nodes = 1  # typed\n",
        "\nplatform.gpu.hbm = 80 GiB  # a100-sxm4-80gb.yaml\n",
        "\nplatform.library.generations.ampere.ring_turn = 0.45  # nccl-2.yaml\n",
        "\nfidelity = flow  # default\n",
    };
    job_fixture f;
    ms_buffer text;
    ms_buffer_init(&text);
    cr_assert_eq(load_edited(&f, NULL, "# nothing\n"), MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_write_resolved(&f.job, &text), MS_OK);
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        cr_assert_not_null(strstr(ms_buffer_text(&text), LINES[i]), "%s in\n%s", LINES[i],
                           ms_buffer_text(&text));
    }
    ms_buffer_release(&text);
    job_fixture_release(&f);
}
