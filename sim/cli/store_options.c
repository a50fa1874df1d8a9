#include "cli/store_options.h"

const char *ms_cli_program(ms_arena *arena) {
    return ms_arena_printf(arena, "%s+%s", MESHSIM_VERSION, MS_CLI_RESULT_DIGEST);
}

ms_status ms_cli_open_store(const ms_invocation *call, ms_store **store_out) {
    const char *path = ms_cli_value(call, "store", NULL);
    bool is_fresh = ms_cli_has(call, "fresh");
    *store_out = NULL;
    if (is_fresh && ms_cli_has(call, "resume")) {
        ms_diag_error(call->diag, "options '--fresh' and '--resume' do not go together");
        return MS_E_USAGE;
    }
    if (path == NULL && (is_fresh || ms_cli_has(call, "resume"))) {
        ms_diag_error(call->diag, "option '--%s' needs '--store'", is_fresh ? "fresh" : "resume");
        return MS_E_USAGE;
    }
    const ms_store_options options = {.is_fresh = is_fresh};
    return path == NULL ? MS_OK : ms_store_open(path, &options, call->arena, call->diag, store_out);
}
