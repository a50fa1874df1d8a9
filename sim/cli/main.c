#include "meshsim/program.h"

int main(int count, char **words) {
    return ms_program_main(count, words);
}
