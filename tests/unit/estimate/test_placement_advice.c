/* Warnings about where groups lie. */
#include "estimate/advice.h"
#include "spec_fixture.h"

/* Racks of 72 GPUs, 8 of them; LAYOUT is put in. */
#define ON_RACKS(layout)                                                                           \
    "platform: gb200-nvl72\n"                                                                      \
    "model: {type: llama, layers: 18, hidden: 1024, heads: 16, ffn: 2048, vocab: 1024,"            \
    " sequence: 512, moe: {experts: 576, top_k: 8, ffn: 256}}\n"                                   \
    "batch: {microbatches: 9}\n" layout "\n"
/* Nodes of 8 GPUs. */
#define ON_NODES(layout)                                                                           \
    "platform: {file: dgx-h100, nodes: 4}\n"                                                       \
    "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 1024, sequence: 2048}\n"        \
    "batch: {microbatches: 8}\n" layout "\n"

typedef struct placement_case {
    const char *workload;
    const char *says; /* NULL: nothing */
} placement_case;

static const placement_case PLACEMENTS[] = {
    {ON_RACKS("mesh: {pp: 9, ep: 64, order: [pp, ep]}"),
     "7 of 9 ep groups of 64 cross 'rail' though the 72 GPUs that share 'nvlink' have room for "
     "one: 64 is no divisor of 72"},
    {ON_RACKS("mesh: {dp: 8, ep: 72, order: [dp, ep]}"), NULL},
    {ON_RACKS("mesh: {dp: 16, ep: 36, order: [dp, ep]}"), NULL},
    {ON_RACKS("mesh: {dp: 4, ep: 144, order: [dp, ep]}"), NULL}, /* no rack holds one */
    {ON_NODES("mesh: {dp: 4, cp: 8, order: [cp, dp]}"),
     "4 of 4 cp groups of 8 cross 'rail' though the 8 GPUs that share 'nvlink' have room for one: "
     "'dp' stands inside 'cp' in mesh.order"},
    {ON_NODES("mesh: {dp: 4, cp: 8, order: [dp, cp]}"), NULL},
    {ON_NODES("mesh: {dp: 4, tp: 2, cp: 4, order: [cp, dp, tp]}"),
     "8 of 8 cp groups of 4 cross 'rail' though the 8 GPUs that share 'nvlink' have room for one: "
     "'dp' stands inside 'cp' in mesh.order"},
    {ON_NODES("mesh: {dp: 2, tp: 8, cp: 2, order: [dp, cp, tp]}"), NULL}, /* a node holds no 16 */
    {ON_NODES("mesh: {dp: 8, pp: 4, order: [pp, dp]}"), NULL},
    {ON_NODES("mesh: {dp: 4, tp: 8, order: [dp, tp]}\nplacement: {order: [gpu, node]}"),
     "4 of 4 tp groups of 8 cross 'rail' though the 8 GPUs that share 'nvlink' have room for one: "
     "the placement spreads them"},
    {ON_NODES("mesh: {dp: 4, tp: 8, order: [dp, tp]}\nplacement: {nodes: [2, 0, 3, 1]}"), NULL},
};

Test(placement_advice, groups_that_straddle_are_told) {
    for (size_t i = 0; i < sizeof PLACEMENTS / sizeof PLACEMENTS[0]; i++) {
        const placement_case *c = &PLACEMENTS[i];
        spec_fixture f;
        spec_fixture_init(&f);
        const ms_job job = spec_fixture_lay_out(&f, spec_fixture_read_text(&f, c->workload));
        ms_advise_placement(&job.mesh, job.platform, &f.diag);
        const char *said = ms_buffer_text(&f.messages);
        if (c->says == NULL) {
            cr_assert_str_empty(said, "case %zu: %s", i, said);
        } else {
            cr_assert_not_null(strstr(said, c->says), "case %zu: %s", i, said);
        }
        spec_fixture_release(&f);
    }
}
