/* Makes the table of the commands that the Python package beside the program answers, from
 * tools.json, a description that the build lets the package write (commands.h). A kind is one of
 * the file formats that `import` and `export` know; it becomes a mode of the command. */
#include "cli/commands.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/config.h"
#include "base/failure.h"
#include "base/usage.h"
#include "cli/tool.h"

/* Commands of the package. */
enum { TOOL_COUNT = 5 };

/* The names are fixed, so that no file beside the program makes it start another program. */
static const char *const NAMES[TOOL_COUNT] = {"validate", "calibrate", "import", "export", "plot"};

/* Summary of a command whose description is missing. */
static const char LACKING[] =
    "a command of meshsim's Python package, which is not installed beside the program";

/* The commands, and the list of them that NULL ends; both are empty before the first call. */
static ms_command commands[TOOL_COUNT];
static const ms_command *list[TOOL_COUNT + 1];

/* The quoted text of a key; NULL where the key is missing, empty or no text. */
static const char *text_of(const ms_node *mapping, const char *key) {
    const ms_node *node = ms_node_get(mapping, key);
    bool is_given = node != NULL && node->type == MS_NODE_SCALAR && node->is_quoted;
    return is_given && node->text[0] != '\0' ? node->text : NULL;
}

/* The whole number of a key; 0 where the key is missing. */
static size_t count_of(const ms_node *mapping, const char *key) {
    const ms_node *node = ms_node_get(mapping, key);
    return node == NULL || node->text == NULL ? 0 : strtoul(node->text, NULL, 10);
}

/* The first entry of a list; NULL where the key is missing or the list is empty.  *room_out:
 * entries, and one more for the row that ends a table. */
static const ms_node *first_of(const ms_node *mapping, const char *key, size_t *room_out) {
    const ms_node *node = ms_node_get(mapping, key);
    *room_out = node == NULL ? 1 : node->count + 1;
    return node == NULL ? NULL : node->first;
}

/* ---- tables ---- */

/* The kinds that take an option, as the bits of ms_option.modes. */
static unsigned kinds_of(const ms_node *option) {
    size_t room = 0;
    unsigned bits = 0;
    for (const ms_node *kind = first_of(option, "kinds", &room); kind != NULL; kind = kind->next) {
        bits |= 1U << strtoul(kind->text, NULL, 10);
    }
    return bits;
}

/* The type of an option's argument, for completion. */
static ms_option_takes takes_of(const ms_node *option) {
    const char *takes = text_of(option, "takes");
    if (takes == NULL) {
        return MS_TAKES_NAMED;
    }
    return strcmp(takes, "platform key") == 0 ? MS_TAKES_PLATFORM_KEY : MS_TAKES_WORKLOAD_KEY;
}

/* Read the option table of a command. Returns it in `arena`; NULL when memory runs out. */
static ms_option *read_options(const ms_node *command, ms_arena *arena) {
    size_t room = 0;
    const ms_node *row = first_of(command, "options", &room);
    ms_option *options = MS_NEW(arena, ms_option, room);
    /* The row behind the last one is zeroed and ends the table. */
    for (size_t i = 0; options != NULL && row != NULL && i < MS_OPTION_COUNT_MAX; i++) {
        const char *letter = text_of(row, "letter");
        const ms_node *repeatable = ms_node_get(row, "repeatable");
        options[i] = (ms_option){.name = text_of(row, "name"),
                                 .letter = letter == NULL ? '\0' : letter[0],
                                 .argument = text_of(row, "argument"),
                                 .is_repeatable =
                                     repeatable != NULL && strcmp(repeatable->text, "true") == 0,
                                 .fallback = text_of(row, "fallback"),
                                 .help = text_of(row, "help"),
                                 .writes = text_of(row, "writes"),
                                 .modes = kinds_of(row),
                                 .takes = takes_of(row)};
        row = row->next;
    }
    return options;
}

/* An entry of a list of texts by its index; "" behind the last. */
static const char *entry_of(const ms_node *texts, int index) {
    const ms_node *node = texts->first;
    for (int i = 0; i < index && node != NULL; i++) {
        node = node->next;
    }
    return node == NULL ? "" : node->text;
}

/* Read which options of a kind need another option. Each row of the list is [option, the option
 * that it needs, why]. Returns them in `arena`; NULL when memory runs out. */
static ms_option_rule *read_rules(const ms_node *kind, ms_arena *arena) {
    size_t room = 0;
    const ms_node *row = first_of(kind, "needs", &room);
    ms_option_rule *rules = MS_NEW(arena, ms_option_rule, room);
    for (size_t i = 0; rules != NULL && row != NULL; i++) {
        rules[i] = (ms_option_rule){
            .option = entry_of(row, 0), .other = entry_of(row, 1), .why = entry_of(row, 2)};
        row = row->next;
    }
    return rules;
}

/* Read the kinds of a command as its modes. Returns them in `arena`; NULL where the command has no
 * kinds. */
static ms_mode *read_modes(const ms_node *command, ms_arena *arena) {
    size_t room = 0;
    const ms_node *row = first_of(command, "kinds", &room);
    ms_mode *modes = row == NULL ? NULL : MS_NEW(arena, ms_mode, room);
    for (size_t i = 0; modes != NULL && row != NULL; i++) {
        const char *usage = text_of(row, "usage");
        modes[i] = (ms_mode){.usage = usage,
                             .summary = text_of(row, "summary"),
                             .argument = ms_arena_strndup(arena, usage, strcspn(usage, " ")),
                             .rules = read_rules(row, arena),
                             .writes = text_of(row, "writes"),
                             .run = ms_cli_run_tool};
        row = row->next;
    }
    return modes;
}

/* ---- running ---- */

/* Run a command that has kinds: the first positional argument names one of them.  Returns
 * MS_E_USAGE (reported) where there is no such kind. */
static ms_status run_kind(const ms_invocation *call) {
    const char *names[MS_OPTION_COUNT_MAX];
    size_t count = 0;
    for (const ms_mode *mode = call->command->modes; mode->usage != NULL; mode++) {
        if (strcmp(mode->argument, call->positionals[0]) == 0) {
            return ms_cli_run_mode(call);
        }
        names[count++] = mode->argument;
    }
    ms_diag_unknown(call->diag, "kind", call->positionals[0], names, count);
    return MS_E_USAGE;
}

/* Make a row of the table of commands.  row: its description; NULL: none, so that the command takes
 * any arguments. */
static ms_command read_command(const ms_node *row, const char *name, ms_arena *arena) {
    ms_mode *modes = read_modes(row, arena);
    return (ms_command){.name = name,
                        .summary = row == NULL ? LACKING : text_of(row, "summary"),
                        .positional_help = text_of(row, "arguments"),
                        .positionals = {count_of(row, "at_least"),
                                        row == NULL ? SIZE_MAX : count_of(row, "at_most")},
                        .options = read_options(row, arena),
                        .description = text_of(row, "about"),
                        .example = text_of(row, "example"),
                        .modes = modes,
                        .run = modes == NULL ? ms_cli_run_tool : run_kind};
}

/* ---- the file ---- */

/* The root of tools.json, from the program's folder (a build) or as installed; NULL: there is no
 * such file. */
static const ms_node *load_descriptions(ms_arena *arena) {
    static const char *const PLACES[] = {"", "/../share/meshsim"};
    char folder[PATH_MAX];
    ms_diag silent;
    ms_diag_init_mute(&silent);
    bool is_known = ms_program_folder(folder, sizeof folder);
    for (size_t i = 0; is_known && i < sizeof PLACES / sizeof PLACES[0]; i++) {
        ms_node *root = NULL;
        const char *path = ms_arena_printf(arena, "%s%s/tools.json", folder, PLACES[i]);
        if (path != NULL && ms_file_is_there(path) &&
            ms_config_load_json(path, arena, &silent, &root) == MS_OK) {
            return root;
        }
    }
    return NULL;
}

const ms_command *const *ms_cli_tool_commands(void) {
    static ms_arena arena; /* as long as the process */
    if (list[0] != NULL) {
        return list;
    }
    ms_arena_init(&arena);
    const ms_node *root = load_descriptions(&arena);
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        size_t room = 0;
        const ms_node *row = root == NULL ? NULL : first_of(root, "commands", &room);
        while (row != NULL && strcmp(text_of(row, "name"), NAMES[i]) != 0) {
            row = row->next;
        }
        commands[i] = read_command(row, NAMES[i], &arena);
        list[i] = &commands[i];
    }
    return list;
}
