/* How an ablation is shown: page, JSON and CSV. */
#ifndef MS_CLI_SHOW_ABLATION_H
#define MS_CLI_SHOW_ABLATION_H

#include "cli/cli.h"
#include "meshsim/ablation.h"

/** Append the page. */
void ms_show_ablation_page(const ms_ablation *a, ms_arena *arena, ms_buffer *out);

/** Append the rows as CSV. */
void ms_show_ablation_csv(const ms_ablation *a, ms_arena *arena, ms_buffer *out);

/** Add the list "ablation" to a validation's tree.  Lack of memory shows in the arena. */
void ms_show_ablation_list(const ms_ablation *a, ms_arena *arena, ms_value *root);

#endif
