// The only file that knows SimGrid. See bridge.h; no logic beyond it.
#include "engine/bridge_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

namespace sg = simgrid;

// simgrid::kernel::EngineImpl::now_, which no header shows: a simulation begins at 0 whatever ran
// before it, and gives the same to the last bit (bridge.md).
extern double simgrid_clock_s __asm__("_ZN7simgrid6kernel10EngineImpl4now_E");

namespace {

using zone_impl = sg::kernel::routing::NetZoneImpl;
using point = sg::kernel::routing::NetPoint;

// What simulations are made of: SimGrid lets nothing be added to a zone that has run, so it stands
// beside the one that runs.
class store_zone : public zone_impl {
  public:
    explicit store_zone(const zone_impl &runs) : zone_impl("store") {
        set_network_model(runs.get_network_model());
        set_cpu_pm_model(runs.get_cpu_pm_model());
        set_host_model(runs.get_host_model());
    }

    void get_local_route(const point *, const point *, sg::kernel::routing::Route *,
                         double *) override {
    }
};

// A zone of two hosts whose route is whatever the bridge says at the moment.
class flat_zone : public zone_impl {
  public:
    std::vector<sg::kernel::resource::StandardLinkImpl *> links;
    const int32_t *route = nullptr;
    int32_t route_count = 0;

    explicit flat_zone(const std::string &name) : zone_impl(name) {
    }

    void get_local_route(const point *, const point *, sg::kernel::routing::Route *into,
                         double *) override {
        into->link_list_.reserve(static_cast<size_t>(route_count));
        for (int32_t i = 0; i < route_count; i++) {
            into->link_list_.push_back(links[static_cast<size_t>(route[i])]);
        }
    }
};

struct bridge {
    ms_bridge_setup setup;
    sg::s4u::Engine *engine;
    flat_zone *zone;
    store_zone *store;
    sg::s4u::Host *from;
    sg::s4u::Host *to;
    std::vector<sg::s4u::Link *> links; // those of all simulations so far
    size_t live;                        // activities under way
    sg::kernel::timer::Timer *ticker;   // of the wake-up that moves, while it lies ahead
    sg::s4u::ActivityPtr ended; // SimGrid still uses an activity after its completion callback
};

bridge *the_bridge = nullptr; // one per process, made for its first simulation, kept to its end
char error_text[256] = "";

// What `new` calls in place of throwing, while SimGrid is at work.
const ms_bridge_setup *the_setup = nullptr;

void on_no_memory() {
    the_setup->on_no_memory(the_setup->context);
}

// Only the outermost call sets it: most come from callbacks, and setting it takes a lock.
struct new_handler_guard {
    static int depth;
    std::new_handler before = depth++ == 0 ? std::set_new_handler(on_no_memory) : nullptr;
    new_handler_guard() = default;
    new_handler_guard(const new_handler_guard &) = delete;
    new_handler_guard &operator=(const new_handler_guard &) = delete;
    ~new_handler_guard() {
        if (--depth == 0) {
            std::set_new_handler(before);
        }
    }
};

int new_handler_guard::depth = 0;

template <class F> ms_status guarded(F body) noexcept {
    const new_handler_guard guard;
    try {
        body();
        return MS_OK;
    } catch (const std::exception &fault) {
        std::snprintf(error_text, sizeof error_text, "%s", fault.what());
    } catch (...) {
        std::snprintf(error_text, sizeof error_text, "unknown exception");
    }
    return MS_E_BUG;
}

void on_completion(const sg::s4u::Activity &activity) {
    const auto token = static_cast<int32_t>(reinterpret_cast<intptr_t>(activity.get_data<void>()));
    the_bridge->live--;
    the_bridge->ended = const_cast<sg::s4u::Activity *>(&activity); // lets go of the one before
    intrusive_ptr_release(the_bridge->ended.get()); // the reference taken at its start
    the_bridge->setup.on_flow(the_bridge->setup.context, token);
}

// Links of simulations before this one are taken again.
void set_links(bridge *b) {
    const auto count = static_cast<size_t>(b->setup.link_count);
    const size_t known = std::min(b->links.size(), count);
    b->links.reserve(count);
    b->zone->links.reserve(count);
    for (size_t i = 0; i < known; i++) {
        b->links[i]->set_bandwidth(b->setup.link_bandwidths[i]);
    }
    for (size_t i = known; i < count; i++) {
        const std::string name = std::to_string(i);
        b->links.push_back(b->store->create_link(name, {b->setup.link_bandwidths[i]})->seal());
        b->zone->links.push_back(b->store->get_link_by_name_or_null(name));
    }
}

bridge *make_bridge() {
    // CM02 without the factors meant for TCP and without traffic in the other direction; the solver
    // as exact as the clock; silent. The first word stands for the program's name.
    std::string words[] = {"meshsim",
                           "--log=root.thres:warning",
                           "--cfg=network/model:CM02",
                           "--cfg=network/TCP-gamma:0",
                           "--cfg=network/crosstraffic:0",
                           "--cfg=maxmin/precision:1e-12"};
    std::vector<char *> argv;
    for (auto &word : words) {
        argv.push_back(&word[0]);
    }
    argv.push_back(nullptr);
    int argc = static_cast<int>(argv.size()) - 1;
    auto *b = new bridge();
    b->engine = new sg::s4u::Engine(&argc, argv.data());
    b->zone = new flat_zone("fabric");
    b->store = new store_zone(*b->zone);
    b->from = b->zone->create_host("from", std::vector<double>{1.0})->seal();
    b->to = b->zone->create_host("to", std::vector<double>{1.0})->seal();
    b->zone->seal();
    sg::s4u::Activity::on_completion_cb(on_completion);
    return b;
}

void start(const ms_bridge_setup *setup) {
    if (the_bridge == nullptr) {
        the_bridge = make_bridge();
    }
    if (the_bridge->live > 0 || sg::kernel::timer::Timer::next() >= 0.0) {
        throw std::logic_error("a simulation before this one has not come to its end");
    }
    the_bridge->setup = *setup;
    sg::config::set_value("surf/precision", setup->precision_s);
    simgrid_clock_s = 0.0;
    set_links(the_bridge);
}

void start_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token) {
    sg::s4u::CommPtr comm = sg::s4u::Comm::sendto_init();
    comm->set_payload_size(payload);
    comm->set_data(reinterpret_cast<void *>(static_cast<intptr_t>(token)));
    comm->set_source(the_bridge->from);
    the_bridge->zone->route = route;
    the_bridge->zone->route_count = count;
    the_bridge->live++;
    intrusive_ptr_add_ref(comm.get());     // given back at its completion
    comm->set_destination(the_bridge->to); // starts it, which asks for the route
}

ms_status guarded_start(const ms_bridge_setup *setup) {
    the_setup = setup;
    return guarded([=] { start(setup); });
}

void move_tick(double date_s) {
    if (the_bridge->ticker != nullptr) {
        the_bridge->ticker->remove();
        the_bridge->ticker = nullptr;
    }
    if (std::isfinite(date_s)) {
        the_bridge->ticker = sg::kernel::timer::Timer::set(date_s, [] {
            the_bridge->ticker = nullptr;
            the_bridge->setup.on_tick(the_bridge->setup.context);
        });
    }
}

ms_status tick(double date_s) {
    return guarded([=] { move_tick(date_s); });
}

ms_status flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token) {
    return guarded([=] { start_flow(payload, route, count, token); });
}

ms_status run() {
    return guarded([] { the_bridge->engine->run(); });
}

double clock_s() {
    return sg::s4u::Engine::get_clock();
}

const char *last_error() {
    return error_text;
}

} // namespace

// A module shows it to whoever opens that.
#ifdef MESHSIM_MODULE
#define MS_BRIDGE_SHOWN __attribute__((visibility("default")))
#else
#define MS_BRIDGE_SHOWN
#endif

extern "C" {
extern MS_BRIDGE_SHOWN const ms_bridge_table ms_bridge_simgrid;
const ms_bridge_table ms_bridge_simgrid = {MS_BRIDGE_LAYOUT, guarded_start, tick, flow, run,
                                           clock_s,          last_error};
}
