/* How predictions against measurements are shown: page, JSON, picture, and one case in full. */
#ifndef MS_CLI_SHOW_VALIDATION_H
#define MS_CLI_SHOW_VALIDATION_H

#include "cli/cli.h"
#include "meshsim/validate.h"

/** The tree of --json.  Lack of memory shows in the call's arena. */
ms_value *ms_show_validation_tree(const ms_invocation *call, const ms_validation *v);

/** Append the page. */
void ms_show_validation_page(const ms_validation *v, ms_arena *arena, ms_buffer *out);

/** Append one case in full: its job, where the time goes, and what its source publishes. */
void ms_show_validation_case(const ms_validate_row *row, ms_buffer *out);

/** Append the rows of the score as CSV. */
void ms_show_validation_csv(const ms_validation *v, ms_arena *arena, ms_buffer *out);

#endif
