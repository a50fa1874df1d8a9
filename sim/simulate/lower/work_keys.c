/* The table of works and streams that the lowering has made, by a key that identifies each
 * (ms_work_key). */
#include <string.h>

#include "simulate/lower/works.h"

ms_status ms_works_init(ms_works *works, const ms_platform *platform, ms_arena *arena,
                        ms_diag *diag, ms_dag *dag) {
    size_t links = (size_t)platform->link_count;
    *works = (ms_works){.platform = platform,
                        .arena = arena,
                        .diag = diag,
                        .dag = dag,
                        .dag_link = MS_NEW(arena, int32_t, links),
                        .link_load = MS_NEW(arena, ms_link_load, links)};
    ms_memo_init(&works->keys, sizeof(ms_work_key), 0);
    ms_vector_init(&works->key_made, sizeof(int32_t));
    if (works->dag_link == NULL || works->link_load == NULL) {
        return MS_E_NOMEM;
    }
    memset(works->dag_link, 0xFF, links * sizeof *works->dag_link);
    return MS_OK;
}

void ms_works_release(ms_works *works) {
    ms_memo_release(&works->keys);
    ms_vector_release(&works->key_made);
}

bool ms_works_failed(const ms_works *works) {
    return works->key_made.failed;
}

int32_t ms_works_find(const ms_works *w, const ms_work_key *key) {
    int number = ms_memo_find(&w->keys, key);
    return number < 0 ? -1 : MS_AT(&w->key_made, int32_t, number);
}

void ms_works_remember(ms_works *w, const ms_work_key *key, int32_t made) {
    int number = 0;
    bool is_new = false;
    if (ms_memo_find_or_add(&w->keys, key, &number, &is_new) != MS_OK) {
        w->key_made.failed = true;
    } else {
        ms_vector_add(&w->key_made, &made, 1);
    }
}
