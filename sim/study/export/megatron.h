/* What the files that export Megatron-LM's arguments share. */
#ifndef MS_EXPORT_MEGATRON_H
#define MS_EXPORT_MEGATRON_H

#include "study/export/kinds.h"
#include "study/import/megatron_parts.h"

/* One export. */
typedef struct ms_megatron_export {
    const ms_export_source *source;
    const ms_job_spec *spec; /* settled */
    const ms_node *root;     /* its tree */
    const char *defaults;    /* of keys that it lacks */
    ms_arena *arena;
    ms_buffer lines; /* "    --name value\n" */
} ms_megatron_export;

/* Add an argument.  format: of its value; NULL: it takes none. */
void ms_megatron_say(ms_megatron_export *x, const char *flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Add an argument without a value where something holds. */
void ms_megatron_say_if(ms_megatron_export *x, const char *flag, bool is_said);

/* Add a count that is not its usual one. */
void ms_megatron_say_count(ms_megatron_export *x, const char *flag, int count, int usual);

/* Add those of a list of pairs whose keys have the values that they give. */
void ms_megatron_say_pairs(ms_megatron_export *x, const ms_megatron_pair *pairs);

/* The text of a key of the workload, which may be its default; "none": neither. */
const char *ms_megatron_key(ms_megatron_export *x, const char *key);

/* The parts of an export. */
void ms_megatron_say_model(ms_megatron_export *x);
void ms_megatron_say_experts(ms_megatron_export *x);
void ms_megatron_say_mesh(ms_megatron_export *x);
void ms_megatron_say_stages(ms_megatron_export *x);
void ms_megatron_say_state(ms_megatron_export *x);

#endif
