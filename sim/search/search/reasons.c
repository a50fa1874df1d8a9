/* Counts why candidates of a search are illegal or have failed, for its report. Messages that
 * differ only in their numbers ("needs 91 GiB", "needs 93 GiB") are one reason, shown by its first
 * message. */
#include "search/search/reasons.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One reason, with the candidate that was counted first. */
typedef struct reason_group {
    const char *text; /* message of that candidate */
    int64_t index;    /* number of that candidate in the space */
    int64_t count;    /* of candidates with this reason */
} reason_group;

void ms_reasons_init(ms_reasons *reasons, ms_arena *arena) {
    ms_vector_init(&reasons->list, sizeof(reason_group));
    reasons->arena = arena;
}

void ms_reasons_release(ms_reasons *reasons) {
    ms_vector_release(&reasons->list);
}

/* The text behind the number that it begins with. */
static const char *skip_number(const char *at) {
    return at + strspn(at, "0123456789.");
}

/* Whether two messages are the same except for the numbers in them. */
static bool is_alike(const char *a, const char *b) {
    while (*a != '\0' && *b != '\0') {
        bool are_digits = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
        if (!are_digits && *a != *b) {
            return false;
        }
        a = are_digits ? skip_number(a) : a + 1;
        b = are_digits ? skip_number(b) : b + 1;
    }
    return *a == *b;
}

/* Count the candidate in the reason whose text differs from its text only in numbers, or begin a
 * new reason with it. */
ms_status ms_reasons_add(ms_reasons *reasons, const char *text, int64_t index) {
    for (size_t i = 0; i < reasons->list.count; i++) {
        reason_group *group = &MS_AT(&reasons->list, reason_group, i);
        if (is_alike(group->text, text)) {
            group->count++;
            return MS_OK;
        }
    }
    const reason_group group = {ms_arena_strdup(reasons->arena, text), index, 1};
    bool has_all = group.text != NULL && ms_vector_add(&reasons->list, &group, 1) != NULL;
    return has_all ? MS_OK : MS_E_NOMEM;
}

/* Order of two reasons for qsort: the most frequent first, then the one with the lower candidate
 * number. */
static int compare_groups(const void *a, const void *b) {
    const reason_group *left = a, *right = b;
    int order = (left->count < right->count) - (left->count > right->count);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Sort the groups of candidates, and add the settings of the first candidate of each. */
ms_status ms_reasons_list(const ms_reasons *reasons, const ms_space *space, ms_arena *arena,
                          const ms_search_reason **list_out, size_t *count_out) {
    size_t count = reasons->list.count;
    ms_search_reason *list = MS_NEW(arena, ms_search_reason, count + 1);
    if (list == NULL) {
        return MS_E_NOMEM;
    }
    if (count > 1) {
        qsort(reasons->list.data, count, sizeof(reason_group), compare_groups);
    }
    for (size_t i = 0; i < count; i++) {
        const reason_group *group = &MS_AT(&reasons->list, reason_group, i);
        list[i] = (ms_search_reason){.text = group->text, .count = group->count};
        if (ms_space_settings(space, group->index, arena, &list[i].settings) != MS_OK) {
            return MS_E_NOMEM;
        }
    }
    *list_out = list;
    *count_out = count;
    return MS_OK;
}
