/* Files of measurements, told apart by what they hold. */
#include <string.h>

#include "meshsim/input.h"
#include "study/cases_file.h"

void ms_measurements_init(ms_measurements *measurements) {
    ms_vector_init(&measurements->cases, sizeof(ms_case));
    ms_vector_init(&measurements->collectives, sizeof(ms_case_collective));
}

void ms_measurements_release(ms_measurements *measurements) {
    ms_vector_release(&measurements->cases);
    ms_vector_release(&measurements->collectives);
}

static bool is_csv(const char *path) {
    static const char ENDING[] = ".csv";
    size_t length = strlen(path);
    size_t ending = sizeof ENDING - 1;
    return length > ending && strcmp(path + length - ending, ENDING) == 0;
}

ms_status ms_measurements_parse(const ms_text *text, ms_arena *arena, ms_diag *diag,
                                ms_measurements *measurements) {
    const ms_cases_reading reading = {.arena = arena, .diag = diag, .out = measurements};
    ms_node *root = NULL;
    if (is_csv(text->name)) {
        return ms_cases_read_csv(&reading, text);
    }
    if (ms_cases_is_nccl_log(text)) {
        return ms_cases_read_nccl_log(&reading, text);
    }
    ms_status status = ms_yaml_parse_list(text, arena, diag, &root);
    if (status != MS_OK) {
        return status;
    }
    if (root->type == MS_NODE_SEQUENCE) {
        return ms_cases_read_list(&reading, root);
    }
    status = ms_input_expect(root, MS_INPUT_MEASURED, text->name, diag);
    return status == MS_OK ? ms_cases_read_points(&reading, root) : status;
}

ms_status ms_measurements_read(const char *path, ms_arena *arena, ms_diag *diag,
                               ms_measurements *measurements) {
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    ms_status status = ms_file_read(path, is_csv(path) ? MS_FILE_CSV : MS_FILE_YAML, &bytes, diag);
    if (status == MS_OK) {
        const ms_text text = {path, ms_buffer_text(&bytes), bytes.length};
        status = ms_measurements_parse(&text, arena, diag, measurements);
    } else if (status == MS_E_NOMEM) {
        ms_diag_no_memory(diag);
    }
    ms_buffer_release(&bytes);
    return status;
}
