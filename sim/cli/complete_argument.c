#include "cli/complete_argument.h"

#include <ctype.h>
#include <string.h>

#include "cli/complete_key.h"

/* The shell knows best which files there are, how they are quoted, and what '~' is. */
static void ask_for(ms_completion *c, const char *what, const char *endings) {
    const char *before = "\t";
    ms_buffer_printf(c->out, ":%s\t", what);
    ms_buffer_add(c->out, c->word, (size_t)(c->typed - c->word));
    for (const char *at = strchr(endings, '.'); at != NULL; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        if (at[0] == '.') { /* of ".svg or .json" the endings alone */
            ms_buffer_puts(c->out, before);
            ms_buffer_add(c->out, at, length);
            before = " ";
        }
    }
    ms_buffer_puts(c->out, before[0] == '\t' ? "\t\n" : "\n");
}

/* Installed files of a kind by their names, and files of the user's. */
static void offer_files(ms_completion *c, const char *folder, const char *text) {
    ms_completion_installed(c, folder, text);
    ask_for(c, "file", ".yaml");
}

static bool is_one_of(const char *word, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(word, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* What the name says that an argument has in the help page: the tables have no other word for it.
 */
static void complete_named(ms_completion *c, const char *name) {
    static const char *const PLATFORMS[] = {"P.yaml", "PLATFORM.yaml", "P1,P2", NULL};
    static const char *const WORKLOADS[] = {"WORKLOAD.yaml", "WORKLOAD", NULL};
    static const char *const FILES[] = {"FILE", "CSV", "LOG", "A", "B", NULL};
    static const char *const FOLDERS[] = {"DIR", "FOLDER", NULL};
    const char *ending = strrchr(name, '.');
    if (is_one_of(name, PLATFORMS)) {
        ms_completion_keep_list(c);
        offer_files(c, "platforms", "platform");
    } else if (is_one_of(name, WORKLOADS)) {
        offer_files(c, "workloads", "workload");
    } else if (strcmp(name, "MODEL") == 0) {
        ms_completion_installed(c, "workloads", "model of the workload");
    } else if (ending != NULL && islower((unsigned char)ending[1]) != 0) {
        ask_for(c, "file", ending);
    } else if (is_one_of(name, FILES)) {
        ask_for(c, "file", "");
    } else if (is_one_of(name, FOLDERS)) {
        ask_for(c, "folder", "");
    }
}

static void offer_words(ms_completion *c, const char *(*word)(int index)) {
    for (int i = 0; word(i) != NULL; i++) {
        ms_completion_offer(c, word(i), "", "");
    }
}

/* One of "a|b=FILE|csv:FILE|KIND". */
static void complete_choice(ms_completion *c, const char *choice, const char *(*word)(int index)) {
    size_t head = strcspn(choice, "=:");
    if (isupper((unsigned char)choice[0]) != 0) {
        if (word != NULL) {
            offer_words(c, word);
        }
        complete_named(c, choice);
    } else if (choice[head] == '\0') {
        ms_completion_offer(c, choice, "", "");
    } else if (strncmp(c->typed, choice, head + 1) == 0) {
        ms_completion behind = *c;
        ms_completion_keep(&behind, head + 1);
        complete_named(&behind, choice + head + 1);
    } else {
        ms_completion_offer(c, ms_arena_strndup(c->arena, choice, head + 1), "", "");
    }
}

/* All of "a|b|c", of which a list holds several. */
static void complete_choices(ms_completion *c, const char *choices, const char *(*word)(int)) {
    while (choices[0] != '\0') {
        size_t length = strcspn(choices, "|");
        const char *choice = ms_arena_strndup(c->arena, choices, length);
        if (choice == NULL) {
            return;
        }
        complete_choice(c, choice, word);
        choices += length + (choices[length] == '|');
    }
}

void ms_completion_argument(ms_completion *c, const ms_option *option) {
    if (option->takes != MS_TAKES_NAMED) {
        ms_completion_key(c, option->takes);
        return;
    }
    if (option->writes != NULL) {
        bool is_folder = strcmp(option->writes, "/") == 0;
        ask_for(c, is_folder ? "folder" : "file", is_folder ? "" : option->writes);
        return;
    }
    if (strchr(option->argument, ',') != NULL) {
        ms_completion_keep_list(c);
    }
    complete_choices(c, option->argument, option->word);
}

void ms_completion_positional(ms_completion *c, const ms_command *command, size_t index) {
    const char *help = command->positional_help;
    if (help == NULL || index >= command->positionals[1]) {
        return;
    }
    for (; index > 0 && strchr(help, ' ') != NULL; index--) {
        help = strchr(help, ' ') + 1; /* the last one stands for all that follow */
    }
    help += help[0] == '[';
    const char *name = ms_arena_strndup(c->arena, help, strcspn(help, " ]"));
    if (name == NULL) {
        return;
    }
    const char *dots = strstr(name, "...");
    name = dots == NULL ? name : ms_arena_strndup(c->arena, name, (size_t)(dots - name));
    bool is_kind = name != NULL && strcmp(name, "KIND") == 0;
    for (const ms_mode *mode = command->modes; is_kind && mode != NULL && mode->usage != NULL;
         mode++) {
        ms_completion_offer(c, mode->argument, "", mode->summary);
    }
    if (name != NULL) {
        complete_choices(c, name, strstr(name, "KIND") == NULL ? NULL : command->word);
    }
}
