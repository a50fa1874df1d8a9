/* libFuzzer target: any texts, one per line, as what a page of results is made of: its title, its
 * command, a file's name, keys and texts of its data. Whatever they hold, the page's data stay
 * data: JSON between the two tags that the template has, with every key and text as it was given.
 */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/config.h"
#include "meshsim/report.h"

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

/* The data of the page are read back. */
static void check_data(const char *page, const line_list *lines, ms_arena *arena) {
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
    require_text(ms_node_get(root, "title"), line_of(lines, 0));
    require_text(ms_node_get(root, "command"), line_of(lines, 1));
    require_text(ms_node_get(root, "subject"), line_of(lines, 2));
    const ms_node *rows = ms_node_get(ms_node_get(root, "result"), "results");
    size_t row = 4;
    for (const ms_node *one = rows->first; one != NULL; one = one->next) {
        require_text(ms_node_get(one, "text"), line_of(lines, row++));
    }
    require(row == (lines->count > 4 ? lines->count : 4));
}

/* Of the texts nothing is markup: the template's tags are all there are. */
static void check_page(const char *page) {
    const char *title = strstr(page, "<title>");
    require(count_of(page, "<script") == 2 && count_of(page, "</script") == 2);
    require(count_of(page, "<title>") == 1 && count_of(page, "</title>") == 1);
    require(strchr(title + 1, '<') == strstr(title, "</title>"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    char *text =
        ms_arena_strndup(&arena, (const char *)data, size < INPUT_MAX_B ? size : INPUT_MAX_B);
    require(text != NULL);
    line_list lines = {.count = 0};
    split(text, &lines);
    const ms_page_input input = {.name = line_of(&lines, 3),
                                 .text = line_of(&lines, 2),
                                 .length = strlen(line_of(&lines, 2))};
    const ms_page_results results = {.kind = "search",
                                     .title = line_of(&lines, 0),
                                     .command = line_of(&lines, 1),
                                     .subject = line_of(&lines, 2),
                                     .version = "0",
                                     .tree = make_tree(&lines, &arena),
                                     .inputs = &input,
                                     .input_count = 1};
    ms_buffer page;
    ms_buffer_init(&page);
    require(!arena.has_failed && ms_page_write_results(&results, &page) == MS_OK);
    check_page(ms_buffer_text(&page));
    check_data(ms_buffer_text(&page), &lines, &arena);
    ms_buffer_release(&page);
    ms_arena_release(&arena);
    return 0;
}
