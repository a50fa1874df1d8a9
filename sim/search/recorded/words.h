/* The findings of a study as a result tree, and in sentences. */
#ifndef MS_RECORDED_WORDS_H
#define MS_RECORDED_WORDS_H

#include "base/value.h"
#include "search/recorded/study.h"

/* Add the figures of a study, with the names of the published ones, and its sentences.  A lack of
 * memory shows in the tree's arena. */
void ms_recorded_add_study(const ms_recorded_findings *f, ms_value *root);

/* Add the list `in_words`: sentences that say who is slow and what it costs. */
void ms_recorded_add_words(const ms_recorded_findings *f, ms_value *root);

#endif
