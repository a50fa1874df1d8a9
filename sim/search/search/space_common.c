/* Helpers that the files of a space share: names of the mesh's axes, faults with their place,
 * whether a key varies, and orders of the mesh with all axes. */
#include <string.h>

#include "base/text.h"
#include "search/search/space.h"

const char *ms_known_axis(int axis) {
    return ms_axis_name((ms_axis)(MS_AXIS_TP + axis));
}

const char *const MS_MESH_KEYS[KNOWN_AXES] = {"mesh.tp", "mesh.cp", "mesh.ep", "mesh.pp",
                                              "mesh.dp"};

int ms_mesh_key_axis(const char *key) {
    int axis = KNOWN_AXES - 1;
    while (axis >= 0 && strcmp(key, MS_MESH_KEYS[axis]) != 0) {
        axis--;
    }
    return axis;
}

ms_status ms_space_fault(const ms_node *node, const char *path, const char *option,
                         const char *text, ms_diag *diag) {
    if (node != NULL) {
        return ms_config_fault(diag, node, path, "%s", text);
    }
    return ms_diag_error(diag, "%s: %s", option, text);
}

const ms_node *ms_space_item_node(const ms_node *list, size_t index) {
    const ms_node *child = list == NULL || list->type != MS_NODE_SEQUENCE ? NULL : list->first;
    for (size_t i = 0; i < index && child != NULL; i++) {
        child = child->next;
    }
    return child == NULL ? list : child;
}

bool ms_space_is_varied(const ms_vector *axes, const char *key) {
    size_t length = strcspn(key, "=");
    for (size_t i = 0; i < axes->count; i++) {
        const space_axis *axis = &MS_AT(axes, space_axis, i);
        for (size_t v = 0; v < axis->count; v++) {
            for (size_t s = 0; s < axis->values[v].count; s++) {
                const char *own = axis->values[v].settings[s].key;
                if (strlen(own) == length && strncmp(own, key, length) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

const char *ms_space_own_setting(const ms_space *space, size_t i, size_t platform) {
    const char *text = space->request->own_sets.items[i];
    const char *name = space->request->platforms.items[platform];
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == ':' ? text + length + 1 : NULL;
}

bool ms_space_has_number(const int *list, int count, int number) {
    bool is_there = false;
    for (int i = 0; i < count; i++) {
        is_there = is_there || list[i] == number;
    }
    return is_there;
}

bool ms_space_has_word(const ms_words *words, const char *word) {
    return ms_word_index(word, words->items, (int)words->count) >= 0;
}

/* Axes that the given order leaves out are added inside its last axis, but outside tp: tensor
 * parallelism communicates in every layer, so tp is innermost, on the fastest links. */
ms_words ms_space_complete_order(const ms_space *space, const ms_words *given) {
    static const int MISSING[] = {KNOWN_PP, KNOWN_DP, KNOWN_EP, KNOWN_CP};
    const char *tp = ms_known_axis(KNOWN_TP);
    const char **items = MS_NEW(space->arena, const char *, given->count + KNOWN_AXES + 1);
    size_t count = 0;
    if (items == NULL) {
        return (ms_words){NULL, 0};
    }
    bool is_innermost = given->count > 0 && strcmp(given->items[given->count - 1], tp) == 0;
    size_t before = is_innermost ? given->count - 1 : given->count;
    for (size_t i = 0; i < before; i++) {
        items[count++] = given->items[i];
    }
    if (space->other != NULL && !ms_space_has_word(given, space->other)) {
        items[count++] = space->other;
    }
    for (size_t i = 0; i < sizeof MISSING / sizeof MISSING[0]; i++) {
        if (!ms_space_has_word(given, ms_known_axis(MISSING[i]))) {
            items[count++] = ms_known_axis(MISSING[i]);
        }
    }
    if (is_innermost || !ms_space_has_word(given, tp)) {
        items[count++] = tp;
    }
    return (ms_words){.items = items, .count = count};
}
