/* Types of models as Transformers has them, and reading of their configs key by key. */
#ifndef MS_MODEL_HF_H
#define MS_MODEL_HF_H

#include "meshsim/hf.h"

enum { MS_HF_TAKEN_MAX = 96, MS_HF_FAULTY_MAX = 32 };

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
    MS_HF_PARALLEL = 4096,       /* attention and MLP side by side behind one norm */
    MS_HF_SHARED_GATE = 8192,    /* one shared expert behind a gate */
    MS_HF_WINDOW = 16384,        /* `sliding_window` is one of every layer */
    MS_HF_GAIN_NORMS = 1 << 15,  /* layer norms without bias */
    MS_HF_PLAIN_NORMS = 1 << 16, /* norms with neither gain nor bias */
    MS_HF_OWN_QK_GAINS = 1 << 17,
    MS_HF_ALIBI = 1 << 18,
    MS_HF_BRANCH_NORMS = 1 << 19,  /* side by side, attention and MLP have a norm each */
    MS_HF_MULTI_QUERY = 1 << 20,   /* one head of keys and values */
    MS_HF_ATTENTION_QKV = 1 << 21, /* `attention_bias` leaves the output product out */
    MS_HF_ATTENTION_BIASES = 1 << 22,
    MS_HF_EXPERT_BIASES = 1 << 23,
    MS_HF_ONE_SHARED = 1 << 24, /* a shared expert of the routed ones' size */
    MS_HF_LISTS = 1 << 25,      /* sizes may be lists with an entry for each layer */
    MS_HF_HALF_FFN = 1 << 26,   /* `intermediate_size` is that of two matrices side by side */
} ms_hf_trait;

struct ms_hf_reader;

/* A type of models. */
typedef struct ms_hf_family {
    const char *model_type; /* NULL ends the table */
    unsigned traits;        /* MS_HF_ bits */
    const char *defaults;   /* of the keys that its config class knows: "key value key value" */
    const char *aliases; /* keys that have another name or place here: "usual own usual own", where
                            `a.b` is key b in mapping a; where a config has none of those, nor
                            the type a default, the usual ones count; NULL: none */
    void (*adapt)(struct ms_hf_reader *r); /* changes r->traits by what a config says; NULL: none */
    const char *left_out;                  /* what of such models is not simulated; NULL: nothing */
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
    unsigned traits; /* the family's, as the config adapts them */
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

/* The nearest of these names as the end of a message. */
ms_hint ms_hf_hint(const char *model_type);

/* What a type of models has that is not built; NULL: nobody knows the type. */
const char *ms_hf_unbuilt(const char *model_type);

/* Why a key that is known says nothing to a simulation; NULL: it is not among those. */
const char *ms_hf_ignored_why(const char *key);

/* Look a key up under any of its names; Transformers' default where it is not there.
 *  names: NULL-terminated.  goal: the workload's keys that it gives.  Returns its value; NULL: it
 * is `null`, or not there and without a default. */
const ms_node *ms_hf_take(ms_hf_reader *r, const char *const *names, const char *goal);

/* A key's value as ms_hf_take finds it, without it counting as used. */
const ms_node *ms_hf_look(ms_hf_reader *r, const char *key);

/* The same as a whole number >= 0, a flag, or a number.  Of types with MS_HF_LISTS a
 * list of equal values is that value.  out: left as it is where there is no value. Returns whether
 * there is one; a fault is reported and kept in r->status. */
bool ms_hf_int(ms_hf_reader *r, const char *const *names, const char *goal, int *out);
bool ms_hf_flag(ms_hf_reader *r, const char *const *names, const char *goal, bool *out);
/* A number, 0 to 1, as the config has it; NULL: it has none, or it is at fault. */
const ms_node *ms_hf_share(ms_hf_reader *r, const char *const *names, const char *goal);

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
