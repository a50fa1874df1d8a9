#include "meshsim/program.h"

const char *ms_program_version(void) {
    return MESHSIM_VERSION;
}
