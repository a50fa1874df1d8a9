/* Checks a program: its actions exist and are on the rank of their stage, each rank lists them in a
 * legal order, and no pass is missing. The first fault ends the check. */
#include "schedule/order.h"
#include "schedule/unshard.h"

/* The bit of a pass in the set of passes of a (stage, microbatch). */
static unsigned bit(ms_pass pass) {
    return 1U << (unsigned)pass;
}

/* A check of one program, and where its faults go. */
typedef struct list_checker {
    const ms_program *program;
    const ms_fault_place *place; /* NULL: faults have no place in a file */
    ms_diag *diag;
} list_checker;

enum { NO_ACTION = -1 };

/* Report a fault with the action in front. */
static ms_status report(const list_checker *c, int rank, size_t index, const char *what) {
    const ms_action *action = &c->program->actions[index];
    return ms_fault_report(c->place, rank, (int64_t)index, c->diag, "'%d%s%d' %s", action->stage,
                           ms_pass_name((ms_pass)action->pass), action->mb, what);
}

/* Check that an action has a pass, a stage and a microbatch that exist, and that the list is that
 * of the rank which owns the stage. */
static ms_status check_action(const list_checker *c, int rank, size_t index) {
    const ms_program *program = c->program;
    const ms_action *action = &program->actions[index];
    if (action->pass >= MS_PASS_COUNT || action->stage < 0 || action->stage >= program->stages ||
        action->mb < 0 || action->mb >= program->mb_count) {
        return ms_fault_report(c->place, rank, (int64_t)index, c->diag,
                               "pass %d, stage %d, microbatch %d: no such action", action->pass,
                               action->stage, action->mb);
    }
    if (program->stage_rank[action->stage] != rank) {
        return ms_fault_report(c->place, rank, (int64_t)index, c->diag,
                               "'%d%s%d' belongs to rank %d, which owns the stage", action->stage,
                               ms_pass_name((ms_pass)action->pass), action->mb,
                               program->stage_rank[action->stage]);
    }
    return MS_OK;
}

/* Check an overlapped pair: one forward and one backward pass, of different work, on one rank. */
static ms_status check_pair(const list_checker *c, int rank, size_t index) {
    const ms_action *one = &c->program->actions[index];
    if (index + 1 == c->program->first[rank + 1]) {
        return report(c, rank, index, "is overlapped with the next action, and there is none");
    }
    const ms_action *other = one + 1;
    const ms_action *backward = one->pass == MS_PASS_F ? other : one;
    bool is_one_each = (one->pass == MS_PASS_F) != (other->pass == MS_PASS_F) &&
                       (backward->pass == MS_PASS_B || backward->pass == MS_PASS_I);
    if (!is_one_each || other->is_overlapped != 0) {
        return report(
            c, rank, index,
            "is overlapped with the next action, and a pair is one forward and one backward "
            "pass");
    }
    if (one->stage == other->stage && one->mb == other->mb) {
        return report(c, rank, index, "is overlapped with the other pass of the same work");
    }
    return MS_OK;
}

/* Check what later checks rely on to index arrays: stages on ranks that exist, valid actions and
 * overlapped pairs. Returns the first fault, reported. */
static ms_status check_form(const list_checker *c) {
    const ms_program *program = c->program;
    for (int stage = 0; stage < program->stages; stage++) {
        int rank = program->stage_rank[stage];
        if (rank < 0 || rank >= program->spec.pipeline_ranks) {
            return ms_diag_error(c->diag, "stage %d is on rank '%d', which does not exist", stage,
                                 rank);
        }
    }
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            ms_status status = check_action(c, rank, i);
            if (status == MS_OK && program->actions[i].is_overlapped != 0) {
                status = check_pair(c, rank, i);
            }
            if (status != MS_OK) {
                return status;
            }
        }
    }
    return MS_OK;
}

bool ms_program_is_well_formed(const ms_program *program, ms_diag *diag) {
    return check_form(&(list_checker){.program = program, .diag = diag}) == MS_OK;
}

/* Check that a pass may come at this index of its rank's list. seen: bits of the passes of its
 * stage and microbatch that come earlier in the list. */
static ms_status check_order(const list_checker *c, int rank, size_t index, unsigned seen) {
    ms_pass pass = (ms_pass)c->program->actions[index].pass;
    if ((seen & bit(pass)) != 0) {
        return report(c, rank, index, "stands twice");
    }
    if ((pass == MS_PASS_B || pass == MS_PASS_I) && (seen & bit(MS_PASS_F)) == 0) {
        return report(c, rank, index, "comes before its forward pass");
    }
    if (pass == MS_PASS_W && (seen & (bit(MS_PASS_I) | bit(MS_PASS_B))) == 0) {
        return report(c, rank, index, "comes before its input gradient");
    }
    bool is_split = pass == MS_PASS_I || pass == MS_PASS_W;
    unsigned rival = is_split            ? bit(MS_PASS_B)
                     : pass == MS_PASS_B ? bit(MS_PASS_I) | bit(MS_PASS_W)
                                         : 0;
    if ((seen & rival) != 0) {
        return report(c, rank, index, "stands beside the other form of the same backward pass");
    }
    return MS_OK;
}

/* Check that the slices of a sequence run in order in forward passes and in reverse in backward
 * passes. seen: points at the bits of this action's microbatch; its neighbors are the
 * microbatches before and after. */
static ms_status check_slices(const list_checker *c, int rank, size_t index, const uint8_t *seen) {
    const ms_action *action = &c->program->actions[index];
    int slices = c->program->spec.slices;
    if (slices <= 1 || action->pass == MS_PASS_W) {
        return MS_OK;
    }
    unsigned gradient = bit(MS_PASS_B) | bit(MS_PASS_I);
    if (action->pass == MS_PASS_F && action->mb % slices > 0 && (seen[-1] & bit(MS_PASS_F)) == 0) {
        return report(c, rank, index, "comes before the slice of the sequence it attends to");
    }
    if (action->pass != MS_PASS_F && action->mb % slices < slices - 1 &&
        (seen[1] & gradient) == 0) {
        return report(c, rank, index, "comes before the gradient of the next slice");
    }
    return MS_OK;
}

/* Check the order of every rank's list. seen: bits of passes for each (stage, microbatch), zero
 * before the call; filled in for check_complete. */
static ms_status check_lists(const list_checker *c, uint8_t *seen) {
    const ms_program *program = c->program;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            const ms_action *action = &program->actions[i];
            size_t key = ms_program_key(program, action->stage, action->mb);
            ms_status status = check_order(c, rank, i, seen[key]);
            status = status == MS_OK ? check_slices(c, rank, i, &seen[key]) : status;
            if (status != MS_OK) {
                return status;
            }
            seen[key] = (uint8_t)(seen[key] | bit((ms_pass)action->pass));
        }
    }
    return MS_OK;
}

/* Check that each microbatch has on every stage its forward pass and its backward pass, either
 * whole (B) or split (I and W). Returns the first fault, reported. */
static ms_status check_complete(const list_checker *c, const uint8_t *seen) {
    unsigned fused = bit(MS_PASS_F) | bit(MS_PASS_B);
    unsigned split = bit(MS_PASS_F) | bit(MS_PASS_I) | bit(MS_PASS_W);
    for (int stage = 0; stage < c->program->stages; stage++) {
        for (int mb = 0; mb < c->program->mb_count; mb++) {
            unsigned passes = *seen++;
            if (passes == fused || passes == split) {
                continue;
            }
            const char *missing = (passes & bit(MS_PASS_F)) == 0   ? "F"
                                  : (passes & bit(MS_PASS_I)) != 0 ? "W"
                                                                   : "B";
            return ms_fault_report(c->place, c->program->stage_rank[stage], NO_ACTION, c->diag,
                                   "'%d%s%d' is missing", stage, missing, mb);
        }
    }
    return MS_OK;
}

ms_status ms_program_check_at(const ms_program *program, const ms_fault_place *place,
                              ms_diag *diag) {
    list_checker c = {.program = program, .place = place, .diag = diag};
    if (check_form(&c) != MS_OK) {
        return MS_E_INPUT;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    uint8_t *seen = MS_NEW(&scratch, uint8_t, ms_program_keys(program));
    ms_status status = seen == NULL ? ms_diag_no_memory(diag) : check_lists(&c, seen);
    status = status == MS_OK ? check_complete(&c, seen) : status;
    status = status == MS_OK ? ms_program_check_ends(program, place, &scratch, diag) : status;
    status = status == MS_OK ? ms_unshard_check(program, place, &scratch, diag) : status;
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_program_check(const ms_program *program, ms_diag *diag) {
    return ms_program_check_at(program, NULL, diag);
}
