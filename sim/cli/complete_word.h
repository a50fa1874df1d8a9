/* A word that is being typed, and words that may stand for it. */
#ifndef MS_CLI_COMPLETE_WORD_H
#define MS_CLI_COMPLETE_WORD_H

#include "base/arena.h"
#include "base/buffer.h"

/** A word that is being typed, of which a part is there already and stays. */
typedef struct ms_completion {
    const char *word;  /**< all of it */
    const char *typed; /**< inside `word`: where the part begins that is looked for */
    ms_arena *arena;
    ms_buffer *out;
} ms_completion;

/** Keep the next `length` characters of what is typed as they are. */
void ms_completion_keep(ms_completion *c, size_t length);

/** Keep a list up to its last comma: the part behind it is looked for. */
void ms_completion_keep_list(ms_completion *c);

/** Offer a word if what is typed is its beginning.  word: NULL: out of memory, nothing.  end: what
 * is put behind it, "=" or "." where it goes on, else "".  text: what it means, "" for nothing. */
void ms_completion_offer(ms_completion *c, const char *word, const char *end, const char *text);

/** Offer the names of installed YAML files.  folder: such as "platforms".  text: as above. */
void ms_completion_installed(ms_completion *c, const char *folder, const char *text);

#endif
