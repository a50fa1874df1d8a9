/* Types of models as Transformers has them, and the reader that looks up a config's keys one by
 * one. A key's usual name is the one in the file of types; a config may have it under other
 * names. */
#ifndef MS_MODEL_HF_H
#define MS_MODEL_HF_H

#include "model/hf.h"

enum { MS_HF_TAKEN_MAX = 96, MS_HF_FAULTY_MAX = 32 };

/* Traits: features that are fixed in the code of a type of models, bits in the order of
 * MS_HF_TRAITS. The head of workloads/families/hugging-face.yaml says what each means. */
typedef enum ms_hf_trait {
    MS_HF_GATED = 1 << 0,
    MS_HF_LAYER_NORM = 1 << 1,
    MS_HF_GAIN_NORMS = 1 << 2,
    MS_HF_PLAIN_NORMS = 1 << 3,
    MS_HF_LEARNED = 1 << 4,
    MS_HF_ALIBI = 1 << 5,
    MS_HF_EXPERTS = 1 << 6,
    MS_HF_LATENT = 1 << 7,
    MS_HF_CORRECTION_BIAS = 1 << 8,
    MS_HF_ALL_BIASES = 1 << 9,
    MS_HF_QKV_BIASES = 1 << 10,
    MS_HF_OUTPUT_BIASES = 1 << 11,
    MS_HF_ATTENTION_BIASES = 1 << 12,
    MS_HF_MLP_BIASES = 1 << 13,
    MS_HF_HEAD_BIAS = 1 << 14,
    MS_HF_EXPERT_BIASES = 1 << 15,
    MS_HF_ATTENTION_QKV = 1 << 16,
    MS_HF_QK_NORMS = 1 << 17,
    MS_HF_OWN_QK_GAINS = 1 << 18,
    MS_HF_POST_NORMS = 1 << 19,
    MS_HF_PARALLEL = 1 << 20,
    MS_HF_BRANCH_NORMS = 1 << 21,
    MS_HF_SHARED_GATE = 1 << 22,
    MS_HF_ONE_SHARED = 1 << 23,
    MS_HF_WINDOW = 1 << 24,
    MS_HF_MULTI_QUERY = 1 << 25,
    MS_HF_LISTS = 1 << 26,
    MS_HF_HALF_FFN = 1 << 27,
} ms_hf_trait;

/* The words of these bits, NULL behind the last. */
extern const char *const MS_HF_TRAITS[];

/* A type of models. */
typedef struct ms_hf_family {
    const char *model_type;
    const char *like;        /* type that gives what this one's row leaves out; NULL: none */
    unsigned traits;         /* MS_HF_ bits */
    const ms_node *defaults; /* Transformers' defaults of the type's keys */
    const ms_node *keys;     /* usual name of a key: name or path of it in this type's configs; a
                                config that lacks it, without a default, may use the usual ones */
    const ms_node *rules;    /* applied before those for all types (rules.c) */
    const char *left_out;    /* features of such models that are not simulated; NULL: none */
} ms_hf_family;

/* A key that was looked up, for the listing of what became of each key. */
typedef struct ms_hf_taken {
    const char *key;     /* the name that it has in the config */
    const ms_node *node; /* its value */
    const char *goal;    /* the workload's keys that it gives */
    bool is_assumed;     /* the config lacks it: the value is Transformers' default */
} ms_hf_taken;

/* The reading of one config; it is `r` in all files of this folder. */
typedef struct ms_hf_reader {
    const ms_node *types;     /* the file of all types */
    const ms_node *root;      /* the whole config */
    const ms_node *config;    /* the mapping that holds the text model's keys */
    const char *prefix;       /* of the paths of these keys: "" or such as "text_config." */
    const ms_node *type_node; /* node of model_type; values that are defaults get its place in the
                                 file (its mark) */
    ms_hf_family family;
    unsigned traits; /* the family's, as the config adapts them */
    ms_arena *arena; /* a lack of memory is reported at the end of the reading */
    ms_diag *diag;
    ms_hf_taken taken[MS_HF_TAKEN_MAX];
    int taken_count;
    const ms_node *faulty[MS_HF_FAULTY_MAX]; /* values whose faults were reported, each once */
    int faulty_count;
    ms_node *model;   /* the `model:` mapping that is made */
    ms_status status; /* first fault */
} ms_hf_reader;

/* The text of a scalar, "" for any other node or none. */
const char *ms_hf_text(const ms_node *node);

/* The first child of a mapping or list; NULL: there is none, or `node` is NULL. */
const ms_node *ms_hf_first(const ms_node *node);

/* A fact of the file of types about a key: "gives" (the workload's keys) or "also" (other names);
 * NULL: none. */
const ms_node *ms_hf_fact(const ms_node *types, const char *key, const char *fact);

/* Read the row of a type of models into r->family, laid over the row of the type that it is `like`.
 * Returns whether there is a row; a fault of the file is kept in r->status. */
bool ms_hf_read_family(ms_hf_reader *r, const char *model_type);

/* The feature for which a known type of models is not built; NULL: the type is not known as
 * such. */
const char *ms_hf_unbuilt(const ms_node *types, const char *model_type);

/* Why a known key does not change a simulation; NULL: the key is not in the file's list of such
 * keys. */
const char *ms_hf_ignored_why(const ms_node *types, const char *key);

/* Change r->traits by a list of rules, or refuse the config by one. */
void ms_hf_apply_rules(ms_hf_reader *r, const ms_node *rules);

/* Look a key up under any of its names, and count it as used; Transformers' default where the
 * config lacks it. key: its usual name. goal: the workload's keys that it gives; NULL: those that
 * the file of types names. Returns its value; NULL: it is `null`, or the config lacks it and there
 * is no default. */
const ms_node *ms_hf_take(ms_hf_reader *r, const char *key, const char *goal);

/* A key's value by one name, or its default, without counting it as used; NULL: none, or `null`. */
const ms_node *ms_hf_look(ms_hf_reader *r, const char *key);

/* A node as a whole number >= 0; -1: it is no such number, or NULL. */
int ms_hf_whole_of(const ms_node *node);

/* The value of a key as a whole number >= 0, as a flag, or (ms_hf_fraction) the node of a number of
 * 0 to 1. In types with MS_HF_LISTS a list of equal values is that value. out: unchanged where
 * there is no value. Returns whether there is one (ms_hf_fraction: NULL if not); a fault is
 * reported and kept in r->status. */
bool ms_hf_int(ms_hf_reader *r, const char *key, int *out);
bool ms_hf_flag(ms_hf_reader *r, const char *key, bool *out);
const ms_node *ms_hf_fraction(ms_hf_reader *r, const char *key);

/* Report a fault at a key's value, once for each value, and keep it in r->status. */
void ms_hf_fault(ms_hf_reader *r, const ms_node *node, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Put a value into the model. key: such as "layers" or "moe.experts". from: node of the config
 * whose place it gets; NULL: that of model_type. text: NULL: that of `from`. */
void ms_hf_put(ms_hf_reader *r, const char *key, const ms_node *from, const char *text);
void ms_hf_put_int(ms_hf_reader *r, const char *key, const ms_node *from, int value);
void ms_hf_put_list(ms_hf_reader *r, const char *key, const char *const *texts, size_t count);

/* Copy a whole number of the config to the key of the model that it gives. goal: as for ms_hf_take.
 * Returns whether the config has a value. */
bool ms_hf_copy(ms_hf_reader *r, const char *key, const char *goal);

/* Put into the model which layers keep a dense MLP. layers: number of the model's layers. Returns
 * whether any layer does. */
bool ms_hf_put_dense_layers(ms_hf_reader *r, int layers);

/* Put into the model the window of its layers, and which layers have none. Windows on layers that
 * follow no rhythm are left out, and their keys, except a list of layer types, are not counted as
 * used. layers: number of the model's layers. is_usual: the family has windows on every layer where
 * the config does not say on which. */
void ms_hf_put_windows(ms_hf_reader *r, int layers, bool is_usual);

/* List what became of each key of the config: used, assumed, ignored and why, or unknown. */
void ms_hf_list_keys(ms_hf_reader *r, ms_source_keys *keys);

#endif
