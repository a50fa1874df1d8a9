/**
 * @file
 * Lists the keys of a foreign file, such as a Hugging Face config or a Megatron command line, and
 * for each key whether and how the import used it.
 */
#ifndef MESHSIM_SOURCE_KEYS_H
#define MESHSIM_SOURCE_KEYS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"

/** How the import treated a key. */
typedef enum ms_source_fate {
    MS_SOURCE_USED,    /**< it gave one or more keys of the workload */
    MS_SOURCE_ASSUMED, /**< the file lacks it: the default of the file's software was assumed */
    MS_SOURCE_IGNORED, /**< it is known, and has no influence on a simulation */
    MS_SOURCE_UNKNOWN, /**< its meaning is not known */
} ms_source_fate;

/** One key or flag. */
typedef struct ms_source_key {
    const char *key;   /**< as the source writes it, such as "hidden_size" or "--hidden-size" */
    const char *value; /**< as the source writes it; NULL: a list or mapping, or none */
    ms_source_fate fate;
    const char *why; /**< used: the workload's keys that it gave; assumed: whose default; ignored:
                        the reason; unknown: NULL */
    ms_mark mark;    /**< place of the key; without a file where it is assumed */
    struct ms_source_key *next;
} ms_source_key;

/** All keys of a source, in its order. A struct of zeros is an empty list. */
typedef struct ms_source_keys {
    ms_source_key *first, *last;
    size_t count;
} ms_source_keys;

/** The word for a fate in pages and JSON: used, assumed, ignored, unknown. */
const char *ms_source_fate_name(ms_source_fate fate);

/** Append a key.  keys: NULL: nothing is recorded.  key: copied into `arena`, its texts are
 * borrowed. Returns MS_OK; MS_E_NOMEM (not reported).  O(1). */
ms_status ms_source_keys_add(ms_source_keys *keys, const ms_source_key *key, ms_arena *arena);

#endif
