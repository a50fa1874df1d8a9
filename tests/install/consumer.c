/* A stranger's program: uses the installed headers and library, found with pkg-config alone.
 * usage: consumer WORKLOAD DATA_FOLDER TRACE.h5 */
#include <meshsim/program.h>
#include <meshsim/simulate.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 4 || ms_program_version()[0] == '\0') {
        return 2;
    }
    const char *settings[] = {"batch.global=32", NULL};
    char *json = NULL;
    int code = ms_simulate(argv[1], settings, argv[2], argv[3], &json);
    if (code == 0) {
        puts(json);
    }
    free(json);
    return code;
}
