/// The nodes of the cluster: which are here, under which names and in which
/// incarnation, when each was last heard, and which of them may train. Outlives
/// runs. Pure; time comes with the calls.
#pragma once

#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/coordinator/memory_limits.hpp"
#include "runtime/coordinator/node.hpp"
#include "runtime/coordinator/run_event.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast::coordinator {

/// As events name it.
events::worker_process process_of(const node& who);

class roster {
public:
  /// `supervised`: names are given by `run`, and none twice.
  roster(std::chrono::milliseconds heartbeat, bool supervised)
      : supervised_(supervised), detector_(heartbeat) {}
  /// A job begins, with a heartbeat of its own.
  void begin_run(std::chrono::milliseconds heartbeat);

  // -- which nodes there are; also of some that are gone
  const std::map<worker_id, node>& all() const { return nodes_; }
  const node& at(worker_id who) const { return nodes_.at(who); }
  bool connected(worker_id who) const;
  /// The connected node of that name, or null.
  const node* find(const std::string& name) const;
  std::string name_of(worker_id who) const;
  /// Its process is here as another worker.
  bool joined_anew(worker_id who) const;

  // -- they come and go
  const node& add(const worker_hello& hello, std::optional<instant> held_back,
                  instant now);
  /// With all that it holds, of an earlier life of the coordinator.
  const node& take_back(const worker_hello& hello, instant now);
  /// Of an earlier life: not here, but its id and incarnation are taken.
  void remember(worker_id who, const std::string& name, uint32_t incarnation,
                bool left);
  /// Its connection is gone; `left`: in good order. The time of its last word.
  instant lose(worker_id who, bool left);
  /// It owes nothing to the others: it ends.
  void release(worker_id who);
  void forget(worker_id who);

  // -- words
  void beat(const heartbeat& beat, instant now);
  void heard(worker_id who, instant now) { detector_.heard(who, now); }
  const failure_detector& detector() const { return detector_; }
  /// The coordinator itself stood still so long.
  void excuse(instant away, instant now) { detector_.excuse(away, now); }

  // -- which of them may train
  /// Here, and neither about to end nor dismissed from this run.
  bool may_train(const node& who, const std::string& run) const;
  bool leaving(worker_id who) const { return leaving_.contains(who); }
  const std::set<worker_id>& leaving() const { return leaving_; }
  /// It is to leave; `announced`: its process was asked to end.
  void ask_to_leave(worker_id who, bool announced = false);
  /// It takes no part in that run any more.
  void dismiss(worker_id who, const std::string& run);
  void hold_back(worker_id who, instant until);
  /// Whose time is over may train again.
  void let_back(instant now);
  /// Where fewer than `least` may train, one whose link may be broken is better
  /// than none.
  void call_back(size_t least, const std::string& run);
  /// They were part of a committed step.
  void prove(const std::vector<worker_id>& workers);
  bool proven(worker_id who) const { return proven_.contains(who); }

  // -- what their hosts share
  void note_memory(const worker_hello& hello);
  /// `local_least`: so many workers will be on each host soon.
  host_shares shares(const std::vector<worker_id>& workers,
                     uint32_t local_least) const;

private:
  bool supervised_;
  failure_detector detector_;
  std::map<worker_id, node> nodes_;
  std::map<std::string, uint32_t> incarnations_; // by name
  std::map<std::string, uint64_t> memory_; // by host: most that a node found
  std::set<worker_id> leaving_;
  std::set<worker_id> proven_;
  worker_id last_{};
};

/// The nodes that are here.
std::set<worker_id> connected(const roster& of);

} // namespace ballast::coordinator
