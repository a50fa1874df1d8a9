/* Keys of workloads and platforms on the command line, as --set and --vary take them. */
#ifndef MS_CLI_COMPLETE_KEY_H
#define MS_CLI_COMPLETE_KEY_H

#include "cli/cli.h"
#include "cli/complete_word.h"

/** Offer the keys that an option takes, level by level, and behind '=' the words that a key takes.
 */
void ms_completion_key(ms_completion *c, ms_option_takes takes);

#endif
