/* XML documents as trees of elements that remember where they stand. */
#ifndef MS_IMPORT_XML_H
#define MS_IMPORT_XML_H

#include "meshsim/config.h"

/* An attribute. */
typedef struct ms_xml_attribute {
    const char *key, *value;
} ms_xml_attribute;

/* An element; text between elements is not kept. */
typedef struct ms_xml_element {
    const char *name;
    ms_xml_attribute *attributes; /* [attribute_count] */
    size_t attribute_count;
    ms_mark mark;
    struct ms_xml_element *parent, *first, *last, *next;
} ms_xml_element;

/* Parse a text.  text: its name must outlive the tree.  *root_out: in `arena`.  Returns MS_OK;
 * MS_E_INPUT (reported) for what is no XML, a document type (and with it entities), more than 64
 * levels or 100,000 elements; MS_E_NOMEM (reported). */
ms_status ms_xml_parse(const ms_text *text, ms_arena *arena, ms_diag *diag,
                       ms_xml_element **root_out);

/* The value of an attribute; NULL: it is not there. */
const char *ms_xml_get(const ms_xml_element *element, const char *key);

#endif
