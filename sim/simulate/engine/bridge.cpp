// The only file that knows SimGrid. See bridge.h; no logic beyond it.
#include "simulate/engine/bridge_table.h"

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

// A zone of two hosts whose route is whatever the bridge says at the moment.
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

struct bridge {
    ms_bridge_setup setup;
    sg::s4u::Engine *engine;
    flat_zone *zone;
    sg::s4u::Host *from;
    sg::s4u::Host *to;
    sg::kernel::timer::Timer *ticker; // of the wake-up that moves, while it lies ahead
    sg::s4u::ActivityPtr ended; // SimGrid still uses an activity after its completion callback
};

bridge *the_bridge = nullptr; // kept to the end of the process
char error_text[256] = "";

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

void on_completion(const sg::s4u::Activity &activity) {
    const auto token = static_cast<int32_t>(reinterpret_cast<intptr_t>(activity.get_data<void>()));
    the_bridge->ended = const_cast<sg::s4u::Activity *>(&activity); // lets go of the one before
    intrusive_ptr_release(the_bridge->ended.get()); // the reference taken at its start
    the_bridge->setup.on_flow(the_bridge->setup.context, token);
}

void make_links(bridge *b) {
    for (int32_t i = 0; i < b->setup.link_count; i++) {
        const std::string name = std::to_string(i);
        b->zone->create_link(name, {b->setup.link_bandwidths[i]})->seal();
        b->zone->links.push_back(b->zone->get_link_by_name_or_null(name));
    }
}

void make_engine(bridge *b) {
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
    b->engine = new sg::s4u::Engine(&argc, argv.data());
    sg::config::set_value("surf/precision", b->setup.precision_s);
}

void start(const ms_bridge_setup *setup) {
    // SimGrid does not survive a lack of memory: its lists are torn
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

void start_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token) {
    sg::s4u::CommPtr comm = sg::s4u::Comm::sendto_init();
    comm->set_payload_size(payload);
    comm->set_data(reinterpret_cast<void *>(static_cast<intptr_t>(token)));
    comm->set_source(the_bridge->from);
    the_bridge->zone->route = route;
    the_bridge->zone->route_count = count;
    intrusive_ptr_add_ref(comm.get());     // given back at its completion
    comm->set_destination(the_bridge->to); // starts it, which asks for the route
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
