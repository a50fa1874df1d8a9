/* Slurm's lists of hosts: names with commas, of which a part in brackets stands for several. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/buffer.h"
#include "meshsim/slurm.h"

enum { DIGITS_MAX = 9, NAME_MAX_B = 255 };

/* A list while it is read. */
typedef struct host_reader {
    const char *list; /* all of it, for messages */
    const ms_mark *place;
    ms_arena *arena;
    ms_diag *diag;
    ms_vector done;   /* const char *: hosts */
    ms_vector so_far; /* const char *: beginnings of the hosts of one item */
} host_reader;

static ms_status refuse(const host_reader *r, const char *why) {
    ms_diag_at(r->diag, r->place, NULL, "'%.80s' is no list of hosts: %s", r->list, why);
    return MS_E_INPUT;
}

/* Let each beginning go on with each of `count` endings. */
static ms_status extend(host_reader *r, const char *const *endings, size_t count) {
    ms_vector longer;
    ms_vector_init(&longer, sizeof(const char *));
    size_t before = r->so_far.count;
    if (before * count + r->done.count > MS_SLURM_NODES_MAX) {
        return refuse(r, "it names too many");
    }
    for (size_t i = 0; i < before; i++) {
        const char *beginning = MS_AT(&r->so_far, const char *, i);
        for (size_t e = 0; e < count; e++) {
            const char *name = ms_arena_printf(r->arena, "%s%s", beginning, endings[e]);
            if (name != NULL && strlen(name) > NAME_MAX_B) {
                ms_vector_release(&longer);
                return refuse(r, "a name is longer than 255 letters");
            }
            ms_vector_add(&longer, &name, 1);
        }
    }
    ms_vector_release(&r->so_far);
    r->so_far = longer;
    return longer.failed || r->arena->has_failed ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* "001-064" or "070", up to a comma or the bracket. */
static ms_status read_range(host_reader *r, const char **at, ms_vector *endings) {
    char digits[2][DIGITS_MAX + 1];
    long bounds[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        size_t length = strspn(*at, "0123456789");
        if (length == 0 || length > DIGITS_MAX) {
            return refuse(r, "expected a number of 9 digits at most in brackets");
        }
        memcpy(digits[i], *at, length);
        digits[i][length] = '\0';
        sscanf(digits[i], "%ld", &bounds[i]);
        *at += length;
        if (i == 0 && **at != '-') {
            bounds[1] = bounds[0];
            break;
        }
        *at += i == 0;
    }
    if (bounds[1] < bounds[0] || bounds[1] - bounds[0] >= MS_SLURM_NODES_MAX) {
        return refuse(r, bounds[1] < bounds[0] ? "a range ends before it begins"
                                               : "it names too many");
    }
    for (long n = bounds[0]; n <= bounds[1]; n++) {
        const char *text = ms_arena_printf(r->arena, "%0*ld", (int)strlen(digits[0]), n);
        ms_vector_add(endings, &text, 1);
    }
    return endings->count > MS_SLURM_NODES_MAX ? refuse(r, "it names too many") : MS_OK;
}

/* "[001-064,070]", behind its bracket. */
static ms_status read_ranges(host_reader *r, const char **at) {
    ms_vector endings;
    ms_vector_init(&endings, sizeof(const char *));
    ms_status status = read_range(r, at, &endings);
    while (status == MS_OK && **at == ',') {
        ++*at;
        status = read_range(r, at, &endings);
    }
    if (status == MS_OK && **at != ']') {
        status = refuse(r, "a bracket is not closed, or holds what is no range");
    }
    *at += status == MS_OK;
    if (status == MS_OK) {
        status = endings.failed || r->arena->has_failed ? ms_diag_no_memory(r->diag)
                                                        : extend(r, endings.data, endings.count);
    }
    ms_vector_release(&endings);
    return status;
}

static ms_status read_letters(host_reader *r, const char **at) {
    size_t length = strcspn(*at, "[],");
    for (size_t i = 0; i < length; i++) {
        if (!isgraph((unsigned char)(*at)[i])) {
            return refuse(r, "a name has a letter that none can have");
        }
    }
    const char *part = ms_arena_strndup(r->arena, *at, length);
    *at += length;
    return part == NULL ? ms_diag_no_memory(r->diag) : extend(r, &part, 1);
}

/* Hosts up to a comma outside of brackets. */
static ms_status read_item(host_reader *r, const char **at) {
    const char *empty = "";
    ms_vector_init(&r->so_far, sizeof(const char *));
    ms_vector_add(&r->so_far, &empty, 1);
    ms_status status = r->so_far.failed              ? ms_diag_no_memory(r->diag)
                       : **at == ',' || **at == '\0' ? refuse(r, "a name is missing")
                                                     : MS_OK;
    while (status == MS_OK && **at != ',' && **at != '\0') {
        if (**at == ']') {
            status = refuse(r, "a bracket closes that none opens");
        } else if (**at == '[') {
            ++*at;
            status = read_ranges(r, at);
        } else {
            status = read_letters(r, at);
        }
    }
    if (status == MS_OK) {
        ms_vector_add(&r->done, r->so_far.data, r->so_far.count);
        status = r->done.failed ? ms_diag_no_memory(r->diag) : MS_OK;
    }
    ms_vector_release(&r->so_far);
    return status;
}

ms_status ms_slurm_hosts(const char *list, const ms_mark *place, ms_arena *arena, ms_diag *diag,
                         ms_words *hosts_out) {
    host_reader r = {.list = list, .place = place, .arena = arena, .diag = diag};
    ms_vector_init(&r.done, sizeof(const char *));
    const char *at = list;
    ms_status status = read_item(&r, &at);
    while (status == MS_OK && *at == ',') {
        at++;
        status = read_item(&r, &at);
    }
    if (status == MS_OK) {
        hosts_out->count = r.done.count;
        hosts_out->items = MS_NEW(arena, const char *, r.done.count);
        status = hosts_out->items == NULL ? ms_diag_no_memory(diag) : MS_OK;
    }
    if (status == MS_OK) {
        memcpy(hosts_out->items, r.done.data, r.done.count * sizeof *hosts_out->items);
    }
    ms_vector_release(&r.done);
    return status;
}
