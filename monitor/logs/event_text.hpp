/// The lines of events.jsonl and the sentences in them: the one place where
/// what happened in a run becomes JSON and prose. Pure.
#pragma once

#include "runtime/coordinator/run_event.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace ballast::monitor {

/// A line, without the number and the time that event_log adds.
struct event_text {
  std::string kind;
  nlohmann::ordered_json fields; // in the order in which they are shown
};
event_text text_of(const coordinator::run_event& what);

/// "w2 is slow, 1.8 times the others' time for a row, because of its cuda:0:
/// slowed down by heat (91 degrees)".
std::string sentence(const coordinator::stragglers::finding& what,
                     const std::string& name, const std::string& device);

/// The same in the log of the process: an error by its message, everything
/// else as kind and fields.
void log_event(const event_text& what);

} // namespace ballast::monitor
