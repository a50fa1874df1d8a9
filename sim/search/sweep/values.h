/* Values of a key that a sweep or a space varies, as `--set` takes them. */
#ifndef MS_STUDY_SWEEP_VALUES_H
#define MS_STUDY_SWEEP_VALUES_H

#include "search/sweep.h"

/* The ways to write the values of a key, for schemas: a range, or a list. */
extern const ms_field MS_SWEEP_VALUES_ROW;

/* A value as YAML on one line, as `--set` takes it behind the '='.  The text is in `arena`; NULL
 * when memory runs out. */
const char *ms_sweep_value_text(const ms_node *value, ms_arena *arena);

/* List the values of a key.  node: a list, or a range {from, to, step or factor}.  path: of the
 * key, for messages. *values_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM
 * (reported). */
ms_status ms_sweep_list_values(const ms_node *node, const char *path, ms_arena *arena,
                               ms_diag *diag, ms_words *values_out);

#endif
