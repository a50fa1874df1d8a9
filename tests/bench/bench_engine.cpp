/* Operations per second of the engine, beside a bare SimGrid loop with the same timers and flows.
 *
 *   bench_engine [OPERATIONS [STAGES [SHARING]]]     default: 1000000 64 8
 *
 * A pipeline: computations and messages alternate from stage to stage, microbatch after microbatch;
 * SHARING messages share one uplink (1: every message has its way to itself). The bare loop chains
 * a timer per computation and per latency, and a flow per message over the same four links; it
 * keeps the order of messages on each boundary but no graph, no times and no causes. Every run is a
 * process of its own. */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

extern "C" {
#include "simulate/engine/engine.h"
#include "simulate/graph/dag.h"
}

namespace sg = simgrid;

namespace {

struct shape {
    int32_t stages;
    int32_t microbatches;
    int32_t sharing;
};

struct result {
    double cpu_s;
    double makespan_s;
    double base_B; // resident before the run
    double peak_B; // resident at most
    int64_t timers;
    int64_t flows;
    int32_t flows_peak;
};

constexpr double BYTES = 16e6;    // an activation of a large model: 2,048 x 4,096 at 2 bytes
constexpr double PORT_BPS = 50e9; // 400 Gbit/s
constexpr double LATENCY_S = 5e-6;
constexpr int64_t SCALE = 1024; // payload units per byte in the bare loop

// Time of a computation of `stage`: no two alike, so that nothing happens at one instant.
double stage_time_s(int32_t stage) {
    return 1e-3 * (1.0 + 1e-4 * stage);
}

double now_s() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Links: own port out, port in, and uplink and downlink for `sharing` boundaries each, wide enough
// for a quarter of them at once.
int32_t link_of(const shape &s, int32_t boundary, int32_t hop) {
    const int32_t group = boundary / s.sharing;
    const int32_t links[] = {2 * boundary, 2 * s.stages + 2 * group, 2 * s.stages + 2 * group + 1,
                             2 * boundary + 1};
    return links[hop];
}

double bandwidth_of(const shape &s, int32_t link) {
    return link < 2 * s.stages || s.sharing == 1 ? PORT_BPS : PORT_BPS * s.sharing / 4;
}

int32_t link_count(const shape &s) {
    return 2 * s.stages + 2 * (s.stages / s.sharing + 1);
}

void build_works(const shape &s, ms_dag *dag, std::vector<int32_t> *compute,
                 std::vector<int32_t> *message) {
    for (int32_t i = 0; i < s.stages; i++) {
        ms_dag_work work = {};
        work.time_s = stage_time_s(i);
        work.stands_for = 1;
        compute->push_back(ms_dag_add_work(dag, &work));
        work.time_s = 0.0;
        work.is_communication = true;
        work.is_pipelined = true;
        message->push_back(ms_dag_add_work(dag, &work));
        ms_dag_add_phase(dag, LATENCY_S);
        ms_dag_add_flow(dag, BYTES);
        for (int32_t hop = 0; hop < 4; hop++) {
            ms_dag_add_crossing(dag, link_of(s, i, hop), 1, 1);
        }
    }
}

int32_t add_op(ms_dag *dag, int32_t work, int32_t stream, int32_t dep) {
    ms_dag_op op = {};
    op.work = work;
    const int32_t index = ms_dag_add_op(dag, &op);
    ms_dag_add_member(dag, stream);
    ms_dag_add_dep(dag, dep);
    return index;
}

void build_graph(const shape &s, ms_dag *dag) {
    std::vector<int32_t> compute;
    std::vector<int32_t> message;
    ms_dag_init(dag);
    for (int32_t i = 0; i < s.stages; i++) {
        ms_dag_add_rank(dag, i, 1, i);
        ms_dag_add_stream(dag, i, -1, MS_AXIS_NONE);
        ms_dag_add_stream(dag, i, i + 1, MS_AXIS_PP);
    }
    for (int32_t i = 0; i < link_count(s); i++) {
        ms_dag_add_link(dag, bandwidth_of(s, i), i, 0);
    }
    build_works(s, dag, &compute, &message);
    for (int32_t mb = 0; mb < s.microbatches; mb++) {
        int32_t before = -1;
        for (size_t i = 0; i < compute.size(); i++) {
            before = add_op(dag, compute[i], static_cast<int32_t>(2 * i), before);
            before = add_op(dag, message[i], static_cast<int32_t>(2 * i + 1), before);
        }
    }
}

double resident_B() {
    long pages = 0;
    long ignored = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (file != nullptr) {
        if (std::fscanf(file, "%ld %ld", &ignored, &pages) != 2) {
            pages = 0;
        }
        std::fclose(file);
    }
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double peak_B() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024.0;
}

void run_engine(const shape &s, ms_fidelity fidelity, result *out) {
    ms_dag dag;
    ms_diag diag;
    ms_arena arena;
    ms_timeline timeline;
    ms_diag_init_stderr(&diag);
    ms_arena_init(&arena);
    build_graph(s, &dag);
    if (ms_dag_finish(&dag, &diag) != MS_OK) {
        _exit(1);
    }
    out->base_B = resident_B();
    const double begin_s = now_s();
    if (ms_engine_run(&dag, fidelity, MS_SOLVER_SIMGRID, &arena, &diag, &timeline) != MS_OK) {
        _exit(1);
    }
    out->cpu_s = now_s() - begin_s;
    out->makespan_s = timeline.makespan_s;
    out->timers = timeline.timers;
    out->flows = timeline.flows;
    out->flows_peak = timeline.flows_peak;
    out->peak_B = peak_B();
}

// The bare loop.

class bare_zone : public sg::kernel::routing::NetZoneImpl {
  public:
    std::vector<std::vector<sg::kernel::resource::StandardLinkImpl *>> routes;
    size_t current = 0;
    explicit bare_zone(const std::string &name) : NetZoneImpl(name) {
    }
    void get_local_route(const sg::kernel::routing::NetPoint *,
                         const sg::kernel::routing::NetPoint *, sg::kernel::routing::Route *into,
                         double *) override {
        into->link_list_ = routes[current];
    }
};

struct bare_loop {
    shape s;
    bare_zone *zone;
    sg::s4u::Host *from;
    sg::s4u::Host *to;
    std::vector<int32_t> left;    // computations, per stage
    std::vector<int32_t> waiting; // messages, per boundary
    std::vector<sg::s4u::CommPtr> running;
    std::vector<sg::s4u::CommPtr> ended;
    int64_t timers = 0;
    int64_t flows = 0;
} loop;

void start_message(size_t stage) {
    auto comm = sg::s4u::Comm::sendto_init();
    comm->set_payload_size(static_cast<uint64_t>(BYTES) * SCALE);
    comm->set_data(reinterpret_cast<void *>(stage));
    comm->set_source(loop.from);
    loop.zone->current = stage;
    loop.running[stage] = comm;
    comm->set_destination(loop.to);
    loop.flows++;
}

void compute(size_t stage) {
    if (loop.left[stage]-- == 0) {
        return;
    }
    const double time_s = stage_time_s(static_cast<int32_t>(stage));
    loop.timers++;
    sg::kernel::timer::Timer::set(sg::s4u::Engine::get_clock() + time_s, [stage] {
        if (loop.waiting[stage]++ == 0) {
            start_message(stage);
        }
        compute(stage);
    });
}

void end_message(const sg::s4u::Activity &activity) {
    const auto stage = reinterpret_cast<size_t>(activity.get_data<void>());
    loop.ended[stage] = loop.running[stage];
    loop.timers++;
    sg::kernel::timer::Timer::set(sg::s4u::Engine::get_clock() + LATENCY_S, [] {});
    if (--loop.waiting[stage] > 0) {
        start_message(stage);
    }
}

void build_bare(const shape &s) {
    std::string words[] = {"bench", "--log=root.thres:warning", "--cfg=network/model:CM02",
                           "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0"};
    std::vector<char *> argv;
    for (auto &word : words) {
        argv.push_back(&word[0]);
    }
    argv.push_back(nullptr);
    int argc = static_cast<int>(argv.size()) - 1;
    new sg::s4u::Engine(&argc, argv.data());
    loop.s = s;
    loop.zone = new bare_zone("bare");
    loop.from = loop.zone->create_host("from", std::vector<double>{1.0})->seal();
    loop.to = loop.zone->create_host("to", std::vector<double>{1.0})->seal();
    std::vector<sg::kernel::resource::StandardLinkImpl *> links;
    for (int32_t i = 0; i < link_count(s); i++) {
        const double bandwidth = bandwidth_of(s, i) * static_cast<double>(SCALE);
        loop.zone->create_link(std::to_string(i), {bandwidth})->seal();
        links.push_back(loop.zone->get_link_by_name_or_null(std::to_string(i)));
    }
    loop.zone->routes.resize(static_cast<size_t>(s.stages));
    for (int32_t i = 0; i < s.stages; i++) {
        for (int32_t hop = 0; hop < 4; hop++) {
            loop.zone->routes[static_cast<size_t>(i)].push_back(
                links[static_cast<size_t>(link_of(s, i, hop))]);
        }
    }
    loop.zone->seal();
}

void run_bare(const shape &s, result *out) {
    const auto stages = static_cast<size_t>(s.stages);
    build_bare(s);
    loop.left.assign(stages, s.microbatches);
    loop.waiting.assign(stages, 0);
    loop.running.resize(stages);
    loop.ended.resize(stages);
    sg::s4u::Activity::on_completion_cb(end_message);
    out->base_B = resident_B();
    const double begin_s = now_s();
    for (size_t i = 0; i < stages; i++) {
        compute(i);
    }
    sg::s4u::Engine::get_instance()->run();
    out->cpu_s = now_s() - begin_s;
    out->makespan_s = sg::s4u::Engine::get_clock();
    out->timers = loop.timers;
    out->flows = loop.flows;
    out->peak_B = peak_B();
}

template <class F> result in_child(F body) {
    void *memory =
        mmap(nullptr, sizeof(result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto *out = static_cast<result *>(memory);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        body(out);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
        std::fprintf(stderr, "bench_engine: a run ended with status %d\n", status);
        std::exit(1);
    }
    return *out;
}

void print(const char *name, double ops, const result &r) {
    std::printf("%-12s %10.0f op/s %8.3f s CPU %9.3f s simulated %9ld timers %9ld flows (%d at "
                "once) %6.0f MB, %.0f MB before the run\n",
                name, ops / r.cpu_s, r.cpu_s, r.makespan_s, static_cast<long>(r.timers),
                static_cast<long>(r.flows), r.flows_peak, r.peak_B / 1e6, r.base_B / 1e6);
}

} // namespace

int main(int argc, char **argv) {
    const int32_t wanted = argc > 1 ? std::atoi(argv[1]) : 1000000;
    shape s = {};
    s.stages = argc > 2 ? std::atoi(argv[2]) : 64;
    s.sharing = argc > 3 ? std::atoi(argv[3]) : 8;
    if (wanted < 1 || s.stages < 1 || s.sharing < 1) {
        std::fprintf(stderr, "usage: bench_engine [OPERATIONS [STAGES [SHARING]]]\n");
        return 2;
    }
    s.microbatches = wanted / (2 * s.stages) + 1;
    const double ops = 2.0 * s.stages * s.microbatches;
    std::printf("%.0f operations, %d stages, %d messages share an uplink\n", ops, s.stages,
                s.sharing);
    const result bare = in_child([&](result *out) { run_bare(s, out); });
    const result engine = in_child([&](result *out) { run_engine(s, MS_FIDELITY_FLOW, out); });
    const result closed = in_child([&](result *out) { run_engine(s, MS_FIDELITY_ANALYTIC, out); });
    print("bare SimGrid", ops, bare);
    print("flow", ops, engine);
    print("analytic", ops, closed);
    std::printf("ratio flow to bare: %.2f\n", bare.cpu_s / engine.cpu_s);
    return 0;
}
