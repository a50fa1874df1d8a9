// A stranger's program in C++: the same job as consumer.c's, twice, and one that does not exist.
// usage: consumer WORKLOAD DATA_FOLDER TRACE.h5
#include <meshsim/program.h>
#include <meshsim/simulate.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    const char *const settings[] = {"batch.global=32", nullptr};
    char *json = nullptr;
    if (ms_simulate("no-such-workload", nullptr, argv[2], nullptr, &json) != 3 || json != nullptr) {
        return 1;
    }
    int code = 0;
    for (const char *trace :
         {static_cast<const char *>(nullptr), static_cast<const char *>(argv[3])}) {
        std::free(json);
        json = nullptr;
        code = ms_simulate(argv[1], settings, argv[2], trace, &json);
    }
    if (code == 0) {
        std::puts(json);
    }
    std::free(json);
    return code;
}
