/* Which operator of the host launched which work of the GPU. */
#ifndef MS_KINETO_LAUNCHES_H
#define MS_KINETO_LAUNCHES_H

#include "study/kineto/collect.h"

/* Lead each record to its operator: `launch` becomes an index of `launches`, or MS_KINETO_NONE; a
 * message that only the operator has is then the record's, too.  Returns MS_OK; MS_E_NOMEM.
 *  O((records + launches + calls) log). */
ms_status ms_kineto_link(ms_kineto_file *file);

#endif
