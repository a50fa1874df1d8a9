/* meshsim compare: what differs between two traces. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "meshsim/report.h"
#include "meshsim/trace.h"
#include "meshsim/units.h"

/* Rows of at most 80 columns; the longest number of that many digits is -1.23456789e-100. */
enum { KEY_WIDTH = 32, NUMBER_WIDTH = 16, NUMBER_DIGITS = 9 };

static const ms_option OPTIONS[] = {
    {.name = "tolerance",
     .letter = 't',
     .argument = "[KEY=]SHARE",
     .arguments = 1,
     .is_repeatable = true,
     .fallback = "0",
     .help = "relative difference that is let pass, such as 1%; KEY= limits it to a dotted key and "
             "all below it"},
    {.name = "json", .help = "print one JSON object instead of a table"},
    {0},
};

/* "time_share=2%" or "2%". */
static ms_status parse_tolerance(const ms_invocation *call, const char *text,
                                 ms_tolerance *tolerance_out) {
    const char *equals = strchr(text, '=');
    const char *reason = NULL;
    const char *number = equals == NULL ? text : equals + 1;
    tolerance_out->key =
        ms_arena_strndup(call->arena, text, equals == NULL ? 0 : (size_t)(equals - text));
    if (tolerance_out->key == NULL) {
        ms_diag_error(call->diag, "out of memory");
        return MS_E_NOMEM;
    }
    if (ms_unit_parse(number, MS_DIM_NONE, &tolerance_out->relative, &reason) != MS_OK) {
        ms_diag_error(call->diag, "--tolerance: '%s' is no share: %s", number, reason);
        return MS_E_USAGE;
    }
    return MS_OK;
}

static ms_status parse_tolerances(const ms_invocation *call, ms_tolerance **tolerances_out,
                                  size_t *count_out) {
    const ms_given given = ms_cli_all(call, "tolerance");
    ms_tolerance *tolerances = MS_NEW(call->arena, ms_tolerance, given.count);
    ms_status status = tolerances == NULL ? MS_E_NOMEM : MS_OK;
    for (size_t i = 0; i < given.count && status == MS_OK; i++) {
        status = parse_tolerance(call, given.values[i], &tolerances[i]);
    }
    *tolerances_out = tolerances;
    *count_out = given.count;
    return status;
}

/* A leaf, or what a tree is. */
static const char *text_of(const ms_value *value, int digits, char *text_out, size_t size) {
    if (value == NULL) {
        snprintf(text_out, size, "-");
    } else if (value->type == MS_VALUE_DOUBLE) {
        snprintf(text_out, size, "%.*g", digits, value->as.number);
    } else if (value->type == MS_VALUE_INT) {
        snprintf(text_out, size, "%lld", (long long)value->as.integer);
    } else if (value->type == MS_VALUE_BOOL) {
        snprintf(text_out, size, "%s", value->as.boolean ? "true" : "false");
    } else if (value->type == MS_VALUE_STRING) {
        snprintf(text_out, size, "'%s'", value->as.string);
    } else if (value->type == MS_VALUE_NULL) {
        snprintf(text_out, size, "null");
    } else {
        snprintf(text_out, size, "(%s of %zu)", value->type == MS_VALUE_ARRAY ? "list" : "table",
                 value->count);
    }
    return text_out;
}

static void print_difference(const ms_difference *difference) {
    char a[512];
    char b[512];
    char relative[32] = "";
    text_of(difference->a, 6, a, sizeof a);
    text_of(difference->b, 6, b, sizeof b);
    /* they may differ further down; where that does not fit, the last column tells */
    for (int digits = 7; strcmp(a, b) == 0 && digits <= NUMBER_DIGITS; digits++) {
        text_of(difference->a, digits, a, sizeof a);
        text_of(difference->b, digits, b, sizeof b);
    }
    if (isfinite(difference->relative)) {
        snprintf(relative, sizeof relative, "%+.3g %%", 100.0 * difference->relative);
    }
    printf("%-*s %*s %*s %12s\n", KEY_WIDTH, difference->key, NUMBER_WIDTH, a, NUMBER_WIDTH, b,
           relative);
}

static void print_table(const ms_comparison *comparison, const ms_trace traces[2]) {
    printf("a: %s\nb: %s\n", traces[0].path, traces[1].path);
    if (comparison->count == 0) {
        printf("equal: %zu quantities compared\n", comparison->compared);
        return;
    }
    printf("\n%-*s %*s %*s %12s\n", KEY_WIDTH, "quantity", NUMBER_WIDTH, "a", NUMBER_WIDTH, "b",
           "(b-a)/|a|");
    for (size_t i = 0; i < comparison->count; i++) {
        print_difference(&comparison->differences[i]);
    }
    printf("\n%zu of %zu quantities differ\n", comparison->count, comparison->compared);
}

/* A copy of a leaf under a new key; what a tree is, in words. */
static void add_leaf(ms_value *parent, const char *key, const ms_value *leaf) {
    char text[64];
    switch (leaf == NULL ? MS_VALUE_NULL : leaf->type) {
    case MS_VALUE_INT:
        ms_value_add_int(parent, key, leaf->as.integer);
        break;
    case MS_VALUE_DOUBLE:
        ms_value_add_double(parent, key, leaf->as.number);
        break;
    case MS_VALUE_BOOL:
        ms_value_add_bool(parent, key, leaf->as.boolean);
        break;
    case MS_VALUE_STRING:
        ms_value_add_string(parent, key, leaf->as.string);
        break;
    case MS_VALUE_NULL:
        ms_value_add(parent, key, MS_VALUE_NULL);
        break;
    default:
        ms_value_add_string(parent, key, text_of(leaf, 6, text, sizeof text));
    }
}

static ms_status print_json(const ms_invocation *call, const ms_comparison *comparison) {
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_bool(root, "equal", comparison->count == 0);
    ms_value_add_int(root, "compared", (int64_t)comparison->compared);
    ms_value *rows = ms_value_add(root, "differences", MS_VALUE_ARRAY);
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_difference *difference = &comparison->differences[i];
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", difference->key);
        add_leaf(row, "a", difference->a);
        add_leaf(row, "b", difference->b);
        ms_value_add_double(row, "relative", difference->relative);
    }
    return ms_cli_print_json(call, rows == NULL ? NULL : root);
}

static ms_status run(const ms_invocation *call) {
    ms_tolerance *tolerances = NULL;
    size_t count = 0;
    ms_trace traces[2];
    ms_comparison comparison;
    ms_status status = parse_tolerances(call, &tolerances, &count);
    for (size_t i = 0; i < 2 && status == MS_OK; i++) {
        status = ms_trace_read(call->positionals[i], MS_TRACE_NOTHING, call->arena, call->diag,
                               &traces[i]);
    }
    if (status != MS_OK) {
        return status;
    }
    status = ms_compare(traces[0].summary, traces[1].summary, tolerances, count, call->arena,
                        &comparison);
    if (status != MS_OK) {
        ms_diag_error(call->diag, "out of memory");
        return status;
    }
    if (ms_cli_has(call, "json")) {
        status = print_json(call, &comparison);
    } else {
        print_table(&comparison, traces);
        status = ms_cli_finish_stdout(call);
    }
    return status == MS_OK && comparison.count > 0 ? MS_E_NO : status;
}

const ms_command ms_cmd_compare = {
    .name = "compare",
    .summary = "tell what differs between two traces",
    .positional_help = "A.h5 B.h5",
    .positionals_min = 2,
    .positionals_max = 2,
    .options = OPTIONS,
    .description =
        "Compares the results of two runs quantity by quantity and prints the ones that differ "
        "by more than the tolerance, largest first. Wall time, memory use of the simulator, "
        "versions and paths do not count. Exits with 0 when nothing differs and with 1 otherwise. "
        "The tolerance is relative to the larger of the two numbers; of several that fit a key "
        "the longest holds. With a tolerance, differences below 1e-9 times it pass as well.",
    .example = "meshsim compare before.h5 after.h5 --tolerance 1% --tolerance memory=0",
    .run = run,
};
