/* Writes results as a page of HTML (--html): collects the input files that the page keeps, so that
 * a result can be reproduced from it, and hands them with the result tree to trace/report
 * (html_option.h). */
#include "cli/html_option.h"

#include <string.h>

#include "base/config/config.h"
#include "base/failure.h"
#include "base/text.h"
#include "cli/job_options.h"
#include "cli/show_text.h"

/* Longest text of an input that a page keeps [B]; of a longer file only the name is kept. */
enum { TEXT_MAX_B = 512 * 1024 };

/* The path of an input file; a name that is no file in the current folder is that of an installed
 * workload. */
static const char *path_of(const char *file, ms_arena *arena) {
    bool is_name = strchr(file, '/') == NULL && !ms_file_is_there(file);
    const char *path =
        is_name ? ms_arena_printf(arena, "%s/workloads/%s.yaml", ms_cli_data_folder(arena), file)
                : file;
    return path == NULL ? file : path;
}

/* Read the input files that a page keeps, each once. A file that no longer exists, or was a pipe,
 * is left out.  texts: [files->count] empty buffers, which the caller releases.  inputs:
 * [files->count], filled in; they borrow the texts.  Returns how many inputs were read. */
static size_t read_inputs(const ms_words *files, ms_arena *arena, ms_buffer *texts,
                          ms_page_input *inputs) {
    ms_diag silent;
    size_t count = 0;
    ms_diag_init_mute(&silent);
    for (size_t i = 0; i < files->count; i++) {
        ms_buffer *text = &texts[count];
        const char *path = path_of(files->items[i], arena);
        const char *slash = strrchr(path, '/');
        if (ms_word_index(files->items[i], files->items, (int)i) < 0 &&
            ms_file_read(path, MS_FILE_TEXT, text, &silent) == MS_OK) {
            inputs[count++] = (ms_page_input){
                .name = slash == NULL ? path : slash + 1,
                .text = ms_buffer_text(text),
                .length = text->length,
                .is_left_out = text->length > TEXT_MAX_B,
            };
        }
    }
    return count;
}

/* The page keeps the texts of its input files, so the files are read before the page is written. */
ms_status ms_cli_write_results_page(const ms_invocation *call, const char *option,
                                    ms_page_results *results, const ms_words *files) {
    ms_buffer html = {0};
    ms_buffer *texts = MS_NEW(call->arena, ms_buffer, files->count + 1);
    ms_page_input *inputs = MS_NEW(call->arena, ms_page_input, files->count + 1);
    if (texts == NULL || inputs == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    results->inputs = inputs;
    results->input_count = read_inputs(files, call->arena, texts, inputs);
    if (ms_page_write_results(results, &html) != MS_OK) {
        html.failed = true;
    }
    for (size_t i = 0; i < files->count; i++) {
        ms_buffer_release(&texts[i]);
    }
    return ms_cli_write_option(call, option, &html);
}

ms_status ms_cli_write_html(const ms_invocation *call, const ms_cli_page *page,
                            const ms_value *tree) {
    if (!ms_cli_has(call, "html")) {
        return MS_OK;
    }
    ms_page_results results = {.kind = call->command->name,
                               .title = page->title,
                               .subject = call->positional_count > 0 ? call->positionals[0] : "",
                               .command = ms_show_command_line(call),
                               .version = MESHSIM_VERSION,
                               .tree = tree};
    if (results.command == NULL || tree == NULL || call->arena->has_failed) {
        return ms_diag_no_memory(call->diag);
    }
    return ms_cli_write_results_page(call, "html", &results, &page->files);
}
