/* Writes the results of commands to files and to the standard output. Within a program run results
 * are kept in memory until the command has ended (ms_invocation.results): files are written first,
 * and nothing is printed if a file cannot be written. A target is a file that a result goes to. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/target.h"
#include "cli/cli.h"
#include "cli/show_text.h"
#include "trace/report/report.h"

ms_status ms_cli_finish_stdout(const ms_invocation *call) {
    bool had_failed = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || had_failed) {
        ms_diag_error(call->diag, "cannot write to the standard output: %s",
                      errno != 0 ? strerror(errno) : "an earlier write failed");
        return MS_E_IO;
    }
    return MS_OK;
}

/* Refuse to write a result after a failed system call, as something may be missing in the result.
 * Returns MS_OK; MS_E_NOMEM or MS_E_IO (reported). */
static ms_status check_failures(const ms_invocation *call) {
    ms_status status = ms_failure_since(0, MS_OK);
    if (status != MS_OK) {
        ms_diag_error(call->diag, "%s", ms_failure_text());
    }
    return status;
}

/* Write a result to its target.  path: of a file; "-": the standard output; NULL: the standard
 * error. */
static ms_status write_now(const ms_invocation *call, const char *path, const char *text,
                           size_t length) {
    if (path == NULL) {
        fputs(text, stderr);
        return MS_OK;
    }
    if (strcmp(path, "-") != 0) {
        return ms_picture_write(path, text, length, call->diag);
    }
    errno = 0;
    fwrite(text, 1, length, stdout);
    return ms_cli_finish_stdout(call);
}

/* Append a copy of a result to the kept results.  path: as in ms_cli_result, borrowed.  Returns
 * false when memory runs out. */
static bool keep_result(ms_vector *results, const char *path, const char *text, size_t length) {
    ms_cli_result result = {.path = path};
    ms_buffer_add(&result.text, text, length);
    bool is_kept = !result.text.failed && ms_vector_add(results, &result, 1) != NULL;
    if (!is_kept) {
        ms_buffer_release(&result.text);
    }
    return is_kept;
}

/* Keep a result until the command has ended, as memory may run out while a later result is made;
 * write it at once where the caller keeps no results. */
static ms_status write_result(const ms_invocation *call, const char *path, const char *text,
                              size_t length) {
    ms_status status = check_failures(call);
    if (status != MS_OK || call->results == NULL) {
        return status != MS_OK ? status : write_now(call, path, text, length);
    }
    const char *copy = ms_arena_strdup(call->arena, path);
    bool is_kept = copy != NULL && keep_result(call->results, copy, text, length);
    return is_kept ? MS_OK : ms_diag_no_memory(call->diag);
}

/* Append a message, for a terminal wrapped at the words of a page's width. A quoted line of a
 * source is short already. Tools that read messages from a pipe or file get one line for each. */
static void add_message(const char *text, ms_buffer *out) {
    bool is_terminal = isatty(STDERR_FILENO) == 1;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        ms_buffer line = {0};
        ms_buffer_add(&line, text, length);
        if (is_terminal && ms_show_width(text, length) > MS_SHOW_PAGE_WIDTH) {
            ms_show_wrapped("", ms_buffer_text(&line), out);
        } else {
            ms_buffer_printf(out, "%s\n", ms_buffer_text(&line));
        }
        ms_buffer_release_part(&line, out);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

void ms_cli_write_message(ms_vector *results, const char *text) {
    ms_buffer wrapped = {0};
    add_message(text, &wrapped);
    const char *shown = wrapped.failed ? text : ms_buffer_text(&wrapped);
    /* Behind kept results the message is kept, too, so that both appear in order. */
    bool has_earlier = results != NULL && results->count > 0;
    if (!has_earlier || !keep_result(results, NULL, shown, strlen(shown))) {
        fputs(shown, stderr);
    }
    ms_buffer_release(&wrapped);
}

/* Write the kept results of one kind.  to_files: those that go to files; else those that go to the
 * standard streams. */
static ms_status write_kept(const ms_invocation *call, bool to_files) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < call->results->count && status == MS_OK; i++) {
        const ms_cli_result *result = &MS_AT(call->results, ms_cli_result, i);
        bool is_file = result->path != NULL && strcmp(result->path, "-") != 0;
        if (is_file == to_files) {
            status =
                write_now(call, result->path, ms_buffer_text(&result->text), result->text.length);
        }
    }
    return status;
}

ms_status ms_cli_write_results(const ms_invocation *call, ms_status status) {
    if (status == MS_OK || status == MS_E_NO || status == MS_E_INTERRUPTED) {
        ms_status written = write_kept(call, true);
        written = written == MS_OK ? write_kept(call, false) : written;
        status = written == MS_OK ? status : written;
    }
    for (size_t i = 0; i < call->results->count; i++) {
        ms_buffer_release(&MS_AT(call->results, ms_cli_result, i).text);
    }
    ms_vector_release(call->results);
    return status;
}

/* Names and texts on a page come from files, traces and the command line, and might hold control
 * characters: every page is filtered here, whatever the command has done. */
ms_status ms_cli_print_page(const ms_invocation *call, ms_buffer *page) {
    ms_buffer shown = {0};
    ms_terminal_write_text(&shown, ms_buffer_text(page));
    ms_buffer_release_part(page, &shown);
    return ms_cli_write_file(call, "-", &shown);
}

ms_status ms_cli_print_json(const ms_invocation *call, const ms_value *root) {
    if (root == NULL || root->arena->has_failed) { /* an incomplete tree */
        return ms_diag_no_memory(call->diag);
    }
    ms_buffer text = {0};
    ms_value_write_json(root, 2, &text);
    ms_buffer_puts(&text, "\n");
    return ms_cli_write_file(call, "-", &text);
}

ms_status ms_cli_write_file(const ms_invocation *call, const char *path, ms_buffer *text) {
    ms_status status = text->failed ? ms_diag_no_memory(call->diag)
                                    : write_result(call, path, ms_buffer_text(text), text->length);
    ms_buffer_release(text);
    return status;
}

/* Check that the files that options name can be written.  options: names, NULL behind the last; an
 * option that is not given, or names '-', passes. */
static ms_status check_files(const ms_invocation *call, const char *const *options) {
    ms_status status = MS_OK;
    for (size_t i = 0; options[i] != NULL && status == MS_OK; i++) {
        const char *path = ms_cli_value(call, options[i], "-");
        status = strcmp(path, "-") == 0 ? MS_OK : ms_target_check(path, MS_TARGET_TEXT, call->diag);
    }
    return status;
}

ms_status ms_cli_check_targets(const ms_invocation *call, const char *const *files) {
    enum { FILES_MAX = 7 };
    const char *names[FILES_MAX + 3] = {"json"}; /* + json, markdown and NULL */
    size_t count = 1;
    if (ms_cli_knows(call, "markdown")) {
        names[count++] = "markdown";
    }
    for (size_t i = 0; files[i] != NULL && i < FILES_MAX; i++) {
        names[count++] = files[i];
    }
    ms_status status = ms_cli_check_stdout(call, names);
    return status == MS_OK ? check_files(call, files) : status;
}

bool ms_cli_uses_stdout(const ms_invocation *call, const char *const *files) {
    bool is_taken = false;
    for (size_t i = 0; files[i] != NULL; i++) {
        is_taken = is_taken || strcmp(ms_cli_value(call, files[i], ""), "-") == 0;
    }
    return is_taken;
}

ms_status ms_cli_write_option(const ms_invocation *call, const char *option, ms_buffer *text) {
    const char *path = ms_cli_value(call, option, NULL);
    text->failed = text->failed || call->arena->has_failed;
    if (path == NULL) {
        ms_buffer_release(text);
        return MS_OK;
    }
    return ms_cli_write_file(call, path, text);
}
