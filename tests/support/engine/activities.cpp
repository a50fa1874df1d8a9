/* See activities.h. The settings of SimGrid are those of sim/simulate/engine/bridge.cpp. */
#include "activities.h"

#include <string>
#include <vector>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/config.hpp>

namespace sg = simgrid;

namespace {

/* A zone of hosts between which the route is whatever was set last. */
class one_route_zone : public sg::kernel::routing::NetZoneImpl {
  public:
    std::vector<sg::kernel::resource::StandardLinkImpl *> links;
    const int32_t *route = nullptr;
    int32_t route_count = 0;

    one_route_zone() : NetZoneImpl("fabric") {
    }

    void get_local_route(const sg::kernel::routing::NetPoint *,
                         const sg::kernel::routing::NetPoint *, sg::kernel::routing::Route *into,
                         double *) override {
        for (int32_t i = 0; i < route_count; i++) {
            into->link_list_.push_back(links[static_cast<size_t>(route[i])]);
        }
    }
};

/* Work per second of a host at speed 1, so that short computations are large numbers as well. */
constexpr double WORK_PER_S = 1e9;

struct {
    const activities_setup *setup;
    sg::s4u::Engine *engine;
    one_route_zone *zone;
    sg::s4u::Host *from;
    sg::s4u::Host *to;
    std::vector<sg::s4u::Host *> hosts;
    sg::s4u::ActivityPtr ended; /* SimGrid still uses an activity after its completion callback */
} all;

void *as_data(int32_t token) {
    return reinterpret_cast<void *>(static_cast<intptr_t>(token));
}

void on_completion(const sg::s4u::Activity &activity) {
    const auto token = static_cast<int32_t>(reinterpret_cast<intptr_t>(activity.get_data<void>()));
    const bool is_flow = dynamic_cast<const sg::s4u::Comm *>(&activity) != nullptr;
    all.ended = const_cast<sg::s4u::Activity *>(&activity);
    intrusive_ptr_release(all.ended.get()); /* the reference taken at its start */
    (is_flow ? all.setup->on_flow : all.setup->on_computed)(all.setup->context, token);
}

void make_links_and_hosts() {
    const activities_setup *setup = all.setup;
    std::vector<double> speeds;
    for (int32_t i = 0; i < setup->speed_count; i++) {
        speeds.push_back(setup->speeds[i] * WORK_PER_S);
    }
    for (int32_t i = 0; i < setup->host_count; i++) {
        all.hosts.push_back(all.zone->create_host(std::to_string(i), speeds)->seal());
    }
    for (int32_t i = 0; i < setup->link_count; i++) {
        const std::string name = std::to_string(i);
        all.zone->create_link(name, {setup->link_bandwidths[i]})->seal();
        all.zone->links.push_back(all.zone->get_link_by_name_or_null(name));
    }
}

} // namespace

void activities_start(const activities_setup *setup) {
    std::string words[] = {"test",
                           "--log=root.thres:warning",
                           "--cfg=network/model:CM02",
                           "--cfg=network/TCP-gamma:0",
                           "--cfg=network/crosstraffic:0",
                           "--cfg=maxmin/precision:1e-12"};
    std::vector<char *> argv;
    for (auto &word : words) {
        argv.push_back(&word[0]);
    }
    int argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
    all.setup = setup;
    all.engine = new sg::s4u::Engine(&argc, argv.data());
    sg::config::set_value("surf/precision", setup->precision_s);
    all.zone = new one_route_zone();
    all.from = all.zone->create_host("from", std::vector<double>{1.0})->seal();
    all.to = all.zone->create_host("to", std::vector<double>{1.0})->seal();
    make_links_and_hosts();
    all.zone->seal();
    sg::s4u::Activity::on_completion_cb(on_completion);
}

void activities_timer(double date_s, int32_t token) {
    sg::kernel::timer::Timer::set(date_s,
                                  [token] { all.setup->on_timer(all.setup->context, token); });
}

void activities_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token) {
    sg::s4u::CommPtr comm = sg::s4u::Comm::sendto_init();
    comm->set_payload_size(payload);
    comm->set_data(as_data(token));
    comm->set_source(all.from);
    all.zone->route = route;
    all.zone->route_count = count;
    intrusive_ptr_add_ref(comm.get()); /* given back at its completion */
    comm->set_destination(all.to);     /* starts it, which asks for the route */
}

void activities_compute(double work_s, int32_t host, int32_t token) {
    sg::s4u::ExecPtr exec = sg::s4u::Exec::init();
    exec->set_flops_amount(work_s * WORK_PER_S);
    exec->set_data(as_data(token));
    exec->set_host(all.hosts[static_cast<size_t>(host)]);
    intrusive_ptr_add_ref(exec.get()); /* given back at its completion */
    exec->start();
}

void activities_set_speed(int32_t host, int32_t speed) {
    all.hosts[static_cast<size_t>(host)]->set_pstate(speed);
}

void activities_run(void) {
    all.engine->run();
}

double activities_clock_s(void) {
    return sg::s4u::Engine::get_clock();
}
