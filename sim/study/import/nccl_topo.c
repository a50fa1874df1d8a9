/* A machine as NCCL sees it: GPUs, their NVLinks, NICs, in an XML tree of NUMA nodes and PCI.
 * Source: NVIDIA/nccl, src/graph/xml.cc (what is written), src/graph/topo.cc (what it means). */
#include "meshsim/nccl_topo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/import/xml.h"

enum { HOSTS_MAX = 1024, NICS_MAX = 1024, COUNT_MAX = 1 << 20 };

static const double MBIT_S_IN_BPS = 125e3, MB_S_IN_BPS = 1e6, US_IN_S = 1e-6;
/* Of a NIC that says no speed. Source: NCCL, src/graph/topo.cc */
static const double USUAL_MBIT_S = 10000;
/* Classes of PCI devices. Source: NCCL, src/graph/xml.h */
static const char SWITCH_CLASS[] = "0x068000";

/* Attributes that are known. */
static const struct {
    const char *element, *attribute; /* attribute NULL: the element with all below it */
    ms_source_fate fate;
    const char *why;
} KNOWN[] = {
    {"system", "version", MS_SOURCE_IGNORED, "there is one version so far"},
    {"cpu", "host_hash", MS_SOURCE_USED, "node.gpus"},
    {"cpu", "vendor", MS_SOURCE_USED, "node.cpu"},
    {"cpu", "arch", MS_SOURCE_IGNORED, "node.cpu knows Intel and AMD alone"},
    {"cpu", "familyid", MS_SOURCE_IGNORED, "node.cpu knows makers, not their models"},
    {"cpu", "modelid", MS_SOURCE_IGNORED, "node.cpu knows makers, not their models"},
    {"cpu", "numaid", MS_SOURCE_IGNORED, "all GPUs and NICs of a node are equally near"},
    {"cpu", "affinity", MS_SOURCE_IGNORED, "where processes are bound changes no time here"},
    {"cpu", "affinity_offset", MS_SOURCE_IGNORED, "where processes are bound changes no time here"},
    {"pci", "vendor", MS_SOURCE_USED, "gpu.type"},
    {"pci", "device", MS_SOURCE_USED, "gpu.type"},
    {"pci", "link_speed", MS_SOURCE_USED, "gpu.pcie, tiers.rail.bandwidth"},
    {"pci", "link_width", MS_SOURCE_USED, "gpu.pcie, tiers.rail.bandwidth"},
    {"pci", "busid", MS_SOURCE_IGNORED, "a slot's name"},
    {"pci", "class", MS_SOURCE_IGNORED, "what stands in it says the same"},
    {"pci", "subsystem_vendor", MS_SOURCE_IGNORED, "the board's maker"},
    {"pci", "subsystem_device", MS_SOURCE_IGNORED, "the board's name"},
    {"gpu", "sm", MS_SOURCE_USED, "gpu.type, tiers.nvlink, nvls"},
    {"gpu", "dev", MS_SOURCE_IGNORED, "the GPU's number"},
    {"gpu", "rank", MS_SOURCE_IGNORED, "the job's number"},
    {"gpu", "gdr", MS_SOURCE_IGNORED, "NICs say it, too"},
    {"gpu", "mlopart", MS_SOURCE_IGNORED, "parts of a GPU are one GPU here"},
    {"nvlink", "count", MS_SOURCE_USED, "tiers.nvlink.bandwidth"},
    {"nvlink", "tclass", MS_SOURCE_USED, "nvls"},
    {"nvlink", "target", MS_SOURCE_IGNORED, "all GPUs of a node are on one NVLink switch here"},
    {"c2c", "bw", MS_SOURCE_USED, "gpu.pcie"},
    {"c2c", "count", MS_SOURCE_USED, "gpu.pcie"},
    {"net", "speed", MS_SOURCE_USED, "node.nics, tiers.rail.bandwidth"},
    {"net", "latency", MS_SOURCE_USED, "node.nic_latency"},
    {"net", "coll", MS_SOURCE_USED, "sharp"},
    {"net", "name", MS_SOURCE_USED, "node.nics"},
    {"net", "dev", MS_SOURCE_USED, "node.nics"},
    {"net", "net", MS_SOURCE_USED, "node.nics"},
    {"net", "gdr", MS_SOURCE_IGNORED, "GPUs' memory is taken to be read and written directly"},
    {"net", "port", MS_SOURCE_IGNORED, "each port is a NIC here"},
    {"net", "guid", MS_SOURCE_IGNORED, "the NIC's name"},
    {"net", "maxconn", MS_SOURCE_IGNORED, "connections are not counted"},
    {"net", "keep", MS_SOURCE_IGNORED, "what NCCL keeps when it trims"},
    {"net", "rail", MS_SOURCE_IGNORED, "fabric.kind says whether there are rails"},
    {"net", "plane", MS_SOURCE_IGNORED, "planes of a NIC are one network here"},
    {"gin", NULL, MS_SOURCE_IGNORED, "the NICs again, as another transport sees them"},
    {"rma", NULL, MS_SOURCE_IGNORED, "the NICs again, as another transport sees them"},
    {"pcilink", NULL, MS_SOURCE_IGNORED, "links between PCI switches"},
};
enum { KNOWN_COUNT = sizeof KNOWN / sizeof KNOWN[0] };
static const char *const ELEMENTS[] = {"system", "cpu", "pci", "gpu",
                                       "nvlink", "c2c", "nic", "net"};

/* A NIC. */
typedef struct topo_nic {
    const char *name; /* NULL: none */
    const char *host; /* its machine's hash; NULL: there is one machine */
    double port_Bps, speed_Bps, latency_s;
    bool has_gdr, has_sharp;
    ms_mark mark;
} topo_nic;

/* A file while it is read. */
typedef struct topo_reader {
    ms_arena *arena;
    ms_diag *diag;
    ms_source_keys *keys;
    ms_nccl_machine *out;
    const char *hosts[HOSTS_MAX];
    topo_nic nics[NICS_MAX];
    int nic_count;
    int counts[KNOWN_COUNT];
    ms_mark firsts[KNOWN_COUNT];
    ms_words unknown; /* "element attribute" told already */
    ms_nccl_gpus gpu; /* the first */
} topo_reader;

static ms_status fault(const topo_reader *r, const ms_xml_element *element, const char *why) {
    ms_diag_at(r->diag, &element->mark, element->name, "%s", why);
    return MS_E_INPUT;
}

/* ---- attributes ---- */

/* A whole number, also "0x10de"; *value_out stays where the attribute is not there. */
static ms_status read_count(const topo_reader *r, const ms_xml_element *element, const char *key,
                            long *value_out) {
    const char *text = ms_xml_get(element, key);
    char *end = NULL;
    if (text == NULL) {
        return MS_OK;
    }
    long value = strtol(text, &end, 0);
    if (end == text || *end != '\0' || value < 0 || value > COUNT_MAX) {
        ms_diag_at(r->diag, &element->mark, element->name,
                   "expected a whole number of 0 or more as %s, got '%.40s'", key, text);
        return MS_E_INPUT;
    }
    *value_out = value;
    return MS_OK;
}

static ms_status read_number(const topo_reader *r, const ms_xml_element *element, const char *key,
                             double *value_out) {
    const char *text = ms_xml_get(element, key);
    char *end = NULL;
    if (text == NULL) {
        return MS_OK;
    }
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || fabs(value) > 1e12) {
        ms_diag_at(r->diag, &element->mark, element->name, "expected a number as %s, got '%.40s'",
                   key, text);
        return MS_E_INPUT;
    }
    *value_out = value;
    return MS_OK;
}

/* What a PCI link carries each way: "32.0 GT/s PCIe" on 16 lanes; 0: it does not say. The first
 * two generations write 10 bits for 8, later ones 130 for 128. */
static double pci_Bps(const ms_xml_element *pci) {
    const char *speed = ms_xml_get(pci, "link_speed"), *width = ms_xml_get(pci, "link_width");
    double gt_s = speed == NULL ? 0 : strtod(speed, NULL);
    double lanes = width == NULL ? 0 : strtod(width, NULL);
    bool is_sound = gt_s > 0 && gt_s < 1000 && lanes > 0 && lanes <= 64;
    double code = gt_s < 8 ? 8.0 / 10 : 128.0 / 130;
    return is_sound ? gt_s * 1e9 * lanes * code / 8 : 0;
}

/* ---- GPUs ---- */

/* Links of a GPU, and its other way to the processor. */
static ms_status read_links(const topo_reader *r, const ms_xml_element *gpu, ms_nccl_gpus *out) {
    ms_status status = MS_OK;
    for (const ms_xml_element *e = gpu->first; e != NULL && status == MS_OK; e = e->next) {
        long count = 0;
        double bandwidth = 0;
        const char *target = ms_xml_get(e, "tclass");
        status = read_count(r, e, "count", &count);
        if (status == MS_OK && strcmp(e->name, "nvlink") == 0) {
            out->link_mark = out->links == 0 ? e->mark : out->link_mark;
            out->links += (int)count;
            out->has_switch =
                out->has_switch || (target != NULL && strcmp(target, SWITCH_CLASS) == 0);
        } else if (status == MS_OK && strcmp(e->name, "c2c") == 0) {
            status = read_number(r, e, "bw", &bandwidth);
            out->host_Bps = bandwidth * (double)count * MB_S_IN_BPS;
        } else if (status == MS_OK && strcmp(e->name, "xgmi") == 0) {
            status = fault(r, e,
                           "links of AMD's GPUs, in a file of RCCL, are not read; expected one of "
                           "NCCL, with NVLink or PCI alone");
        }
    }
    return status;
}

static ms_status check_alike(const topo_reader *r, const ms_xml_element *gpu,
                             const ms_nccl_gpus *one) {
    const ms_nccl_gpus *first = &r->gpu;
    if (one->sm != first->sm || one->device != first->device || one->vendor != first->vendor) {
        return fault(r, gpu, "another GPU than those before; a platform has one type");
    }
    if (one->links != first->links || one->has_switch != first->has_switch) {
        ms_diag_at(r->diag, &gpu->mark, gpu->name,
                   "expected %d links of NVLink, as of the GPUs before, got %d", first->links,
                   one->links);
        return MS_E_INPUT;
    }
    return MS_OK;
}

static ms_status read_gpu(topo_reader *r, const ms_xml_element *gpu) {
    const ms_xml_element *pci = gpu->parent;
    ms_nccl_gpus one = {.mark = gpu->mark, .host_Bps = pci_Bps(pci)};
    long sm = 0;
    ms_status status = read_count(r, gpu, "sm", &sm);
    status = status == MS_OK ? read_count(r, pci, "vendor", &one.vendor) : status;
    status = status == MS_OK ? read_count(r, pci, "device", &one.device) : status;
    status = status == MS_OK ? read_links(r, gpu, &one) : status;
    one.sm = (int)sm;
    r->gpu = r->out->gpus.count == 0 ? one : r->gpu;
    r->out->gpus.count++;
    return status == MS_OK ? check_alike(r, gpu, &one) : status;
}

/* ---- NICs ---- */

static const char *host_of(const ms_xml_element *element) {
    while (element->parent != NULL && strcmp(element->name, "cpu") != 0) {
        element = element->parent;
    }
    return ms_xml_get(element, "host_hash");
}

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* A socket's NIC stands below each of the processors. */
static bool is_known_nic(const topo_reader *r, const topo_nic *nic) {
    for (int i = 0; i < r->nic_count && nic->name != NULL; i++) {
        if (is_same_text(r->nics[i].name, nic->name) && is_same_text(r->nics[i].host, nic->host)) {
            return true;
        }
    }
    return false;
}

static ms_status read_net(topo_reader *r, const ms_xml_element *net) {
    const ms_xml_element *pci = net->parent->parent;
    double mbit_s = 0, latency_us = 0;
    long gdr = 0, coll = 0, counts = 1;
    ms_status status = read_number(r, net, "speed", &mbit_s);
    status = status == MS_OK ? read_number(r, net, "latency", &latency_us) : status;
    status = status == MS_OK ? read_count(r, net, "gdr", &gdr) : status;
    status = status == MS_OK ? read_count(r, net, "coll", &coll) : status;
    status = status == MS_OK ? read_count(r, net, "net", &counts) : status;
    if (status != MS_OK || counts == 0 || ms_xml_get(net, "dev") == NULL) {
        return status; /* part of another one, or not for NCCL */
    }
    topo_nic nic = {.name = ms_xml_get(net, "name"),
                    .host = host_of(net),
                    .port_Bps = (mbit_s > 0 ? mbit_s : USUAL_MBIT_S) * MBIT_S_IN_BPS,
                    .latency_s = fmax(0, latency_us) * US_IN_S,
                    .has_gdr = gdr > 0,
                    .has_sharp = coll > 0,
                    .mark = net->mark};
    double pci_rate_Bps = pci != NULL && strcmp(pci->name, "pci") == 0 ? pci_Bps(pci) : 0;
    nic.speed_Bps = pci_rate_Bps > 0 ? fmin(nic.port_Bps, pci_rate_Bps) : nic.port_Bps;
    if (is_known_nic(r, &nic)) {
        return MS_OK;
    }
    if (r->nic_count == NICS_MAX) {
        return fault(r, net, "more NICs than are read");
    }
    r->nics[r->nic_count++] = nic;
    return MS_OK;
}

/* The speed that most have, of several the highest. */
static void choose_nics(topo_reader *r) {
    ms_nccl_nics *out = &r->out->nics;
    for (int i = 0; i < r->nic_count; i++) {
        const topo_nic *nic = &r->nics[i];
        int same = 0;
        for (int j = 0; j < r->nic_count; j++) {
            same += fabs(r->nics[j].speed_Bps - nic->speed_Bps) < 1;
        }
        if (same > out->count || (same == out->count && nic->speed_Bps > out->speed_Bps)) {
            *out = (ms_nccl_nics){.count = same,
                                  .speed_Bps = nic->speed_Bps,
                                  .port_Bps = nic->port_Bps,
                                  .latency_s = nic->latency_s,
                                  .has_gdr = nic->has_gdr,
                                  .has_sharp = nic->has_sharp,
                                  .mark = nic->mark};
        }
    }
    out->others = r->nic_count - out->count;
}

/* ---- what became of attributes ---- */

static int find_known(const char *element, const char *attribute) {
    for (int i = 0; i < KNOWN_COUNT; i++) {
        bool is_whole = KNOWN[i].attribute == NULL;
        if (strcmp(KNOWN[i].element, element) == 0 &&
            (is_whole || (attribute != NULL && strcmp(KNOWN[i].attribute, attribute) == 0))) {
            return i;
        }
    }
    return -1;
}

static void count(topo_reader *r, int known, const ms_mark *mark) {
    r->firsts[known] = r->counts[known]++ == 0 ? *mark : r->firsts[known];
}

/* Each unknown name once: the first place stands for all. */
static ms_status tell_unknown(topo_reader *r, const ms_xml_element *element,
                              const char *attribute) {
    enum { UNKNOWN_MAX = 100 };
    const char *name = attribute == NULL
                           ? element->name
                           : ms_arena_printf(r->arena, "%s %s", element->name, attribute);
    for (size_t i = 0; i < r->unknown.count && name != NULL; i++) {
        if (strcmp(r->unknown.items[i], name) == 0) {
            return MS_OK;
        }
    }
    if (r->unknown.items == NULL) {
        r->unknown.items = MS_NEW(r->arena, const char *, UNKNOWN_MAX);
    }
    const ms_source_key key = {.key = name, .fate = MS_SOURCE_UNKNOWN, .mark = element->mark};
    if (name == NULL || r->unknown.items == NULL) {
        return ms_diag_no_memory(r->diag);
    }
    if (r->unknown.count == UNKNOWN_MAX) {
        return fault(r, element, "more than 100 names that NCCL does not have");
    }
    r->unknown.items[r->unknown.count++] = name;
    return ms_source_keys_add(r->keys, &key, r->arena) == MS_OK ? MS_OK
                                                                : ms_diag_no_memory(r->diag);
}

static bool is_element(const char *name) {
    for (size_t i = 0; i < sizeof ELEMENTS / sizeof ELEMENTS[0]; i++) {
        if (strcmp(ELEMENTS[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static ms_status tell_attributes(topo_reader *r, const ms_xml_element *element) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < element->attribute_count && status == MS_OK; i++) {
        const char *key = element->attributes[i].key;
        int known = find_known(element->name, key);
        if (known < 0) {
            status = tell_unknown(r, element, key);
        } else {
            count(r, known, &element->mark);
        }
    }
    return status;
}

static ms_status tell_known(const topo_reader *r) {
    ms_status status = MS_OK;
    for (int i = 0; i < KNOWN_COUNT && status == MS_OK; i++) {
        bool is_whole = KNOWN[i].attribute == NULL;
        if (r->counts[i] > 0) {
            const ms_source_key key = {.key = is_whole ? KNOWN[i].element
                                                       : ms_arena_printf(r->arena, "%s %s",
                                                                         KNOWN[i].element,
                                                                         KNOWN[i].attribute),
                                       .value = ms_arena_printf(r->arena, "%d times", r->counts[i]),
                                       .fate = KNOWN[i].fate,
                                       .why = KNOWN[i].why,
                                       .mark = r->firsts[i]};
            status = ms_source_keys_add(r->keys, &key, r->arena);
        }
    }
    return status == MS_OK && !r->arena->has_failed ? MS_OK : ms_diag_no_memory(r->diag);
}

/* ---- the tree ---- */

static ms_status read_cpu(topo_reader *r, const ms_xml_element *cpu) {
    const char *vendor = ms_xml_get(cpu, "vendor"), *host = ms_xml_get(cpu, "host_hash");
    bool is_amd = vendor != NULL && strcmp(vendor, "AuthenticAMD") == 0;
    bool is_intel = vendor != NULL && strcmp(vendor, "GenuineIntel") == 0;
    if ((is_amd || is_intel) && r->out->cpu_mark.file == NULL) {
        r->out->has_amd_cpu = is_amd;
        r->out->cpu_mark = cpu->mark;
    }
    for (int i = 0; i < r->out->hosts; i++) {
        if (is_same_text(r->hosts[i], host)) {
            return MS_OK;
        }
    }
    if (r->out->hosts == HOSTS_MAX) {
        return fault(r, cpu, "more machines than are read");
    }
    r->hosts[r->out->hosts++] = host;
    return MS_OK;
}

/* Whether an element stands where NCCL puts it. */
static bool is_below(const ms_xml_element *element, const char *parent) {
    return element->parent != NULL && strcmp(element->parent->name, parent) == 0;
}

static ms_status read_element(topo_reader *r, const ms_xml_element *element) {
    const char *name = element->name;
    if (strcmp(name, "cpu") == 0) {
        return read_cpu(r, element);
    }
    if (strcmp(name, "gpu") == 0) {
        if (!is_below(element, "pci")) {
            return fault(r, element, "expected a GPU in a pci element");
        }
        bool is_first = true; /* several ranks or parts of a GPU stand in one slot */
        for (const ms_xml_element *e = element->parent->first; e != element; e = e->next) {
            is_first = is_first && strcmp(e->name, "gpu") != 0;
        }
        return is_first ? read_gpu(r, element) : MS_OK;
    }
    if (strcmp(name, "net") == 0) {
        return is_below(element, "nic") && element->parent->parent != NULL
                   ? read_net(r, element)
                   : fault(r, element, "expected a net in a nic element");
    }
    return MS_OK;
}

/* An element and those below it; the parser bounds the levels. */
static ms_status walk(topo_reader *r, const ms_xml_element *element) {
    int whole = find_known(element->name, NULL);
    if (whole >= 0) {
        count(r, whole, &element->mark);
        return MS_OK;
    }
    if (!is_element(element->name)) {
        return tell_unknown(r, element, NULL);
    }
    ms_status status = tell_attributes(r, element);
    ms_status one = status == MS_OK ? read_element(r, element) : MS_OK;
    status = status == MS_OK ? one : status;
    for (const ms_xml_element *e = element->first; e != NULL && status != MS_E_NOMEM; e = e->next) {
        one = walk(r, e);
        status = status == MS_OK || one == MS_E_NOMEM ? one : status;
    }
    return status;
}

/* Whether there is a PCI device of the class of GPUs, as in files that clouds ship for
 * NCCL_TOPO_FILE.  Source: the PCI ID Repository, class 03, subclass 02. */
static bool has_gpu_device(const ms_xml_element *element) {
    const char *kind = ms_xml_get(element, "class");
    bool has_one = kind != NULL && strncmp(kind, "0x0302", 6) == 0;
    for (const ms_xml_element *child = element->first; child != NULL && !has_one;
         child = child->next) {
        has_one = has_gpu_device(child);
    }
    return has_one;
}

static ms_status check_root(const topo_reader *r, const ms_xml_element *root) {
    if (strcmp(root->name, "system") == 0) {
        return MS_OK;
    }
    ms_diag_at(r->diag, &root->mark, NULL,
               "expected <system>, as NCCL_TOPO_DUMP_FILE makes NCCL write it, got <%.40s>",
               root->name);
    return MS_E_INPUT;
}

ms_status ms_nccl_topo_read(const ms_text *text, ms_arena *arena, ms_diag *diag,
                            ms_source_keys *keys, ms_nccl_machine *machine_out) {
    ms_xml_element *root = NULL;
    ms_nccl_machine machine = {.hosts = 0};
    topo_reader *r = MS_NEW(arena, topo_reader, 1);
    if (r == NULL) {
        return ms_diag_no_memory(diag);
    }
    *r = (topo_reader){.arena = arena, .diag = diag, .keys = keys, .out = &machine};
    ms_status status = ms_xml_parse(text, arena, diag, &root);
    status = status == MS_OK ? check_root(r, root) : status;
    status = status == MS_OK ? walk(r, root) : status;
    if (status == MS_OK && (machine.gpus.count == 0 || machine.hosts == 0)) {
        status = fault(r, root,
                       has_gpu_device(root)
                           ? "expected elements 'gpu', got none: this is a file for "
                             "NCCL_TOPO_FILE, which says where devices are; what they are has the "
                             "one that NCCL_TOPO_DUMP_FILE makes a job write"
                           : "expected GPUs below processors (cpu), got none");
    }
    if (status == MS_OK && machine.gpus.count % machine.hosts != 0) {
        status = fault(r, root, "machines with different numbers of GPUs");
    }
    if (status != MS_OK) {
        return status;
    }
    int gpus = machine.gpus.count;
    machine.gpus = r->gpu;
    machine.gpus.count = gpus;
    choose_nics(r);
    *machine_out = machine;
    return tell_known(r);
}
