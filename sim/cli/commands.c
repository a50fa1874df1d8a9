/* The table of commands (commands.h): those of this program, and behind them those of the Python
 * package. */
#include "cli/commands.h"
#include "base/config/input.h"

#include <string.h>

/* The commands of this program in the order of the help page. A new command adds a row here and its
 * file cmd_NAME.c. */
static const ms_command *const OWN[] = {
    &ms_cmd_new,      &ms_cmd_run,        &ms_cmd_runs,   &ms_cmd_check,  &ms_cmd_platform,
    &ms_cmd_mesh,     &ms_cmd_schedule,   &ms_cmd_search, &ms_cmd_sweep,  &ms_cmd_merge,
    &ms_cmd_textbook, &ms_cmd_collective, &ms_cmd_times,  &ms_cmd_replay, &ms_cmd_compare,
    &ms_cmd_report,   &ms_cmd_schema,     NULL,
};

/* Commands of this program; room for all, with those of the Python package (5). */
enum { OWN_COUNT = sizeof OWN / sizeof OWN[0] - 1, COUNT_MAX = OWN_COUNT + 8 };

const ms_command *const *ms_cli_commands(void) {
    static const ms_command *all[COUNT_MAX + 1];
    memcpy(all, OWN, sizeof OWN);
    const ms_command *const *tools = ms_cli_tool_commands();
    for (size_t i = 0; tools[i] != NULL; i++) {
        all[OWN_COUNT + i] = tools[i];
    }
    return all;
}

/* The command of a name in a list that NULL ends; NULL: there is none. */
static const ms_command *find(const ms_command *const *list, const char *name) {
    while (*list != NULL && strcmp((*list)->name, name) != 0) {
        list++;
    }
    return *list;
}

const ms_command *ms_cli_find_command(const char *name) {
    const ms_command *own = find(OWN, name);
    return own != NULL ? own : find(ms_cli_tool_commands(), name);
}

ms_status ms_cli_unknown_command(const char *name, ms_diag *diag) {
    ms_input_kind kind = ms_input_kind_of(name);
    if (kind != MS_INPUT_UNKNOWN) {
        char text[512];
        return ms_diag_usage(diag, "expected a command before the file; '%s' is %s", name,
                             ms_input_explain(kind, MS_INPUT_UNKNOWN, name, text, sizeof text));
    }
    const char *names[COUNT_MAX + 1] = {"help"};
    size_t count = 1;
    for (const ms_command *const *command = ms_cli_commands(); *command != NULL; command++) {
        names[count++] = (*command)->name;
    }
    return ms_diag_usage(diag, "unknown %s '%s'%s", name[0] == '-' ? "option" : "command", name,
                         ms_nearest_hint(name, names, count).text);
}
