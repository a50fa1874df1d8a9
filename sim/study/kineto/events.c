/* Where in a trace a token stands, and what it says there. Keys may come in any order, so an event
 * is handed on at its end; the ones that nobody needs are let through without looking at them. */
#include "study/kineto/events.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Levels of the text: the document, what stands in it, an event, its arguments, a list there. */
enum { DOCUMENT = 1, SECTION = 2, EVENT = 3, ARGUMENTS = 4, LIST = 5, SIZES = 6 };
enum { NUMBER_MAX = 64, NAME_MAX_B = 1 << 20 };

/* What the document's value under way is. */
typedef enum section {
    SECTION_OTHER,
    SECTION_EVENTS,
    SECTION_DISTRIBUTED,
    SECTION_DEVICES,
    SECTION_OTHER_DATA,
} section;

/* What a key of an event, or of its arguments, stands for. */
typedef enum field {
    FIELD_OTHER,
    FIELD_PHASE,
    FIELD_CATEGORY,
    FIELD_NAME,
    FIELD_START,
    FIELD_DURATION,
    FIELD_THREAD,
    FIELD_ARGUMENTS,
    FIELD_EXTERNAL_ID,
    FIELD_CORRELATION,
    FIELD_DEVICE,
    FIELD_STREAM,
    FIELD_BYTES,
    FIELD_DIMS,
    FIELD_TYPES,
    FIELD_VALUES,
    FIELD_COLLECTIVE,
    FIELD_MESSAGE_TYPE,
    FIELD_IN,
    FIELD_OUT,
    FIELD_GROUP_SIZE,
    FIELD_GROUP,
    FIELD_DESCRIBED,
} field;

struct ms_kineto_reader {
    ms_stream *stream;
    const ms_kineto_sink *sink;
    ms_stream_sink tokens;
    int level;
    section section;
    field field, argument;
    ms_kineto_head head;
    ms_kineto_faults faults;
    char key[MS_KINETO_WORD]; /* outside of events */
    /* the event under way */
    ms_kineto_event event;
    ms_buffer name;
    bool is_complete, has_start, has_duration; /* `ph` is X; it has the times */
    int list_index;                            /* of the next entry of a list argument */
    ms_kineto_input inputs[MS_KINETO_INPUTS];
    ms_kineto_message message;
};

/* ---- values ---- */

/* The beginning of a text, with its end. */
static void keep_word(char *out, size_t size, ms_span text) {
    size_t length = (size_t)(text.to - text.from);
    length = length < size ? length : size - 1;
    memcpy(out, text.from, length);
    out[length] = '\0';
}

static bool is_word(ms_span text, const char *word) {
    size_t length = (size_t)(text.to - text.from);
    return strlen(word) == length && strncasecmp(text.from, word, length) == 0;
}

/* Thousandths of a decimal number, exactly: microseconds as nanoseconds, which a double could not
 * hold. Returns false where it is no such number, or more than 146 years. */
static bool read_thousandths(ms_span text, int64_t *value_out) {
    const int64_t LIMIT = INT64_MAX / 2000;
    const char *at = text.from;
    bool is_negative = at < text.to && *at == '-';
    int64_t whole = 0, part = 0;
    for (at += is_negative ? 1 : 0; at < text.to && *at >= '0' && *at <= '9'; at++) {
        whole = whole * 10 + (*at - '0');
        if (whole > LIMIT) {
            return false;
        }
    }
    if (at < text.to && *at == '.') {
        int64_t unit = 100;
        for (at++; at < text.to && *at >= '0' && *at <= '9'; at++) {
            part += (*at - '0') * unit;
            unit /= 10;
        }
    }
    if (at < text.to) { /* with an exponent: no profiler writes it, but other programs do */
        char copy[NUMBER_MAX];
        keep_word(copy, sizeof copy, text);
        double value = strtod(copy, NULL);
        *value_out = llround(fabs(value) < (double)LIMIT ? value * 1000 : 0);
        return fabs(value) < (double)LIMIT;
    }
    *value_out = (is_negative ? -1 : 1) * (whole * 1000 + part);
    return true;
}

/* A whole number, which some versions write in quotes. Returns false where it is none. */
static bool read_whole(ms_span text, int64_t *value_out) {
    char copy[NUMBER_MAX], *end = NULL;
    keep_word(copy, sizeof copy, text);
    long long value = strtoll(copy, &end, 10);
    if (end == copy || *end != '\0') {
        return false;
    }
    *value_out = value;
    return true;
}

/* *has_out: whether there is one: what is no number, such as NaN, is none. */
static bool take_time(ms_kineto_reader *r, ms_token token, ms_span text, const char *key,
                      int64_t *value_out, bool *has_out) {
    bool is_text = token == MS_TOKEN_STRING;
    *has_out = !(is_text && is_word(text, MS_STREAM_NO_NUMBER));
    if (*has_out && (token != MS_TOKEN_NUMBER || !read_thousandths(text, value_out))) {
        return ms_stream_fault(
            r->stream, "'%s' of an event: expected a number of microseconds, got %s'%.*s'", key,
            is_text ? "the text " : "", (int)(text.to - text.from > 40 ? 40 : text.to - text.from),
            text.from);
    }
    return true;
}

/* ---- keys ---- */

typedef struct key_row {
    const char *key;
    field field;
} key_row;

static const key_row EVENT_KEYS[] = {
    {"ph", FIELD_PHASE},       {"cat", FIELD_CATEGORY}, {"name", FIELD_NAME},
    {"ts", FIELD_START},       {"dur", FIELD_DURATION}, {"tid", FIELD_THREAD},
    {"args", FIELD_ARGUMENTS},
};

static const key_row ARGUMENT_KEYS[] = {
    {"External id", FIELD_EXTERNAL_ID},
    {"correlation", FIELD_CORRELATION},
    {"device", FIELD_DEVICE},
    {"stream", FIELD_STREAM},
    {"bytes", FIELD_BYTES},
    {"Input Dims", FIELD_DIMS},
    {"Input type", FIELD_TYPES},
    {"Concrete Inputs", FIELD_VALUES},
    {"Collective name", FIELD_COLLECTIVE},
    {"dtype", FIELD_MESSAGE_TYPE},
    {"In msg nelems", FIELD_IN},
    {"Out msg nelems", FIELD_OUT},
    {"Group size", FIELD_GROUP_SIZE},
    {"Process Group Name", FIELD_GROUP},
    {"Process Group Description", FIELD_DESCRIBED},
};

static field find_field(const key_row *rows, size_t count, ms_span text) {
    for (size_t i = 0; i < count; i++) {
        if (is_word(text, rows[i].key)) {
            return rows[i].field;
        }
    }
    return FIELD_OTHER;
}

static section find_section(ms_kineto_reader *r, ms_span text) {
    r->head.has_schema = r->head.has_schema || is_word(text, "schemaVersion");
    return is_word(text, "traceEvents")       ? SECTION_EVENTS
           : is_word(text, "distributedInfo") ? SECTION_DISTRIBUTED
           : is_word(text, "deviceProperties") || is_word(text, "computeProperties")
               ? SECTION_DEVICES /* the latter before PyTorch 1.10 */
           : is_word(text, "otherData") ? SECTION_OTHER_DATA
                                        : SECTION_OTHER;
}

static bool on_key(void *context, ms_span text) {
    ms_kineto_reader *r = context;
    if (r->level == DOCUMENT) {
        r->section = find_section(r, text);
    } else if (r->section == SECTION_EVENTS && r->level == EVENT) {
        r->field = find_field(EVENT_KEYS, sizeof EVENT_KEYS / sizeof EVENT_KEYS[0], text);
    } else if (r->section == SECTION_EVENTS && r->level == ARGUMENTS) {
        r->argument =
            r->field == FIELD_ARGUMENTS
                ? find_field(ARGUMENT_KEYS, sizeof ARGUMENT_KEYS / sizeof ARGUMENT_KEYS[0], text)
                : FIELD_OTHER;
    } else {
        keep_word(r->key, sizeof r->key, text);
    }
    return true;
}

/* ---- values of an event ---- */

static ms_kineto_category find_category(ms_span text) {
    static const struct {
        const char *name;
        ms_kineto_category category;
    } NAMES[] = {
        {"kernel", MS_KINETO_KERNEL},
        {"gpu_memcpy", MS_KINETO_MEMCPY},
        {"gpu_memset", MS_KINETO_MEMSET},
        {"cuda_runtime", MS_KINETO_RUNTIME},
        {"cuda_driver", MS_KINETO_RUNTIME},
        {"cpu_op", MS_KINETO_OPERATOR},
        {"user_annotation", MS_KINETO_ANNOTATION},
        {"gpu_user_annotation", MS_KINETO_GPU_ANNOTATION},
        {"memcpy", MS_KINETO_MEMCPY}, /* before PyTorch 1.12, as the next ones */
        {"memset", MS_KINETO_MEMSET},
        {"runtime", MS_KINETO_RUNTIME},
        {"operator", MS_KINETO_OPERATOR},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (is_word(text, NAMES[i].name)) {
            return NAMES[i].category;
        }
    }
    return MS_KINETO_IGNORED;
}

/* A number of the arguments; what is none is as if it were not there: it is no part of a time. */
static void take_number(ms_span text, int64_t *value) {
    if (!read_whole(text, value)) {
        *value = MS_KINETO_NONE;
    }
}

static bool take_event_value(ms_kineto_reader *r, ms_token token, ms_span text) {
    switch (r->field) {
    case FIELD_PHASE:
        r->is_complete = is_word(text, "X");
        return true;
    case FIELD_CATEGORY:
        r->event.category = find_category(text);
        return true;
    case FIELD_NAME:
        r->name.length = 0;
        ms_buffer_add(&r->name, text.from, (size_t)(text.to - text.from));
        return !r->name.failed;
    case FIELD_START:
        return take_time(r, token, text, "ts", &r->event.start_ns, &r->has_start);
    case FIELD_DURATION:
        return take_time(r, token, text, "dur", &r->event.duration_ns, &r->has_duration);
    case FIELD_THREAD:
        take_number(text, &r->event.thread);
        return true;
    default:
        return true;
    }
}

static void take_argument(ms_kineto_reader *r, ms_span text) {
    ms_kineto_message *message = &r->message;
    switch (r->argument) {
    case FIELD_EXTERNAL_ID:
        take_number(text, &r->event.external_id);
        break;
    case FIELD_CORRELATION:
        take_number(text, &r->event.correlation);
        break;
    case FIELD_DEVICE:
        take_number(text, &r->event.device);
        break;
    case FIELD_STREAM:
        take_number(text, &r->event.stream);
        break;
    case FIELD_BYTES:
        take_number(text, &r->event.bytes);
        break;
    case FIELD_COLLECTIVE:
        keep_word(message->collective, sizeof message->collective, text);
        break;
    case FIELD_MESSAGE_TYPE:
        keep_word(message->type, sizeof message->type, text);
        break;
    case FIELD_IN:
        take_number(text, &message->in_elements);
        break;
    case FIELD_OUT:
        take_number(text, &message->out_elements);
        break;
    case FIELD_GROUP_SIZE:
        take_number(text, &message->group_size);
        break;
    case FIELD_GROUP:
        keep_word(message->group, sizeof message->group, text);
        break;
    case FIELD_DESCRIBED:
        keep_word(message->described, sizeof message->described, text);
        break;
    default:
        break;
    }
}

/* The input that a list's entry under way is about; NULL: one too many. */
static ms_kineto_input *input_at(ms_kineto_reader *r, int index) {
    if (index < 0 || index >= MS_KINETO_INPUTS) {
        return NULL;
    }
    r->event.input_count = index >= r->event.input_count ? index + 1 : r->event.input_count;
    return &r->inputs[index];
}

static void take_entry(ms_kineto_reader *r, ms_span text) {
    ms_kineto_input *input = NULL;
    if (r->argument == FIELD_TYPES || r->argument == FIELD_VALUES) {
        input = input_at(r, r->list_index);
        r->list_index++;
    }
    if (input != NULL && r->argument == FIELD_TYPES) {
        keep_word(input->type, sizeof input->type, text);
    } else if (input != NULL) {
        keep_word(input->value, sizeof input->value, text);
    }
}

/* A size of a tensor. */
static void take_size(ms_kineto_reader *r, ms_span text) {
    ms_kineto_input *input = r->argument == FIELD_DIMS ? input_at(r, r->list_index) : NULL;
    if (input == NULL || input->rank == MS_KINETO_NONE) {
        return;
    }
    if (input->rank >= MS_KINETO_RANK || !read_whole(text, &input->sizes[input->rank])) {
        input->rank = MS_KINETO_NONE;
    } else {
        input->rank++;
    }
}

static bool on_value(void *context, ms_token token, ms_span text) {
    ms_kineto_reader *r = context;
    if (r->section == SECTION_EVENTS && r->level == SECTION) {
        return ms_stream_fault(r->stream, "expected an event, which is an object, got a value");
    }
    if (r->section == SECTION_EVENTS && r->level == EVENT) {
        return take_event_value(r, token, text);
    }
    if (r->section == SECTION_EVENTS && r->field == FIELD_ARGUMENTS && r->level == ARGUMENTS) {
        take_argument(r, text);
    } else if (r->section == SECTION_EVENTS && r->level == LIST) {
        take_entry(r, text);
    } else if (r->section == SECTION_EVENTS && r->level == SIZES) {
        take_size(r, text);
    } else if (r->section == SECTION_EVENTS && r->level == DOCUMENT) {
        return ms_stream_fault(r->stream, "traceEvents: expected a list of events, got a value");
    } else if (r->section == SECTION_DISTRIBUTED && r->level == SECTION) {
        bool is_rank = strcmp(r->key, "rank") == 0;
        bool is_world = strcmp(r->key, "world_size") == 0;
        if (is_rank || is_world) {
            take_number(text, is_rank ? &r->head.rank : &r->head.world_size);
        }
    } else if (r->section == SECTION_DEVICES && r->level == EVENT && r->head.device[0] == '\0' &&
               strcmp(r->key, "name") == 0) {
        keep_word(r->head.device, sizeof r->head.device, text);
    } else if (r->section == SECTION_OTHER_DATA && r->level == SECTION &&
               strcmp(r->key, "program") == 0) {
        r->head.is_meshsim = is_word(text, "meshsim");
    } else if (r->level == 0) {
        return ms_stream_fault(r->stream,
                               "expected an object with traceEvents, as Kineto writes it");
    }
    return true;
}

/* ---- events ---- */

static void begin_event(ms_kineto_reader *r) {
    r->event = (ms_kineto_event){.external_id = MS_KINETO_NONE,
                                 .correlation = MS_KINETO_NONE,
                                 .thread = MS_KINETO_NONE,
                                 .device = MS_KINETO_NONE,
                                 .stream = MS_KINETO_NONE,
                                 .bytes = MS_KINETO_NONE};
    for (int i = 0; i < MS_KINETO_INPUTS; i++) {
        r->inputs[i] = (ms_kineto_input){.rank = 0};
    }
    r->message = (ms_kineto_message){.in_elements = MS_KINETO_NONE,
                                     .out_elements = MS_KINETO_NONE,
                                     .group_size = MS_KINETO_NONE};
    r->name.length = 0;
    r->is_complete = r->has_start = r->has_duration = false;
    r->field = FIELD_OTHER;
}

static bool end_event(ms_kineto_reader *r) {
    if (!r->is_complete || r->event.category == MS_KINETO_IGNORED) {
        return true;
    }
    if (!r->has_start || !r->has_duration) {
        r->faults.without_line =
            r->faults.without_times++ == 0 ? ms_stream_line(r->stream) : r->faults.without_line;
        return true;
    }
    if (r->event.duration_ns < 0) {
        r->faults.negative_line =
            r->faults.negative++ == 0 ? ms_stream_line(r->stream) : r->faults.negative_line;
        return true;
    }
    r->event.name = ms_buffer_text(&r->name);
    r->event.inputs = r->inputs;
    r->event.message = &r->message;
    return r->sink->event(r->sink->context, &r->event);
}

/* A list stands where it may not be. */
static bool check_begin(ms_kineto_reader *r, bool is_object) {
    if (r->level == 0 && !is_object) {
        return ms_stream_fault(r->stream,
                               "expected an object with traceEvents, as Kineto writes it, got a "
                               "list");
    }
    if (r->section == SECTION_EVENTS && r->level == DOCUMENT && is_object) {
        return ms_stream_fault(r->stream, "traceEvents: expected a list of events, got an object");
    }
    if (r->section == SECTION_EVENTS && r->level == SECTION && !is_object) {
        return ms_stream_fault(r->stream, "expected an event, which is an object, got a list");
    }
    if (r->section == SECTION_EVENTS && r->level == EVENT &&
        (r->field == FIELD_START || r->field == FIELD_DURATION)) {
        return ms_stream_fault(
            r->stream, "'%s' of an event: expected a number of microseconds, got %s",
            r->field == FIELD_START ? "ts" : "dur", is_object ? "an object" : "a list");
    }
    return true;
}

static bool on_begin(void *context, bool is_object) {
    ms_kineto_reader *r = context;
    if (!check_begin(r, is_object)) {
        return false;
    }
    bool is_events = r->section == SECTION_EVENTS;
    if (is_events && r->level == DOCUMENT) {
        r->head.has_events = true;
    } else if (is_events && r->level == SECTION) {
        begin_event(r);
    } else if (is_events && r->level == ARGUMENTS) {
        r->list_index = 0;
        r->argument = is_object ? FIELD_OTHER : r->argument;
    } else if (is_events && r->level == SIZES && r->argument == FIELD_DIMS) {
        ms_kineto_input *input = input_at(r, r->list_index); /* a list of tensors */
        if (input != NULL) {
            input->rank = MS_KINETO_NONE;
        }
    }
    r->level++;
    return true;
}

static bool on_end(void *context) {
    ms_kineto_reader *r = context;
    r->level--;
    if (r->section == SECTION_EVENTS && r->level == LIST) { /* the sizes of an input */
        if (r->argument == FIELD_DIMS) {
            (void)input_at(r, r->list_index);
        }
        r->list_index++;
    }
    if (r->section == SECTION_EVENTS && r->level == SECTION) {
        return end_event(r);
    }
    if (r->level == DOCUMENT) {
        r->section = SECTION_OTHER;
    }
    return true;
}

/* ---- the reader ---- */

ms_status ms_kineto_reader_new(const char *name, const ms_kineto_sink *sink, ms_arena *arena,
                               ms_diag *diag, ms_kineto_reader **reader_out) {
    ms_kineto_reader *r = MS_NEW(arena, ms_kineto_reader, 1);
    if (r == NULL) {
        return MS_E_NOMEM;
    }
    r->sink = sink;
    r->head.rank = r->head.world_size = MS_KINETO_NONE;
    r->tokens = (ms_stream_sink){
        .context = r, .begin = on_begin, .end = on_end, .key = on_key, .value = on_value};
    ms_buffer_init(&r->name);
    *reader_out = r;
    return ms_stream_new(name, &r->tokens, arena, diag, &r->stream);
}

ms_stream *ms_kineto_reader_stream(ms_kineto_reader *reader) {
    return reader->stream;
}

const ms_kineto_head *ms_kineto_reader_head(const ms_kineto_reader *reader) {
    return &reader->head;
}

const ms_kineto_faults *ms_kineto_reader_faults(const ms_kineto_reader *reader) {
    return &reader->faults;
}

void ms_kineto_reader_release(ms_kineto_reader *reader) {
    ms_buffer_release(&reader->name);
}
