#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "meshsim/report.h"
#include "meshsim/target.h"

ms_status ms_cli_finish_stdout(const ms_invocation *call) {
    bool had_failed = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || had_failed) {
        ms_diag_error(call->diag, "cannot write to the standard output: %s",
                      errno != 0 ? strerror(errno) : "an earlier write failed");
        return MS_E_IO;
    }
    return MS_OK;
}

static ms_status write_stdout(const ms_invocation *call, const char *text, size_t length) {
    errno = 0;
    fwrite(text, 1, length, stdout);
    return ms_cli_finish_stdout(call);
}

/* Names and texts on a page come from files, traces and the command line, so none goes out as it
 * is, whatever a command put there. */
ms_status ms_cli_print_page(const ms_invocation *call, ms_buffer *page) {
    ms_buffer shown;
    ms_buffer_init(&shown);
    ms_terminal_write_text(&shown, ms_buffer_text(page));
    ms_status status = MS_E_NOMEM;
    if (page->failed || shown.failed) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = write_stdout(call, ms_buffer_text(&shown), shown.length);
    }
    ms_buffer_release(&shown);
    ms_buffer_release(page);
    return status;
}

ms_status ms_cli_print_json(const ms_invocation *call, const ms_value *root) {
    if (root == NULL || root->arena->has_failed) { /* then something may be missing in it */
        return ms_diag_no_memory(call->diag);
    }
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(root, 2, &text);
    ms_buffer_puts(&text, "\n");
    ms_status status = MS_E_NOMEM;
    if (text.failed) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = write_stdout(call, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    return status;
}

ms_status ms_cli_write_file(const ms_invocation *call, const char *path, const char *text,
                            size_t length) {
    return strcmp(path, "-") == 0 ? write_stdout(call, text, length)
                                  : ms_picture_write(path, text, length, call->diag);
}

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
    const char *names[FILES_MAX + 3] = {"json"};
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

bool ms_cli_takes_stdout(const ms_invocation *call, const char *const *files) {
    bool is_taken = false;
    for (size_t i = 0; files[i] != NULL; i++) {
        is_taken = is_taken || strcmp(ms_cli_value(call, files[i], ""), "-") == 0;
    }
    return is_taken;
}

ms_status ms_cli_write_option(const ms_invocation *call, const char *option, ms_buffer *text) {
    const char *path = ms_cli_value(call, option, NULL);
    ms_status status = MS_OK;
    if (path != NULL) {
        status = text->failed || call->arena->has_failed
                     ? ms_diag_no_memory(call->diag)
                     : ms_cli_write_file(call, path, ms_buffer_text(text), text->length);
    }
    ms_buffer_release(text);
    return status;
}
