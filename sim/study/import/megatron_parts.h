/* What the files that import Megatron-LM's arguments share. */
#ifndef MS_MEGATRON_PARTS_H
#define MS_MEGATRON_PARTS_H

#include "meshsim/megatron.h"
#include "study/import/megatron_words.h"

/* What stands before the name of an environment variable, and of an argument of torchrun or srun.
 */
#define MS_MEGATRON_ENV      "env "
#define MS_MEGATRON_LAUNCHER "launcher "

/* How many values an argument takes. */
typedef enum ms_megatron_arity { MS_TAKES_NONE, MS_TAKES_ONE, MS_TAKES_MANY } ms_megatron_arity;

/* What is known of an argument. */
typedef struct ms_megatron_flag {
    ms_megatron_arity arity;
    bool is_used;      /* the translation may ask for it */
    bool is_different; /* it changes a step, and nothing here follows it */
    const char *name;  /* with its dashes */
    const char *why;   /* of one that is never used */
} ms_megatron_flag;

/* Find an argument by its name.  name: with its dashes.  Returns false if it is not known. */
bool ms_megatron_find_flag(const char *name, ms_megatron_flag *flag_out);

/* Behind the name of a switch that an argument list says is off. */
#define MS_MEGATRON_OFF " false"

/* Whether an argument is one of Megatron-LM's, by its own name or by another software's. */
bool ms_megatron_is_called(const char *name, const char *usual);

/* A letter of an argument's value. */
typedef struct ms_megatron_letter {
    const char *flag;    /* the argument, with its dashes */
    const char *text;    /* its value */
    const char *at;      /* the letter, or the end of `text` */
    const ms_mark *mark; /* of the value */
} ms_megatron_letter;

/* Report that something else was expected there.  Returns MS_E_INPUT. */
ms_status ms_megatron_fault_letter(const ms_megatron_letter *letter, const char *expected,
                                   ms_diag *diag);

/* ---- translation ---- */

/* One translation. */
typedef struct ms_megatron_run {
    ms_megatron_arguments *arguments;
    const ms_megatron_facts *facts;
    ms_arena *arena;
    ms_diag *diag;
    ms_megatron_job *job;
    ms_status status; /* of the first fault */
    unsigned buffers; /* MS_BUFFER_ bits that the framework has */
    bool is_old;      /* before Transformer Engine: its profile has kernels and buffers */
    bool has_zero;    /* Megatron-DeepSpeed, whose engine holds gradients and states */
    int layers, tp, pp, cp, ep, vpp;
    int experts;
    bool has_sequence; /* sequence parallelism */
} ms_megatron_run;

/* An argument by its place in the list. */
static inline ms_megatron_argument *ms_megatron_item(const ms_megatron_run *run, size_t i) {
    return &MS_AT(&run->arguments->items, ms_megatron_argument, i);
}

/* The argument of a name that counts, which is the last one; NULL: it was not given. */
ms_megatron_argument *ms_megatron_find(ms_megatron_run *run, const char *name);

/* The argument of a name that counts, now used; NULL: it was not given. */
ms_megatron_argument *ms_megatron_get(ms_megatron_run *run, const char *name);

/* Whether it was given; it is used then. */
bool ms_megatron_given(ms_megatron_run *run, const char *name);

/* Its value; NULL: it was not given. */
const char *ms_megatron_value(ms_megatron_run *run, const char *name);

/* Whether it was given with this value. */
bool ms_megatron_says(ms_megatron_run *run, const char *name, const char *value);

/* Whether it was given with this among its values. */
bool ms_megatron_lists(ms_megatron_run *run, const char *name, const char *value);

/* Its value as a count of at least `least`; `fallback` where it is not given or not a count
 * (reported). */
int ms_megatron_count(ms_megatron_run *run, const char *name, int least, int fallback);

/* Its value as a number of at least 0, likewise. */
double ms_megatron_number(ms_megatron_run *run, const char *name, double fallback);

/* Say that an argument has no counterpart, or not its whole meaning. */
void ms_megatron_differs(ms_megatron_run *run, const char *name, const char *why);

/* Report a fault of an argument; name: NULL: of none alone. */
void ms_megatron_fault(ms_megatron_run *run, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set a key.  from: the arguments that decided it. */
void ms_megatron_set(ms_megatron_run *run, const char *key, const char *from, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* Set a key that is a switch. */
void ms_megatron_set_bool(ms_megatron_run *run, const char *key, const char *from, bool value);

/* Set the keys of a list of pairs, each as its argument says, or what holds without it. */
void ms_megatron_set_pairs(ms_megatron_run *run, const ms_megatron_pair *pairs);

/* Say that a key is required, as the arguments do not say it. */
void ms_megatron_require(ms_megatron_run *run, const char *key, const char *what);
/** The argument that has the attention multiply in fp8; NULL: none does. */
const char *ms_megatron_fp8_attention(ms_megatron_run *run);

/* The parts of a translation, in the order of a workload's keys. */
void ms_megatron_set_mesh(ms_megatron_run *run);
void ms_megatron_set_model(ms_megatron_run *run);
void ms_megatron_set_experts(ms_megatron_run *run);
void ms_megatron_set_schedule(ms_megatron_run *run);
void ms_megatron_set_batch(ms_megatron_run *run);
void ms_megatron_set_precision(ms_megatron_run *run);
void ms_megatron_set_data(ms_megatron_run *run);
void ms_megatron_set_recompute(ms_megatron_run *run);
void ms_megatron_set_memory(ms_megatron_run *run);

#endif
