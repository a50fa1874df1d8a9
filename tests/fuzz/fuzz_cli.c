/* libFuzzer target: any words as a command line, one per line. Every command's words are parsed;
 * `mesh` and `help`-like pages, which write no files, run as well, with their output thrown away.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "fuzz_target.h"

enum { WORDS_MAX = 32 };

/* Lines of a text that is cut up in place. */
static size_t split(char *text, const char *words[WORDS_MAX]) {
    size_t count = 0;
    for (char *end = text; end != NULL && count < WORDS_MAX; text = end + 1) {
        end = strchr(text, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        words[count++] = text;
        if (end == NULL) {
            break;
        }
    }
    return count;
}

static void run_mesh(const ms_invocation *call) {
    ms_status status = call->command->run(call);
    require(status == MS_OK || status == MS_E_NO || call->diag->errors > 0);
    require(status != MS_E_BUG);
}

static void exercise(char *text, ms_arena *arena) {
    ms_diag diag;
    ms_diag_init(&diag, discard, NULL);
    const char *words[WORDS_MAX];
    size_t count = split(text, words);
    ms_invocation call = {.arena = arena, .diag = &diag, .command = ms_cli_find_command(words[0])};
    if (call.command == NULL) {
        (void)ms_cli_unknown_command(words[0], &diag);
        return;
    }
    bool wants_help = false;
    ms_status status = ms_cli_parse(&call, count - 1, words + 1, &wants_help);
    require(status == MS_OK || status == MS_E_USAGE);
    require((status == MS_OK) == (diag.errors == 0));
    if (wants_help) {
        ms_buffer page;
        ms_buffer_init(&page);
        ms_cli_help_command(call.command, &page);
        ms_buffer_release(&page);
    } else if (status == MS_OK && call.command == &ms_cmd_mesh) {
        run_mesh(&call);
    }
}

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerInitialize(int *count, char ***words) {
    (void)count;
    (void)words;
    int nowhere = open("/dev/null", O_WRONLY);
    return nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    char *text = ms_arena_strndup(&arena, (const char *)data, size);
    if (text != NULL) {
        exercise(text, &arena);
    }
    ms_arena_release(&arena);
    return 0;
}
