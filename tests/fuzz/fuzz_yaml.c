/* libFuzzer target: any bytes as a YAML file. Parse, read with a table that has every field type,
 * override a key, write the tree, parse what was written: it must be the same tree. The bytes
 * behind the last NUL, if any, are the override. */
#include <string.h>

#include "../unit/base/config/every_field.h"
#include "../unit/base/config/same_tree.h"
#include "fuzz_target.h"

/* Every mark that claims a place must point into its source. */
static void check_marks(const ms_node *node) {
    if (node->mark.line < 1 || node->mark.column < 1 || node->mark.width < 1) {
        abort();
    }
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        check_marks(child);
    }
}

static void check_written(const ms_node *root, ms_arena *arena, ms_diag *diag) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node_write(root, &text);
    ms_node *back = NULL;
    ms_status status =
        ms_yaml_parse(ms_buffer_text(&text), text.length, "written", arena, diag, &back);
    if (status != MS_OK || !is_same_tree(root, back)) {
        abort();
    }
    ms_buffer_release(&text);
}

static void exercise(const char *text, size_t length_B, const char *override, ms_arena *arena) {
    ms_diag diag;
    ms_diag_init(&diag, discard, NULL);
    ms_node *root = NULL;
    if (ms_yaml_parse(text, length_B, "fuzz", arena, &diag, &root) != MS_OK) {
        if (diag.errors == 0) {
            abort(); /* what is refused is explained */
        }
        return;
    }
    check_marks(root);
    every_field fields = {0};
    ms_status status = ms_config_read(root, EVERY_FIELDS, "", &fields, arena, &diag);
    if ((status == MS_OK) != (diag.errors == 0) || (status != MS_OK && status != MS_E_INPUT)) {
        abort();
    }
    ms_buffer effective;
    ms_buffer_init(&effective);
    ms_config_write_effective(root, EVERY_FIELDS, "", &effective);
    ms_buffer_release(&effective);
    if (override != NULL) {
        ms_node_set(root, override, arena, &diag);
    }
    if (!root->has_fault) { /* dropped keys and tags are not written */
        check_written(root, arena, &diag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    char *copy = ms_arena_strndup(&arena, (const char *)data, size);
    const char *nul = memrchr(copy, '\0', size);
    size_t length_B = nul == NULL ? size : (size_t)(nul - copy);
    exercise(copy, length_B, nul == NULL ? NULL : nul + 1, &arena);
    ms_arena_release(&arena);
    return 0;
}
