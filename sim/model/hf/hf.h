/* Types of models as Transformers has them, and reading of their configs key by key. */
#ifndef MS_MODEL_HF_H
#define MS_MODEL_HF_H

#include "meshsim/hf.h"

enum { MS_HF_TAKEN_MAX = 64, MS_HF_FAULTY_MAX = 32 };

/* A default of Transformers, as a config would say it. */
typedef struct ms_hf_default {
    const char *key; /* NULL ends a list */
    const char *text;
} ms_hf_default;

/* What is fixed in the code of a type of models, bits. */
typedef enum ms_hf_trait {
    MS_HF_GATED = 1,            /* an MLP of three matrices */
    MS_HF_LAYER_NORM = 2,       /* norms with a bias; else root mean squares */
    MS_HF_LEARNED = 4,          /* learned position embeddings */
    MS_HF_EXPERTS = 8,          /* layers of experts */
    MS_HF_LATENT = 16,          /* latent attention */
    MS_HF_CORRECTION_BIAS = 32, /* a bias per expert in the router, adjusted without gradient */
    MS_HF_QKV_BIASES = 64,
    MS_HF_MLP_BIASES = 128,
    MS_HF_ALL_BIASES = 256, /* of all linear layers but the head */
    MS_HF_HEAD_BIAS = 512,
    MS_HF_QK_NORMS = 1024,
    MS_HF_POST_NORMS = 2048,
    MS_HF_PARALLEL = 4096,    /* attention and MLP side by side behind one norm */
    MS_HF_SHARED_GATE = 8192, /* one shared expert behind a gate */
    MS_HF_WINDOW = 16384,     /* `sliding_window` is one of every layer */
} ms_hf_trait;

/* A type of models. */
typedef struct ms_hf_family {
    const char *model_type;        /* NULL ends the table */
    unsigned traits;               /* MS_HF_ bits */
    const ms_hf_default *defaults; /* of the keys that its config class knows */
} ms_hf_family;

/* A key that was looked up. */
typedef struct ms_hf_taken {
    const char *key;
    const ms_node *node; /* NULL: it has no value */
    const char *goal;    /* the workload's keys that it gives */
    bool is_assumed;     /* it is not there: Transformers' default */
} ms_hf_taken;

/* One reading. */
typedef struct ms_hf_reader {
    const ms_node *root;   /* the whole file */
    const ms_node *config; /* the mapping that holds the text model's keys */
    const char *prefix;    /* of their paths: "" or "text_config." */
    const ms_node *place;  /* of what is assumed: that of the model's type */
    const ms_hf_family *family;
    ms_arena *arena;
    ms_diag *diag;
    ms_hf_taken taken[MS_HF_TAKEN_MAX];
    int taken_count;
    const ms_node *faulty[MS_HF_FAULTY_MAX]; /* values that were told of, each once */
    int faulty_count;
    ms_node *model; /* what is made of it */
    ms_status status;
} ms_hf_reader;

/* The type of models of a name, by that of another one which has the same code too; NULL: not
 * known. */
const ms_hf_family *ms_hf_family_of(const char *model_type);

/* The names of all types of models, "gpt2, llama, ...". */
void ms_hf_list_families(ms_buffer *out);

/* Why a key that is known says nothing to a simulation; NULL: it is not among those. */
const char *ms_hf_ignored_why(const char *key);

/* Look a key up under any of its names; Transformers' default where it is not there.
 *  names: NULL-terminated.  goal: the workload's keys that it gives.  Returns its value; NULL: it
 * is `null`, or not there and without a default. */
const ms_node *ms_hf_take(ms_hf_reader *r, const char *const *names, const char *goal);

/* The same as a whole number >= 0, a flag, or a number.  out: left as it is where there is no
 * value. Returns whether there is one; a fault is reported and kept in r->status. */
bool ms_hf_int(ms_hf_reader *r, const char *const *names, const char *goal, int *out);
bool ms_hf_flag(ms_hf_reader *r, const char *const *names, const char *goal, bool *out);

/* The same for a key with one name. */
#define MS_HF_NAME(name) ((const char *const[]){(name), NULL})

/* Report a fault at a key's value. */
void ms_hf_fault(ms_hf_reader *r, const ms_node *node, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Put a value into the model: `map` is "moe" or "mla", or NULL for the model itself.  from: whose
 * place it has; NULL: that of the model's type.  text: NULL: that of `from`. */
void ms_hf_put(ms_hf_reader *r, const char *map, const char *key, const ms_node *from,
               const char *text);
void ms_hf_put_int(ms_hf_reader *r, const char *map, const char *key, const ms_node *from,
                   int value);
void ms_hf_put_list(ms_hf_reader *r, const char *map, const char *key, const char *const *texts,
                    size_t count);
void ms_hf_put_flag(ms_hf_reader *r, const char *key, const ms_node *from, bool value);

/* Tell of all keys what became of them. */
void ms_hf_list_keys(ms_hf_reader *r, const ms_node *root, ms_source_keys *keys);

#endif
