/// An actor system under CAF's test scheduler: one message at a time, virtual
/// time, and, with a seed, any interleaving.
#pragma once

#include "actors/types.hpp"
#include "runtime/base/random.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <chrono>
#include <vector>

namespace ballast::actors {

class test_system_config : public system_config {
public:
  test_system_config() {
    set("scheduler.policy", caf::atom("testing"));
    set("middleman.manual-multiplexing", true);
    set("middleman.attach-utility-actors", true);
  }
};

class actor_fixture {
public:
  explicit actor_fixture(uint64_t seed = 0)
      : seed_(seed), system(config_), self(system, true),
        scheduler(dynamic_cast<caf::scheduler::test_coordinator&>(
            system.scheduler())) {}
  ~actor_fixture() {
    // A self-ticking actor never goes idle by itself.
    for (const caf::actor& one : spawned_)
      caf::anon_send_exit(one, caf::exit_reason::kill);
    run();
  }

  template <class Handle>
  Handle keep(Handle actor) {
    spawned_.push_back(caf::actor_cast<caf::actor>(actor));
    return actor;
  }

  /// Every message that is due now, in an order that the seed decides.
  void run() {
    counter_random random(seed_, 1);
    while (!scheduler.jobs.empty()) {
      if (seed_ != 0)
        std::swap(
            scheduler.jobs.front(),
            scheduler.jobs[random.below(scheduler.jobs.size(), draws_++)]);
      scheduler.run_once();
    }
  }
  /// Lets virtual time pass.
  void advance(std::chrono::milliseconds time,
               std::chrono::milliseconds step = std::chrono::milliseconds(25)) {
    run();
    for (auto left = time; left.count() > 0; left -= step) {
      scheduler.advance_time(step);
      run();
    }
  }

private:
  test_system_config config_;
  uint64_t seed_;
  uint64_t draws_ = 0;
  std::vector<caf::actor> spawned_;

public:
  caf::actor_system system;
  caf::scoped_actor self;
  caf::scheduler::test_coordinator& scheduler;
};

} // namespace ballast::actors
