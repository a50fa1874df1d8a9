/* The version of the program (meshsim/program.h). */
#include "meshsim/program.h"

const char *ms_program_version(void) {
    return MESHSIM_VERSION;
}
