/// Tells the user of a run what happens to it: a line in the log and at once
/// where the run was begun, events in events.jsonl, and its history. One per
/// run_record, shared by its parts; any thread once `tell_by` was called.
#pragma once

#include "monitor/history/run_history.hpp"
#include "monitor/logs/event_log.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/coordinator/run_event.hpp"
#include "store/clock.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace ballast::actors {

class run_notices {
public:
  explicit run_notices(std::shared_ptr<monitor::event_log> events)
      : events_(std::move(events)) {}

  /// What a user should know at once is told there, too.
  void tell_by(std::function<void(const std::string&)> tell) {
    tell_ = std::move(tell);
  }
  void warn(const std::string& text) const {
    monitor::log().warn("{}", text);
    if (tell_)
      tell_(text);
  }
  /// An event that changes how the run is to be understood, or is a point of
  /// its course.
  void happened(const coordinator::run_event& what) const {
    if (const auto* e = std::get_if<coordinator::events::evaluated>(&what))
      history_->evaluated(store::monotonic_ns(), *e);
    if (const auto* e = std::get_if<coordinator::events::window_chosen>(&what))
      warn("the training set does not fit into the memory of the workers: each "
           "draws from a window of " +
           std::to_string(e->window_chunks) +
           " of its chunks at a time (/train/shuffle/window_chunks)");
    if (const auto* e = std::get_if<coordinator::events::spares>(&what))
      warn(std::to_string(e->workers.size()) +
           (e->workers.size() == 1 ? " worker waits as a spare"
                                   : " workers wait as spares") +
           ": a step has " + std::to_string(e->leaves) +
           " leaves (/train/leaves)");
    if (const auto* e =
            std::get_if<coordinator::events::no_memory_checkpoints>(&what))
      warn("checkpoints go to the disk alone: " + e->reason);
  }
  const std::shared_ptr<monitor::event_log>& events() const { return events_; }
  const std::shared_ptr<monitor::run_history>& history() const {
    return history_;
  }

private:
  std::shared_ptr<monitor::event_log> events_;
  std::shared_ptr<monitor::run_history> history_ =
      std::make_shared<monitor::run_history>();
  std::function<void(const std::string&)> tell_;
};

} // namespace ballast::actors
