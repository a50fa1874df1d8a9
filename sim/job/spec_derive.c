/* Small functions on specs: a copy to change, axes of the mesh by name, and the stages whose
 * numbers of layers are open. */
#include "base/text.h"
#include "job/spec.h"

ms_job_spec ms_job_spec_derive(const ms_job_spec *spec) {
    ms_job_spec derived = *spec;
    derived.source = (ms_spec_source){.path = spec->source.path};
    return derived;
}

/* Index of the axis `name` in a mesh; -1: the mesh has no such axis. */
int ms_spec_axis(const ms_spec_mesh *mesh, const char *name) {
    return ms_word_index(name, mesh->names, mesh->axes);
}

int ms_spec_axis_size(const ms_spec_mesh *mesh, const char *name) {
    int axis = ms_spec_axis(mesh, name);
    return axis < 0 ? 1 : mesh->sizes[axis];
}

/* The stages whose numbers of layers are open: all but the first and the last where these are
 * given. */
ms_open_stages ms_spec_open_stages(const ms_job_spec *spec, int stages) {
    const ms_spec_partition *given = &spec->schedule.partition;
    int first = given->first_stage_layers, last = given->last_stage_layers;
    return (ms_open_stages){.first = first > 0 ? 1 : 0,
                            .count = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0),
                            .layers = spec->model.layers - first - last};
}
