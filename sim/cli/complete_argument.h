/* What an argument of the command line may be, as far as the tables tell. */
#ifndef MS_CLI_COMPLETE_ARGUMENT_H
#define MS_CLI_COMPLETE_ARGUMENT_H

#include "cli/cli.h"
#include "cli/complete_word.h"

/** Offer what an option's argument may be. */
void ms_completion_argument(ms_completion *c, const ms_option *option);

/** Offer what a command's argument of this number may be, from 0. */
void ms_completion_positional(ms_completion *c, const ms_command *command, size_t index);

#endif
