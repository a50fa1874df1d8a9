/* Arguments of Megatron-LM from the forms in which people keep them. */
#include <stdio.h>
#include <string.h>

#include "study/import/megatron_parts.h"

void ms_megatron_arguments_init(ms_megatron_arguments *arguments) {
    ms_vector_init(&arguments->items, sizeof(ms_megatron_argument));
    ms_vector_init(&arguments->notes, sizeof(ms_megatron_note));
    arguments->is_dump = false;
}

void ms_megatron_arguments_release(ms_megatron_arguments *arguments) {
    ms_vector_release(&arguments->items);
    ms_vector_release(&arguments->notes);
}

/* One reading. */
typedef struct megatron_reading {
    ms_arena *arena;
    ms_diag *diag;
    ms_megatron_arguments *out;
    const ms_words *defines;
    ms_status status; /* of the first fault */
} megatron_reading;

static void lack_memory(megatron_reading *r) {
    if (r->status != MS_E_NOMEM) {
        r->status = ms_diag_no_memory(r->diag);
    }
}

static void add(megatron_reading *r, const char *name, const char *value, const ms_mark *mark) {
    const ms_megatron_argument argument = {
        .name = name, .value = value, .mark = mark == NULL ? (ms_mark){.file = NULL} : *mark};
    if (name == NULL || value == NULL || ms_vector_add(&r->out->items, &argument, 1) == NULL) {
        lack_memory(r);
    }
}

/* Several values as one text: "[a b]", "['a', 'b']" and "a b" are all "a b". */
static const char *join_values(ms_arena *arena, const char *text) {
    char *joined = MS_NEW(arena, char, strlen(text) + 1);
    size_t length = 0;
    for (const char *at = text; joined != NULL && *at != '\0'; at++) {
        bool is_dropped = strchr("[]'\"", *at) != NULL;
        char letter = *at == ',' || *at == '\t' || *at == '\n' ? ' ' : *at;
        bool is_second = letter == ' ' && (length == 0 || joined[length - 1] == ' ');
        if (!is_dropped && !is_second) {
            joined[length++] = letter;
        }
    }
    if (joined != NULL) {
        length -= length > 0 && joined[length - 1] == ' ';
        joined[length] = '\0';
    }
    return joined;
}

static const char *clean(ms_arena *arena, const ms_megatron_flag *flag, const char *text) {
    return flag->arity == MS_TAKES_MANY ? join_values(arena, text) : text;
}

/* ---- words ---- */

typedef struct word_walk {
    megatron_reading *reading;
    const ms_shell_word *words;
    size_t count, at;
} word_walk;

static bool is_argument(const ms_shell_word *word) {
    return strncmp(word->text, "--", 2) == 0 && word->text[2] != '\0';
}

/* Values behind an argument, joined. */
static const char *take_values(word_walk *w, size_t most) {
    ms_buffer values;
    ms_buffer_init(&values);
    for (; most > 0 && w->at < w->count && !is_argument(&w->words[w->at]); most--, w->at++) {
        ms_buffer_printf(&values, "%s%s", values.length == 0 ? "" : " ", w->words[w->at].text);
    }
    return ms_buffer_keep(&values, w->reading->arena);
}

/* A name with '-' for '_', as ms-swift's "megatron sft" has it, where that is one that is known and
 * the other is not. */
static const char *usual_spelling(megatron_reading *r, const char *name) {
    ms_megatron_flag flag;
    char *usual = ms_arena_strdup(r->arena, name);
    for (char *at = usual; at != NULL && *at != '\0'; at++) {
        *at = *at == '_' ? '-' : *at;
    }
    bool is_other =
        usual != NULL && !ms_megatron_find_flag(name, &flag) && ms_megatron_find_flag(usual, &flag);
    return is_other ? usual : name;
}

/* "true" or "false" behind a switch that takes no value in Megatron-LM itself.  Returns whether it
 * is off. */
static bool take_truth(word_walk *w) {
    const char *text = w->at < w->count ? w->words[w->at].text : "";
    bool is_off = strcmp(text, "false") == 0;
    w->at += is_off || strcmp(text, "true") == 0;
    return is_off;
}

static void take_argument(word_walk *w) {
    megatron_reading *r = w->reading;
    const ms_shell_word *word = &w->words[w->at++];
    const char *equals = strchr(word->text, '=');
    const char *name = equals == NULL
                           ? word->text
                           : ms_arena_strndup(r->arena, word->text, (size_t)(equals - word->text));
    ms_megatron_flag flag = {.arity = MS_TAKES_MANY};
    if (name == NULL) {
        lack_memory(r);
        return;
    }
    name = usual_spelling(r, name);
    bool is_known = ms_megatron_find_flag(name, &flag);
    if (is_known && flag.arity == MS_TAKES_NONE && equals == NULL && take_truth(w)) {
        add(r, ms_arena_printf(r->arena, "%s" MS_MEGATRON_OFF, name), "", &word->mark);
        return;
    }
    static const size_t MOST[] = {0, 1, (size_t)-1}; /* as ms_megatron_arity */
    const char *value = equals != NULL ? equals + 1 : take_values(w, MOST[flag.arity]);
    if (is_known && flag.arity == MS_TAKES_ONE && equals == NULL && value != NULL &&
        value[0] == '\0') {
        ms_diag_at(r->diag, &word->mark, name, "expected a value, got %s%s",
                   w->at < w->count ? w->words[w->at].text : "the end",
                   w->at < w->count ? "" : " of the command");
        r->status = r->status == MS_OK ? MS_E_INPUT : r->status;
        return;
    }
    value = value == NULL || !is_known ? value : clean(r->arena, &flag, value);
    add(r, name, value, &word->mark);
}

/* A program's name: what stands before belongs to what starts it. */
static bool is_program(const char *text) {
    size_t length = strlen(text);
    return length > 3 && strcmp(text + length - 3, ".py") == 0;
}

/* Whether a word is one of a launcher's arguments that count GPUs, in any of its spellings. */
static const char *launcher_name(const char *text, size_t length) {
    static const struct {
        const char *spelling, *name;
    } NAMES[] = {{"--nproc_per_node", "launcher --nproc-per-node"},
                 {"--nproc-per-node", "launcher --nproc-per-node"},
                 {"--num_gpus", "launcher --nproc-per-node"}, /* of deepspeed */
                 {"--ntasks-per-node", "launcher --ntasks-per-node"},
                 {"--nnodes", "launcher --nnodes"},
                 {"--num_nodes", "launcher --nnodes"},
                 {"--nodes", "launcher --nnodes"},
                 {"-N", "launcher --nnodes"},
                 {"--ntasks", "launcher --ntasks"},
                 {"-n", "launcher --ntasks"},
                 {"-np", "launcher --ntasks"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (strlen(NAMES[i].spelling) == length && strncmp(NAMES[i].spelling, text, length) == 0) {
            return NAMES[i].name;
        }
    }
    return NULL;
}

/* What starts the program; its arguments that count GPUs are kept, all else is the job's. */
static void take_launcher(word_walk *w, size_t end) {
    for (; w->at < end; w->at++) {
        const ms_shell_word *word = &w->words[w->at];
        const char *equals = strchr(word->text, '=');
        size_t length = equals == NULL ? strlen(word->text) : (size_t)(equals - word->text);
        const char *name = launcher_name(word->text, length);
        const char *value = equals != NULL    ? equals + 1
                            : w->at + 1 < end ? w->words[w->at + 1].text
                                              : "";
        if (name != NULL) {
            add(w->reading, name, value, &word->mark);
        }
    }
}

static void take_words(megatron_reading *r, const ms_shell_word *words, size_t count) {
    word_walk w = {r, words, count, 0};
    size_t program = 0;
    while (program < count && !is_program(words[program].text)) {
        program++;
    }
    if (program < count) {
        take_launcher(&w, program);
        w.at = program + 1;
    } else {
        while (w.at < count && !is_argument(&words[w.at])) {
            w.at++;
        }
    }
    while (w.at < count && r->status != MS_E_NOMEM) {
        if (is_argument(&words[w.at])) {
            take_argument(&w);
        } else {
            add(r, words[w.at].text, "", &words[w.at].mark); /* belongs to nothing */
            w.at++;
        }
    }
}

static void take_environment(megatron_reading *r, const ms_vector *environment) {
    for (size_t i = 0; i < environment->count && r->status == MS_OK; i++) {
        const ms_shell_word *word = &MS_AT(environment, ms_shell_word, i);
        const char *blank = strchr(word->text, ' ');
        add(r,
            ms_arena_printf(r->arena, MS_MEGATRON_ENV "%.*s", (int)(blank - word->text),
                            word->text),
            blank + 1, &word->mark);
    }
}

/* What "#SBATCH" lines ask for, which what starts the program may say otherwise. */
static void take_batch(megatron_reading *r, const ms_vector *batch) {
    for (size_t i = 0; i < batch->count && r->status == MS_OK; i++) {
        const ms_shell_word *word = &MS_AT(batch, ms_shell_word, i);
        const char *blank = strchr(word->text, ' ');
        const char *name = launcher_name(word->text, (size_t)(blank - word->text));
        if (name != NULL) {
            add(r, name, blank + 1, &word->mark);
        }
    }
}

static void take_notes(megatron_reading *r, const ms_vector *notes) {
    for (size_t i = 0; i < notes->count; i++) {
        const ms_shell_note *note = &MS_AT(notes, ms_shell_note, i);
        const ms_megatron_note kept = {
            .what = note->what, .took = note->took, .why = note->why, .mark = note->mark};
        if (ms_vector_add(&r->out->notes, &kept, 1) == NULL) {
            lack_memory(r);
        }
    }
}

static void read_script(megatron_reading *r, const ms_text *texts, size_t count) {
    ms_shell shell;
    ms_vector words;
    const ms_shell_source source = {.texts = texts, .count = count, .defines = r->defines};
    ms_vector_init(&words, sizeof(ms_shell_word));
    r->status = ms_shell_read(&source, r->arena, r->diag, &shell);
    if (r->status == MS_OK) {
        r->status = ms_megatron_choose_command(&shell, r->arena, r->diag, &words);
    }
    if (r->status == MS_OK) {
        take_batch(r, &shell.batch);
        take_notes(r, &shell.notes);
        take_words(r, words.data, words.count);
        take_environment(r, &shell.environment);
    }
    ms_shell_release(&shell);
    ms_vector_release(&words);
}

/* ---- YAML ---- */

/* The text of a scalar, or of a list's scalars. */
static const char *text_of(megatron_reading *r, const ms_node *node) {
    if (node->type == MS_NODE_SCALAR) {
        return node->text;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    for (const ms_node *item = node->first; item != NULL; item = item->next) {
        if (item->type == MS_NODE_SCALAR) {
            ms_buffer_printf(&text, "%s%s", text.length == 0 ? "" : " ", item->text);
        }
    }
    return ms_buffer_keep(&text, r->arena);
}

static bool is_word(const char *text, const char *word) {
    return strcmp(text, word) == 0;
}

/* "--bf16: true" is the argument, "--bf16: false" is none. */
static void read_pair(megatron_reading *r, const ms_node *node) {
    ms_megatron_flag flag;
    bool is_known = ms_megatron_find_flag(node->key, &flag);
    if (node->type == MS_NODE_MAPPING) {
        ms_config_fault(r->diag, node, node->key, "expected a value, got a mapping");
        r->status = MS_E_INPUT;
        return;
    }
    const char *value = text_of(r, node);
    if (value == NULL) {
        lack_memory(r);
        return;
    }
    bool is_switch = !is_known || flag.arity == MS_TAKES_NONE;
    bool is_plain = node->type == MS_NODE_SCALAR && !node->is_quoted;
    if (is_plain && (is_word(value, "false") || is_word(value, "False"))) {
        return;
    }
    if (is_plain && is_switch && (is_word(value, "true") || is_word(value, "True"))) {
        value = "";
    }
    value = is_known ? clean(r->arena, &flag, value) : value;
    add(r, node->key, value, &node->key_mark);
}

static void read_mapping(megatron_reading *r, const ms_node *mapping) {
    for (const ms_node *node = mapping->first; node != NULL; node = node->next) {
        if (strncmp(node->key, "--", 2) == 0) {
            read_pair(r, node);
        }
    }
}

static void read_yaml(megatron_reading *r, const ms_text *text) {
    static const char *const ARGUMENTS[] = {"MODEL_ARGS", "MODEL_ARGS_1"};
    ms_node *root = NULL;
    ms_status status =
        ms_yaml_parse(text->data, text->length_B, text->name, r->arena, r->diag, &root);
    status = status == MS_OK && root->has_fault ? MS_E_INPUT : status; /* such as a repeated key */
    r->status = r->status == MS_OK ? status : r->status;
    if (status != MS_OK) {
        return;
    }
    size_t before = r->out->items.count;
    for (size_t i = 0; i < sizeof ARGUMENTS / sizeof ARGUMENTS[0]; i++) {
        const ms_node *arguments = ms_node_get(root, ARGUMENTS[i]);
        if (arguments != NULL && arguments->type == MS_NODE_MAPPING &&
            r->out->items.count == before) {
            read_mapping(r, arguments);
        }
    }
    if (r->out->items.count == before) {
        read_mapping(r, root); /* arguments alone */
    }
    const ms_node *environment = ms_node_get(root, "ENV_VARS");
    for (const ms_node *node = environment == NULL ? NULL : environment->first;
         node != NULL && environment->type == MS_NODE_MAPPING; node = node->next) {
        add(r, ms_arena_printf(r->arena, MS_MEGATRON_ENV "%s", node->key), text_of(r, node),
            &node->key_mark);
    }
}

/* ---- logs ---- */

/* A line "  num_layers ............ 24" of a log, which a launcher may have put its own words in
 * front of. */
typedef struct dump_line {
    const char *key;
    size_t key_B;
    const char *value;
    size_t value_B;
} dump_line;

static bool is_key(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

static bool find_line(const char *from, const char *to, dump_line *out) {
    const char *dots = NULL;
    for (const char *at = from; at + 4 <= to && dots == NULL; at++) {
        dots = memcmp(at, " ...", 4) == 0 ? at : NULL;
    }
    if (dots == NULL) {
        return false;
    }
    const char *key = dots;
    while (key > from && is_key(key[-1])) {
        key--;
    }
    const char *value = dots + 1;
    while (value < to && *value == '.') {
        value++;
    }
    bool has_blanks = key > from && key[-1] == ' ' && value < to && *value == ' ';
    if (key == dots || !has_blanks) {
        return false;
    }
    for (value++; to > value && (to[-1] == ' ' || to[-1] == '\r'); to--) {
    }
    *out = (dump_line){key, (size_t)(dots - key), value, (size_t)(to - value)};
    return true;
}

/* Values as Python prints them: of types, enumerations and quoted words the word alone. */
static const char *plain_value(ms_arena *arena, const char *value) {
    static const char *const PREFIXES[] = {"torch.", "AttnBackend."};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        size_t length = strlen(PREFIXES[i]);
        value += strncmp(value, PREFIXES[i], length) == 0 ? length : 0;
    }
    size_t length = strlen(value);
    bool is_quoted =
        length > 1 && (value[0] == '\'' || value[0] == '"') && value[length - 1] == value[0];
    return is_quoted ? ms_arena_strndup(arena, value + 1, length - 2) : value;
}

/* One of a log's arguments; those with what they have where they are not given are left out. */
static void take_dumped(megatron_reading *r, const dump_line *line, const ms_mark *mark) {
    const char *key = ms_arena_strndup(r->arena, line->key, line->key_B);
    const char *text = ms_arena_strndup(r->arena, line->value, line->value_B);
    ms_megatron_flag flag = {.name = NULL};
    if (key == NULL || text == NULL) {
        lack_memory(r);
        return;
    }
    ms_status status = ms_megatron_find_dumped(key, r->arena, &flag);
    if (status == MS_E_NOMEM) {
        lack_memory(r);
        return;
    }
    bool is_false = is_word(text, "False"), is_true = is_word(text, "True");
    bool is_nothing = is_word(text, "None") || is_word(text, "[]") || text[0] == '\0';
    if (is_nothing || (flag.is_off ? is_true : is_false)) {
        return;
    }
    const char *value = is_false || is_true ? "" : plain_value(r->arena, text);
    if (status != MS_OK) {
        add(r, key, value, mark);
        return;
    }
    value = value == NULL ? NULL : clean(r->arena, &flag, value);
    if (value == NULL || !ms_megatron_is_default(flag.name, value)) {
        add(r, flag.name, value, mark);
    }
}

static const char *line_end(const char *at, const char *end) {
    const char *next = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));
    return next == NULL ? end : next;
}

static bool holds(const char *from, const char *to, const char *word) {
    size_t length = strlen(word);
    for (; (size_t)(to - from) >= length; from++) {
        if (memcmp(from, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The block between "--- arguments ---" and "--- end of arguments ---"; a text without the first is
 * a block as a whole. */
static void read_dump(megatron_reading *r, const ms_text *text) {
    const char *end = text->data + text->length_B;
    bool has_title = holds(text->data, end, "- arguments -");
    bool is_inside = !has_title;
    int number = 1;
    r->out->is_dump = true;
    for (const char *at = text->data; at < end && r->status != MS_E_NOMEM; number++) {
        const char *next = line_end(at, end);
        dump_line line;
        if (has_title && holds(at, next, "- end of arguments -")) {
            break;
        }
        if (is_inside && find_line(at, next, &line)) {
            const ms_mark mark = {.file = text->name,
                                  .source = text->data,
                                  .source_B = text->length_B,
                                  .line = number,
                                  .column = (int)(line.key - at) + 1,
                                  .width = (int)line.key_B};
            take_dumped(r, &line, &mark);
        }
        is_inside = is_inside || holds(at, next, "- arguments -");
        at = next + 1;
    }
}

/* ---- forms ---- */

static bool is_dump(const ms_text *text) {
    const char *end = text->data + text->length_B;
    int lines = 0;
    for (const char *at = text->data; at < end && lines < 2;) {
        const char *next = line_end(at, end);
        dump_line line;
        lines += find_line(at, next, &line);
        at = next + 1;
    }
    return lines == 2;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* YAML by its name, or by a line that a mapping of arguments begins with. */
static bool is_yaml(const ms_text *text) {
    const char *end = text->data + text->length_B;
    if (ends_with(text->name, ".yaml") || ends_with(text->name, ".yml")) {
        return true;
    }
    for (const char *at = text->data; at < end;) {
        const char *next = line_end(at, end);
        if ((size_t)(next - at) >= 11 && memcmp(at, "MODEL_ARGS:", 11) == 0) {
            return true;
        }
        at = next + 1;
    }
    return false;
}

static ms_status check_found(megatron_reading *r, const ms_text *texts, size_t count) {
    if (r->status != MS_OK || r->out->items.count > 0) {
        return r->status;
    }
    const ms_mark mark = {.file = count == 0 ? NULL : texts[0].name};
    ms_diag_at(r->diag, &mark, NULL,
               "expected arguments of Megatron-LM (a command line or script with --num-layers and "
               "others, MODEL_ARGS of its tests, or the arguments in a log), got none");
    return MS_E_INPUT;
}

ms_status ms_megatron_read(const ms_text *texts, size_t count, const ms_words *defines,
                           ms_arena *arena, ms_diag *diag, ms_megatron_arguments *arguments) {
    megatron_reading r = {.arena = arena, .diag = diag, .out = arguments, .defines = defines};
    ms_text *scripts = MS_NEW(arena, ms_text, count + 1);
    size_t script_count = 0;
    if (scripts == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (size_t i = 0; i < count && r.status != MS_E_NOMEM; i++) {
        if (is_yaml(&texts[i])) {
            read_yaml(&r, &texts[i]);
        } else if (is_dump(&texts[i])) {
            read_dump(&r, &texts[i]);
        } else {
            scripts[script_count++] = texts[i];
        }
    }
    if (r.status == MS_OK && script_count > 0) {
        read_script(&r, scripts, script_count);
    }
    return check_found(&r, texts, count);
}

ms_status ms_megatron_take(const ms_words *words, ms_arena *arena, ms_diag *diag,
                           ms_megatron_arguments *arguments) {
    megatron_reading r = {.arena = arena, .diag = diag, .out = arguments};
    const size_t env = sizeof MS_MEGATRON_ENV - 1;
    for (size_t i = 0; i < words->count && r.status == MS_OK; i++) {
        const char *text = words->items[i];
        bool is_env = strncmp(text, MS_MEGATRON_ENV, env) == 0;
        const char *cut = strchr(is_env ? text + env : text, is_env ? '=' : ' ');
        const char *name = cut == NULL ? text : ms_arena_strndup(arena, text, (size_t)(cut - text));
        ms_megatron_flag flag;
        const char *value = cut == NULL ? "" : cut + 1;
        bool is_many = name != NULL && ms_megatron_find_flag(name, &flag);
        add(&r, name, is_many ? clean(arena, &flag, value) : value, NULL);
    }
    return r.status;
}
