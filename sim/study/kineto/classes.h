/* What names of kernels, collectives and types in a trace mean. */
#ifndef MS_KINETO_CLASSES_H
#define MS_KINETO_CLASSES_H

#include "meshsim/kineto.h"

/* Kind of a collective by its name, or that of its kernel; MS_COLL_NONE: none that is simulated. */
ms_coll_kind ms_kineto_coll_of(const char *name);

/* Bytes of an element of a type, "c10::BFloat16" or "BFloat16"; 0: of no type that is known. */
int ms_kineto_type_B(const char *type);

#endif
