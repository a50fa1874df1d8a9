/* Where a rank's list gathers whole stages: against the rule taken word by word, and by hand. */
#include <string.h>

#include "base/random.h"
#include "schedule/schedule_csv.h"
#include "schedule_fixture.h"

enum { STAGES_MAX = 64 };

/* The next `active` different stages from `from` on; a pair counts whole. */
static int next_stages(const ms_program *p, size_t from, size_t end, int active, int *stages) {
    int count = 0;
    for (size_t i = from; i < end; i++) {
        bool is_seen = false;
        for (int k = 0; k < count; k++) {
            is_seen = is_seen || stages[k] == p->actions[i].stage;
        }
        if (!is_seen) {
            stages[count++] = p->actions[i].stage;
        }
        if (count >= active && p->actions[i].is_overlapped == 0) {
            break;
        }
    }
    return count;
}

static void expect(const ms_program *p, size_t *move, size_t before, int stage, bool is_unshard) {
    const ms_shard_move *found = &p->shard_moves[(*move)++];
    cr_assert_eq(found->before, before, "%s: move %zu", p->name, *move - 1);
    cr_assert_eq(found->stage, stage, "%s: move %zu", p->name, *move - 1);
    cr_assert_eq(found->is_unshard, is_unshard, "%s: move %zu", p->name, *move - 1);
}

/* The rule of the reference, with sets. */
static void expect_rule(const ms_program *p, int rank, int active) {
    bool is_gathered[STAGES_MAX] = {false};
    size_t move = p->shard_first[rank], end = p->first[rank + 1];
    for (size_t i = p->first[rank]; i <= end; i++) {
        if (i > p->first[rank] && p->actions[i - 1].is_overlapped != 0) {
            continue;
        }
        int wanted[STAGES_MAX];
        int count = next_stages(p, i, end, active, wanted);
        for (int stage = 0; stage < p->stages; stage++) {
            bool is_wanted = false;
            for (int k = 0; k < count; k++) {
                is_wanted = is_wanted || wanted[k] == stage;
            }
            if (is_gathered[stage] && !is_wanted) {
                expect(p, &move, i, stage, false);
                is_gathered[stage] = false;
            }
        }
        for (int k = 0; k < count; k++) {
            if (!is_gathered[wanted[k]]) {
                expect(p, &move, i, wanted[k], true);
                is_gathered[wanted[k]] = true;
            }
        }
    }
    cr_assert_eq(move, p->shard_first[rank + 1]);
}

static int count_gathers(const ms_program *p, int rank) {
    int count = 0;
    for (size_t i = p->shard_first[rank]; i < p->shard_first[rank + 1]; i++) {
        count += p->shard_moves[i].is_unshard;
    }
    return count;
}

static bool takes_chunks(int kind) {
    return ms_schedule_kind_traits((ms_schedule_kind)kind).chunks == 0;
}

Test(schedule_unshard, follow_the_rule_word_by_word) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        for (int active = 1; active <= 6; active++) {
            fixture f;
            fixture_init(&f);
            ms_schedule_spec spec =
                SPEC((ms_schedule_kind)kind, 4, takes_chunks(kind) ? 3 : 0, 12, 0);
            ms_program p = fixture_build(&f, &spec);
            cr_assert_eq(ms_program_place_unshards(&p, active, &f.arena, &f.diag), MS_OK);
            for (int rank = 0; rank < 4; rank++) {
                expect_rule(&p, rank, active);
            }
            cr_assert_eq(ms_program_check(&p, &f.diag), MS_OK, "%s", ms_buffer_text(&f.talk));
            fixture_release(&f);
        }
    }
}

/* One stage on a rank, or as many at a time as the rank has: each is gathered once. */
Test(schedule_unshard, room_for_all_gathers_once) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        for (int chunks = 1; chunks <= (takes_chunks(kind) ? 4 : 1); chunks++) {
            fixture f;
            fixture_init(&f);
            ms_schedule_spec spec =
                SPEC((ms_schedule_kind)kind, 2, takes_chunks(kind) ? chunks : 0, 8, 0);
            ms_program p = fixture_build(&f, &spec);
            int own = p.stages / 2;
            cr_assert_eq(ms_program_place_unshards(&p, own, &f.arena, &f.diag), MS_OK);
            cr_assert_eq(count_gathers(&p, 0), own, "%s", p.name);
            cr_assert_eq(count_gathers(&p, 1), own, "%s", p.name);
            fixture_release(&f);
        }
    }
}

/* More room never means more gathers, and one stage at a time is gathered whenever the list goes
 * to another stage. */
Test(schedule_unshard, less_room_means_more_gathers) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED, 2, 6, 12, 0);
    ms_program p = fixture_build(&f, &spec);
    int changes = 1;
    for (size_t i = 1; i < p.first[1]; i++) {
        changes += p.actions[i].stage != p.actions[i - 1].stage;
    }
    for (int active = 1, before = changes; active <= 6; active++) {
        cr_assert_eq(ms_program_place_unshards(&p, active, &f.arena, &f.diag), MS_OK);
        int gathers = count_gathers(&p, 0);
        cr_assert_leq(gathers, before);
        cr_assert(active > 1 || gathers == changes);
        before = gathers;
    }
    fixture_release(&f);
}

static ms_status read_text(fixture *f, const char *text, ms_program *program) {
    ms_csv_table table;
    ms_status status = ms_csv_read(text, strlen(text), "order.csv", &f->arena, &f->diag, &table);
    return status == MS_OK ? ms_csv_program(&table, "order", 1, &f->arena, &f->diag, program)
                           : status;
}

Test(schedule_unshard, a_file_has_its_own_places) {
    fixture f;
    fixture_init(&f);
    ms_program p;
    cr_assert_eq(read_text(&f,
                           "0UNSHARD,0F0,0RESHARD,0F1,0UNSHARD,0B0,0B1,0RESHARD\n"
                           "1UNSHARD,1F0,1B0,1F1,1B1,1RESHARD\n",
                           &p),
                 MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk),
                              "order.csv:1:23: error: rank 0, cell 4: '0F1' comes while"));
    const char *text = "0UNSHARD,0F0,0F1,0RESHARD,0UNSHARD,0B0,0B1,0RESHARD\n"
                       "1UNSHARD,1F0,1B0,1F1,1B1,1RESHARD\n";
    cr_assert_eq(read_text(&f, text, &p), MS_OK, "%s", ms_buffer_text(&f.talk));
    static const ms_shard_move EXPECTED[] = {{0, 0, true},  {2, 0, false}, {2, 0, true},
                                             {4, 0, false}, {4, 1, true},  {8, 1, false}};
    cr_assert_eq(p.shard_first[1], 4);
    cr_assert_eq(p.shard_first[2], 6);
    for (int i = 0; i < 6; i++) {
        cr_assert(p.shard_moves[i].before == EXPECTED[i].before &&
                      p.shard_moves[i].stage == EXPECTED[i].stage &&
                      p.shard_moves[i].is_unshard == EXPECTED[i].is_unshard,
                  "move %d", i);
    }
    cr_assert_eq(read_text(&f, "0F0,0B0\n", &p), MS_OK);
    cr_assert_null(p.shard_moves);
    fixture_release(&f);
}

Test(schedule_unshard, broken_places_are_explained) {
    static const struct {
        const char *text, *words;
    } BAD[] = {
        {"0UNSHARD,0F0,0RESHARD,0B0\n",
         "order.csv:1:23: error: rank 0, cell 4: '0B0' comes while the stage's parameters are "
         "sharded"},
        {"0UNSHARD,0UNSHARD,0F0,0B0,0RESHARD\n",
         "order.csv:1:19: error: rank 0, cell 3: '0UNSHARD' before this place unshards what is "
         "unsharded already"},
        {"0UNSHARD,0RESHARD,0UNSHARD,0F0,0B0,0RESHARD\n",
         "'0RESHARD' before this place reshards what no pass has used"},
        {"0UNSHARD,0F0,0B0,0RESHARD,0RESHARD\n",
         "order.csv:1: error: rank 0: '0RESHARD' before this place reshards what is not unsharded"},
        {"0UNSHARD,0F0,0B0\n",
         "order.csv:1: error: rank 0: stage 0 is unsharded and never resharded"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program p;
        cr_assert_eq(read_text(&f, BAD[i].text, &p), MS_E_INPUT, "row %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.talk), BAD[i].words), "row %zu: %s", i,
                           ms_buffer_text(&f.talk));
        fixture_release(&f);
    }
}

Test(schedule_unshard, running_out_of_memory_is_reported) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_ZBV, 4, 0, 8, 0);
    ms_program p = fixture_build(&f, &spec);
    ms_arena none;
    ms_arena_init(&none);
    ms_arena_fail_after(&none, 0);
    cr_assert_eq(ms_program_place_unshards(&p, 3, &none, &f.diag), MS_E_NOMEM);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "out of memory"));
    cr_assert_null(p.shard_moves);
    ms_arena_release(&none);
    fixture_release(&f);
}
