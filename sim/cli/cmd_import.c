/* meshsim import: files of other software as workloads, platforms and tables. */
#include <string.h>

#include "cli/cluster_options.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/show_parameters.h"
#include "cli/tool.h"
#include "meshsim/import.h"

enum { FILES_MAX = 1000, FILLS_MAX = 3 };

/* Kinds by their places in MODES. */
enum { AT_HF, AT_MEGATRON, AT_DEEPSPEED, AT_NCCL_TESTS, AT_KINETO, AT_SLURM };

/* Those that give a workload, and those that give a file with keys, a bit each. */
enum {
    WORKLOADS = 1U << AT_HF | 1U << AT_MEGATRON | 1U << AT_DEEPSPEED,
    KEYED = WORKLOADS | 1U << AT_SLURM,
};

static const ms_option OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .fallback = "-",
     .help = "write what was made there, '-' for standard output",
     .writes = ".yaml or .csv"},
    {.name = "platform",
     .argument = "P.yaml",
     .arguments = 1,
     .help = "platform file, or the name of one, where the source names none",
     .modes = WORKLOADS},
    {.name = "gpus",
     .argument = "N",
     .arguments = 1,
     .fallback = "all of the platform",
     .help =
         "GPUs of it; where the source has no mesh, each is a replica, from which 'search' goes "
         "on",
     .modes = WORKLOADS},
    {.name = "batch",
     .argument = "N",
     .arguments = 1,
     .help = "sequences per step, where the source does not say",
     .modes = WORKLOADS},
    {.name = "set",
     .argument = "key.path=value",
     .arguments = 1,
     .takes = MS_TAKES_WORKLOAD_KEY,
     .is_repeatable = true,
     .help = "give the file, or the workload of --against, a key, in the place of what it says",
     .modes = KEYED | 1U << AT_KINETO},
    {.name = "define",
     .argument = "NAME=VALUE",
     .arguments = 1,
     .is_repeatable = true,
     .help = "a variable that a script's surroundings set, or a parameter by its number: 1=VALUE",
     .modes = 1U << AT_MEGATRON},
    {.name = "accept-differences",
     .help = "exit with 0 also if memory or time of the source's run differ from what is simulated",
     .modes = 1U << AT_MEGATRON | 1U << AT_DEEPSPEED},
    {.name = "kernels",
     .argument = "FILE.csv",
     .arguments = 1,
     .help = "write the table of all kernels there: class, calls, times and streams by name",
     .writes = ".csv",
     .modes = 1U << AT_KINETO},
    {.name = "steps",
     .argument = "N",
     .arguments = 1,
     .fallback = "1",
     .help = "steps in a trace that has no annotations ProfilerStep",
     .modes = 1U << AT_KINETO},
    {.name = "against",
     .argument = "WORKLOAD",
     .arguments = 1,
     .help = "simulate that workload, and show its step beside the measured one, part by part",
     .modes = 1U << AT_KINETO},
    {.name = "quiet", .help = "do not tell what became of each of the source's keys"},
    MS_OPTION_JSON,
    {0},
};

/* ---- what the source leaves out ---- */

/* Values of top-level keys, as --set writes them. */
typedef struct fill_list {
    const char *items[FILLS_MAX];
    size_t count;
    int gpus; /* of the job, where --gpus says it; else 0 */
} fill_list;

static ms_status add_fill(const ms_invocation *call, const char *text, fill_list *fills) {
    fills->items[fills->count++] = text;
    return text == NULL ? ms_diag_no_memory(call->diag) : MS_OK;
}

/* Every GPU is a replica. */
static ms_status fill_cluster(const ms_invocation *call, fill_list *fills) {
    ms_cli_cluster cluster;
    ms_status status = ms_cli_read_cluster(call, &cluster);
    fills->gpus = status == MS_OK && ms_cli_has(call, "gpus") ? cluster.gpus : 0;
    status = status == MS_OK ? add_fill(call, ms_cli_cluster_set(call, &cluster), fills) : status;
    return status == MS_OK
               ? add_fill(call, ms_arena_printf(call->arena, "mesh={dp: %d}", cluster.gpus), fills)
               : status;
}

static ms_status list_fills(const ms_invocation *call, fill_list *fills) {
    const char *name = ms_cli_value(call, "platform", NULL);
    long batch = 0;
    ms_status status = MS_OK;
    if (name == NULL && ms_cli_has(call, "gpus")) {
        ms_diag_error(call->diag, "'--gpus' needs '--platform': of which cluster");
        return MS_E_USAGE;
    }
    if (name != NULL) {
        status = fill_cluster(call, fills);
    }
    if (status == MS_OK && ms_cli_has(call, "batch")) {
        status = ms_cli_int(call, "batch", 1, 1, MS_BATCH_MAX, &batch);
        status =
            status == MS_OK
                ? add_fill(call, ms_arena_printf(call->arena, "batch={global: %ld}", batch), fills)
                : status;
    }
    return status;
}

/* ---- output ---- */

static void add_keys(const ms_imported *imported, ms_value *root) {
    ms_value *rows = ms_value_add(root, "keys", MS_VALUE_ARRAY);
    for (const ms_source_key *key = imported->keys.first; key != NULL; key = key->next) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", key->key);
        ms_value_add_string(row, "value", key->value == NULL ? "" : key->value);
        ms_value_add_string(row, "fate", ms_source_fate_name(key->fate));
        ms_value_add_string(row, "why", key->why == NULL ? "" : key->why);
        ms_value_add_int(row, "line", key->mark.line);
    }
}

static ms_status print_json(const ms_invocation *call, const ms_imported *imported,
                            const ms_buffer *text) {
    ms_value *root = ms_value_new_object(call->arena);
    if (imported->has_model) {
        ms_show_add_parameters(&imported->model, root);
    }
    if (imported->product == MS_IMPORT_TABLE) {
        add_keys(imported, root);
        ms_table_add_rows(&imported->table, root);
        return ms_cli_print_json(call, root);
    }
    ms_value *missing = ms_value_add(root, "missing", MS_VALUE_ARRAY);
    for (int i = 0; i < imported->missing_count; i++) {
        ms_value_add_string(missing, NULL, imported->missing[i]);
    }
    add_keys(imported, root);
    ms_value_add_string(root, "workload", ms_buffer_text(text));
    return ms_cli_print_json(call, root);
}

/* How what is required is given: to this command, and to those that read its file.  A key that is
 * not here has only the second form. */
static const struct {
    const char *key, *here, *later;
} GIVEN[] = {
    {"platform", " --platform dgx-h100", NULL},
    {"mesh", " --gpus 64", " --set 'mesh={dp: 64}'"},
    {"batch", " --batch 256", " --set 'batch={global: 256}'"},
    {"model.vocab", NULL, " --set model.vocab=32000"},
    {"mesh.dp", NULL, " --set mesh.dp=8"},
    {"batch.micro", NULL, " --set batch.micro=1"},
    {"precision.parameters", NULL, " --set precision.parameters=bf16"},
};

static void add_given(const ms_imported *imported, const char *key, bool is_here, ms_buffer *out) {
    enum { NODE_GPUS = 8, GPUS = 64 }; /* of dgx-h100; of a job that does not say it */
    int gpus = imported->gpus > 0 ? imported->gpus : GPUS;
    for (size_t i = 0; i < sizeof GIVEN / sizeof GIVEN[0]; i++) {
        if (strcmp(GIVEN[i].key, key) != 0) {
            continue;
        }
        const char *own = is_here && GIVEN[i].here != NULL ? GIVEN[i].here : GIVEN[i].later;
        if (own == NULL) { /* the platform, with nodes for the job */
            ms_buffer_printf(out, " --set 'platform={file: dgx-h100, nodes: %d}'",
                             (gpus + NODE_GPUS - 1) / NODE_GPUS);
        } else {
            ms_buffer_puts(out, own);
        }
        return;
    }
    ms_buffer_printf(out, " --set %s=VALUE", key);
}

/* What is required, and how to give it now or later, with values that are examples. */
static void add_required(const ms_invocation *call, const ms_imported *imported, ms_buffer *out) {
    for (int i = 0; i < imported->missing_count; i++) {
        ms_buffer_printf(out, "%s%s", i == 0 ? "required   " : ", ", imported->missing[i]);
    }
    if (imported->missing_count == 0) {
        return;
    }
    ms_buffer_puts(out, ", see the file's comments\n");
    ms_buffer_puts(out, "now        add, for example,");
    for (int i = 0; i < imported->missing_count; i++) {
        add_given(imported, imported->missing[i], true, out);
    }
    ms_buffer_printf(out, "\nor later   meshsim run %s", ms_cli_value(call, "output", ""));
    for (int i = 0; i < imported->missing_count; i++) {
        add_given(imported, imported->missing[i], false, out);
    }
    ms_buffer_puts(out, "\n");
}

static ms_status print_page(const ms_invocation *call, const ms_imported *imported) {
    ms_buffer page;
    ms_buffer_init(&page);
    ms_buffer_puts(&page, imported->summary == NULL ? "" : imported->summary);
    if (imported->has_model) {
        const ms_parameter_parts parts = ms_model_parameter_parts(&imported->model);
        ms_buffer_printf(&page, "name       %s\n", imported->model.name);
        ms_show_parameters(&imported->model, &page);
        ms_buffer_printf(&page, "exactly    %.0f parameters, %.0f active",
                         parts.total - parts.modules, parts.active - parts.active_modules);
        ms_buffer_puts(&page, parts.modules > 0 ? ", without prediction modules\n" : "\n");
    }
    add_required(call, imported, &page);
    return ms_cli_print_page(call, &page);
}

static ms_status print_all(const ms_invocation *call, const ms_imported *imported) {
    bool has_json = ms_cli_has(call, "json");
    const char *path = ms_cli_value(call, "output", has_json ? NULL : "-");
    ms_buffer text;
    ms_buffer_init(&text);
    ms_import_write(imported, &text);
    ms_status status =
        text.failed || call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
    if (status == MS_OK && path != NULL) {
        status = ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    }
    if (status == MS_OK && has_json) {
        status = print_json(call, imported, &text);
    } else if (status == MS_OK && path != NULL && strcmp(path, "-") != 0) {
        status = print_page(call, imported);
    }
    ms_buffer_release(&text);
    return status;
}

static ms_status run_import(const ms_invocation *call) {
    static const char *const FILES[] = {"output", NULL};
    ms_imported imported;
    ms_given sets = ms_cli_all(call, "set");
    fill_list fills = {.count = 0};
    ms_import_source source = {.files = call->positionals + 1,
                               .file_count = call->positional_count - 1,
                               .sets = sets.values,
                               .set_count = sets.count,
                               .data_folder = ms_cli_data_folder(call->arena)};
    ms_status status = ms_cli_check_targets(call, FILES);
    status = status == MS_OK ? list_fills(call, &fills) : status;
    source.fills = fills.items;
    source.fill_count = fills.count;
    source.gpus = fills.gpus;
    if (status == MS_OK) {
        status = ms_import_read(call->positionals[0], &source, call->arena, call->diag, &imported);
    }
    if (status == MS_OK && !ms_cli_has(call, "quiet")) {
        ms_source_keys_tell(&imported.keys, call->diag);
    }
    return status == MS_OK ? print_all(call, &imported) : status;
}

/* ---- kinds ---- */

static const ms_option_rule KINETO_RULES[] = {
    {"set", "against", false, "whose keys it gives"},
    {0},
};

static const ms_mode MODES[] = {
    [AT_HF] = {.usage = "hf CONFIG.json|FOLDER",
               .summary = "a Hugging Face config gives a workload's model",
               .argument = "hf",
               .writes = ".yaml",
               .run = run_import},
    [AT_MEGATRON] = {.usage = "megatron FILE...",
                     .summary = "the arguments of a run of Megatron-LM give a workload",
                     .argument = "megatron",
                     .writes = ".yaml",
                     .run = ms_cli_run_tool},
    [AT_DEEPSPEED] = {.usage = "deepspeed DS.json [CONFIG.json|FOLDER]",
                      .summary = "DeepSpeed's configuration gives a workload, the model's a model",
                      .argument = "deepspeed",
                      .writes = ".yaml",
                      .run = ms_cli_run_tool},
    [AT_NCCL_TESTS] = {.usage = "nccl-tests LOG...",
                       .summary = "logs of nccl-tests give a table of points for 'calibrate'",
                       .argument = "nccl-tests",
                       .writes = ".csv",
                       .run = ms_cli_run_tool},
    [AT_KINETO] = {.usage = "kineto TRACE.json[.gz]...",
                   .summary = "traces of PyTorch's profiler, one per rank, give steps, "
                              "communication and a table of measured kernels",
                   .argument = "kineto",
                   .rules = KINETO_RULES,
                   .writes = ".csv",
                   .run = ms_cli_run_tool},
    [AT_SLURM] = {.usage = "slurm TOPOLOGY.conf [NCCL.xml...]",
                  .summary = "Slurm's topology, with what NCCL found in a node, gives a platform",
                  .argument = "slurm",
                  .writes = ".yaml",
                  .run = ms_cli_run_tool},
    {0},
};

static const char *kind_word(int index) {
    return MODES[index].argument;
}

static ms_status run(const ms_invocation *call) {
    const char *names[sizeof MODES / sizeof MODES[0]];
    size_t count = 0;
    for (; MODES[count].argument != NULL; count++) {
        if (strcmp(MODES[count].argument, call->positionals[0]) == 0) {
            return ms_cli_run_mode(call);
        }
        names[count] = MODES[count].argument;
    }
    ms_diag_unknown(call->diag, "kind", call->positionals[0], names, count);
    return MS_E_USAGE;
}

const ms_command ms_cmd_import = {
    .name = "import",
    .summary = "make a workload, a platform or a table of what other software has",
    .positional_help = "KIND FILE...",
    .word = kind_word,
    .positionals_min = 2,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .modes = MODES,
    .description =
        "hf takes Transformers' own defaults for what a config leaves out. megatron reads a "
        "command line, a shell script (which bash runs in a sandbox, without a network or files "
        "of yours, up to where it starts the training; --define says what its surroundings set; "
        "files that it reads: give them, too), MODEL_ARGS of its tests in YAML, "
        "or the block 'arguments' of a "
        "log, for model, mesh, schedule, batch and all else but the platform. An argument that "
        "changes "
        "the size of the model in a way that is not built is refused; where others change memory "
        "or time, the exit code is 1. What a source does "
        "not say, such as the platform, stands in the file as a comment that begins with "
        "'required:', inside a mapping as 'required'; --platform, --gpus, --batch and --set give "
        "it. deepspeed takes the model's Hugging Face config, or its folder, beside DeepSpeed's "
        "JSON, and asks for what a trainer fills in where that says \"auto\". nccl-tests reads "
        "logs as printed, several runs in one and with the labels of mpirun "
        "or srun, too; which collective it was says the log since version 2.13.7 of nccl-tests, "
        "else the file's name. kineto reads traces of any length, plain or compressed: where each "
        "step's time went, communication by kind and group, kernels by class, and with -o the "
        "times of matrix products and attentions whose sizes were recorded (record_shapes=True), "
        "as a GPU type's 'measured' names them; --against puts a workload's simulated step beside "
        "the measured one. slurm reads topology.conf (tree or block) and the "
        "XML "
        "files that NCCL_TOPO_DUMP_FILE makes NCCL write; without one, what nodes are made of is "
        "required.\n"
        "Tells on stderr, and in --json, of each of the source's keys (of a log, of each sort of "
        "lines) whether it is used, assumed, ignored (and why) or unknown.",
    .example =
        "meshsim import hf config.json --platform dgx-h100 --gpus 64 --batch 256 -o workload.yaml",
    .run = run,
};
