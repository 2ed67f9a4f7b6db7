/// The shard manager: owns the prepared data set of the current run, serves its
/// chunks over Flight as their origin, and decides who owns which interval. A
/// data set is read on a thread of its own, which ends with a message; nothing
/// here waits for it. What should move while a run trains is for the planner
/// (planner.hpp), which this actor spawns and passes questions on to. Placing
/// takes a while where a set is large, so a program spawns this one detached.
#pragma once

#include "actors/foreseen_repairs.hpp"
#include "actors/local_protocol.hpp"
#include "actors/served_set.hpp"
#include "data/prepared/fragment_terms.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/base/no_progress.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

namespace ballast::actors {

struct shard_manager_config {
  std::string bind_host = "127.0.0.1";
  std::filesystem::path cache_folder;
  /// How long preparing a set may go on without any progress. Some of its
  /// steps, such as sorting all rows, are one piece.
  std::chrono::milliseconds preparing_patience = std::chrono::minutes(10);
  /// Told of what a user should know though the run goes on; any thread; may be
  /// empty.
  std::function<void(const std::string&)> warn;
  /// How files are read apart; the term and the token are those of each set.
  data::fragment_terms apart = {.helpers =
                                    std::make_shared<data::fragment_helpers>()};
  /// A handler threw: why, to end the process with; may be empty.
  std::function<void(const std::string&)> on_defect;
};

class shard_manager final : public shard_manager_actor::base {
public:
  shard_manager(caf::actor_config& actor, shard_manager_config config);
  behavior_type make_behavior() override;
  void on_exit() override;
  const char* name() const override { return "shard_manager"; }

private:
  caf::result<set_prepared> prepare(const prepare_set& order);
  void end(const preparation_ended& how);
  caf::result<placed_shares> place_within(const balance::place_shares& order);
  void set_policy(const set_balance& how);
  void check_progress(const preparation_tick& of);
  void refuse(const failure& why);
  void stop_looks();
  void drop();
  instant now() const;

  shard_manager_config config_;
  planner_actor planner_;
  std::stop_source looks_;         // ends those that the planner was asked for
  balance::balance_policy policy_; // of the set
  uint64_t last_number_ = 0;       // of a set
  /// The set that is prepared, or in preparation, under last_number_.
  std::unique_ptr<served_set> set_;
  std::unique_ptr<foreseen_repairs> foreseen_; // of a set that is ready
  enum class set_state : uint8_t { none, preparing, failed, ready };
  set_state state_ = set_state::none;
  caf::typed_response_promise<set_prepared> promise_;
  no_progress progress_{{}, {}}; // of preparing
  /// Dropped while their threads still ran: by number, until those end.
  std::map<uint64_t, std::unique_ptr<served_set>> leaving_;
};

} // namespace ballast::actors
