/* Opens a space in which each platform has as many GPUs as it can use, up to a maximum (space.h).
 * Nodes of different sizes and the divisors of a model rarely allow the same number on all
 * platforms: racks of 72 GPUs fill 4,032 of 4,096. So every platform starts with the most whole
 * nodes below the maximum, and loses a node until some candidate of the space is a legal job. */
#include "estimate/estimate.h"
#include "search/search/space.h"

/* Mark the platforms of a space that have a legal candidate. is_legal: [platforms]; the candidates
 * of a platform that is marked already are not looked at. Returns MS_OK; MS_E_IO or MS_E_NOMEM
 * (reported). */
static ms_status mark_legal(ms_space *space, ms_arena *arena, ms_diag *diag, bool *is_legal) {
    ms_estimator *estimator = ms_estimator_new(arena);
    ms_status status = estimator == NULL ? MS_E_NOMEM : MS_OK;
    ms_spec_estimate found;
    ms_job_spec spec;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    for (int64_t index = 0; index < space->count && status == MS_OK; index++) {
        bool *is_found = &is_legal[ms_space_platform_of(space, index)];
        if (!*is_found) {
            status = ms_space_spec(space, index, &mute, &spec);
            status = status == MS_OK ? ms_estimator_run(estimator, &spec, &mute, &found) : status;
            *is_found = status == MS_OK;
            status = status == MS_E_INPUT || status == MS_E_NO ? MS_OK : status;
        }
    }
    ms_estimator_free(estimator);
    if (status != MS_OK) {
        ms_diag_error(diag, "%s", ms_status_name(status));
    }
    return status;
}

/* A platform without a legal candidate at any number of GPUs keeps the largest number, with which
 * the search counts its candidates as illegal and tells why. */
ms_status ms_space_open_most(ms_space_request *request, ms_arena *arena, ms_diag *diag,
                             ms_space **space_out) {
    size_t platforms = request->platforms.count == 0 ? 1 : request->platforms.count;
    int *limits = MS_NEW(arena, int, platforms), most = request->gpus.items[0];
    bool *is_settled = MS_NEW(arena, bool, platforms), is_over = false;
    ms_status status = limits == NULL || is_settled == NULL ? ms_diag_no_memory(diag) : MS_OK;
    for (size_t i = 0; i < platforms && status == MS_OK; i++) {
        limits[i] = most;
    }
    request->limits = limits;
    while (!is_over && status == MS_OK) {
        ms_space *space = NULL;
        ms_arena scratch;
        ms_arena_init(&scratch);
        status = ms_space_open(request, &scratch, diag, &space);
        status = status == MS_OK ? mark_legal(space, &scratch, diag, is_settled) : status;
        is_over = true;
        for (size_t i = 0; i < platforms && status == MS_OK; i++) { /* one cluster of each */
            const space_cluster *cluster = &space->clusters[i];
            if (!is_settled[i]) {
                is_settled[i] = cluster->nodes <= 1;
                limits[i] = is_settled[i] ? most : cluster->gpus - 1;
                is_over = is_over && is_settled[i];
            }
        }
        ms_arena_release(&scratch);
    }
    return status == MS_OK ? ms_space_open(request, arena, diag, space_out) : status;
}
