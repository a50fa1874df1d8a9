/* Shards of a study (shards.h): which points a shard has, its file and its lock, and the merging of
 * all complete shards into one store. A shard is one of N processes, perhaps on different machines,
 * that share a study. */
#include "search/shards.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/text.h"
#include "base/usage.h"

/* Ending of a shard's file, and what follows it while the shard is not complete. */
#define DB   ".db"
#define PART ".part"

/* ---- which points ---- */

ms_status ms_shard_read(const char *text, ms_diag *diag, ms_study_shard *shard_out) {
    int index = -1;
    int count = 0;
    int length = 0;
    bool is_read = strspn(text, "0123456789/") == strlen(text) &&
                   sscanf(text, "%9d/%9d%n", &index, &count, &length) == 2 && text[length] == '\0';
    if (!is_read || index >= count || count > MS_SHARDS_MAX) {
        return ms_diag_usage(diag, "expected a shard as I/N with 0 <= I < N <= %d, got '%s'",
                             MS_SHARDS_MAX, text);
    }
    *shard_out = (ms_study_shard){index, count};
    return MS_OK;
}

/* The points index, index + count, index + 2 count, ... below `points`. */
size_t ms_shard_size(const ms_study_shard *shard, size_t points) {
    size_t first = (size_t)shard->index;
    return points <= first ? 0 : (points - first - 1) / (size_t)shard->count + 1;
}

size_t ms_shard_point(const ms_study_shard *shard, size_t index) {
    return (size_t)shard->index + index * (size_t)shard->count;
}

/* ---- the file of a shard ---- */

/* Path of a shard's file: FOLDER/shard-I-of-N and an ending. The path is in `arena`; NULL when
 * memory runs out. */
static const char *path_of(const char *folder, const ms_study_shard *shard, const char *ending,
                           ms_arena *arena) {
    return ms_arena_printf(arena, "%s/shard-%d-of-%d%s", folder, shard->index, shard->count,
                           ending);
}

/* Report a failed system call by its errno. doing: such as "lock". Returns MS_E_IO. */
static ms_status report_io_error(ms_diag *diag, const char *doing, const char *path) {
    ms_diag_error(diag, "cannot %s '%s': %s", doing, path, strerror(errno));
    return MS_E_IO;
}

/* Try once to lock the shard's lock file. Its last owner removes the file before unlocking it, so a
 * lock counts only if the locked file is still the one of that name (same inode). Locks of this
 * kind (fcntl) belong to the process; its children do not have them. Returns false with errno set;
 * errno 0 or ENOENT: the file was removed meanwhile. */
static bool try_lock(ms_shard_file *file) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat open_file;
    struct stat named_file;
    file->lock_file = open(file->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file->lock_file < 0) {
        return false;
    }
    bool is_ours = fcntl(file->lock_file, F_SETLK, &whole) == 0 &&
                   fstat(file->lock_file, &open_file) == 0 && stat(file->lock, &named_file) == 0 &&
                   open_file.st_ino == named_file.st_ino;
    if (!is_ours) {
        int error = errno;
        close(file->lock_file);
        file->lock_file = -1;
        errno = error;
    }
    return is_ours;
}

/* Lock a shard for this process; try again every 50 ms while another process has the lock (EACCES
 * or EAGAIN) or has just removed the lock file (ENOENT or 0, see try_lock). wait_s: longest wait
 * [s]. Returns MS_OK; MS_E_IO (reported). */
static ms_status acquire_lock(ms_shard_file *file, double wait_s, ms_diag *diag) {
    static const struct timespec PAUSE = {.tv_nsec = 50 * 1000 * 1000};
    double end_s = ms_wall_s() + wait_s;
    errno = 0;
    while (!try_lock(file)) {
        bool is_held = errno == EACCES || errno == EAGAIN || errno == ENOENT || errno == 0;
        if (!is_held) {
            return report_io_error(diag, "lock", file->lock);
        }
        if (ms_wall_s() >= end_s) {
            ms_diag_error(diag, "another process works on '%s'", file->part);
            return MS_E_IO;
        }
        nanosleep(&PAUSE, NULL);
        errno = 0;
    }
    return MS_OK;
}

/* Set the paths of a shard's files, in `arena`. Returns false when memory ran out. */
static bool name_files(const char *folder, const ms_study_shard *shard, ms_arena *arena,
                       ms_shard_file *file) {
    *file = (ms_shard_file){.folder = ms_arena_strdup(arena, folder),
                            .part = path_of(folder, shard, DB PART, arena),
                            .whole = path_of(folder, shard, DB, arena),
                            .lock = path_of(folder, shard, ".lock", arena),
                            .lock_file = -1};
    return file->folder != NULL && file->part != NULL && file->whole != NULL && file->lock != NULL;
}

/* Rename the file of a complete shard to that of an incomplete one, because the study may have new
 * points. Usually there are none, and the shard gets its complete name back at once. A shard
 * without a file is new. Returns MS_OK; MS_E_IO (reported). */
static ms_status reopen_complete(const ms_shard_file *file, ms_diag *diag) {
    if (access(file->part, F_OK) == 0) {
        return MS_OK;
    }
    if (errno != ENOENT) { /* the file may exist, and a rename would overwrite it */
        return report_io_error(diag, "open", file->part);
    }
    bool is_named = rename(file->whole, file->part) == 0 || errno == ENOENT;
    return is_named ? MS_OK : report_io_error(diag, "open", file->whole);
}

/* The folder's permissions are tested by access, since a lock file cannot be made in a read-only
 * folder. */
ms_status ms_shard_open(const char *folder, const ms_study_shard *shard, bool is_fresh,
                        double wait_s, ms_arena *arena, ms_diag *diag, ms_shard_file *file_out) {
    if (!name_files(folder, shard, arena, file_out)) {
        return ms_diag_no_memory(diag);
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return report_io_error(diag, "make the folder", folder);
    }
    const ms_store_options options = {.is_fresh = is_fresh};
    if (access(folder, W_OK) != 0 && (errno == EROFS || errno == EACCES)) {
        /* a complete shard can be read; no process can change it, so it needs no lock */
        return ms_store_open(file_out->whole, &options, arena, diag, &file_out->store);
    }
    ms_status status = acquire_lock(file_out, wait_s, diag);
    status = status == MS_OK ? reopen_complete(file_out, diag) : status;
    return status == MS_OK ? ms_store_open(file_out->part, &options, arena, diag, &file_out->store)
                           : status;
}

/* Make sure that a renamed file's new name is on the disk. Some file systems cannot sync a folder
 * (EINVAL), which is no failure. Returns MS_OK; MS_E_IO (reported). */
static ms_status sync_folder(const char *folder, ms_diag *diag) {
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_synced = file >= 0 && (fsync(file) == 0 || errno == EINVAL);
    ms_status status = is_synced ? MS_OK : report_io_error(diag, "write the folder", folder);
    if (file >= 0) {
        close(file);
    }
    return status;
}

/* The store is closed before its file is renamed, and the lock is released last. */
ms_status ms_shard_close(ms_shard_file *file, bool is_complete, ms_diag *diag) {
    ms_status status = MS_OK;
    ms_store_close(file->store);
    if (file->store != NULL && file->lock_file >= 0 && is_complete) {
        status = rename(file->part, file->whole) == 0 ? sync_folder(file->folder, diag)
                                                      : report_io_error(diag, "rename", file->part);
    }
    if (file->lock_file >= 0) {
        unlink(file->lock); /* before the lock ends: see try_lock */
        close(file->lock_file);
    }
    file->store = NULL;
    file->lock_file = -1;
    return status;
}

/* ---- merging ---- */

/* The key of a row, and the index of the shard that has the row. */
typedef struct found_key {
    char key[MS_SHA256_HEX];
    int shard;
} found_key;

/* The state of merging, `m` in this file. */
typedef struct merging {
    const char *folder; /* of the shards */
    ms_arena *arena;
    ms_diag *diag;
    ms_shards_report *report;
    bool *is_complete;  /* [report->count] */
    ms_store *study;    /* the merged store */
    int shard;          /* index of the shard that is read now */
    ms_vector keys;     /* of found_key */
    ms_vector programs; /* of const char *: versions of the program, each once */
} merging;

/* Read the shard and whether it is complete from the name of a file. Returns false if the name is
 * not that of a shard's file. */
static bool read_name(const char *name, ms_study_shard *shard, bool *is_complete) {
    int length = 0;
    if (sscanf(name, "shard-%9d-of-%9d.db%n", &shard->index, &shard->count, &length) != 2 ||
        length == 0 || shard->index < 0 || shard->index >= shard->count ||
        shard->count > MS_SHARDS_MAX) {
        return false;
    }
    *is_complete = name[length] == '\0';
    return *is_complete || strcmp(name + length, PART) == 0;
}

/* Record the shard of a file in the folder; files that are not a shard's are ignored. The number of
 * shards is taken from the first shard's file, and all others must have the same. name: of the
 * file. Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM (reported). */
static ms_status add_file(merging *m, const char *name) {
    ms_study_shard shard;
    bool is_complete = false;
    if (!read_name(name, &shard, &is_complete)) {
        return MS_OK;
    }
    if (m->report->count != 0 && m->report->count != shard.count) {
        return ms_diag_error(m->diag, "'%s' has shards of %d and of %d: remove those of one study",
                             m->folder, m->report->count, shard.count);
    }
    if (m->report->count == 0) {
        m->report->count = shard.count;
        m->is_complete = MS_NEW(m->arena, bool, shard.count);
    }
    if (m->is_complete == NULL) {
        return ms_diag_no_memory(m->diag);
    }
    m->is_complete[shard.index] = m->is_complete[shard.index] || is_complete;
    return MS_OK;
}

/* Find the shards of the folder: how many the study has, and which are complete. Returns MS_OK;
 * MS_E_INPUT (reported) for a folder that is missing or has no shards; MS_E_IO; MS_E_NOMEM (both
 * reported). */
static ms_status list_files(merging *m) {
    ms_vector names;
    ms_vector_init(&names, sizeof(const char *));
    int error = errno = ms_folder_list(m->folder, "", m->arena, &names);
    ms_status status = error == 0        ? MS_OK
                       : error == ENOMEM ? ms_diag_no_memory(m->diag)
                                         : report_io_error(m->diag, "read the folder", m->folder);
    status = error == ENOENT || error == ENOTDIR ? MS_E_INPUT : status;
    for (size_t i = 0; i < names.count && status == MS_OK; i++) {
        status = add_file(m, MS_AT(&names, const char *, i));
    }
    ms_vector_release(&names);
    if (status == MS_OK && m->report->count == 0) {
        status = ms_diag_error(m->diag, "'%s' has no shards: no file is called shard-I-of-N.db",
                               m->folder);
    }
    return status;
}

/* Add the version of the program that simulated a row to the list of versions, unless the list has
 * it. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status add_program(merging *m, const char *program) {
    ms_vector *known = &m->programs;
    if (ms_word_index(program, known->data, (int)known->count) >= 0) {
        return MS_OK;
    }
    const char *copy = ms_arena_strdup(m->arena, program);
    bool has_room = copy != NULL && ms_vector_add(known, &copy, 1) != NULL;
    return has_room ? MS_OK : ms_diag_no_memory(m->diag);
}

/* Visitor of ms_store_each: put a row of the shard m->shard into the merged store, and remember its
 * key and its program. */
static ms_status merge_row(void *context, const ms_store_row *row) {
    merging *m = context;
    found_key *found = ms_vector_add(&m->keys, NULL, 1);
    if (found == NULL) {
        return ms_diag_no_memory(m->diag);
    }
    memcpy(found->key, row->key, sizeof found->key);
    found->shard = m->shard;
    ms_status status = add_program(m, row->program == NULL ? "" : row->program);
    return status == MS_OK ? ms_store_put(m->study, row) : status;
}

/* Put all rows of a complete shard into the merged store. index: of the shard. Returns MS_OK; as
 * ms_store_open, ms_store_each and ms_store_put. */
static ms_status merge_shard(merging *m, int index) {
    const ms_study_shard shard = {index, m->report->count};
    const ms_store_options options = {.is_read_only = true};
    ms_arena scratch;
    ms_store *store = NULL;
    ms_arena_init(&scratch);
    const char *path = path_of(m->folder, &shard, DB, &scratch);
    m->shard = index;
    ms_status status = path == NULL ? ms_diag_no_memory(m->diag)
                                    : ms_store_open(path, &options, &scratch, m->diag, &store);
    status = status == MS_OK ? ms_store_each(store, &scratch, merge_row, m) : status;
    ms_store_close(store);
    ms_arena_release(&scratch);
    return status;
}

/* Order of two found keys for qsort: by key, then by shard. */
static int compare_keys(const void *a, const void *b) {
    const found_key *left = a;
    const found_key *right = b;
    int order = strcmp(left->key, right->key);
    return order != 0 ? order : (left->shard > right->shard) - (left->shard < right->shard);
}

/* List the jobs that several shards have simulated, with the first two of these shards. Sorts the
 * found keys, so that equal keys are neighbours. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status list_doubles(merging *m) {
    found_key *keys = m->keys.data;
    size_t count = m->keys.count;
    ms_shards_report *report = m->report;
    report->doubles = MS_NEW(m->arena, ms_shards_double, count);
    if (report->doubles == NULL) {
        return ms_diag_no_memory(m->diag);
    }
    if (count > 0) {
        qsort(keys, count, sizeof *keys, compare_keys);
    }
    for (size_t i = 1; i < count; i++) {
        /* the second of equal keys: a third one is no further double */
        bool is_second = strcmp(keys[i].key, keys[i - 1].key) == 0 &&
                         (i < 2 || strcmp(keys[i].key, keys[i - 2].key) != 0);
        if (is_second) {
            ms_shards_double *found = &report->doubles[report->double_count++];
            memcpy(found->key, keys[i].key, sizeof found->key);
            found->first = keys[i - 1].shard;
            found->second = keys[i].shard;
        }
    }
    return MS_OK;
}

/* List the shards that are not complete, ascending. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status list_missing(merging *m) {
    ms_shards_report *report = m->report;
    report->missing = MS_NEW(m->arena, int, report->count);
    if (report->missing == NULL) {
        return ms_diag_no_memory(m->diag);
    }
    for (int i = 0; i < report->count; i++) {
        if (!m->is_complete[i]) {
            report->missing[report->missing_count++] = i;
        }
    }
    return MS_OK;
}

/* Put the rows of all complete shards into the merged store, in one transaction: all or none. */
static ms_status merge_shards(merging *m) {
    ms_status status = ms_store_begin(m->study);
    for (int i = 0; i < m->report->count && status == MS_OK; i++) {
        status = m->is_complete[i] ? merge_shard(m, i) : MS_OK;
    }
    return status == MS_OK ? ms_store_commit(m->study) : status;
}

/* Find the shards of the folder, put their rows into the store of the whole study, and list
 * doubles, missing shards and programs. */
ms_status ms_shards_merge(const char *folder, ms_arena *arena, ms_diag *diag,
                          ms_shards_report *report_out) {
    merging m = {.folder = folder, .arena = arena, .diag = diag, .report = report_out};
    *report_out = (ms_shards_report){.store = ms_arena_printf(arena, "%s/study.db", folder)};
    ms_vector_init(&m.keys, sizeof(found_key));
    ms_vector_init(&m.programs, sizeof(const char *));
    const ms_store_options options = {.is_fresh = false};
    ms_status status = report_out->store == NULL ? ms_diag_no_memory(diag) : list_files(&m);
    status = status == MS_OK ? ms_store_open(report_out->store, &options, arena, diag, &m.study)
                             : status;
    status = status == MS_OK ? merge_shards(&m) : status;
    status = status == MS_OK ? ms_store_count(m.study, &report_out->rows) : status;
    status = status == MS_OK ? list_doubles(&m) : status;
    status = status == MS_OK ? list_missing(&m) : status;
    report_out->programs.count = m.programs.count;
    report_out->programs.items = ms_vector_keep(&m.programs, arena);
    status = status == MS_OK && arena->has_failed ? ms_diag_no_memory(diag) : status;
    ms_store_close(m.study);
    ms_vector_release(&m.keys);
    return status;
}
