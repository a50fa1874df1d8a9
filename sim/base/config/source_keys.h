/**
 * @file
 * Keys of a foreign file, such as a Hugging Face config or a Megatron command line, and what became
 * of each of them.
 */
#ifndef MESHSIM_SOURCE_KEYS_H
#define MESHSIM_SOURCE_KEYS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"

/** What became of a key. */
typedef enum ms_source_fate {
    MS_SOURCE_USED,    /**< it says something of the workload */
    MS_SOURCE_ASSUMED, /**< it is not there: the default of the software whose file it is */
    MS_SOURCE_IGNORED, /**< it is known, and says nothing that a simulation takes */
    MS_SOURCE_UNKNOWN, /**< nobody here knows what it means */
} ms_source_fate;

/** One key or flag. */
typedef struct ms_source_key {
    const char *key;   /**< as the source writes it, such as "hidden_size" or "--hidden-size" */
    const char *value; /**< as it stands there; NULL: a list or mapping, or none */
    ms_source_fate fate;
    const char *why; /**< used: the workload's keys it gives; assumed: whose default; ignored: why;
                        unknown: NULL */
    ms_mark mark;    /**< where it stands; without a file where it is assumed */
    struct ms_source_key *next;
} ms_source_key;

/** All keys of a source, in its order. Start with zeros. */
typedef struct ms_source_keys {
    ms_source_key *first, *last;
    size_t count;
} ms_source_keys;

/** A fate as the word that pages and JSON have for it: used, assumed, ignored, unknown. */
const char *ms_source_fate_name(ms_source_fate fate);

/** Add a key.  keys: NULL: nobody asks.  key: copied into `arena`, its texts are borrowed.  Returns
 * MS_OK; MS_E_NOMEM (not reported).  O(1). */
ms_status ms_source_keys_add(ms_source_keys *keys, const ms_source_key *key, ms_arena *arena);

#endif
