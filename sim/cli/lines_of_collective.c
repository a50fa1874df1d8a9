/* The lines of a picture of a collective: the study once more by each of its algorithms. */
#include "cli/lines_of_collective.h"

#include <string.h>

/* Lists of a result tree. */
typedef struct coll_lines {
    const ms_invocation *call;
    const ms_sizes_study *study;
    ms_value *algorithms, *left_out;
} coll_lines;

/* Say of an algorithm that it has no line; in the tree without the keys that it would take.
 * reason: such as "...; algorithm 'nvls' needs one node (platform keys ...)". */
static void leave_out(const coll_lines *c, const char *name, const char *reason) {
    const char *needs = strstr(reason, " needs ");
    needs = needs == NULL ? reason : needs + 1;
    size_t length = strcspn(needs, "(");
    length -= length > 0 && needs[length] == '(' && needs[length - 1] == ' ';
    ms_diag_note(c->call->diag, NULL, NULL, "the picture has no line of %s: it %s", name, needs);
    ms_value *row = ms_value_add(c->left_out, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "algorithm", name);
    ms_value_add_string(row, "reason", ms_arena_strndup(c->call->arena, needs, length));
}

static void add_line(const coll_lines *c, const char *name, const ms_sizes_result *result) {
    ms_table table = {.columns = MS_SIZE_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    ms_value *row = ms_value_add(c->algorithms, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "algorithm", name);
    if (ms_table_fill(&table, result->rows, sizeof *result->rows, (size_t)c->study->count,
                      c->call->arena) == MS_OK) {
        ms_table_add_rows(&table, row);
    }
}

/* The same sizes by one algorithm; one that the group or the platform does not have, which the
 * command would refuse, is left out. */
static ms_status add_algorithm(const coll_lines *c, ms_coll_algorithm algorithm) {
    const char *name = ms_coll_algorithm_name(algorithm);
    ms_diag mute;
    ms_buffer reason;
    ms_sizes_result result;
    ms_diag_init_mute(&mute);
    ms_buffer_init(&reason);
    mute.reason = &reason;
    ms_sizes_study study = *c->study;
    study.algorithm = algorithm;
    ms_status status = ms_sizes_simulate(&study, c->call->arena, &mute, &result);
    ms_diag_finish(&mute);
    if (status == MS_OK) {
        add_line(c, name, &result);
    } else if (status == MS_E_INPUT) {
        leave_out(c, name, ms_buffer_text(&reason));
        status = MS_OK;
    } else {
        ms_diag_error(c->call->diag, "the picture's line of %s: %s", name, ms_status_name(status));
    }
    ms_buffer_release(&reason);
    return status;
}

ms_status ms_add_algorithms(const ms_invocation *call, const ms_sizes_study *study,
                            ms_value *root) {
    if (study->algorithm != MS_ALGORITHM_AUTO) {
        return MS_OK;
    }
    const coll_lines c = {.call = call,
                          .study = study,
                          .algorithms = ms_value_add(root, "algorithms", MS_VALUE_ARRAY),
                          .left_out = ms_value_add(root, "left_out", MS_VALUE_ARRAY)};
    ms_status status = MS_OK;
    const char *word = NULL;
    for (int i = 1; /* "auto" is the first word */
         status == MS_OK && (word = ms_coll_algorithm_word(study->kind, i)) != NULL; i++) {
        ms_coll_algorithm algorithm = MS_ALGORITHM_AUTO;
        if (ms_coll_algorithm_read(study->kind, word, &algorithm) == MS_OK) {
            status = add_algorithm(&c, algorithm);
        }
    }
    return status;
}
