/* libFuzzer target: any texts, one per line, as what a page is made of. Of a page of results: its
 * title, its command, a file's name, keys and texts of its data. Of a trace's: the file's name, who
 * wrote it, its inputs, keys and texts of its summary and its tables, which are attributes and
 * columns of an HDF5 file that anybody may have written. Whatever they hold, the page's data stay
 * data: JSON between the two tags that the template has, with every key and text as it was given.
 * The trace's picture and its file for Perfetto hold the same texts.
 */
#include <string.h>

#include "base/config/config.h"
#include "fuzz_target.h"
#include "trace/report/report.h"
#include "trace/trace.h"
#include "trace_page.h"

enum { TEXTS_MAX = 24, INPUT_MAX_B = 4096 };

/* Lines of an input, "" where there are no more. */
typedef struct line_list {
    const char *items[TEXTS_MAX];
    size_t count;
} line_list;

static void split(char *text, line_list *lines) {
    for (char *end = text; end != NULL && lines->count < TEXTS_MAX; text = end + 1) {
        end = strchr(text, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        lines->items[lines->count++] = text;
        if (end == NULL) {
            break;
        }
    }
}

static const char *line_of(const line_list *lines, size_t index) {
    return index < lines->count ? lines->items[index] : "";
}

/* Keys and texts by turns; a list of them, too. Keys stand once in a mapping. */
static ms_value *make_tree(const line_list *lines, ms_arena *arena) {
    ms_value *root = ms_value_new_object(arena);
    ms_value *list = ms_value_add(root, "results", MS_VALUE_ARRAY);
    for (size_t i = 4; i < lines->count; i++) {
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        const char *key = ms_arena_printf(arena, "%zu%s", i, lines->items[i]);
        if (key != NULL) {
            ms_value_add_string(row, "text", lines->items[i]);
            ms_value_add_double(row, key, (double)strlen(lines->items[i]) / 3);
        }
    }
    return root;
}

static size_t count_of(const char *text, const char *what) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        count++;
    }
    return count;
}

/* Whether JSON has to give it back byte by byte. */
static bool is_plain(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f) {
            return false;
        }
    }
    return true;
}

static void require_text(const ms_node *node, const char *text) {
    require(node != NULL && node->type == MS_NODE_SCALAR && node->is_quoted);
    require(!is_plain(text) || strcmp(node->text, text) == 0);
}

/* The data of a page, read back. */
static ms_node *read_data(const char *page, ms_arena *arena) {
    static const char OPEN[] = "<script type=\"application/json\" id=\"data\">";
    const char *data = strstr(page, OPEN);
    require(data != NULL);
    data += sizeof OPEN - 1;
    const ms_text text = {"data", data, (size_t)(strstr(data, "</script>") - data)};
    require(memchr(data, '<', text.length_B) == NULL);
    ms_diag diag;
    ms_node *root = NULL;
    ms_diag_init(&diag, discard, NULL);
    require(ms_config_parse_json(&text, arena, &diag, &root) == MS_OK);
    return root;
}

static void check_rows(const ms_node *rows, const line_list *lines) {
    size_t row = 4;
    for (const ms_node *one = rows->first; one != NULL; one = one->next) {
        require_text(ms_node_get(one, "text"), line_of(lines, row++));
    }
    require(row == (lines->count > 4 ? lines->count : 4));
}

static void check_results(const char *page, const line_list *lines, ms_arena *arena) {
    const ms_node *root = read_data(page, arena);
    require_text(ms_node_get(root, "title"), line_of(lines, 0));
    require_text(ms_node_get(root, "command"), line_of(lines, 1));
    require_text(ms_node_get(root, "subject"), line_of(lines, 2));
    check_rows(ms_node_get(ms_node_get(root, "result"), "results"), lines);
}

/* The last name of a path, which is what a page says of it. */
static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void check_trace(const char *page, const line_list *lines, ms_arena *arena) {
    const ms_node *root = read_data(page, arena);
    require_text(ms_node_get(root, "trace"), last_name(line_of(lines, 0)));
    require_text(ms_node_get(root, "program_version"), line_of(lines, 1));
    size_t line = 2;
    for (const ms_node *one = ms_node_get(root, "inputs")->first; one != NULL; one = one->next) {
        require_text(ms_node_get(one, "text"), line_of(lines, line++ % 4));
    }
    require(line == 7);
    require_text(ms_node_get(ms_node_get(root, "summary"), "workload"), line_of(lines, 3));
    check_rows(ms_node_get(ms_node_get(root, "summary"), "results"), lines);
    check_rows(ms_node_get(ms_node_get(root, "tables"), "results"), lines);
}

/* Of the texts nothing is markup: the template's tags are all there are. */
static void check_page(const char *page) {
    const char *title = strstr(page, "<title>");
    require(count_of(page, "<script") == 2 && count_of(page, "</script") == 2);
    require(count_of(page, "<title>") == 1 && count_of(page, "</title>") == 1);
    require(strchr(title + 1, '<') == strstr(title, "</title>"));
}

static void write_results(const line_list *lines, ms_arena *arena) {
    const ms_page_input input = {
        .name = line_of(lines, 3), .text = line_of(lines, 2), .length = strlen(line_of(lines, 2))};
    const ms_page_results results = {.kind = "search",
                                     .title = line_of(lines, 0),
                                     .command = line_of(lines, 1),
                                     .subject = line_of(lines, 2),
                                     .version = "0",
                                     .tree = make_tree(lines, arena),
                                     .inputs = &input,
                                     .input_count = 1};
    ms_buffer page;
    ms_buffer_init(&page);
    require(!arena->has_failed && ms_page_write_results(&results, &page) == MS_OK);
    check_page(ms_buffer_text(&page));
    check_results(ms_buffer_text(&page), lines, arena);
    ms_buffer_release(&page);
}

/* A trace of no operations, all of whose texts are the input's. */
static ms_trace make_trace(const line_list *lines, ms_arena *arena) {
    ms_value *summary = make_tree(lines, arena);
    ms_value_add_string(summary, "workload", line_of(lines, 3));
    require(!arena->has_failed);
    return (ms_trace){.path = line_of(lines, 0),
                      .program_version = line_of(lines, 1),
                      .inputs.workload = line_of(lines, 2),
                      .inputs.platform = line_of(lines, 3),
                      .inputs.schedule = line_of(lines, 0),
                      .inputs.placement = line_of(lines, 1),
                      .inputs.sources = line_of(lines, 2),
                      .summary = summary,
                      .tables = make_tree(lines, arena),
                      .level = MS_TRACE_SUMMARY,
                      .step_ps = 1};
}

static ms_status keep(void *context, const char *bytes, size_t length) {
    ms_buffer_add(context, bytes, length);
    return MS_OK;
}

static void write_trace(const line_list *lines, ms_arena *arena) {
    const ms_trace trace = make_trace(lines, arena);
    ms_buffer out;
    ms_buffer_init(&out);
    require(write_trace_page(&trace, MS_GANTT_EVERY_RANK, &out) == MS_OK);
    check_page(ms_buffer_text(&out));
    check_trace(ms_buffer_text(&out), lines, arena);
    out.length = 0;
    require(ms_chrome_write(&trace, keep, &out) == MS_OK);
    const ms_text text = {"trace", ms_buffer_text(&out), out.length};
    ms_diag diag;
    ms_node *root = NULL;
    ms_diag_init(&diag, discard, NULL);
    require(ms_config_parse_json(&text, arena, &diag, &root) == MS_OK);
    ms_buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    char *text =
        ms_arena_strndup(&arena, (const char *)data, size < INPUT_MAX_B ? size : INPUT_MAX_B);
    require(text != NULL);
    line_list lines = {.count = 0};
    split(text, &lines);
    write_results(&lines, &arena);
    write_trace(&lines, &arena);
    ms_arena_release(&arena);
    return 0;
}
