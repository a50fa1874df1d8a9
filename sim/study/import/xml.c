/* XML by expat. What its writers never need is refused: a document type, by which entities could
 * grow a small file to any size. */
#include "study/import/xml.h"

#include <expat.h>
#include <string.h>

enum { LEVELS_MAX = 64, ELEMENTS_MAX = 100000, PIECE_B = 1 << 20 };

/* A document while it is parsed. */
typedef struct xml_reader {
    XML_Parser parser;
    const ms_text *text;
    ms_arena *arena;
    ms_diag *diag;
    ms_xml_element *root, *open;
    int levels, elements;
    ms_status status;
} xml_reader;

static ms_mark mark_here(const xml_reader *r) {
    return (ms_mark){.file = r->text->name,
                     .line = (int)XML_GetCurrentLineNumber(r->parser),
                     .column = (int)XML_GetCurrentColumnNumber(r->parser) + 1,
                     .width = 1};
}

static void stop(xml_reader *r, const char *why) {
    ms_mark mark = mark_here(r);
    if (r->status == MS_OK) {
        r->status = why == NULL ? ms_diag_no_memory(r->diag) : MS_E_INPUT;
        if (why != NULL) {
            ms_diag_at(r->diag, &mark, NULL, "%s", why);
        }
    }
    XML_StopParser(r->parser, XML_FALSE);
}

static bool copy_attributes(const xml_reader *r, const XML_Char **attributes,
                            ms_xml_element *element) {
    size_t count = 0;
    while (attributes[2 * count] != NULL) {
        count++;
    }
    element->attributes = MS_NEW(r->arena, ms_xml_attribute, count);
    for (size_t i = 0; i < count && element->attributes != NULL; i++) {
        element->attributes[i] =
            (ms_xml_attribute){ms_arena_strdup(r->arena, attributes[2 * i]),
                               ms_arena_strdup(r->arena, attributes[2 * i + 1])};
    }
    element->attribute_count = count;
    return !r->arena->has_failed;
}

static void XMLCALL begin(void *context, const XML_Char *name, const XML_Char **attributes) {
    xml_reader *r = context;
    if (r->status != MS_OK) {
        return;
    }
    if (++r->levels > LEVELS_MAX || ++r->elements > ELEMENTS_MAX) {
        stop(r, "more than 64 levels or 100000 elements");
        return;
    }
    ms_xml_element *element = MS_NEW(r->arena, ms_xml_element, 1);
    if (element == NULL || !copy_attributes(r, attributes, element)) {
        stop(r, NULL);
        return;
    }
    element->name = ms_arena_strdup(r->arena, name);
    element->mark = mark_here(r);
    element->parent = r->open;
    if (element->name == NULL) {
        stop(r, NULL);
    } else if (r->open == NULL) {
        r->root = element;
    } else if (r->open->last == NULL) {
        r->open->first = r->open->last = element;
    } else {
        r->open->last = r->open->last->next = element;
    }
    r->open = element;
}

static void XMLCALL end(void *context, const XML_Char *name) {
    xml_reader *r = context;
    (void)name;
    if (r->status == MS_OK) {
        r->open = r->open->parent;
        r->levels--;
    }
}

static void XMLCALL refuse_type(void *context, const XML_Char *name, const XML_Char *system,
                                const XML_Char *public_id, int has_subset) {
    (void)name;
    (void)system;
    (void)public_id;
    (void)has_subset;
    stop(context, "a document type is not read, as it may hold entities");
}

/* In pieces, as expat counts bytes by int. */
static void parse(xml_reader *r) {
    enum XML_Status status = XML_STATUS_OK;
    size_t at = 0;
    do {
        size_t left = r->text->length_B - at;
        size_t piece = left < PIECE_B ? left : PIECE_B;
        status = XML_Parse(r->parser, r->text->data + at, (int)piece, piece == left);
        at += piece;
    } while (status == XML_STATUS_OK && at < r->text->length_B);
    if (status != XML_STATUS_OK && r->status == MS_OK) {
        bool is_short = XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY;
        stop(r, is_short ? NULL
                         : ms_arena_printf(r->arena, "not valid XML: %s",
                                           XML_ErrorString(XML_GetErrorCode(r->parser))));
    }
}

ms_status ms_xml_parse(const ms_text *text, ms_arena *arena, ms_diag *diag,
                       ms_xml_element **root_out) {
    xml_reader r = {.text = text, .arena = arena, .diag = diag};
    r.parser = XML_ParserCreate(NULL);
    if (r.parser == NULL) {
        return ms_diag_no_memory(diag);
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, begin, end);
    XML_SetStartDoctypeDeclHandler(r.parser, refuse_type);
    parse(&r);
    XML_ParserFree(r.parser);
    if (r.status == MS_OK) {
        *root_out = r.root;
    }
    return r.status;
}

const char *ms_xml_get(const ms_xml_element *element, const char *key) {
    for (size_t i = 0; i < element->attribute_count; i++) {
        if (strcmp(element->attributes[i].key, key) == 0) {
            return element->attributes[i].value;
        }
    }
    return NULL;
}
