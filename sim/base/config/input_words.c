/* Names of the kinds of input files, and the hint which command takes a file of a kind
 * (input.h). */
#include <stdio.h>
#include <string.h>

#include "base/config/internal.h"

const char *ms_input_noun(ms_input_kind kind) {
    static const char *const NOUNS[] = {
        [MS_INPUT_UNKNOWN] = "a YAML file",    [MS_INPUT_WORKLOAD] = "a workload",
        [MS_INPUT_PLATFORM] = "a platform",    [MS_INPUT_GPU] = "a GPU type",
        [MS_INPUT_TRACE] = "a trace",          [MS_INPUT_RESULT] = "what --json printed",
        [MS_INPUT_MEASURED] = "measured runs", [MS_INPUT_SWEEP] = "a sweep",
        [MS_INPUT_SPACE] = "a space",
    };
    return NOUNS[kind];
}

/* The text is: noun, `before`, path, `after`; the last three name a command for the file. */
char *ms_input_explain(ms_input_kind kind, ms_input_kind wanted, const char *path, char *text_out,
                       size_t size) {
    const char *before = "";
    const char *after = "";
    switch (kind) {
    case MS_INPUT_WORKLOAD:
        before = wanted == MS_INPUT_SPACE ? "; 'meshsim check " : "; 'meshsim run ";
        after = wanted == MS_INPUT_TRACE   ? " -o TRACE.h5' writes its trace"
                : wanted == MS_INPUT_SPACE ? "' looks at it"
                                           : "' simulates it";
        break;
    case MS_INPUT_PLATFORM:
        before = wanted == MS_INPUT_WORKLOAD ? "; 'meshsim run WORKLOAD.yaml --platform "
                                             : "; 'meshsim platform ";
        after = wanted == MS_INPUT_WORKLOAD ? "' simulates on it, 'meshsim platform' shows it"
                                            : "' shows it";
        break;
    case MS_INPUT_GPU:
        before = "; 'meshsim platform PLATFORM.yaml --set platform.gpu.type=";
        after = "' takes it";
        break;
    case MS_INPUT_TRACE:
        before = "; 'meshsim report ";
        after = " -o PICTURE.svg' draws it";
        break;
    case MS_INPUT_MEASURED:
        before = "; 'meshsim validate ";
        after = "' simulates them";
        break;
    case MS_INPUT_SWEEP:
        before = "; 'meshsim sweep ";
        after = "' simulates its points";
        break;
    case MS_INPUT_SPACE:
        before = "; 'meshsim search WORKLOAD.yaml --space ";
        after = "' searches it";
        break;
    case MS_INPUT_RESULT:
        snprintf(text_out, size, "what --json printed, which no command reads");
        return text_out;
    case MS_INPUT_UNKNOWN:
        snprintf(text_out, size, "%s", ms_input_noun(kind));
        return text_out;
    }
    snprintf(text_out, size, "%s%s%s%s", ms_input_noun(kind), before, path, after);
    return text_out;
}

bool ms_input_is_hdf5(const char *text, size_t length_B) {
    static const char SIGNATURE[] = "\x89HDF\r\n\x1a\n"; /* Source: HDF5 file format, III.A */
    return length_B >= sizeof SIGNATURE - 1 && memcmp(text, SIGNATURE, sizeof SIGNATURE - 1) == 0;
}
