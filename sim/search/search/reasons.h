/* Why candidates are illegal or failed. Reasons that differ only in their numbers are counted as
 * one. */
#ifndef MS_STUDY_SEARCH_REASONS_H
#define MS_STUDY_SEARCH_REASONS_H

#include "base/buffer.h"
#include "search/search.h"

/* Reasons, with the number of candidates of each. */
typedef struct ms_reasons {
    ms_vector list;  /* of reason_group (reasons.c) */
    ms_arena *arena; /* of the texts */
} ms_reasons;

void ms_reasons_init(ms_reasons *reasons, ms_arena *arena);
void ms_reasons_release(ms_reasons *reasons);

/* Count a candidate. text: its reason, copied. index: its number in the space. Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_reasons_add(ms_reasons *reasons, const char *text, int64_t index);

/* The reasons, most frequent first, each with the settings of its first candidate. *list_out:
 * [*count_out] in `arena`. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_reasons_list(const ms_reasons *reasons, const ms_space *space, ms_arena *arena,
                          const ms_search_reason **list_out, size_t *count_out);

#endif
