#include "cli/program.h"
#include "meshsim/arena.h"

int main(int count, char **words) {
    ms_heap_use_large_pages();
    return ms_program_main(count, words);
}
