// SimGrid's side of the bridge (bridge.h), the only file that uses SimGrid: it translates the calls
// of the bridge to SimGrid's C++ interface and its completions to callbacks, nothing else.
extern "C" {
#include "simulate/engine/bridge_table.h"
}

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

namespace sg = simgrid;

namespace {

using point = sg::kernel::routing::NetPoint;

// A network zone of two hosts. All transfers go from one to the other, over the route that
// start_flow has set last.
class flat_zone : public sg::kernel::routing::NetZoneImpl {
  public:
    std::vector<sg::kernel::resource::StandardLinkImpl *> links;
    const int32_t *route = nullptr;
    int32_t route_count = 0;

    explicit flat_zone(const std::string &name) : NetZoneImpl(name) {
    }

    void get_local_route(const point *, const point *, sg::kernel::routing::Route *into,
                         double *) override {
        into->link_list_.reserve(static_cast<size_t>(route_count));
        for (int32_t i = 0; i < route_count; i++) {
            into->link_list_.push_back(links[static_cast<size_t>(route[i])]);
        }
    }
};

// The simulation of the process.
struct bridge {
    ms_bridge_setup setup;
    sg::s4u::Engine *engine;
    flat_zone *zone;
    sg::s4u::Host *from;
    sg::s4u::Host *to;
    sg::kernel::timer::Timer *ticker; // the pending wake-up, null: none
    sg::s4u::ActivityPtr ended; // last activity that ended, kept since SimGrid still uses it after
                                // its completion callback
};

bridge *the_bridge = nullptr; // kept to the end of the process
char error_text[256] = "";

// Call `body` and turn an exception into MS_E_BUG, with its message in error_text.
template <class F> ms_status guarded(F body) noexcept {
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

// SimGrid's callback at the end of a transfer, whose token is in the activity's data.
void on_completion(const sg::s4u::Activity &activity) {
    const auto token = static_cast<int32_t>(reinterpret_cast<intptr_t>(activity.get_data<void>()));
    the_bridge->ended = const_cast<sg::s4u::Activity *>(&activity); // releases the previous one
    intrusive_ptr_release(the_bridge->ended.get()); // gives back the reference of start_flow
    the_bridge->setup.on_flow(the_bridge->setup.context, token);
}

// Create the links in the zone, named by their indices.
void make_links(bridge *b) {
    for (int32_t i = 0; i < b->setup.link_count; i++) {
        const std::string name = std::to_string(i);
        b->zone->create_link(name, {b->setup.link_bandwidths[i]})->seal();
        b->zone->links.push_back(b->zone->get_link_by_name_or_null(name));
    }
}

// Create SimGrid's engine with the settings of the flow model: CM02 (max-min fair sharing) without
// the limit of a TCP window and without acknowledgement traffic in the other direction; the solver
// as exact as the clock; only warnings logged. The first word is the program's name.
void make_engine(bridge *b) {
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
    b->engine = new sg::s4u::Engine(&argc, argv.data());
    sg::config::set_value("surf/precision", b->setup.precision_s);
}

// Begin the simulation: engine, a zone of two hosts, and the links.
void start(const ms_bridge_setup *setup) {
    // SimGrid does not survive a lack of memory, which leaves its lists inconsistent
    std::set_new_handler(std::abort);
    the_bridge = new bridge();
    the_bridge->setup = *setup;
    make_engine(the_bridge);
    the_bridge->zone = new flat_zone("fabric");
    the_bridge->from = the_bridge->zone->create_host("from", std::vector<double>{1.0})->seal();
    the_bridge->to = the_bridge->zone->create_host("to", std::vector<double>{1.0})->seal();
    make_links(the_bridge);
    the_bridge->zone->seal();
    sg::s4u::Activity::on_completion_cb(on_completion);
}

// Start a transfer over `route`, with `token` as its data.
void start_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token) {
    sg::s4u::CommPtr comm = sg::s4u::Comm::sendto_init();
    comm->set_payload_size(payload);
    comm->set_data(reinterpret_cast<void *>(static_cast<intptr_t>(token)));
    comm->set_source(the_bridge->from);
    the_bridge->zone->route = route;
    the_bridge->zone->route_count = count;
    intrusive_ptr_add_ref(comm.get());     // given back in on_completion
    comm->set_destination(the_bridge->to); // starts the transfer, which calls get_local_route
}

// Replace the pending wake-up by one at `date_s`; none if that is not finite.
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

ms_status guarded_start(const ms_bridge_setup *setup) {
    return guarded([=] { start(setup); });
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

// In a module the table is its only visible symbol.
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
