/* The table of algorithms: a row for each algorithm and kind of collective, with the function that
 * lays it out. Finds the row for a request (ms_coll_choose), by the request's algorithm, by NCCL's
 * cost model where the platform has a library, or else the first row that applies; and reads and
 * writes the names of algorithms. See decision note algorithms.md. */
#include "collective/algorithms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collective/nccl.h"

static const char NEEDS_NVLS[] =
    "one node whose NVLink switches reduce (platform keys library and nvls; an all-reduce among "
    "several also sharp) and as many GPUs on each node as the library's nvls_min_gpus";
static const char NEEDS_NVLS_TREE[] =
    "several nodes of equally many GPUs, at least as many as the library's nvls_min_gpus, whose "
    "NVLink switches reduce (platform keys library, nvls)";
static const char NEEDS_COLLNET[] =
    "several nodes of equally many GPUs and switches between them that reduce (platform keys "
    "library and sharp)";
static const char NEEDS_PAT[] = "one GPU on each node (platform key library)";

/* Whether the platform's library offers the algorithm that a request names for the places of the
 * group's members. `applies` of rows. */
static bool is_offered(const ms_platform *platform, const ms_coll_request *request) {
    ms_nccl_comm comm;
    ms_coll_request way = *request;
    if (!ms_nccl_applies(platform, request->kind) || request->algorithm == MS_ALGORITHM_AUTO ||
        request->members < 2 ||
        ms_nccl_comm_find(platform, request->gpus, request->members, &comm) != MS_OK) {
        return false;
    }
    way.protocol = MS_PROTOCOL_SIMPLE; /* which every algorithm has */
    return isfinite(ms_nccl_time_s(platform, &comm, &way, request->size_B));
}

/* MS_ALGORITHM_AUTO takes the first row of a kind that applies where no library chooses. */
static const ms_coll_algorithm_row ROWS[] = {
    {MS_COLL_P2P, MS_ALGORITHM_DIRECT, "direct", NULL, NULL, ms_p2p_plan},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_RING, "ring", NULL, NULL, ms_ring_plan},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_TREE, "tree", NULL, NULL, ms_tree_plan},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_NVLS, "nvls", is_offered, NEEDS_NVLS, ms_nvls_plan},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_NVLS_TREE, "nvls_tree", is_offered, NEEDS_NVLS_TREE,
     ms_nvls_plan},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_COLLNET_DIRECT, "collnet_direct", is_offered, NEEDS_COLLNET,
     ms_nvls_plan},
    {MS_COLL_ALL_REDUCE, MS_ALGORITHM_COLLNET_CHAIN, "collnet_chain", is_offered, NEEDS_COLLNET,
     ms_nvls_plan},
    {MS_COLL_REDUCE_SCATTER, MS_ALGORITHM_RING, "ring", NULL, NULL, ms_ring_plan},
    {MS_COLL_REDUCE_SCATTER, MS_ALGORITHM_NVLS, "nvls", is_offered, NEEDS_NVLS, ms_nvls_plan},
    {MS_COLL_REDUCE_SCATTER, MS_ALGORITHM_PAT, "pat", is_offered, NEEDS_PAT, ms_pat_plan},
    {MS_COLL_ALL_GATHER, MS_ALGORITHM_RING, "ring", NULL, NULL, ms_ring_plan},
    {MS_COLL_ALL_GATHER, MS_ALGORITHM_NVLS, "nvls", is_offered, NEEDS_NVLS, ms_nvls_plan},
    {MS_COLL_ALL_GATHER, MS_ALGORITHM_PAT, "pat", is_offered, NEEDS_PAT, ms_pat_plan},
    {MS_COLL_RING_SHIFT, MS_ALGORITHM_RING, "ring", NULL, NULL, ms_shift_plan},
    {MS_COLL_ALL_TO_ALL, MS_ALGORITHM_DIRECT, "direct", ms_exchange_applies,
     "at most 4096 ranks, or 131072 behind switches whose links between two of them act as one",
     ms_exchange_plan},
};
_Static_assert(MS_PAIRWISE_MEMBERS_MAX == 4096 && MS_EXCHANGE_MEMBERS_MAX == 131072,
               "the row says how many");

enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0] };

/* Whether a row is of the kind and algorithm that a request asks for. */
static bool is_asked_for(const ms_coll_algorithm_row *row, const ms_coll_request *request) {
    return row->kind == request->kind &&
           (request->algorithm == MS_ALGORITHM_AUTO || request->algorithm == row->algorithm);
}

/* The first row of the kind and algorithm of a request that applies; NULL: none. */
static const ms_coll_algorithm_row *first_of(const ms_platform *platform,
                                             const ms_coll_request *request) {
    for (int i = 0; i < ROW_COUNT; i++) {
        bool applies = ROWS[i].applies == NULL || ROWS[i].applies(platform, request);
        if (is_asked_for(&ROWS[i], request) && applies) {
            return &ROWS[i];
        }
    }
    return NULL;
}

/* The row that the platform's library chooses for a request; NULL: it offers none. It chooses by
 * choice_B, if the request has it, such as the bytes of a collective of which the request is a
 * part. *protocol_out: the protocol chosen. */
static const ms_coll_algorithm_row *chosen_by_library(const ms_platform *platform,
                                                      const ms_coll_request *request,
                                                      ms_protocol *protocol_out) {
    ms_nccl_comm comm;
    if (ms_nccl_comm_find(platform, request->gpus, request->members, &comm) != MS_OK) {
        return NULL;
    }
    double size_B = request->choice_B > 0.0 ? request->choice_B : request->size_B;
    ms_nccl_choice choice = ms_nccl_choose(platform, &comm, request, size_B);
    ms_coll_request chosen = *request;
    chosen.algorithm = choice.algorithm;
    *protocol_out = choice.protocol;
    return choice.algorithm == MS_ALGORITHM_AUTO ? NULL : first_of(platform, &chosen);
}

/* Choose the row that lays a request out: the row that the library's model predicts to be fastest;
 * without a library, the first row that applies, which has no protocols but Simple. */
const ms_coll_algorithm_row *ms_coll_choose(const ms_platform *platform,
                                            const ms_coll_request *request,
                                            ms_protocol *protocol_out) {
    *protocol_out = MS_PROTOCOL_AUTO;
    if (ms_nccl_applies(platform, request->kind) && request->members > 1) {
        return chosen_by_library(platform, request, protocol_out);
    }
    bool has_protocol =
        request->protocol == MS_PROTOCOL_AUTO || request->protocol == MS_PROTOCOL_SIMPLE;
    return has_protocol ? first_of(platform, request) : NULL;
}

/* Report why no row of the table lays a request out. Names the protocol, if one was asked for that
 * only a library offers; else what the first row of the kind and algorithm needs, which has refused
 * the request. */
void ms_coll_report_refusal(const ms_coll_request *request, ms_diag *diag) {
    const char *kind = ms_coll_kind_name(request->kind);
    const ms_coll_algorithm_row *row = NULL;
    for (int i = 0; i < ROW_COUNT && row == NULL; i++) {
        row = is_asked_for(&ROWS[i], request) ? &ROWS[i] : NULL;
    }
    bool is_protocol =
        request->protocol == MS_PROTOCOL_LL || request->protocol == MS_PROTOCOL_LL128;
    if (row != NULL && is_protocol) {
        ms_diag_error(diag,
                      "protocol '%s' is not offered for %s among %d ranks; the platform's "
                      "library decides on protocols",
                      ms_protocol_name(request->protocol), kind, request->members);
    } else if (row == NULL || row->needs == NULL) {
        ms_diag_error(diag, "algorithm '%s' is not built for %s",
                      ms_coll_algorithm_name(request->algorithm), kind);
    } else {
        ms_diag_error(diag, "%s among %d ranks is not laid out; algorithm '%s' needs %s", kind,
                      request->members, row->name, row->needs);
    }
}

/* Find the algorithm that a name means for a kind of collective. The name is looked for among the
 * rows of the kind only. */
ms_status ms_coll_algorithm_read(ms_coll_kind kind, const char *name,
                                 ms_coll_algorithm *algorithm_out) {
    if (strcmp(name, "auto") == 0) {
        *algorithm_out = MS_ALGORITHM_AUTO;
        return MS_OK;
    }
    for (int i = 0; i < ROW_COUNT; i++) {
        if (ROWS[i].kind == kind && strcmp(ROWS[i].name, name) == 0) {
            *algorithm_out = ROWS[i].algorithm;
            return MS_OK;
        }
    }
    return MS_E_RANGE;
}

/* Name number `index` among those of a kind: "auto" is 0, then come the rows of the kind in their
 * order; NULL after the last one. */
const char *ms_coll_algorithm_word(ms_coll_kind kind, int index) {
    for (int i = 0; i < ROW_COUNT && index > 0; i++) {
        index -= ROWS[i].kind == kind;
        if (index == 0) {
            return ROWS[i].name;
        }
    }
    return index == 0 ? "auto" : NULL;
}

/* Write the names of a kind's algorithms as "auto, ring or tree". */
char *ms_coll_algorithm_words(ms_coll_kind kind, char *text_out, size_t size) {
    size_t length = 0;
    const char *word = ms_coll_algorithm_word(kind, 0);
    for (int i = 1; word != NULL && length < size; i++) {
        const char *next = ms_coll_algorithm_word(kind, i);
        const char *joint = i == 1 ? "" : next == NULL ? " or " : ", ";
        length += (size_t)snprintf(text_out + length, size - length, "%s%s", joint, word);
        word = next;
    }
    return text_out;
}

/* Name of an algorithm, from any of its rows. */
const char *ms_coll_algorithm_name(ms_coll_algorithm algorithm) {
    if (algorithm == MS_ALGORITHM_AUTO) {
        return "auto";
    }
    for (int i = 0; i < ROW_COUNT; i++) {
        if (ROWS[i].algorithm == algorithm) {
            return ROWS[i].name;
        }
    }
    return "unknown";
}

static const char *const PROTOCOLS[] = {
    [MS_PROTOCOL_AUTO] = "auto",
    [MS_PROTOCOL_LL] = "ll",
    [MS_PROTOCOL_LL128] = "ll128",
    [MS_PROTOCOL_SIMPLE] = "simple",
};

/* Find the protocol with a name. */
ms_status ms_protocol_read(const char *name, ms_protocol *protocol_out) {
    int index = ms_word_index(name, PROTOCOLS, MS_PROTOCOL_SIMPLE + 1);
    if (index < 0) {
        return MS_E_RANGE;
    }
    *protocol_out = (ms_protocol)index;
    return MS_OK;
}

const char *ms_protocol_name(ms_protocol protocol) {
    return PROTOCOLS[protocol == MS_PROTOCOL_AUTO ? MS_PROTOCOL_SIMPLE : protocol];
}
