/* What the files of a space share. */
#ifndef MS_STUDY_SEARCH_SPACE_H
#define MS_STUDY_SEARCH_SPACE_H

#include "base/buffer.h"
#include "search/space.h"

/* Axes of a mesh that every space knows, in the order of their digits. */
enum { KNOWN_TP, KNOWN_CP, KNOWN_EP, KNOWN_PP, KNOWN_DP, KNOWN_AXES };
const char *ms_known_axis(int axis);
extern const char *const MS_MESH_KEYS[KNOWN_AXES]; /* of their sizes */

/* The axis whose size a key of MS_MESH_KEYS says; -1 for any other key. */
int ms_mesh_key_axis(const char *key);

/* A key that can be set in a spec that was read without it. */
typedef struct ms_setter {
    const char *key;
    size_t offset; /* of the key's whole number in ms_job_spec, where `set` is NULL */
    bool (*set)(ms_job_spec *spec, const char *value); /* as ms_space_set */
} ms_setter;

/* One key of a value. */
typedef struct space_setting {
    const char *key, *value;
    const ms_setter *setter; /* NULL: the key is read with the file */
} space_setting;

/* What a job must have for a value to make a difference to it. */
typedef enum space_need { NEEDS_NOTHING, NEEDS_PIPELINE, NEEDS_REPLICAS } space_need;

/* One value of an axis: a key, or several together. */
typedef struct space_value {
    const space_setting *settings; /* [count] */
    size_t count;
    space_need need;
} space_value;

/* A key with its values. */
typedef struct space_axis {
    const char *key;
    const space_value *values; /* [count] */
    size_t count;
    bool is_read; /* some value is read with the file */
    bool is_fit;  /* choices of a framework depend on it */
} space_axis;

/* Sizes that an axis of the mesh may have. */
typedef struct space_sizes {
    const int *items; /* [count] rising */
    size_t count;
    bool is_any;   /* every divisor */
    bool is_given; /* the user says which */
} space_sizes;

/* A platform of a size. */
typedef struct space_cluster {
    const char *file; /* as `platform.file` takes it; NULL: the workload's */
    int nodes;        /* 0: as the workload says */
    int gpus;
    int domain; /* GPUs that share the fast links */
} space_cluster;

/* A cluster, sizes of the axes, and an order. */
typedef struct space_shape {
    int sizes[KNOWN_AXES];
    short cluster, order;
} space_shape;

/* A spec that was read with a file, for all candidates that differ from it by what can be set. */
typedef struct space_template {
    ms_job_spec spec;
    const char *reason; /* why it cannot be read; NULL: it can */
} space_template;

/* A platform of some templates. */
typedef struct space_platform {
    const char *text;
    const ms_platform *cluster;
    struct space_platform *next;
} space_platform;

struct ms_space {
    const ms_space_request *request;
    ms_arena *arena;
    ms_job_spec base;
    const space_cluster *clusters; /* [cluster_count] */
    size_t cluster_count;
    space_sizes sizes[KNOWN_AXES];
    const ms_words *orders; /* [order_count] axes, outermost first; all known ones and the other */
    size_t order_count;
    const char *other; /* axis with a name of the user's; NULL: none */
    int other_size;
    const space_shape *shapes; /* [shape_count] */
    size_t shape_count;
    const space_axis *axes; /* [axis_count] digits behind the shape's */
    size_t axis_count;
    bool places_layers;    /* layers of other numbers of stages are shared out anew */
    bool is_at_pass_level; /* candidates are simulated at granularity `pass` */
    int64_t count;
    const ms_node *place;       /* of the key that is being read; NULL: the command line */
    space_template **templates; /* by find_template in candidate.c; NULL: not read yet */
    space_platform *platforms;  /* of all templates, each once */
};

/* A fault of what is asked for.  node: where a file says it; NULL: an option of the command line
 * does.  path: of the key in the file.  text: the fault.  Returns MS_E_INPUT. */
ms_status ms_space_fault(const ms_node *node, const char *path, const char *option,
                         const char *text, ms_diag *diag);

/* An element of a list; the list itself where it has none, NULL where there is no list. */
const ms_node *ms_space_place(const ms_node *list, size_t index);

enum { SPACE_AXES_MAX = 64 };

/* A candidate taken apart. */
typedef struct space_digits {
    const space_shape *shape;
    const space_value *values[SPACE_AXES_MAX]; /* [axis_count] */
    size_t numbers[SPACE_AXES_MAX];            /* [axis_count] */
} space_digits;

/* Read a value of a key.  node: as YAML has it.  Returns MS_OK; MS_E_INPUT, MS_E_NOMEM (reported).
 */
ms_status ms_space_read_value(const char *key, const ms_node *node, ms_arena *arena, ms_diag *diag,
                              space_value *value_out);

/* The setter of a key; NULL: the key is read with the file. */
const ms_setter *ms_space_setter(const char *key);

/* Set a key in a spec.  value: the text of its value.  Returns whether the value could be set;
 * others are read with the file. */
bool ms_space_set(const ms_setter *setter, const char *value, ms_job_spec *spec);

/* Whether some axis sets a key, alone or with others.  axes: of space_axis. */
bool ms_space_is_varied(const ms_vector *axes, const char *key);

/* Try values that set schedule.kind without schedule.v with the usual numbers of virtual stages,
 * unless schedule.v is an axis.  axes: of space_axis, as the user gives them.  Returns MS_OK;
 * MS_E_NOMEM (reported). */
ms_status ms_space_complete_schedules(ms_space *space, ms_vector *axes, ms_diag *diag);

/* Add the default space: sizes of the mesh's axes, orders, and keys, where the user gives none.
 *  axes: of space_axis, gets the keys.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_space_add_defaults(ms_space *space, ms_vector *axes, ms_diag *diag);

/* Find the clusters and lay out the shapes.  Returns as ms_space_open. */
ms_status ms_space_make_clusters(ms_space *space, ms_diag *diag);
ms_status ms_space_make_shapes(ms_space *space, ms_diag *diag);

/* Whether a word is among others. */
bool ms_space_has_word(const ms_words *words, const char *word);

/* An order with all axes, which begins with the given ones; lack of memory shows in the space's
 * arena. */
ms_words ms_space_complete_order(const ms_space *space, const ms_words *given);

/* The axes of a shape that stand in its mesh. */
void ms_space_mesh_of(const ms_space *space, const space_shape *shape, ms_spec_mesh *mesh_out);

#endif
