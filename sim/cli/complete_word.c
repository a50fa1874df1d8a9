#include "cli/complete_word.h"

#include <string.h>

#include "base/config/find.h"
#include "cli/job_options.h"

void ms_completion_keep(ms_completion *c, size_t length) {
    c->typed += length;
}

void ms_completion_offer(ms_completion *c, const char *word, const char *end, const char *text) {
    if (word != NULL && strncmp(word, c->typed, strlen(c->typed)) == 0) {
        ms_buffer_add(c->out, c->word, (size_t)(c->typed - c->word));
        ms_buffer_printf(c->out, "%s%s\t%s\n", word, end, text);
    }
}

void ms_completion_keep_list(ms_completion *c) {
    const char *comma = strrchr(c->typed, ',');
    ms_completion_keep(c, comma == NULL ? 0 : (size_t)(comma + 1 - c->typed));
}

void ms_completion_installed(ms_completion *c, const char *folder, const char *text) {
    const char *path = ms_arena_printf(c->arena, "%s/%s", ms_cli_data_folder(c->arena), folder);
    const char *const folders[] = {path, NULL};
    const ms_file_search search = {.folders = folders, .subfolder = ""};
    const char *names = path == NULL ? "" : ms_find_yaml_names(&search, c->arena);
    while (names[0] != '\0') {
        size_t length = strcspn(names, ",");
        ms_completion_offer(c, ms_arena_strndup(c->arena, names, length), "", text);
        names += length;
        names += strspn(names, ", ");
    }
}
