/* The table of fabric kinds (fabric.h), and the reading of a file's `fabric` mapping: first with
 * the keys of all kinds, to find the kind and misspelt keys, then with the keys of that kind. */
#include "cluster/platform/fabric.h"

#include <stdio.h>
#include <string.h>

#include "cluster/platform/switches/switches.h"
#include "cluster/platform/torus/torus.h"

/* The kinds, in the order in which messages list them, NULL at the end. */
static const ms_fabric_kind *const ROWS[] = {
    &ms_fabric_flat, &ms_fabric_rails, &ms_fabric_leaf_spine, &ms_fabric_torus, NULL,
};

enum {
    KINDS = sizeof ROWS / sizeof ROWS[0], /* one more than the table has, for added_kind */
    KEYS_MAX = 64,
    PATH_MAX_SHOWN = 96,
    MESSAGE_MAX = 512
};

static const ms_fabric_kind *added_kind = NULL; /* of a test */

void ms_fabric_add_kind(const ms_fabric_kind *kind) {
    added_kind = kind;
}

/* Kind by index, the added one last; NULL beyond the last one. */
static const ms_fabric_kind *kind_at(int index) {
    return index < KINDS - 1 ? ROWS[index] : index == KINDS - 1 ? added_kind : NULL;
}

bool ms_fabric_variant(int index, ms_field_variant *variant_out) {
    const ms_fabric_kind *kind = kind_at(index);
    if (kind != NULL) {
        *variant_out = (ms_field_variant){kind->name, kind->fields};
    }
    return kind != NULL;
}

/* Whether a kind has a key. */
static bool has_key(const ms_fabric_kind *kind, const char *key) {
    for (const ms_field *field = kind->fields; field->key != NULL; field++) {
        if (strcmp(field->key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* The result of the first reading of the mapping: the kind. The values of other keys are not
 * used. */
typedef struct any_fabric {
    int kind;
    const ms_node *unread;
} any_fabric;

/* Read the mapping a first time, by a table with the keys of every kind, so that a misspelt key is
 * compared with all of them. file->status: of this reading.  Returns the kind that the mapping
 * names; NULL: none that is known. */
static const ms_fabric_kind *find_kind(const ms_node *mapping, ms_fabric_file *file,
                                       ms_arena *arena) {
    const char *words[KINDS + 1];
    ms_field fields[KEYS_MAX + 2] = {MS_KEY("kind", "how nodes are joined", ENUM,
                                            offsetof(any_fabric, kind), .words = words,
                                            .is_required = true)};
    int count = 1;
    int kinds = 0;
    for (; kind_at(kinds) != NULL; kinds++) {
        words[kinds] = kind_at(kinds)->name;
        for (const ms_field *field = kind_at(kinds)->fields; field->key != NULL; field++) {
            bool is_listed = count > KEYS_MAX; /* a full table takes no more */
            for (int i = 0; i < count && !is_listed; i++) {
                is_listed = strcmp(fields[i].key, field->key) == 0;
            }
            if (!is_listed) {
                fields[count++] =
                    (ms_field)MS_KEY(field->key, NULL, NODE, offsetof(any_fabric, unread));
            }
        }
    }
    words[kinds] = NULL;
    fields[count].key = NULL;
    any_fabric found = {.kind = -1};
    file->status = ms_config_read(mapping, fields, "fabric", &found, arena, file->diag);
    return found.kind < 0 ? NULL : kind_at(found.kind);
}

/* Report a key that only other kinds have, with the names of these kinds. */
static void refuse_foreign_key(const char *key, ms_fabric_file *file) {
    char path[PATH_MAX_SHOWN];
    char why[MESSAGE_MAX];
    int length =
        snprintf(why, sizeof why, "a '%s' fabric has no such key; it belongs to", file->kind->name);
    const char *between = " ";
    for (int i = 0; kind_at(i) != NULL; i++) {
        if (has_key(kind_at(i), key)) {
            length += snprintf(why + length, sizeof why - (size_t)length, "%s'%s'", between,
                               kind_at(i)->name);
            between = " and ";
        }
    }
    snprintf(path, sizeof path, "fabric.%s", key);
    ms_fabric_fault(file, path, "%s", why);
}

/* Set file->keys to a mapping of the kind's own keys. Keys of other kinds are reported; unknown
 * keys were reported by find_kind.  Returns MS_OK; MS_E_NOMEM. */
static ms_status select_own_keys(const ms_node *mapping, ms_fabric_file *file, ms_arena *arena) {
    ms_node *own = ms_node_copy(mapping, arena);
    if (own == NULL) {
        return MS_E_NOMEM;
    }
    for (const ms_node *child = mapping->first; child != NULL; child = child->next) {
        bool is_known = false;
        for (int i = 0; kind_at(i) != NULL; i++) {
            is_known = is_known || has_key(kind_at(i), child->key);
        }
        if (!is_known || !has_key(file->kind, child->key)) {
            ms_node_drop(own, child->key);
        }
        if (is_known && !has_key(file->kind, child->key)) {
            refuse_foreign_key(child->key, file);
        }
    }
    file->keys = own;
    return MS_OK;
}

/* Check that the keys of the routing fit together and fit the fabric. */
static void check_routing(ms_fabric_file *file, const ms_platform *platform) {
    if (platform->routing != MS_ROUTING_ECMP) {
        ms_fabric_refuse_key(file, "routing_seed", "only 'ecmp' chooses by a seed");
    } else if (!file->kind->has_parallel_links) {
        ms_fabric_fault(file, "routing",
                        "'ecmp' chooses among links of a leaf to the spine, a third tier, which "
                        "this fabric does not have");
    }
}

/* After a fault of the first reading the kind still reads its keys, so that their faults are
 * reported too. */
ms_status ms_fabric_read(const ms_node *mapping, ms_fabric_file *file, ms_arena *arena,
                         ms_platform *platform) {
    const ms_fabric_kind *kind = find_kind(mapping, file, arena);
    if (kind == NULL || file->status == MS_E_NOMEM) {
        return file->status;
    }
    file->kind = kind;
    file->has_faults = file->has_faults || file->status != MS_OK;
    ms_status status = select_own_keys(mapping, file, arena);
    if (status == MS_OK) {
        platform->fabric = kind->name;
        status = kind->read(file, arena, platform);
    }
    if (status == MS_OK) {
        check_routing(file, platform);
    }
    return status == MS_OK ? file->status : status;
}
