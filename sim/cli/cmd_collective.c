/* meshsim collective: times one collective at a row of sizes on an otherwise idle platform, as
 * nccl-tests does on a cluster. A size is the bytes of a full buffer. With --plot the study is
 * repeated with each algorithm, one line of the picture each. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/usage.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "cli/tool.h"
#include "search/coll_sizes.h"

/* Words of --algorithm by index, of all kinds of collectives; NULL behind the last. "auto" is the
 * first. */
static const char *algorithm_word(int index) {
    const char *name = ms_coll_algorithm_name((ms_coll_algorithm)index);
    return strcmp(name, "unknown") == 0 ? NULL : name;
}

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"platform", "P.yaml", .help = "platform file, or the name of one; required"},
    {MS_OPTION_SET_PLATFORM},
    {"ranks", "RANKS", .letter = 'n', .fallback = "all GPUs",
     .help = "ranks 0..RANKS-1 on the first GPUs"},
    {"begin", "SIZE", .letter = 'b', .fallback = "1 MiB", .help = "smallest message"},
    {"end", "SIZE", .letter = 'e', .fallback = "16 GiB", .help = "largest message"},
    {"factor", "F", .letter = 'f', .fallback = "2",
     .help = "each message is F times the one before"},
    {"algorithm", "A", .word = algorithm_word, .fallback = "auto",
     .help = "auto, ring, tree, nvls, nvls_tree, collnet_direct, collnet_chain, pat or direct, as "
             "far as the kind, the group and the platform have them"},
    {"protocol", "auto|ll|ll128|simple", .fallback = "auto",
     .help = "auto, ll, ll128 or simple; on a platform with a library"},
    {"fidelity", "L", .word = ms_cli_fidelity_word, .fallback = "flow",
     .help = "analytic (no contention), flow (transfers share links) or step (and collectives are "
             "played step by step)"},
    {"plot", "FILE",
     .help = "draw bus bandwidth over size: with auto a line for each algorithm that can run, "
             "hollow where auto takes it, and why the others cannot ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {0},
};

/* Options that name an output file. */
static const char *const TARGETS[] = {"plot", NULL};

/* The collectives that the command takes. */
static const ms_coll_kind BUILT[] = {MS_COLL_P2P,        MS_COLL_ALL_REDUCE, MS_COLL_REDUCE_SCATTER,
                                     MS_COLL_ALL_GATHER, MS_COLL_ALL_TO_ALL, MS_COLL_RING_SHIFT};

enum { BUILT_COUNT = sizeof BUILT / sizeof BUILT[0] };

/* Words of KIND by index; NULL behind the last. */
static const char *kind_word(int index) {
    return index < BUILT_COUNT ? ms_coll_kind_name(BUILT[index]) : NULL;
}

/* Read the positional argument KIND into the study.  Returns MS_OK; MS_E_USAGE (reported, with the
 * nearest kind). */
static ms_status read_kind(const ms_invocation *call, ms_sizes_study *study) {
    const char *name = call->positionals[0];
    const char *names[BUILT_COUNT];
    for (size_t i = 0; i < BUILT_COUNT; i++) {
        names[i] = ms_coll_kind_name(BUILT[i]);
        if (strcmp(name, names[i]) == 0) {
            study->kind = BUILT[i];
            return MS_OK;
        }
    }
    return ms_diag_usage(call->diag,
                         "unknown collective '%s'%s; expected p2p, all_reduce, reduce_scatter, "
                         "all_gather, all_to_all or ring_shift",
                         name, ms_nearest_hint(name, names, BUILT_COUNT).text);
}

/* Read --algorithm, --protocol and --fidelity into the study, whose kind is known.  Returns MS_OK;
 * MS_E_USAGE (reported). */
static ms_status read_choice(const ms_invocation *call, ms_sizes_study *study) {
    const char *algorithm = ms_cli_value(call, "algorithm", "auto");
    if (ms_coll_algorithm_read(study->kind, algorithm, &study->algorithm) != MS_OK) {
        char words[128];
        return ms_diag_usage(call->diag, "algorithm '%s' is not built for %s; expected %s",
                             algorithm, ms_coll_kind_name(study->kind),
                             ms_coll_algorithm_words(study->kind, words, sizeof words));
    }
    const char *protocol = ms_cli_value(call, "protocol", "auto");
    if (ms_protocol_read(protocol, &study->protocol) != MS_OK) {
        return ms_diag_usage(call->diag,
                             "unknown protocol '%s'; expected auto, ll, ll128 or simple", protocol);
    }
    const char *fidelity = ms_cli_value(call, "fidelity", "flow");
    if (ms_fidelity_read(fidelity, &study->fidelity) != MS_OK) {
        return ms_diag_usage(call->diag, "unknown fidelity '%s'; expected analytic, flow or step",
                             fidelity);
    }
    return MS_OK;
}

/* Read --begin, --end and --factor, and set the sizes of the study: a geometric row from begin to
 * end.  Returns MS_OK; MS_E_USAGE (reported), also for more than MS_SIZES_MAX sizes. */
static ms_status read_sizes(const ms_invocation *call, ms_sizes_study *study) {
    double begin_B = 1024.0 * 1024.0;
    double end_B = 16.0 * 1024.0 * 1024.0 * 1024.0;
    double factor = 2.0;
    ms_status status = ms_cli_quantity(call, "begin", MS_DIM_BYTES, &begin_B);
    status = status == MS_OK ? ms_cli_quantity(call, "end", MS_DIM_BYTES, &end_B) : status;
    status = status == MS_OK ? ms_cli_number(call, "factor", 2.0, &factor) : status;
    if (status != MS_OK) {
        return status;
    }
    if (!(factor > 1.0) || begin_B < 1.0 || end_B < begin_B) {
        return ms_diag_usage(call->diag, "expected 1 B <= begin <= end and a factor above 1");
    }
    if (ms_sizes_set(study, begin_B, end_B, factor) != MS_OK) {
        return ms_diag_usage(call->diag, "more than %d sizes; use a larger --factor",
                             (int)MS_SIZES_MAX);
    }
    return MS_OK;
}

/* Read --ranks, all GPUs of the platform by default; p2p takes 2.  Returns MS_OK; MS_E_USAGE
 * (reported). */
static ms_status read_ranks(const ms_invocation *call, ms_sizes_study *study) {
    long ranks = 0;
    long gpus = ms_platform_gpus(study->platform);
    bool is_p2p = study->kind == MS_COLL_P2P;
    ms_status status = ms_cli_int(call, "ranks", is_p2p ? 2 : gpus, 2, gpus, &ranks);
    if (status == MS_OK && is_p2p && ranks != 2) {
        return ms_diag_usage(call->diag, "p2p takes 2 ranks, got %ld", ranks);
    }
    study->ranks = (int)ranks;
    return status;
}

/* ---- the lines of a picture: the study once more with each algorithm ---- */

/* The study, and the lists of its result tree for a picture. */
typedef struct coll_lines {
    const ms_invocation *call;
    const ms_sizes_study *study;
    ms_value *algorithms; /* a row for each algorithm that can run, with its own rows */
    ms_value *left_out;   /* a row for each other algorithm, with the reason */
} coll_lines;

/* Write a note that an algorithm has no line in the picture, and add it to `left_out`. The note has
 * the whole reason; the tree lacks the part in parentheses, which lists platform keys.  reason:
 * such as "...; algorithm 'nvls' needs one node (platform keys ...)", of which the part from
 * "needs" on is used. */
static void leave_out(const coll_lines *lines, const char *name, const char *reason) {
    const char *needs = strstr(reason, " needs ");
    needs = needs == NULL ? reason : needs + 1;
    size_t length = strcspn(needs, "(");
    /* The blank before the parenthesis. */
    length -= length > 0 && needs[length] == '(' && needs[length - 1] == ' ';
    ms_diag_note(lines->call->diag, NULL, NULL, "the picture has no line of %s: it %s", name,
                 needs);
    ms_value *row = ms_value_add(lines->left_out, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "algorithm", name);
    ms_value_add_string(row, "reason", ms_arena_strndup(lines->call->arena, needs, length));
}

/* Add the rows of a study to an object; lack of memory shows in its arena. */
static void add_rows(const ms_sizes_study *study, const ms_sizes_result *result, ms_value *object) {
    ms_table table = {.columns = MS_SIZE_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    if (object != NULL && ms_table_fill(&table, result->rows, sizeof *result->rows,
                                        (size_t)study->count, object->arena) == MS_OK) {
        ms_table_add_rows(&table, object);
    }
}

/* Simulate the study with one algorithm, and add its line. An algorithm that the group or the
 * platform cannot run is left out with the reason; `--algorithm` would refuse it. */
static ms_status add_algorithm(const coll_lines *lines, ms_coll_algorithm algorithm) {
    const char *name = ms_coll_algorithm_name(algorithm);
    ms_diag mute;
    ms_buffer reason = {0};
    ms_sizes_result result;
    ms_diag_init_mute(&mute);
    mute.reason = &reason;
    ms_sizes_study study = *lines->study;
    study.algorithm = algorithm;
    ms_status status = ms_sizes_simulate(&study, lines->call->arena, &mute, &result);
    ms_diag_finish(&mute);
    if (status == MS_OK) {
        ms_value *row = ms_value_add(lines->algorithms, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "algorithm", name);
        add_rows(&study, &result, row);
    } else if (status == MS_E_INPUT) {
        leave_out(lines, name, ms_buffer_text(&reason));
        status = MS_OK;
    } else {
        ms_diag_error(lines->call->diag, "the picture's line of %s: %s", name,
                      ms_status_name(status));
    }
    ms_buffer_release(&reason);
    return status;
}

/* Add to a result tree what the picture of a study needs: the rows of the study with each algorithm
 * that can run, and why the others cannot. A study of one algorithm has its rows in the tree
 * already, and nothing is added.  Returns as ms_sizes_simulate; lack of memory shows in the call's
 * arena. */
static ms_status add_algorithms(const ms_invocation *call, const ms_sizes_study *study,
                                ms_value *root) {
    if (study->algorithm != MS_ALGORITHM_AUTO) {
        return MS_OK;
    }
    const coll_lines lines = {.call = call,
                              .study = study,
                              .algorithms = ms_value_add(root, "algorithms", MS_VALUE_ARRAY),
                              .left_out = ms_value_add(root, "left_out", MS_VALUE_ARRAY)};
    ms_status status = MS_OK;
    const char *word = NULL;
    for (int i = 1; /* word 0 is "auto" */
         status == MS_OK && (word = ms_coll_algorithm_word(study->kind, i)) != NULL; i++) {
        ms_coll_algorithm algorithm = MS_ALGORITHM_AUTO;
        if (ms_coll_algorithm_read(study->kind, word, &algorithm) == MS_OK) {
            status = add_algorithm(&lines, algorithm);
        }
    }
    return status;
}

/* ---- results ---- */

/* Make the tree that --json prints: the study, a row for each size, and figures of the simulation
 * engine. NULL when memory runs out. */
static ms_value *make_tree(const ms_invocation *call, const ms_sizes_study *study,
                           const ms_sizes_result *result) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "collective", ms_coll_kind_name(study->kind));
    ms_value_add_string(root, "platform", study->platform->name);
    ms_value_add_int(root, "gpus", study->ranks);
    ms_value_add_string(root, "algorithm", ms_coll_algorithm_name(study->algorithm));
    ms_value_add_string(root, "fidelity", ms_fidelity_name(study->fidelity));
    add_rows(study, result, root);
    ms_value *engine = ms_value_add(root, "engine", MS_VALUE_OBJECT);
    ms_value_add_int(engine, "ops", result->ops);
    ms_value_add_int(engine, "flows", result->flows);
    ms_value_add_int(engine, "simulated_ranks", result->simulated_ranks);
    ms_value_add_double(engine, "wall_s", result->wall_s);
    ms_value_add_double(engine, "peak_rss_B", ms_peak_rss_B());
    return root;
}

/* Print the result as JSON, text or Markdown, with the study in the heading. */
static ms_status print(const ms_invocation *call, const ms_sizes_study *study,
                       const ms_value *tree) {
    const char *name = ms_arena_printf(call->arena, "%s on %d GPUs of %s, fidelity %s",
                                       ms_coll_kind_name(study->kind), study->ranks,
                                       study->platform->name, ms_fidelity_name(study->fidelity));
    return ms_cli_show(call, name, MS_COLLECTIVE_TABLES, tree);
}

/* Check that a picture has anything to show. On a platform without latency and with unlimited
 * bandwidth nothing takes time, and bandwidths are infinite.  Returns MS_OK; MS_E_INPUT
 * (reported). */
static ms_status check_values(const ms_invocation *call, const ms_sizes_study *study,
                              const ms_sizes_result *result) {
    bool takes_time = false;
    for (int i = 0; i < study->count; i++) {
        takes_time = takes_time || isfinite(result->rows[i].busbw_Bps);
    }
    if (!takes_time) {
        ms_diag_error(call->diag,
                      "there is nothing to draw: a transfer takes no time on platform '%s'",
                      study->platform->name);
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* Draw the picture of --plot.  tree: gets the rows of further algorithms, which --json prints as
 * well. */
static ms_status draw(const ms_invocation *call, const ms_sizes_study *study,
                      const ms_sizes_result *result, ms_value *tree) {
    ms_status status = MS_OK;
    if (ms_cli_has(call, "plot")) {
        status = check_values(call, study, result);
        status = status == MS_OK ? add_algorithms(call, study, tree) : status;
        status = status == MS_OK ? ms_cli_draw(call, "plot", NULL, tree) : status;
    }
    return status;
}

/* Draw the picture, and print the result unless the picture is the standard output. */
static ms_status show(const ms_invocation *call, const ms_sizes_study *study,
                      const ms_sizes_result *result) {
    ms_value *tree = make_tree(call, study, result);
    ms_status status = tree == NULL ? ms_diag_no_memory(call->diag) : MS_OK;
    status = status == MS_OK ? draw(call, study, result, tree) : status;
    return status != MS_OK || ms_cli_uses_stdout(call, TARGETS) ? status : print(call, study, tree);
}

/* Load the platform of --platform, which is required, and read how many of its GPUs take part.
 * platform: filled in, and borrowed by the study. */
static ms_status read_platform(const ms_invocation *call, ms_platform *platform,
                               ms_sizes_study *study) {
    const char *name = ms_cli_value(call, "platform", NULL);
    if (name == NULL) {
        return ms_diag_usage(call->diag, "expected --platform P.yaml");
    }
    ms_status status = ms_cli_load_platform(call, name, platform);
    study->platform = platform;
    return status == MS_OK ? read_ranks(call, study) : status;
}

/* Read the study, simulate it, show the result, and warn where latency dominates
 * (ms_sizes_advise). */
static ms_status run(const ms_invocation *call) {
    ms_sizes_study study = {.fidelity = MS_FIDELITY_FLOW};
    ms_sizes_result result;
    ms_platform platform;
    ms_status status = ms_cli_check_targets(call, TARGETS);
    status = status == MS_OK ? read_kind(call, &study) : status;
    status = status == MS_OK ? read_choice(call, &study) : status;
    status = status == MS_OK ? read_sizes(call, &study) : status;
    status = status == MS_OK ? read_platform(call, &platform, &study) : status;
    status = status == MS_OK ? ms_sizes_simulate(&study, call->arena, call->diag, &result) : status;
    status = status == MS_OK ? show(call, &study, &result) : status;
    if (status == MS_OK) {
        ms_sizes_advise(&study, &result, call->diag);
    }
    return status;
}

const ms_command ms_cmd_collective = {
    .name = "collective",
    .summary = "time a collective on a platform, as nccl-tests prints it",
    .positional_help = "KIND",
    .word = kind_word,
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "KIND is p2p, all_reduce, reduce_scatter, all_gather, all_to_all or ring_shift (every rank "
        "sends its buffer to the next one). Runs it on an otherwise idle platform for a row of "
        "sizes and prints time, algorithm bandwidth and bus bandwidth as nccl-tests defines them. "
        "With auto, all_reduce, reduce_scatter and all_gather take the algorithm and protocol that "
        "the tuning model of the platform's library takes for each size. On a platform without a "
        "library they are a ring at every size, and a warning says where the latency of the ring's "
        "steps is most of its time. --algorithm tree lays all_reduce out as NCCL's double binary "
        "tree of nodes with a chain inside each.",
    .example = "meshsim collective all_reduce --platform platforms/flat.yaml -n 64 -e 1GiB",
    .run = run,
};
