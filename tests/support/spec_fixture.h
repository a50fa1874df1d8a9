/* Specs for tests: a shipped workload or a text, with overrides. */
#ifndef MS_SPEC_FIXTURE_H
#define MS_SPEC_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/spec.h"

typedef struct spec_fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer messages; /* all diagnostics so far */
} spec_fixture;

static inline void spec_fixture_keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void spec_fixture_init(spec_fixture *f) {
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->messages);
    ms_diag_init(&f->diag, spec_fixture_keep, &f->messages);
}

static inline void spec_fixture_release(spec_fixture *f) {
    ms_buffer_release(&f->messages);
    ms_arena_release(&f->arena);
}

/* Set the size of an axis of a spec's mesh; returns MS_E_RANGE if the mesh has no such axis. */
static inline ms_status spec_set_axis(ms_job_spec *spec, const char *name, int size) {
    int axis = ms_spec_axis(&spec->mesh, name);
    if (axis < 0) {
        return MS_E_RANGE;
    }
    spec->mesh.sizes[axis] = size;
    return MS_OK;
}

/* Read the workload at a path, which must be sound. */
static inline ms_job_spec spec_fixture_read_path(spec_fixture *f, const char *path,
                                                 const char *const *sets, size_t set_count) {
    ms_job_request request = {
        .workload = path, .data_folder = MS_SOURCE_DIR, .sets = sets, .set_count = set_count};
    ms_job_spec spec;
    cr_assert_eq(ms_job_spec_read(&request, &f->arena, &f->diag, &spec), MS_OK, "%s: %s", path,
                 ms_buffer_text(&f->messages));
    return spec;
}

/* Read workloads/NAME.yaml. */
static inline ms_job_spec spec_fixture_read(spec_fixture *f, const char *name,
                                            const char *const *sets, size_t set_count) {
    const char *path = ms_arena_printf(&f->arena, "%s/workloads/%s.yaml", MS_SOURCE_DIR, name);
    return spec_fixture_read_path(f, path, sets, set_count);
}

/* Read a text through a file of its own; the file is gone afterwards. */
static inline ms_job_spec spec_fixture_read_text(spec_fixture *f, const char *text) {
    char path[] = "/tmp/meshsim-spec-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    ms_job_spec spec = spec_fixture_read_path(f, ms_arena_strdup(&f->arena, path), NULL, 0);
    unlink(path);
    return spec;
}

/* Lay a spec out, which must be sound and whose partition must not be balanced, and find what its
 * passes cost. */
static inline ms_job spec_fixture_lay_out(spec_fixture *f, ms_job_spec spec) {
    ms_job job;
    const ms_model_layout *layout = &job.layout;
    cr_assert_eq(ms_job_lay_out(&spec, &f->arena, &f->diag, &job), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    const ms_given_sizes sizes = {layout->pp, layout->chunks, layout->slices};
    ms_status status =
        spec.has_model
            ? ms_model_costs(&spec.model, layout, &job.precision, &spec.platform.cluster->gpu,
                             &f->arena, &f->diag, &job.costs)
            : ms_costs_build(&spec.costs, &sizes, &f->arena, &f->diag, &job.costs);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f->messages));
    return job;
}

#endif
