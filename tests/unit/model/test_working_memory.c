/* Working memory of stages: logits exist where the head is, and nowhere else. */
#include "fixture.h"

static ms_stage_memory memory_of(int vocab, int stage) {
    ms_model model = fixture_gpt(4, 256, 4, vocab);
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.pp = 2;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    ms_stage_memory memory = fixture.costs.stage[stage].memory;
    fixture_clear(&fixture);
    return memory;
}

/* 2,048 tokens with a vocabulary of a million: a column of logits more is at least two bytes of
 * each token, on the last stage. The first one looks words up, which takes none. */
Test(working_memory, only_the_last_stage_has_logits) {
    const int vocab = 1 << 20;
    double first_B = memory_of(vocab, 0).working_B, last_B = memory_of(vocab, 1).working_B;
    cr_assert_eq(memory_of(2 * vocab, 0).working_B, first_B, "%g", first_B);
    cr_assert_geq(memory_of(2 * vocab, 1).working_B - last_B, 2.0 * 2048 * vocab);
    cr_assert_gt(last_B, 50 * first_B, "%g and %g", last_B, first_B);
}

/* Both hold the word embedding, whose bytes grow with the vocabulary alike. */
Test(working_memory, both_ends_hold_the_embedding) {
    const int vocab = 1 << 20;
    double more_B = 2.0 * 256 * vocab; /* fp16 parameters of a row of 256 */
    for (int stage = 0; stage < 2; stage++) {
        double grown_B =
            memory_of(2 * vocab, stage).parameter_B - memory_of(vocab, stage).parameter_B;
        cr_assert_float_eq(grown_B, more_B, 1.0, "stage %d: %g, not %g", stage, grown_B, more_B);
    }
}
