/* Recognises the kind of an input file (input.h): each kind has a list of keys that files of no
 * other kind have, and a document is of the first kind of which it has two. */
#include "base/config/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEYS_MAX = 8, TEXT_SIZE = 512 };

/* A kind, and keys by which a document of the kind is recognised. */
typedef struct kind_row {
    ms_input_kind kind;
    const char *keys[KEYS_MAX];
} kind_row;

static const kind_row KINDS[] = {
    {MS_INPUT_RESULT, {"step_time_s", "estimate", "gpus_per_node", "makespan"}},
    {MS_INPUT_MEASURED, {"nccl_tests", "nccl_tuning", "busbw_definition", "deepep"}},
    {MS_INPUT_SWEEP, {"workload", "axes", "set", "picture"}},
    {MS_INPUT_SPACE, {"vary", "gpus", "platforms", "usual"}},
    {MS_INPUT_WORKLOAD, {"platform", "mesh", "model", "costs", "batch", "schedule", "precision"}},
    {MS_INPUT_PLATFORM, {"nodes", "node", "gpu", "tiers", "fabric", "pxn", "base", "library"}},
    {MS_INPUT_GPU, {"peak", "hbm", "hbm_bandwidth", "sms", "gemm_efficiency", "type"}},
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

/* How many of a kind's keys a document has. */
static int count_keys(const ms_node *root, const kind_row *row) {
    int count = 0;
    for (int i = 0; i < KEYS_MAX && row->keys[i] != NULL; i++) {
        count += ms_node_get(root, row->keys[i]) != NULL;
    }
    return count;
}

/* The kind of a document: the first row of KINDS of which it has two keys. One key of a result is
 * enough, because a result has keys of workloads as well; for this its row is the first. */
static ms_input_kind kind_of_root(const ms_node *root) {
    for (int i = 0; i < KIND_COUNT; i++) {
        if (count_keys(root, &KINDS[i]) >= (KINDS[i].kind == MS_INPUT_RESULT ? 1 : 2)) {
            return KINDS[i].kind;
        }
    }
    return MS_INPUT_UNKNOWN;
}

/* How many keys of a kind a document has; 0 for kinds without keys. */
static int count_keys_of(const ms_node *root, ms_input_kind kind) {
    for (int i = 0; i < KIND_COUNT; i++) {
        if (KINDS[i].kind == kind) {
            return count_keys(root, &KINDS[i]);
        }
    }
    return 0;
}

ms_status ms_input_expect(const ms_node *root, ms_input_kind wanted, const char *path,
                          ms_diag *diag) {
    ms_input_kind kind = kind_of_root(root);
    /* a document with keys of several kinds may be of the wanted one; its reader finds the
     * faults */
    bool is_mixed = kind != MS_INPUT_RESULT && count_keys_of(root, wanted) >= 2;
    if (kind == MS_INPUT_UNKNOWN || kind == wanted || is_mixed) {
        return MS_OK;
    }
    char text[TEXT_SIZE];
    const ms_mark mark = {.file = path};
    return ms_diag_at(diag, &mark, NULL, "expected %s, got %s", ms_input_noun(wanted),
                      ms_input_explain(kind, wanted, path, text, sizeof text));
}

/* The kind of a YAML file by its keys, without messages; MS_INPUT_UNKNOWN if it cannot be
 * parsed. */
static ms_input_kind kind_of_document(const char *path) {
    ms_arena arena;
    ms_diag silent;
    ms_node *root = NULL;
    ms_arena_init(&arena);
    ms_diag_init_mute(&silent);
    bool is_read = ms_yaml_load(path, &arena, &silent, &root) == MS_OK;
    ms_input_kind kind = is_read ? kind_of_root(root) : MS_INPUT_UNKNOWN;
    ms_arena_release(&arena);
    return kind;
}

/* Only regular files are opened: reading a pipe would take its contents from the command that needs
 * them. */
ms_input_kind ms_input_kind_of(const char *path) {
    struct stat facts;
    bool is_there = stat(path, &facts) == 0;
    if (!is_there) {
        ms_failure_note_file(path, errno);
    }
    if (!is_there || !S_ISREG(facts.st_mode)) {
        return MS_INPUT_UNKNOWN;
    }
    char start[16];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, start, sizeof start);
    if (length < 0) {
        ms_failure_note_file(path, errno);
    }
    if (file >= 0) {
        close(file);
    }
    return length > 0 && ms_input_is_hdf5(start, (size_t)length) ? MS_INPUT_TRACE
                                                                 : kind_of_document(path);
}
