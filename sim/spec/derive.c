/* Specs from specs. */
#include <string.h>

#include "meshsim/spec.h"

ms_job_spec ms_job_spec_derive(const ms_job_spec *spec) {
    ms_job_spec derived = *spec;
    derived.source = (ms_spec_source){.path = spec->source.path};
    return derived;
}

ms_status ms_spec_set_axis(ms_job_spec *spec, const char *name, int size) {
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        if (strcmp(spec->mesh.names[axis], name) == 0) {
            spec->mesh.sizes[axis] = size;
            return MS_OK;
        }
    }
    return MS_E_RANGE;
}
