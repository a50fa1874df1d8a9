#include "cli/placement_options.h"

#include <string.h>

/* As many ranks as fill the nodes of a choice. */
static int count_ranks(const ms_rank_placement_choice *choice, const ms_platform *platform) {
    int spares = choice->spare_count + (int)choice->spares.count;
    int left = platform->nodes > spares ? platform->nodes - spares : 1;
    int nodes = choice->nodes.count > 0 ? (int)choice->nodes.count : left;
    return nodes * platform->gpus_per_node;
}

ms_status ms_cli_read_placement(const ms_invocation *call, const ms_platform *platform, int ranks,
                                ms_rank_placement *placement_out) {
    const char *text = ms_cli_value(call, "placement", NULL);
    ms_rank_placement_choice choice;
    ms_node *mapping = NULL;
    ms_status status = MS_OK;
    if (text != NULL) {
        status =
            ms_yaml_parse(text, strlen(text), "--placement", call->arena, call->diag, &mapping);
    }
    status = status == MS_OK ? ms_placement_read(mapping, NULL, call->arena, call->diag, &choice)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    if (ranks == 0 && choice.file != NULL) {
        return ms_diag_usage(call->diag, "a file of ranks needs their number, such as --ranks 64");
    }
    ranks = ranks > 0 ? ranks : count_ranks(&choice, platform);
    return ms_placement_make(&choice, platform, ranks, call->arena, call->diag, placement_out);
}
