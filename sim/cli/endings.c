/* Refuses names of output files before a command runs: a name with the ending of another format
 * than its option writes; a picture's name without a known ending, because the ending chooses the
 * picture's format; and '-', the standard output, where the output has to be a file. The message
 * names an option or a command that writes the format of the ending. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "trace/report/report.h"

/* Most endings of a format; bytes of a text that lists formats. */
enum { ENDINGS_MAX = 4, TEXT_SIZE = 96 };

/* A format of files, recognised by the endings of their names. */
typedef struct file_format {
    const char *noun;                 /* for messages, such as "a picture" */
    const char *endings[ENDINGS_MAX]; /* NULL behind the last */
    const char *maker; /* a command line that writes the format, up to the file's name; NULL: no
                          command writes it */
    const char *verb;  /* end of the sentence "'meshsim ...' writes it" */
} file_format;

static const file_format FORMATS[] = {
    {"a trace in HDF5", {".h5", ".hdf5", ".hdf"}, "meshsim run WORKLOAD.yaml -o ", "writes it"},
    {"a picture", {".svg", ".png", ".pdf"}, "meshsim report TRACE.h5 -o ", "draws it"},
    {"JSON",
     {".json", ".json.gz"},
     "meshsim report TRACE.h5 -o ",
     "writes a viewer's trace, and '--json' prints results"},
    {"a table", {".csv"}, "meshsim schedule KIND -p P -m M --csv ", "writes a schedule as one"},
    {"a graph",
     {".dot", ".gv"},
     "meshsim platform PLATFORM.yaml --dot ",
     "writes a platform as one"},
    {"XML",
     {".xml"},
     "meshsim platform PLATFORM.yaml --simgrid-xml ",
     "writes a platform as SimGrid's"},
    {"an input file", {".yaml", ".yml"}, NULL, NULL},
    {"a picture as JPEG", {".jpg", ".jpeg"}, NULL, NULL},
    {"a page", {".html", ".htm"}, "meshsim report TRACE.h5 -o ", "makes it"},
    {"text", {".txt", ".log"}, NULL, NULL},
    {"a compressed file", {".zip", ".gz"}, NULL, NULL}, /* behind JSON, which has .json.gz */
};

/* The format that the ending of a file name stands for, in any case of letters; NULL: an unknown
 * ending, or none. */
static const file_format *format_of(const char *path) {
    for (size_t i = 0; i < sizeof FORMATS / sizeof FORMATS[0]; i++) {
        for (size_t e = 0; e < ENDINGS_MAX && FORMATS[i].endings[e] != NULL; e++) {
            if (ms_report_has_ending(path, FORMATS[i].endings[e])) {
                return &FORMATS[i];
            }
        }
    }
    return NULL;
}

/* Whether an option writes a format: the format's first ending is among the endings in the option's
 * row. */
static bool is_written_by(const ms_option *option, const file_format *format) {
    return option->writes != NULL && strstr(option->writes, format->endings[0]) != NULL;
}

/* Another option of the same command that writes the format, NULL if none does. */
static const ms_option *sibling_of(const ms_command *command, const ms_option *self,
                                   const file_format *format) {
    for (const ms_option *option = command->options; option->name != NULL; option++) {
        if (strcmp(option->name, self->name) != 0 && is_written_by(option, format)) {
            return option;
        }
    }
    return NULL;
}

/* Write into `text` the formats that an option writes, such as "a picture or JSON"; "a folder"
 * where it writes none of the known formats. */
static void describe(const ms_option *option, char *text, size_t size) {
    size_t length = 0;
    snprintf(text, size, "a folder");
    for (size_t i = 0; i < sizeof FORMATS / sizeof FORMATS[0] && length < size; i++) {
        if (is_written_by(option, &FORMATS[i])) {
            length += (size_t)snprintf(text + length, size - length, "%s%s",
                                       length == 0 ? "" : " or ", FORMATS[i].noun);
        }
    }
}

/* Report that a file name has the ending of another format than its option writes, and how that
 * format can be written: by another option of the command, by another command, or not at all.
 * format: of `path`.  Returns MS_E_USAGE. */
static ms_status refuse(const ms_invocation *call, const ms_option *option,
                        const file_format *format, const char *path) {
    const ms_option *sibling = sibling_of(call->command, option, format);
    char written[TEXT_SIZE];
    describe(option, written, sizeof written);
    if (sibling != NULL) {
        ms_diag_error(call->diag,
                      "option '--%s' writes %s, and '%s' is a name for %s; '--%s %s' writes it",
                      option->name, written, path, format->noun, sibling->name, path);
    } else if (format->maker != NULL) {
        ms_diag_error(call->diag, "option '--%s' writes %s, and '%s' is a name for %s; '%s%s' %s",
                      option->name, written, path, format->noun, format->maker, path, format->verb);
    } else {
        ms_diag_error(call->diag,
                      "option '--%s' writes %s, and '%s' is a name for %s, which no command "
                      "writes; expected a name in %s",
                      option->name, written, path, format->noun, option->writes);
    }
    return MS_E_USAGE;
}

/* Check the last file name that was given for one option.  Returns MS_OK; MS_E_USAGE (reported). A
 * name without a known ending is accepted unless the ending chooses the format, as of pictures
 * without --format. */
static ms_status check_ending(const ms_invocation *call, const ms_option *option,
                              const ms_given *given) {
    const char *path = given->count == 0 ? "" : given->values[given->count - 1];
    if (option->no_stdout != NULL && strcmp(path, "-") == 0) {
        return ms_diag_usage(call->diag,
                             "option '--%s' cannot write to the standard output, for which '-' "
                             "stands: %s; './-' is a file of that name",
                             option->name, option->no_stdout);
    }
    if (option->writes == NULL || given->count == 0) {
        return MS_OK;
    }
    const file_format *format = format_of(path);
    if (format != NULL) {
        return is_written_by(option, format) ? MS_OK : refuse(call, option, format, path);
    }
    bool has_format = ms_cli_knows(call, "format") && ms_cli_has(call, "format");
    return has_format || strcmp(path, "-") == 0 || strstr(option->writes, ".svg") == NULL
               ? MS_OK
               : ms_diag_usage(call->diag,
                               "option '--%s': '%s' must end in %s, which chooses the format",
                               option->name, path, option->writes);
}

ms_status ms_cli_check_endings(const ms_invocation *call) {
    const ms_option *options = call->command->options;
    ms_status status = MS_OK;
    for (size_t i = 0; options != NULL && options[i].name != NULL && status == MS_OK; i++) {
        status = check_ending(call, &options[i], &call->given[i]);
    }
    return status;
}

ms_status ms_cli_check_output_ending(const ms_invocation *call, const ms_given *given,
                                     const char *writes) {
    const ms_option option = {.name = "output", .writes = writes};
    return check_ending(call, &option, given);
}
