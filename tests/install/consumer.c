/* A stranger's program: uses the installed headers and library, found with pkg-config alone. */
#include <stdio.h>

#include <meshsim/arena.h>
#include <meshsim/buffer.h>
#include <meshsim/value.h>

int main(void) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_value *root = ms_value_new_object(&arena);
    ms_value_add_int(root, "gpus", 3072);
    ms_value_add_string(root, "order", "pp, dp, tp");
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(root, 0, &text);
    int written = root == NULL || text.failed ? -1 : puts(ms_buffer_text(&text));
    ms_buffer_release(&text);
    ms_arena_release(&arena);
    return written < 0 ? 1 : 0;
}
