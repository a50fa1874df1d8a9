/* Makes the page of the results of a study or a comparison (ms_page_write_results). */
#include "trace/report/html/page.h"

/* Append the data of the page as one JSON object. */
static void put_data(const ms_page_results *results, ms_buffer *json) {
    ms_buffer_puts(json, "{");
    ms_page_put_string(json, "page", results->kind);
    ms_page_put_string(json, "title", results->title);
    ms_page_put_string(json, "subject", results->subject);
    ms_page_put_string(json, "command", results->command);
    ms_page_put_string(json, "program_version", results->version);
    ms_buffer_puts(json, "\"inputs\":[");
    for (size_t i = 0; i < results->input_count; i++) {
        ms_buffer_puts(json, i > 0 ? "," : "");
        ms_page_put_input(json, &results->inputs[i]);
    }
    ms_buffer_puts(json, "],\"result\":");
    ms_value_write_json(results->tree, 0, json);
    ms_buffer_puts(json, "}");
}

ms_status ms_page_write_results(const ms_page_results *results, ms_buffer *out) {
    ms_buffer json = {0};
    put_data(results, &json);
    const ms_page_parts parts = {
        .json = &json, .script = &MS_PAGE_RESULTS_SCRIPT, .title = results->title};
    ms_status status = json.failed ? MS_E_NOMEM : ms_page_put(&parts, out);
    ms_buffer_release(&json);
    return status;
}
