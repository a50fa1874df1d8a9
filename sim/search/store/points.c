/* Runs the points of a study (points.h): simulates many jobs, several at once, leaves out jobs that
 * a store has already, and puts every new result into the store. A point is one job, made of its
 * index in the study; points that are the same job have the same key and are simulated once. */
#include "search/points.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/memo.h"

/* The state of a study, `r` in this file. A point is made twice, once for its key and once for its
 * simulation, so that thousands of specs with their platforms need not be held at once. */
typedef struct points_run {
    const ms_points_study *study;
    ms_arena *arena;
    ms_diag *diag;
    ms_arena scratch; /* of `point` */
    ms_point point;   /* made last */
    ms_store_row *rows;
    size_t *leader; /* [count] first point with the same key, perhaps the point itself */
    size_t next;    /* points below it are handed to a worker, or need no simulation */
    size_t ended;   /* points that the study's progress counts; the store has them */
    size_t untold;  /* points that have ended, but that the store has not written: not in `ended` */
    ms_status status; /* first failure of `next_job`, which returns no status */
    ms_points_counts *counts;
} points_run;

/* ---- workloads ---- */

/* The settings follow the request's own overrides, so they have precedence. */
ms_status ms_point_read(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                        ms_diag *diag, ms_job_spec *spec_out) {
    ms_job_request all = *request;
    const char **sets = MS_NEW(arena, const char *, request->set_count + settings->count);
    if (sets == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (size_t i = 0; i < request->set_count; i++) {
        sets[i] = request->sets[i];
    }
    for (size_t i = 0; i < settings->count; i++) {
        sets[all.set_count++] = settings->items[i];
    }
    all.sets = sets;
    return ms_job_spec_read(&all, arena, diag, spec_out);
}

/* Diagnostics print nothing and keep the first fault. A failure of the system replaces the status,
 * so that it does not pass for a fault. */
ms_status ms_point_try(const ms_job_request *request, const ms_words *settings, ms_arena *arena,
                       ms_job_spec *spec_out, ms_point_refusal *refusal_out) {
    ms_buffer reason;
    ms_diag mute;
    ms_buffer_init(&reason);
    ms_diag_init_mute(&mute);
    mute.reason = &reason;
    size_t failures = ms_failure_count();
    ms_status status = ms_point_read(request, settings, arena, &mute, spec_out);
    *refusal_out = (ms_point_refusal){ms_buffer_keep(&reason, arena), mute.key_faults > 0};
    return refusal_out->reason == NULL ? MS_E_NOMEM : ms_failure_since(failures, status);
}

/* ---- settings ---- */

/* Whether a text is a number as JSON writes it: RFC 8259 allows no "+1", ".5", "5." or "007". */
static bool is_json_number(const char *text) {
    const char *at = text + (*text == '-');
    if (!isdigit((unsigned char)*at) || (*at == '0' && isdigit((unsigned char)at[1]))) {
        return false;
    }
    at += strspn(at, "0123456789");
    if (*at == '.') {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits == 0) {
            return false;
        }
        at += 1 + digits;
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '-' || at[1] == '+' ? 2 : 1;
        size_t digits = strspn(at, "0123456789");
        if (digits == 0) {
            return false;
        }
        at += digits;
    }
    return *at == '\0';
}

const char *ms_point_setting(const char *key, const char *value, ms_arena *arena) {
    return ms_arena_printf(arena, "%s=%s", key, value);
}

/* Whole numbers of more than 15 digits are written as doubles, as readers of JSON hold them. */
void ms_point_add_value(ms_value *parent, const char *key, const char *value) {
    static const char *const WORDS[] = {"false", "true", "null"};
    enum { WHOLE_DIGITS_MAX = 15 }; /* up to which a double holds every whole number exactly */
    for (int word = 0; word < 2; word++) {
        if (strcmp(value, WORDS[word]) == 0) {
            ms_value_add_bool(parent, key, word == 1);
            return;
        }
    }
    if (strcmp(value, WORDS[2]) == 0) {
        ms_value_add(parent, key, MS_VALUE_NULL);
    } else if (!is_json_number(value)) {
        ms_value_add_string(parent, key, value);
    } else if (strpbrk(value, ".eE") == NULL && strlen(value) <= WHOLE_DIGITS_MAX) {
        ms_value_add_int(parent, key, strtoll(value, NULL, 10));
    } else {
        ms_value_add_double(parent, key, strtod(value, NULL));
    }
}

void ms_point_add_settings(const ms_words *settings, ms_value *object) {
    for (size_t i = 0; i < settings->count; i++) {
        const char *setting = settings->items[i];
        size_t length = strcspn(setting, "=");
        const char *key = object == NULL ? NULL : ms_arena_strndup(object->arena, setting, length);
        if (key != NULL) {
            ms_point_add_value(object, key, setting + length + (setting[length] == '='));
        }
    }
}

void ms_point_write_settings(const ms_words *settings, ms_buffer *out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_value *object = ms_value_new_object(&scratch);
    ms_point_add_settings(settings, object);
    if (object != NULL) {
        ms_value_write_json(object, 0, out);
    }
    out->failed = out->failed || scratch.has_failed;
    ms_arena_release(&scratch);
}

/* ---- rows ---- */

void ms_point_fill_row(const ms_worker_outcome *outcome, const char *program, ms_store_row *row) {
    row->program = program;
    row->figures = outcome->figures;
    row->reason = outcome->reason;
    row->status = outcome->status == MS_OK        ? MS_POINT_SIMULATED
                  : outcome->status == MS_E_INPUT ? MS_POINT_REFUSED
                                                  : MS_POINT_FAILED;
}

/* Fill in the settings, workload, platform and GPUs of a row from the point made last (r->point).
 * Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status describe_row(points_run *r, ms_store_row *row) {
    const ms_job_spec *spec = &r->point.spec;
    ms_buffer settings;
    ms_buffer_init(&settings);
    ms_point_write_settings(&r->point.settings, &settings);
    row->settings = ms_buffer_keep(&settings, r->arena);
    row->workload = ms_arena_strdup(r->arena, spec->name == NULL ? "" : spec->name);
    row->platform = ms_arena_strdup(r->arena, spec->platform.cluster->name);
    row->gpus = ms_spec_ranks(spec);
    bool has_all = row->settings != NULL && row->workload != NULL && row->platform != NULL;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* Give a row the status "refused" and its reason. reason: "": the name of the status MS_E_INPUT.
 * Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status refuse_row(points_run *r, ms_store_row *row, const ms_buffer *reason) {
    row->status = MS_POINT_REFUSED;
    row->reason = ms_arena_strdup(r->arena, reason->length > 0 ? ms_buffer_text(reason)
                                                               : ms_status_name(MS_E_INPUT));
    return row->reason == NULL ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* Make a point and fill in its row with what is known before the simulation: its description and
 * its key, or the reason why there is no such job. Returns MS_OK, also for a refused point; a
 * failure (reported) ends the study. */
static ms_status make_row(points_run *r, size_t index) {
    ms_store_row *row = &r->rows[index];
    ms_diag mute;
    ms_buffer reason;
    ms_buffer_init(&reason);
    ms_diag_init_mute(&mute);
    mute.reason = &reason;
    ms_arena_clear(&r->scratch);
    const ms_points_study *study = r->study;
    size_t failures = ms_failure_count();
    ms_status status = study->make(study->make_context, index, &r->scratch, &mute, &r->point);
    status = status == MS_OK ? describe_row(r, row) : status;
    status =
        status == MS_OK ? ms_store_key(&r->point.spec, study->program, &mute, row->key) : status;
    status = ms_failure_since(failures, status);
    if (status == MS_E_INPUT) {
        status = refuse_row(r, row, &reason);
    } else if (status == MS_E_NOMEM) {
        ms_diag_no_memory(r->diag);
    } else if (status != MS_OK && mute.errors > 0) {
        ms_diag_error(r->diag, "%s", ms_buffer_text(&reason)); /* `mute` did not print it */
    }
    ms_buffer_release(&reason);
    return status;
}

/* ---- points that are the same job ---- */

/* Find the leader of each point: the first point with the same key, which alone is simulated. A
 * point without a key (a refused one) leads itself. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status find_leaders(points_run *r) {
    ms_memo firsts;
    ms_status status = MS_OK;
    ms_memo_init(&firsts, sizeof r->rows->key, sizeof(size_t));
    for (size_t i = 0; i < r->study->count && status == MS_OK; i++) {
        int number = 0;
        bool is_new = true;
        r->leader[i] = i;
        if (r->rows[i].key[0] != '\0') {
            status = ms_memo_find_or_add(&firsts, r->rows[i].key, &number, &is_new);
        }
        if (status == MS_OK && r->rows[i].key[0] != '\0') {
            size_t *first = MS_MEMO_VALUE(&firsts, size_t, number);
            *first = is_new ? i : *first;
            r->leader[i] = *first;
        }
    }
    ms_memo_release(&firsts);
    return status == MS_OK ? MS_OK : ms_diag_no_memory(r->diag);
}

/* Copy the result of another row of the same job, a stored row or the leader's; the row keeps its
 * own names and settings. */
static void copy_result(const ms_store_row *found, ms_store_row *row) {
    row->program = found->program;
    row->status = found->status;
    row->reason = found->reason;
    row->figures = found->figures;
}

/* ---- the feed ---- */

/* Count one more ended point and report the progress of the study. */
static void count_ended(points_run *r) {
    const ms_points_study *study = r->study;
    r->ended++;
    if (study->progress != NULL) {
        study->progress(study->progress_context, r->ended, study->count);
    }
}

/* Whether a point needs no simulation: it is refused, another point leads it, or the store has its
 * row, which is copied. The store is searched just before the simulation would start, because
 * another process may have put the row there meanwhile. Also true after a failure (r->status). */
static bool needs_no_simulation(points_run *r, size_t index) {
    ms_store_row *row = &r->rows[index], found;
    bool is_found = false;
    if (row->status != NULL || r->leader[index] != index) {
        return true;
    }
    if (r->study->store != NULL) {
        r->status = ms_store_find(r->study->store, row->key, r->arena, &found, &is_found);
    }
    if (r->status == MS_OK && is_found) {
        copy_result(&found, row);
        r->counts->stored += found.reason == NULL;
    }
    return is_found || r->status != MS_OK;
}

/* `next` of ms_worker_feed: the spec of the next point to simulate; points that need no simulation
 * count as ended. *ticket_out: index of the point. Returns NULL at the end of the points or after a
 * failure (r->status). */
static const ms_job_spec *next_job(void *context, size_t *ticket_out) {
    points_run *r = context;
    const ms_points_study *study = r->study;
    while (r->status == MS_OK && r->next < study->count) {
        size_t index = r->next++;
        if (needs_no_simulation(r, index)) {
            count_ended(r);
            continue;
        }
        ms_arena_clear(&r->scratch);
        r->status = study->make(study->make_context, index, &r->scratch, r->diag, &r->point);
        *ticket_out = index;
        return r->status == MS_OK ? &r->point.spec : NULL;
    }
    return NULL;
}

void ms_point_report_failure(ms_status status, const char *reason, ms_diag *diag) {
    if (status == MS_E_NOMEM || status == MS_E_IO) {
        ms_diag_error(diag, "%s", reason);
    }
}

/* `done` of ms_worker_feed: fill in the row of a simulated point, count it, and hand the row to the
 * store, unless the simulation failed. ticket: index of the point. */
static ms_status end_job(void *context, size_t ticket, const ms_worker_outcome *outcome) {
    points_run *r = context;
    ms_store_row *row = &r->rows[ticket];
    if (outcome->status == MS_E_INTERRUPTED) {
        return MS_E_INTERRUPTED; /* the job itself has no outcome */
    }
    ms_point_fill_row(outcome, r->study->program, row);
    bool is_failed = outcome->status != MS_OK && outcome->status != MS_E_INPUT;
    r->counts->simulated += outcome->status == MS_OK;
    r->counts->failed += is_failed;
    if (is_failed && r->counts->failure == MS_OK) {
        r->counts->failure = outcome->status;
        ms_point_report_failure(outcome->status, outcome->reason, r->diag);
    }
    ms_status status = r->status;
    if (status == MS_OK && r->study->store != NULL && !is_failed) {
        status = ms_store_queue(r->study->store, row);
    }
    r->untold++;
    return status;
}

/* `settle` of ms_worker_feed: write the rows that the store holds to the disk, and then count their
 * points as ended. Rows that should wait for more rows are not written, unless this is the last
 * call (wait_s_out NULL). *wait_s_out: how long they should wait [s]. */
static ms_status write_held_rows(void *context, double *wait_s_out) {
    points_run *r = context;
    if (!ms_store_is_due(r->study->store, wait_s_out)) {
        return MS_OK;
    }
    ms_status status = ms_store_flush(r->study->store);
    for (; r->untold > 0; r->untold--) {
        if (status == MS_OK) {
            count_ended(r);
        }
    }
    return status;
}

/* Simulate all points that need a simulation. Returns as ms_workers_stream, or the first failure of
 * next_job. */
static ms_status simulate(points_run *r) {
    const ms_worker_feed feed = {
        .next = next_job, .done = end_job, .settle = write_held_rows, .context = r};
    const ms_workers_options options = {.jobs = r->study->jobs};
    ms_status status = ms_workers_stream(&feed, &options, r->arena, r->diag);
    return status == MS_OK ? r->status : status;
}

/* Give the points that another point leads the result of their leader, and count stored and refused
 * points. */
static void complete_rows(points_run *r) {
    for (size_t i = 0; i < r->study->count; i++) {
        if (r->leader[i] != i) {
            copy_result(&r->rows[r->leader[i]], &r->rows[i]);
            r->counts->stored += r->rows[i].reason == NULL;
        }
        r->counts->refused += strcmp(r->rows[i].status, MS_POINT_REFUSED) == 0;
    }
}

/* Make all rows first, which gives the key of each point, then find points that are the same job,
 * and simulate the rest. A point is made once for its key and once for its simulation, so that only
 * one spec is in memory. */
ms_status ms_points_run(const ms_points_study *study, ms_arena *arena, ms_diag *diag,
                        ms_store_row *rows_out, ms_points_counts *counts_out) {
    points_run r = {.study = study,
                    .arena = arena,
                    .diag = diag,
                    .rows = rows_out,
                    .leader = MS_NEW(arena, size_t, study->count),
                    .counts = counts_out};
    *counts_out = (ms_points_counts){0};
    memset(rows_out, 0, study->count * sizeof *rows_out);
    if (r.leader == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_arena_init(&r.scratch);
    ms_status status = MS_OK;
    for (size_t i = 0; i < study->count && status == MS_OK; i++) {
        status = make_row(&r, i);
    }
    status = status == MS_OK ? find_leaders(&r) : status;
    status = status == MS_OK ? simulate(&r) : status;
    if (status == MS_OK) {
        complete_rows(&r);
    }
    ms_arena_release(&r.scratch);
    return status;
}

ms_status ms_points_verdict(const ms_store_row *rows, size_t count,
                            const ms_points_counts *counts) {
    bool fits_any = false;
    for (size_t i = 0; i < count; i++) {
        fits_any = fits_any || (rows[i].reason == NULL && rows[i].figures.fits);
    }
    ms_status verdict = fits_any ? MS_OK : MS_E_NO;
    return counts->failure != MS_OK ? counts->failure : verdict;
}
