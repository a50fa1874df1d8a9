/* meshsim textbook: the mesh that the closed forms of a textbook choose, without a simulation
 * (search/textbook.h). It exists to compare with `meshsim run`. */
#include "base/units.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "search/textbook.h"

/* Largest whole number of an option; most rows of --top. */
enum { GPUS_MAX = 1 << 24, TOP_MAX = 100000 };

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"gpus", "N", .fallback = "64",
     .help = "GPUs to share among data, pipeline and tensor parallelism"},
    {"parameters", "N", .fallback = "70e9", .help = "of the model"},
    {"layers", "N", .fallback = "80", .help = "of the model: pipeline stages at most"},
    {"microbatches", "N", .fallback = "16", .help = "per step"},
    {"stage-time", "TIME", .fallback = "8 ms", .help = "of a stage and microbatch"},
    {"activations", "BYTES", .fallback = "3 GB",
     .help = "divided by pipeline and tensor parallelism"},
    {"memory", "BYTES", .fallback = "80 GB", .help = "of a GPU"},
    {"node-gpus", "N", .fallback = "8", .help = "GPUs that share the fast links"},
    {"node", "BANDWIDTH", .fallback = "600 GB/s", .help = "inside a node"},
    {"network", "BANDWIDTH", .fallback = "100 GB/s", .help = "between nodes"},
    {"rack", "BANDWIDTH", .fallback = "25 GB/s", .help = "across racks, for data parallelism"},
    {"top", "N", .fallback = "4", .help = "meshes to list"},
    {MS_OPTION_JSON},
    {0},
};

/* Read an option that is a whole number from 1 to `high`.  *out: keeps its default without the
 * option. */
static ms_status read_count(const ms_invocation *call, const char *name, long high, int *out) {
    long count = *out;
    ms_status status = ms_cli_int(call, name, count, 1, high, &count);
    *out = (int)count;
    return status;
}

/* Read the model and the cluster from the options; defaults are those of ms_textbook_usual for 64
 * GPUs and 70e9 parameters, which the help page states. */
static ms_status read_input(const ms_invocation *call, ms_textbook *input) {
    const struct {
        const char *name;
        ms_dimension dimension;
        double *value;
    } QUANTITIES[] = {{"stage-time", MS_DIM_TIME, &input->stage_s},
                      {"activations", MS_DIM_BYTES, &input->activation_B},
                      {"memory", MS_DIM_BYTES, &input->device_B},
                      {"node", MS_DIM_BANDWIDTH, &input->node_Bps},
                      {"network", MS_DIM_BANDWIDTH, &input->network_Bps},
                      {"rack", MS_DIM_BANDWIDTH, &input->rack_Bps}};
    *input = ms_textbook_usual(64, 70e9);
    ms_status status = read_count(call, "gpus", GPUS_MAX, &input->devices);
    status = status == MS_OK ? read_count(call, "layers", GPUS_MAX, &input->layers) : status;
    status =
        status == MS_OK ? read_count(call, "microbatches", GPUS_MAX, &input->microbatches) : status;
    status =
        status == MS_OK ? read_count(call, "node-gpus", GPUS_MAX, &input->node_devices) : status;
    status = status == MS_OK
                 ? ms_cli_number(call, "parameters", input->parameters, &input->parameters)
                 : status;
    for (size_t i = 0; i < sizeof QUANTITIES / sizeof QUANTITIES[0] && status == MS_OK; i++) {
        status =
            ms_cli_quantity(call, QUANTITIES[i].name, QUANTITIES[i].dimension, QUANTITIES[i].value);
    }
    return status;
}

/* The meshes that were found. */
typedef struct textbook_findings {
    ms_textbook_mesh *meshes; /* [count] those that fit first, the cheapest first */
    size_t count, fitting;    /* legal meshes; of them, how many fit in memory */
    size_t shown;             /* of the fitting ones, how many are printed */
} textbook_findings;

/* Add the sizes of a mesh, its cost with its four terms [s], and its memory [B] to a row. */
static void add_mesh(const ms_textbook_mesh *mesh, ms_value *row) {
    ms_value_add_int(row, "dp", mesh->dp);
    ms_value_add_int(row, "pp", mesh->pp);
    ms_value_add_int(row, "tp", mesh->tp);
    ms_value_add_double(row, "cost_s", mesh->cost_s);
    ms_value_add_double(row, "tensor_s", mesh->tensor_s);
    ms_value_add_double(row, "pipeline_s", mesh->pipeline_s);
    ms_value_add_double(row, "bubble_s", mesh->bubble_s);
    ms_value_add_double(row, "data_s", mesh->data_s);
    ms_value_add_double(row, "memory_B", mesh->memory_B);
}

/* Print the numbers of legal and feasible meshes, the best of them, and the best mesh with all
 * three kinds of parallelism (ms_textbook_first_of_three). */
static ms_status print(const ms_invocation *call, const textbook_findings *found) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value *counts = ms_value_add(root, "counts", MS_VALUE_OBJECT);
    ms_value_add_int(counts, "legal", (int64_t)found->count);
    ms_value_add_int(counts, "feasible", (int64_t)found->fitting);
    ms_value *rows = ms_value_add(root, "results", MS_VALUE_ARRAY);
    for (size_t i = 0; i < found->shown; i++) {
        add_mesh(&found->meshes[i], ms_value_add(rows, NULL, MS_VALUE_OBJECT));
    }
    const ms_textbook_mesh *three = ms_textbook_first_of_three(found->meshes, found->count);
    if (three != NULL && ms_cli_has(call, "json")) {
        add_mesh(three, ms_value_add(root, "best_of_three", MS_VALUE_OBJECT));
    } else if (three != NULL) { /* a page shows it as a table of one row */
        rows = ms_value_add(root, "best_of_three", MS_VALUE_ARRAY);
        add_mesh(three, ms_value_add(rows, NULL, MS_VALUE_OBJECT));
    }
    return ms_cli_show(call, NULL, MS_TEXTBOOK_TABLES, root);
}

/* Read the input, evaluate all meshes and print the best.  MS_E_NO: no mesh fits. */
static ms_status run(const ms_invocation *call) {
    ms_textbook input;
    textbook_findings found = {0};
    long top = 4;
    ms_status status = read_input(call, &input);
    status = status == MS_OK ? ms_cli_int(call, "top", top, 1, TOP_MAX, &top) : status;
    if (status == MS_OK) {
        status = ms_textbook_search(&input, call->arena, call->diag, &found.meshes, &found.count,
                                    &found.fitting);
    }
    if (status != MS_OK) {
        return status;
    }
    found.shown = (size_t)top < found.fitting ? (size_t)top : found.fitting;
    status = print(call, &found);
    return status == MS_OK && found.fitting == 0 ? MS_E_NO : status;
}

const ms_command ms_cmd_textbook = {
    .name = "textbook",
    .summary = "the mesh that a textbook's closed forms choose, without a simulation",
    .options = OPTIONS,
    .description =
        "Takes every ordered factorization of the GPUs into data, pipeline and tensor parallelism "
        "and adds four closed forms: tensor (tp-1)/tp x 16 B x parameters / layers / bandwidth, "
        "that of a node where tp has its GPUs at most, else the network's; pipeline (pp-1)/pp x "
        "activations / network; bubble (pp-1)/microbatches x stage time; data (dp-1)/dp x 16 B x "
        "parameters / (pp x tp) / rack. A mesh fits with at most as many stages as layers and 16 B "
        "x parameters / GPUs + activations / (pp x tp) in a GPU's memory. Ties go to the smaller "
        "dp, then pp, then tp. It knows neither latency nor contention nor schedules: compare with "
        "'run'. Exits with 1 when nothing fits.",
    .example = "meshsim textbook --gpus 64 --parameters 70e9 --rack '25 GB/s'",
    .run = run,
};
