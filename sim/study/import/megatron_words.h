/* Words of Megatron-LM's arguments and what a workload says for them: read by `import megatron` in
 * one direction, by `export megatron` in the other, so that they cannot drift apart. */
#ifndef MS_MEGATRON_WORDS_H
#define MS_MEGATRON_WORDS_H

#include "meshsim/model.h"

/* An argument that is one key. Lists end with a row whose flag is NULL. */
typedef struct ms_megatron_pair {
    const char *flag;      /* with its dashes */
    const char *key;       /* dotted path of the workload */
    const char *given;     /* of a switch: the key's value where it is given; NULL: the argument's
                              value is the key's, a count */
    const char *otherwise; /* the key's value where it is not given; NULL: it is not set */
    int least;             /* of a count */
    const char *beside;    /* argument that asks for the key, too; NULL: none */
} ms_megatron_pair;

extern const ms_megatron_pair MS_MEGATRON_MODEL_PAIRS[];
extern const ms_megatron_pair MS_MEGATRON_LATENT_PAIRS[];
extern const ms_megatron_pair MS_MEGATRON_EXPERT_PAIRS[];
extern const ms_megatron_pair MS_MEGATRON_DATA_PAIRS[];

/* --fp8-recipe. */
typedef struct ms_megatron_recipe {
    const char *recipe;   /* NULL: ends the list */
    const char *products; /* precision.products */
    const char *scaling;  /* precision.scaling; NULL: it has none */
} ms_megatron_recipe;
extern const ms_megatron_recipe MS_MEGATRON_RECIPES[];

/* --cp-comm-type. */
typedef struct ms_megatron_cp_type {
    const char *type; /* NULL: ends the list */
    const char *kind; /* context_parallel.kind */
    const char *why;  /* what of it is simulated otherwise; NULL: nothing */
} ms_megatron_cp_type;
extern const ms_megatron_cp_type MS_MEGATRON_CP_TYPES[];

/* --recompute-modules; the attention's core is `recompute: selective`. */
typedef struct ms_megatron_recomputed {
    const char *module; /* NULL: ends the list */
    const char *part;   /* of recompute_parts */
    ms_recompute_part bit;
} ms_megatron_recomputed;
extern const ms_megatron_recomputed MS_MEGATRON_RECOMPUTED[];

/* --offload-modules. */
typedef struct ms_megatron_offloaded {
    const char *part;       /* of memory.offload; NULL: ends the list */
    const char *modules[3]; /* NULL-terminated */
    ms_offload_part bit;
} ms_megatron_offloaded;
extern const ms_megatron_offloaded MS_MEGATRON_OFFLOADED[];

/* --data-parallel-sharding-strategy, as stages of ZeRO. */
extern const char *const MS_MEGATRON_STRATEGIES[4];

/* Types that the precision-aware optimizer keeps something in; the first of a size is the one that
 * is written. */
typedef struct ms_megatron_type {
    const char *type; /* NULL: ends the list */
    double size_B;
} ms_megatron_type;
extern const ms_megatron_type MS_MEGATRON_TYPES[];

/* Workspace of cuBLAS that --deterministic-mode needs, :4096:8.
 * Source: PyTorch, torch.use_deterministic_algorithms; NVIDIA cuBLAS documentation. */
#define MS_MEGATRON_DETERMINISTIC_MIB 32

#endif
