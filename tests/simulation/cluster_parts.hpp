/// What a simulated cluster is made of; for its own files only.
#pragma once

#include "tests/simulation/cluster.hpp"

namespace ballast::simulation {

/// One process. A worker that comes back after its death is another one.
struct cluster::node_state {
  uint32_t process = 0;
  std::string name;
  bool alive = true;
  bool connected = false; // as the coordinator's side sees it
  instant frozen_until{};
  worker_id id{};
  // What a worker knows.
  generation fenced{};
  bool holds = false;
  std::set<chunk_id> chunks; // in its memory
  /// In force, but it has applied no step of it: until then it forgets nothing.
  std::optional<plan> fresh;
  std::optional<fetch_order> fetched;
  lineage applied;
  std::vector<step_record> unreported;
  std::map<step_number, step_record> records; // of all that is applied
  std::optional<lineage> copy;                // for a checkpoint
  std::optional<assignment> order;
  std::optional<worker_core> core;
  std::shared_ptr<group> in;
  size_t rank = 0;
  std::optional<step_order> drawn;
  // The next generation, beside the present one.
  std::optional<assignment> next_order;
  std::shared_ptr<group> next_in;
  uint64_t next_life = 0;
  bool leaving = false; // asked to
  bool left = false;
  uint64_t life = 0; // of its place in a generation; old events are dropped
  device_trouble trouble;
  instant last_ill{};     // when the coordinator last heard of that
  bool heard_ill = false; // in the last heartbeat
  instant last_posted{};  // to its own actor
  instant last_sent{};
  instant last_received{};
};

struct cluster::group {
  generation number{};
  size_t world = 0;
  std::set<size_t> connected;
  std::map<size_t, uint32_t> processes; // rank -> process
  bool broken = false;
  struct operation {
    std::map<size_t, trailer> given;
    std::shared_ptr<attempt> what = std::make_shared<attempt>();
    std::set<size_t> left; // ranks that have its result or gave it up
  };
  std::map<uint64_t, operation> steps;
  std::map<size_t, std::vector<size_t>> waits_for_state;
  connect_order order;
};

} // namespace ballast::simulation
