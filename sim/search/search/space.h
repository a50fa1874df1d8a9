/* The inside of a space of jobs, for the files that make it. An axis (space_axis) is a key with its
 * values; an axis of the mesh is tp, cp, ep, pp or dp. */
#ifndef MS_STUDY_SEARCH_SPACE_H
#define MS_STUDY_SEARCH_SPACE_H

#include "base/buffer.h"
#include "search/space.h"

/* Axes of a mesh that every space knows, in the order in which their sizes are chosen. */
enum { KNOWN_TP, KNOWN_CP, KNOWN_EP, KNOWN_PP, KNOWN_DP, KNOWN_AXES };
/* Name of one of these axes ("tp"). */
const char *ms_known_axis(int axis);
extern const char *const MS_MESH_KEYS[KNOWN_AXES]; /* keys of their sizes ("mesh.tp") */

/* The axis whose size a key sets, KNOWN_TP and so on; -1 for a key that is none of MS_MESH_KEYS. */
int ms_mesh_key_axis(const char *key);

/* A setter: sets a key directly in a spec, so that the workload file need not be read again. */
typedef struct ms_setter {
    const char *key;
    size_t offset; /* where `set` is NULL: of the key's int in ms_job_spec [B] */
    bool (*set)(ms_job_spec *spec, const char *value); /* as ms_space_set */
} ms_setter;

/* A key with one value, as texts. */
typedef struct space_setting {
    const char *key, *value;
    const ms_setter *setter; /* NULL: the key is read with the workload file */
} space_setting;

/* What a job must have for a value to make a difference to it: nothing, several pipeline ranks,
 * several replicas. */
typedef enum space_need { NEEDS_NOTHING, NEEDS_PIPELINE, NEEDS_REPLICAS } space_need;

/* One value of an axis. It sets the axis' key, or several keys together. */
typedef struct space_value {
    const space_setting *settings; /* [count] */
    size_t count;
    space_need need;
} space_value;

/* An axis: a key with its values. */
typedef struct space_axis {
    const char *key;
    const space_value *values; /* [count] */
    size_t count;
    bool is_read;        /* some value has no setter and is read with the workload file */
    bool is_fit;         /* choices of the workload's framework depend on the value */
    const char *untried; /* as ms_space_untried; NULL: nothing */
} space_axis;

/* Sizes that an axis of the mesh may have. */
typedef struct space_sizes {
    const int *items; /* [count] rising */
    size_t count;
    bool is_any;   /* every divisor of the GPUs */
    bool is_given; /* the user has given the sizes */
} space_sizes;

/* A cluster: a platform with a number of GPUs. */
typedef struct space_cluster {
    const char *file; /* value of `platform.file`; NULL: the workload's platform */
    int nodes;        /* 0: as many as the workload has */
    int gpus;
    int domain;      /* GPUs of a scale-up domain (ms_platform_scale_up_domain) */
    size_t platform; /* index into the request's `platforms` */
} space_cluster;

/* A shape: a mesh on a cluster. */
typedef struct space_shape {
    int sizes[KNOWN_AXES]; /* of the mesh's axes */
    short cluster, order;  /* indices into the space's `clusters` and `orders` */
} space_shape;

/* A template: the workload, read once for all candidates that differ only in keys with a setter. */
typedef struct space_template {
    ms_job_spec spec;
    const char *reason; /* why it cannot be read; NULL: it was read */
} space_template;

/* A platform of some templates, in a list. */
typedef struct space_platform {
    const char *text; /* of the effective platform, by which equal platforms are found */
    const ms_platform *cluster;
    struct space_platform *next;
} space_platform;

struct ms_space {
    const ms_space_request *request;
    ms_arena *arena;
    ms_job_spec base;              /* the workload without any value of the space */
    const space_cluster *clusters; /* [cluster_count] */
    size_t cluster_count;
    space_sizes sizes[KNOWN_AXES]; /* that each axis of the mesh may have */
    const ms_words *orders;        /* [order_count] all axes, with `other`, outermost first */
    size_t order_count;
    const char *other;         /* the workload's axis with a name of the user's own; NULL: none */
    int other_size;            /* of that axis, in all candidates; 1: there is none */
    const space_shape *shapes; /* [shape_count] */
    size_t shape_count;
    space_axis *axes; /* [axis_count] digits of a candidate's number behind the shape */
    size_t axis_count;
    bool places_layers;         /* layers are partitioned anew where they do not fit the stages */
    bool is_at_pass_level;      /* candidates are simulated at granularity `pass` */
    int64_t count;              /* of candidates */
    const ms_node *key_node;    /* of the key that is being read; NULL: the command line */
    space_template **templates; /* indexed by find_template (candidate.c); NULL: not read yet */
    space_platform *platforms;  /* of all templates, each once */
};

/* Report a fault of a request.  node: place in a file; NULL: the command line.  path: of the key in
 * the file.  option: of the command line.  text: the fault.  Returns MS_E_INPUT. */
ms_status ms_space_fault(const ms_node *node, const char *path, const char *option,
                         const char *text, ms_diag *diag);

/* The node of a list's element, for messages; the list itself if it has no such element. list: NULL
 * gives NULL. */
const ms_node *ms_space_item_node(const ms_node *list, size_t index);

enum { SPACE_AXES_MAX = 64 };

/* The digits of a candidate's number. */
typedef struct space_digits {
    const space_shape *shape;
    const space_value *values[SPACE_AXES_MAX]; /* [axis_count] of each axis */
    size_t numbers[SPACE_AXES_MAX];            /* [axis_count] index of each value in its axis */
} space_digits;

/* Read a value of a key.  node: of the value; a mapping sets the keys below `key` together.
 * *value_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_space_read_value(const char *key, const ms_node *node, ms_arena *arena, ms_diag *diag,
                              space_value *value_out);

/* The setter of a key; NULL: it has none and is read with the workload file. */
const ms_setter *ms_space_setter(const char *key);

/* Set a key in a spec.  value: text of the value.  Returns false, with the spec unchanged, for a
 * value that must be read with the workload file. */
bool ms_space_set(const ms_setter *setter, const char *value, ms_job_spec *spec);

/* Whether some value of some axis sets a key, alone or with other keys.  axes: of space_axis.  key:
 * a key, or a setting "key=value". */
bool ms_space_is_varied(const ms_vector *axes, const char *key);

/* Replace each value that sets schedule.kind without schedule.v by one value per usual number of
 * virtual stages, unless schedule.v is an axis.  axes: of space_axis, as the user gives them.
 * Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_space_complete_schedules(ms_space *space, ms_vector *axes, ms_diag *diag);

/* Add the default space, except where the user has given values: sizes and orders of the mesh's
 * axes, and other keys. axes: of space_axis, gets the keys. Returns MS_OK; MS_E_NOMEM
 * (reported). */
ms_status ms_space_add_defaults(ms_space *space, ms_vector *axes, ms_diag *diag);

/* Find the clusters of a space.  Returns as ms_space_open. */
ms_status ms_space_make_clusters(ms_space *space, ms_diag *diag);
/* Make the shapes of a space, from its clusters, sizes and orders.  Returns MS_OK; MS_E_USAGE
 * (reported) if there are too many; MS_E_NOMEM (reported). */
ms_status ms_space_make_shapes(ms_space *space, ms_diag *diag);

/* The i-th of the request's own_sets as a setting, "key.path=value"; NULL: it is of another
 * platform than the one with this index. */
const char *ms_space_own_setting(const ms_space *space, size_t i, size_t platform);

/* Whether a list has a number. list: [count]. */
bool ms_space_has_number(const int *list, int count, int number);
/* Whether a word is among others. */
bool ms_space_has_word(const ms_words *words, const char *word);

/* An order of all axes of the mesh that begins with the given ones.  given: names, outermost first.
 * The names are in the space's arena, in which a lack of memory shows. */
ms_words ms_space_complete_order(const ms_space *space, const ms_words *given);

/* The mesh of a shape: its axes of more than one rank, and `other`, in their order; dp alone if
 * there is none. */
void ms_space_mesh_of(const ms_space *space, const space_shape *shape, ms_spec_mesh *mesh_out);

#endif
