/* Reads the mapping `tiers` of a platform file, and prepares overrides of tiers (tiers.h). A tier
 * is a level of links, such as NVLink, NICs or the uplinks of leaf switches. */
#include "cluster/platform/tiers.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const UNLIMITED[] = {"unlimited", NULL};
static const ms_field UNLIMITED_ROW = MS_KEY("bandwidth", NULL, ENUM, 0, .words = UNLIMITED);
static const ms_field_shape BANDWIDTH = {.also = &UNLIMITED_ROW};

static const ms_field TIER_FIELDS[] = {
    MS_KEY("bandwidth", "nominal capacity of one link per direction, or 'unlimited'", QUANTITY,
           offsetof(ms_tier, bandwidth_Bps), .dimension = MS_DIM_BANDWIDTH, .shape = &BANDWIDTH,
           .is_required = true, MS_RANGE(1, 1e18)),
    MS_KEY("efficiency", "share of the bandwidth that transfers achieve", NUMBER,
           offsetof(ms_tier, efficiency), .fallback = "1", MS_RANGE(1e-6, 1)),
    MS_KEY("exchange_efficiency",
           "share of it that all-to-alls achieve, where that is less; not given: as others", NUMBER,
           offsetof(ms_tier, exchange_efficiency), MS_RANGE(1e-6, 1)),
    MS_KEY("latency", "of one link crossing", QUANTITY, offsetof(ms_tier, latency_s),
           .dimension = MS_DIM_TIME, .fallback = "0 s", MS_RANGE(0, 3600)),
    {.key = NULL},
};

const ms_field MS_TIER_ROW = MS_KEY("tier", NULL, MAP, 0, .fields = TIER_FIELDS);

/* A tier whose bandwidth is not read as a quantity, because it is the word 'unlimited'. */
typedef struct unlimited_tier {
    ms_tier tier;
    const ms_node *bandwidth;
} unlimited_tier;

/* Read a tier of unlimited bandwidth, by a copy of the table in which the bandwidth is any node.
 * The rows of the copy are in the order of TIER_FIELDS. */
static ms_status read_unlimited_tier(const ms_node *mapping, const char *key_path, ms_arena *arena,
                                     ms_diag *diag, ms_tier *tier_out) {
    ms_field fields[sizeof TIER_FIELDS / sizeof TIER_FIELDS[0]];
    memcpy(fields, TIER_FIELDS, sizeof fields);
    fields[0].type = MS_FIELD_NODE;
    fields[0].offset = offsetof(unlimited_tier, bandwidth);
    fields[1].offset = offsetof(unlimited_tier, tier.efficiency);
    fields[2].offset = offsetof(unlimited_tier, tier.exchange_efficiency);
    fields[3].offset = offsetof(unlimited_tier, tier.latency_s);
    unlimited_tier values = {0};
    ms_status status = ms_config_read(mapping, fields, key_path, &values, arena, diag);
    if (status == MS_OK) {
        *tier_out = values.tier;
        tier_out->bandwidth_Bps = INFINITY;
    }
    return status;
}

/* Whether a text is allowed as a name of a tier; names become parts of link names. */
static bool is_name(const char *text) {
    static const char ALLOWED[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return text[0] != '\0' && text[strspn(text, ALLOWED)] == '\0';
}

/* Read one tier.  mapping: its key is the tier's name.  Returns MS_OK; MS_E_INPUT (reported);
 * MS_E_NOMEM. */
static ms_status read_tier(const ms_node *mapping, ms_arena *arena, ms_diag *diag,
                           ms_tier *tier_out) {
    const char *key_path = ms_arena_printf(arena, "tiers.%s", mapping->key);
    if (key_path == NULL) {
        return MS_E_NOMEM;
    }
    if (!is_name(mapping->key)) {
        return ms_config_fault(diag, mapping, key_path,
                               "a tier's name has letters, digits, '_' and '-' only");
    }
    if (mapping->type != MS_NODE_MAPPING) {
        return ms_config_fault(diag, mapping, key_path,
                               "expected a mapping with bandwidth, efficiency and latency");
    }
    const ms_node *bandwidth = ms_node_get(mapping, "bandwidth");
    bool is_unlimited = bandwidth != NULL && bandwidth->type == MS_NODE_SCALAR &&
                        strcmp(bandwidth->text, UNLIMITED[0]) == 0;
    ms_tier tier = {0};
    ms_status status = is_unlimited
                           ? read_unlimited_tier(mapping, key_path, arena, diag, &tier)
                           : ms_config_read(mapping, TIER_FIELDS, key_path, &tier, arena, diag);
    if (status == MS_OK) {
        *tier_out = tier;
        tier_out->name = mapping->key;
        tier_out->is_in_bits = bandwidth != NULL && strstr(bandwidth->text, "bit") != NULL;
    }
    return status;
}

/* Read all tiers, also behind one with a fault, and return the first fault. */
ms_status ms_tiers_read(const ms_node *tiers, ms_arena *arena, ms_diag *diag,
                        ms_platform *platform) {
    if (tiers->type != MS_NODE_MAPPING || tiers->count == 0) {
        return ms_config_fault(diag, tiers, "tiers",
                               "expected a mapping of tiers, innermost first");
    }
    if (tiers->count > MS_TIER_MAX) {
        return ms_config_fault(diag, tiers, "tiers", "%zu tiers; at most %d are supported",
                               tiers->count, (int)MS_TIER_MAX);
    }
    ms_status first = MS_OK;
    for (const ms_node *child = tiers->first; child != NULL; child = child->next) {
        ms_status status = read_tier(child, arena, diag, &platform->tiers[platform->tier_count]);
        platform->tier_count++;
        first = first == MS_OK ? status : first;
    }
    return first;
}

/* A name that is like no tier of the document is a new tier, unless its value is null: there is
 * nothing to remove. */
ms_status ms_tiers_check_names(const ms_node *root, const ms_node *overrides, ms_diag *diag) {
    const ms_node *tiers = ms_node_get(root, "tiers");
    const ms_node *changed = ms_node_get(overrides, "tiers");
    if (tiers == NULL || changed == NULL || changed->type != MS_NODE_MAPPING) {
        return MS_OK; /* found later, with everything else that is missing or mistyped */
    }
    ms_status status = MS_OK;
    for (const ms_node *child = changed->first; child != NULL; child = child->next) {
        if (ms_node_get(tiers, child->key) != NULL) {
            continue;
        }
        const char *nearest = NULL;
        for (const ms_node *tier = tiers->first; tier != NULL; tier = tier->next) {
            const char *pair[2] = {nearest, tier->key};
            nearest = ms_nearest_word(child->key, pair, 2);
        }
        if (nearest != NULL || ms_node_is_removal(child)) {
            const ms_node at = {.mark = child->key_mark};
            status = ms_config_fault(diag, &at, "tiers", "the platform has no tier '%s'%s%s%s",
                                     child->key, nearest == NULL ? "" : "; did you mean '",
                                     nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
        }
    }
    return status;
}

static const char ANY_TIER[] = "*"; /* in overrides: every tier */

/* Lay the override of one tier over earlier overrides of this tier.  tiers: the overrides so far.
 * name: of the tier. */
static ms_status lay_over(ms_node *tiers, const char *name, const ms_node *override,
                          ms_arena *arena) {
    ms_node *target = ms_node_get(tiers, name);
    if (target != NULL) {
        return ms_node_overlay(target, override, arena);
    }
    target = ms_node_copy(override, arena);
    if (target == NULL) {
        return MS_E_NOMEM;
    }
    target->key = name;
    ms_node_append(tiers, target);
    return MS_OK;
}

/* The overrides of tiers are taken out of a copy one by one, and laid again in their order, where
 * "*" is laid on every tier of the document. */
ms_status ms_tiers_spread(const ms_node *root, const ms_node **overrides, ms_arena *arena) {
    const ms_node *tiers = ms_node_get(root, "tiers");
    const ms_node *any = ms_node_get(ms_node_get(*overrides, "tiers"), ANY_TIER);
    if (tiers == NULL || any == NULL || any->type != MS_NODE_MAPPING) {
        return MS_OK;
    }
    ms_node *copy = ms_node_copy(*overrides, arena);
    if (copy == NULL) {
        return MS_E_NOMEM;
    }
    ms_node *changed = ms_node_get(copy, "tiers");
    ms_node *child = changed->first;
    ms_status status = MS_OK;
    changed->first = changed->last = NULL;
    changed->count = 0;
    for (; child != NULL && status == MS_OK; child = child->next) {
        bool is_any = strcmp(child->key, ANY_TIER) == 0;
        const ms_node *tier = is_any ? tiers->first : NULL;
        status = is_any ? MS_OK : lay_over(changed, child->key, child, arena);
        for (; tier != NULL && status == MS_OK; tier = tier->next) {
            status = lay_over(changed, tier->key, child, arena);
        }
    }
    *overrides = copy;
    return status;
}
