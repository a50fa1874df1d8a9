/* The executable: passes its command line to the library (meshsim/program.h). */
#include "meshsim/program.h"

int main(int count, char **words) {
    return ms_program_main(count, words);
}
