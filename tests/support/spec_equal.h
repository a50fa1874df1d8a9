/* Whether two specs say the same: by the keys that are written of them, so where a spec comes from
 * does not count. */
#ifndef MS_SPEC_EQUAL_H
#define MS_SPEC_EQUAL_H

#include "job/internal.h"

static inline bool spec_is_equal(const ms_job_spec *a, const ms_job_spec *b) {
    ms_arena arena;
    ms_node *tree_a = NULL, *tree_b = NULL;
    ms_arena_init(&arena);
    bool is_equal = ms_spec_write_root(a, &arena, &tree_a) == MS_OK &&
                    ms_spec_write_root(b, &arena, &tree_b) == MS_OK &&
                    ms_node_is_equal(tree_a, tree_b);
    ms_arena_release(&arena);
    return is_equal;
}

#endif
