#include "cli/commands.h"

#include <string.h>

/* In the order of the help page. A row is added together with its file. */
static const ms_command *const COMMANDS[] = {
    &ms_cmd_new,        &ms_cmd_run,     &ms_cmd_check,    &ms_cmd_platform,  &ms_cmd_mesh,
    &ms_cmd_schedule,   &ms_cmd_search,  &ms_cmd_sweep,    &ms_cmd_merge,     &ms_cmd_textbook,
    &ms_cmd_collective, &ms_cmd_compare, &ms_cmd_validate, &ms_cmd_calibrate, &ms_cmd_report,
    &ms_cmd_plot,       &ms_cmd_import,  &ms_cmd_export,   &ms_cmd_schema,    NULL,
};

enum { COMMAND_COUNT_MAX = sizeof COMMANDS / sizeof COMMANDS[0] };

const ms_command *const *ms_cli_commands(void) {
    return COMMANDS;
}

const ms_command *ms_cli_find_command(const char *name) {
    for (const ms_command *const *command = COMMANDS; *command != NULL; command++) {
        if (strcmp((*command)->name, name) == 0) {
            return *command;
        }
    }
    return NULL;
}

const char *ms_cli_nearest_command(const char *name) {
    const char *names[COMMAND_COUNT_MAX] = {NULL};
    size_t count = 0;
    names[count++] = "help";
    for (const ms_command *const *command = COMMANDS; *command != NULL; command++) {
        names[count++] = (*command)->name;
    }
    return ms_nearest_word(name, names, count);
}
