/// What a user is told about a full disk: which worker waits for space, and how
/// often a line says so. Owned by the coordinator actor, used on its thread.
#pragma once

#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/roster.hpp"

#include <chrono>
#include <map>
#include <string>

namespace ballast::actors {

class disk_notice {
public:
  using instant = std::chrono::nanoseconds;

  /// Workers say so in their heartbeats. Returns the events of waits that are
  /// over.
  coordinator::actions note(const coordinator::roster& nodes, instant now);
  /// No run is under way.
  void clear() { workers_.clear(); }
  /// The first worker that waits, as a sentence; empty: none does.
  std::string sentence(std::chrono::seconds patience) const;
  /// Whether to tell this text now: at once, and then every five seconds, also
  /// where it comes and goes, as with each attempt to write. Asked once a tick.
  bool is_due(const std::string& text, instant now);

private:
  std::map<std::string, instant> workers_; // by name, since
  std::string last_;                       // of the tick before
  std::string told_text_;
  instant told_{0};
};

} // namespace ballast::actors
