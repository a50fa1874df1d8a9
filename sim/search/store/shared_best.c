/* The exchange of best results between the shards of a search. Each shard writes its best values to
 * a small file of the study's folder and reads the files of the others. With more values known, a
 * shard can prune more candidates; a missing or old file costs time but changes no result. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/usage.h"
#include "search/shards.h"

/* The first line of a file is this word and the digest of the search; other lines are values. */
#define MARK "meshsim-best "

enum { PATH_B = 4096, LINE_B = 128 }; /* longest path and line of a file */

/* The other shards' files are read again after PAUSE_S at the earliest, and after PAUSE_TO_READING
 * times the time that reading took, so that reading takes at most about 1/20 of the time on a slow
 * file system. */
static const double PAUSE_S = 0.2;
static const double PAUSE_TO_READING = 20.0;

ms_status ms_shared_best_open(const char *folder, const ms_study_shard *shard, const void *study,
                              size_t length, size_t top, ms_arena *arena,
                              ms_shared_best *best_out) {
    *best_out = (ms_shared_best){.folder = folder,
                                 .shard = *shard,
                                 .top = top,
                                 .heard = MS_NEW(arena, double, top),
                                 .next_s = -INFINITY};
    ms_sha256_hex(study, length, best_out->study);
    return best_out->heard == NULL ? MS_E_NOMEM : MS_OK;
}

/* Write the path of this shard's own file, with an ending. Returns false if the path is too
 * long. */
static bool name_file(const ms_shared_best *best, const char *ending, char path[PATH_B]) {
    int length = snprintf(path, PATH_B, "%s/best-%d-of-%d.%s", best->folder, best->shard.index,
                          best->shard.count, ending);
    return length > 0 && length < PATH_B;
}

/* The file is written under another name and renamed when it is complete, so that no shard reads
 * half a number. */
void ms_shared_best_tell(const ms_shared_best *best, const ms_search_score *scores, size_t count) {
    char whole[PATH_B];
    char part[PATH_B];
    FILE *file = name_file(best, "txt", whole) && name_file(best, "txt.part", part)
                     ? fopen(part, "we")
                     : NULL;
    if (file == NULL) {
        return;
    }
    fprintf(file, MARK "%s\n", best->study);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%.17g\n", scores[i].of[0]);
    }
    bool is_written = fclose(file) == 0;
    if (!is_written || rename(part, whole) != 0) {
        remove(part);
    }
}

/* Insert a value of another shard into best->heard, sorted, if it is among the `top` lowest and not
 * there yet. */
static void insert_value(ms_shared_best *best, double value) {
    size_t at = best->heard_count;
    bool is_known = at == best->top && value >= best->heard[at - 1];
    for (size_t i = 0; i < at && !is_known; i++) {
        is_known =
            ms_search_is_equal(&(ms_search_score){{value}}, &(ms_search_score){{best->heard[i]}});
    }
    if (is_known) {
        return;
    }
    at = at < best->top ? best->heard_count++ : at - 1;
    for (; at > 0 && best->heard[at - 1] > value; at--) {
        best->heard[at] = best->heard[at - 1];
    }
    best->heard[at] = value;
}

/* Read the values of another shard's file. A file that cannot be read, or is of another search, is
 * ignored; so is a line that is no number. name: in the folder. */
static void read_other_file(ms_shared_best *best, const char *name) {
    char path[PATH_B];
    char line[LINE_B];
    char *end = NULL;
    int length = snprintf(path, sizeof path, "%s/%s", best->folder, name);
    FILE *file = length > 0 && length < PATH_B ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return;
    }
    bool is_ours = fgets(line, sizeof line, file) != NULL &&
                   strncmp(line, MARK, sizeof MARK - 1) == 0 &&
                   strncmp(line + sizeof MARK - 1, best->study, sizeof best->study - 1) == 0;
    while (is_ours && fgets(line, sizeof line, file) != NULL) {
        double value = strtod(line, &end);
        if (end > line && *end == '\n' && isfinite(value)) {
            insert_value(best, value);
        }
    }
    fclose(file);
}

/* Read the files of all other shards anew, unless the pause since the last reading is not over
 * (best->next_s). */
static void read_other_files(ms_shared_best *best) {
    double start_s = ms_wall_s();
    if (start_s < best->next_s) {
        return;
    }
    DIR *files = opendir(best->folder);
    best->heard_count = 0;
    for (struct dirent *file = files == NULL ? NULL : readdir(files); file != NULL;
         file = readdir(files)) {
        int index = -1;
        int count = 0;
        int length = 0;
        bool is_named =
            sscanf(file->d_name, "best-%9d-of-%9d.txt%n", &index, &count, &length) == 2 &&
            length > 0 && file->d_name[length] == '\0';
        if (is_named && count == best->shard.count && index != best->shard.index) {
            read_other_file(best, file->d_name);
        }
    }
    if (files != NULL) {
        closedir(files);
    }
    double end_s = ms_wall_s();
    best->next_s = end_s + fmax(PAUSE_S, PAUSE_TO_READING * (end_s - start_s));
}

/* The `top`-th lowest of two sorted lists, the scores of this shard and the values of the others. A
 * value that both lists have (ms_search_is_equal) counts once, as it may be that of one job in two
 * orders of its axes. */
double ms_shared_best_limit(ms_shared_best *best, const ms_search_score *scores, size_t count) {
    read_other_files(best);
    size_t own = 0;
    size_t other = 0;
    double limit = INFINITY;
    for (size_t i = 0; i < best->top; i++) { /* merges two rising lists up to the top-th value */
        double first = own < count ? scores[own].of[0] : INFINITY;
        double second = other < best->heard_count ? best->heard[other] : INFINITY;
        limit = fmin(first, second);
        const ms_search_score least = {{limit}};
        own += ms_search_is_equal(&(ms_search_score){{first}}, &least);
        other += ms_search_is_equal(&(ms_search_score){{second}}, &least);
    }
    return limit;
}
