/* Checks a program (ms_program_check): every action exists and is in the list of the rank that owns
 * its stage, each rank's list has a legal order, no pass is missing, the lists run to their end
 * without deadlock, and parameters are unsharded where passes need them. Schedules from files are
 * checked so, and in tests all others. The first fault ends the check. Passes: F forward, I input
 * gradient, W weight gradient, B = I and W fused. */
#include "schedule/order.h"
#include "schedule/unshard.h"

/* The bit of a pass in a set of passes. Such a set is kept for each (stage, microbatch). */
static unsigned bit(ms_pass pass) {
    return 1U << (unsigned)pass;
}

/* A check of one program, and how its faults are reported. */
typedef struct list_checker {
    const ms_program *program;
    const ms_fault_location *location; /* maps actions to cells of a schedule file; NULL: no file */
    ms_diag *diag;
} list_checker;

enum { NO_ACTION = -1 };

/* Report a fault of the action at `index`, as "'<stage><pass><mb>' <what>". Returns MS_E_INPUT. */
static ms_status report(const list_checker *c, int rank, size_t index, const char *what) {
    const ms_action *action = &c->program->actions[index];
    return ms_fault_report(c->location, rank, (int64_t)index, c->diag, "'%d%s%d' %s", action->stage,
                           ms_pass_name((ms_pass)action->pass), action->mb, what);
}

/* Check that the action at `index` of the list of `rank` names a pass, a stage and a microbatch
 * that exist, and that `rank` owns the stage. */
static ms_status check_action(const list_checker *c, int rank, size_t index) {
    const ms_program *program = c->program;
    const ms_action *action = &program->actions[index];
    if (action->pass >= MS_PASS_COUNT || action->stage < 0 || action->stage >= program->stages ||
        action->mb < 0 || action->mb >= program->mb_count) {
        return ms_fault_report(c->location, rank, (int64_t)index, c->diag,
                               "pass %d, stage %d, microbatch %d: no such action", action->pass,
                               action->stage, action->mb);
    }
    if (program->stage_rank[action->stage] != rank) {
        return ms_fault_report(c->location, rank, (int64_t)index, c->diag,
                               "'%d%s%d' belongs to rank %d, which owns the stage", action->stage,
                               ms_pass_name((ms_pass)action->pass), action->mb,
                               program->stage_rank[action->stage]);
    }
    return MS_OK;
}

/* Check the overlapped pair that begins at `index`: one forward and one backward pass (B or I),
 * next to each other in the list of one rank, and not both of the same stage and microbatch. */
static ms_status check_pair(const list_checker *c, int rank, size_t index) {
    const ms_action *one = &c->program->actions[index];
    if (index + 1 == c->program->first[rank + 1]) {
        return report(c, rank, index, "is overlapped with the next action, and there is none");
    }
    const ms_action *other = one + 1;
    const ms_action *backward = one->pass == MS_PASS_F ? other : one;
    /* one is F and the other is not; W is no partner of a pair */
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

/* Check what the later checks rely on when they index arrays: stages are on ranks that exist,
 * actions and overlapped pairs are valid. Reports the first fault and returns MS_E_INPUT. */
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

/* Check that the pass at `index` may follow the passes of the same stage and microbatch earlier in
 * its rank's list. seen: the set of these earlier passes. */
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
    /* B excludes I and W of the same stage and microbatch, and the other way round */
    bool is_split = pass == MS_PASS_I || pass == MS_PASS_W;
    unsigned rival = is_split            ? bit(MS_PASS_B)
                     : pass == MS_PASS_B ? bit(MS_PASS_I) | bit(MS_PASS_W)
                                         : 0;
    if ((seen & rival) != 0) {
        return report(c, rank, index, "stands beside the other form of the same backward pass");
    }
    return MS_OK;
}

/* Check that the slices of a sequence run in order in forward passes and in reverse order in
 * backward passes. seen: points at the set of earlier passes of the action's stage and slice;
 * seen[-1] and seen[1] are the sets of the slices before and after on the same stage. */
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

/* Check the order of every rank's list. seen: [ms_program_keys] the set of passes of each (stage,
 * microbatch), empty before the call; it holds all passes afterwards, for check_complete. */
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
 * whole (B) or split (I and W). seen: as check_lists has filled it in. Reports the first fault, at
 * the rank of the stage, and returns MS_E_INPUT. */
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
            return ms_fault_report(c->location, c->program->stage_rank[stage], NO_ACTION, c->diag,
                                   "'%d%s%d' is missing", stage, missing, mb);
        }
    }
    return MS_OK;
}

/* Check a program, and report the first fault. Each check relies on the ones before it: form of the
 * actions, order of the lists, completeness, no deadlock, moves of parameters. */
ms_status ms_program_check_at(const ms_program *program, const ms_fault_location *location,
                              ms_diag *diag) {
    list_checker c = {.program = program, .location = location, .diag = diag};
    if (check_form(&c) != MS_OK) {
        return MS_E_INPUT;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    uint8_t *seen = MS_NEW(&scratch, uint8_t, ms_program_keys(program));
    ms_status status = seen == NULL ? ms_diag_no_memory(diag) : check_lists(&c, seen);
    status = status == MS_OK ? check_complete(&c, seen) : status;
    status = status == MS_OK ? ms_program_check_ends(program, location, &scratch, diag) : status;
    status = status == MS_OK ? ms_unshard_check(program, location, &scratch, diag) : status;
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_program_check(const ms_program *program, ms_diag *diag) {
    return ms_program_check_at(program, NULL, diag);
}
