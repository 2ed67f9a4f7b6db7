/// What each event and each request does in each state of a run: the table that
/// transitions_test.cpp plays, and from which the diagram in
/// docs/architecture.md is drawn.
///
/// A cell names the state that follows, or a phase of the same state
/// ("paused"); or "acts": the state stays, and something is to be done;
/// "notes": the state stays, and a part remembers it; "refused": the user is
/// told why not. Any other cell is a reason why the event changes nothing.
#pragma once

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ballast::coordinator {

/// "reopening" is an opening behind a fence; "changing" is training with the
/// next membership beside it, "paused" is training that stands still.
inline const std::vector<std::string>& states() {
  static const std::vector<std::string> all{
      "idle",     "preparing", "waiting", "opening",   "reopening",  "training",
      "changing", "paused",    "fenced",  "finishing", "publishing", "ended"};
  return all;
}

/// Why an event changes nothing.
inline const std::map<std::string, std::string> reasons{
    {"no_run", "no run is under way"},
    {"no_member", "no worker is a member of a generation yet"},
    {"stopped", "a fence stops every generation; its answers tell the rest"},
    {"not_asked", "nothing was asked that it could answer"},
    {"not_here", "it belongs to another state"},
    {"over", "the last step is applied by all"},
};

inline const std::map<std::string, std::map<std::string, std::string>>& rows() {
  static const char* const text = R"(
hello              notes     acts      opening   acts      acts      acts      acts      acts      acts      acts      acts      notes
heartbeat          notes     notes     notes     notes     notes     notes     notes     notes     notes     notes     notes     notes
connection_lost    notes     acts      acts      fenced    waiting   fenced    fenced    fenced    waiting   acts      notes     notes
process_ended      notes     acts      acts      fenced    waiting   fenced    fenced    fenced    waiting   acts      notes     notes
leave_announced    notes     acts      acts      acts      acts      acts      acts      acts      acts      notes     notes     notes
submit             preparing refused   refused   refused   refused   refused   refused   refused   refused   refused   refused   preparing
data_prepared      no_run    opening   not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  no_run
prepare_failed     no_run    ended     not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  no_run
shares_placed      no_run    not_asked not_asked acts      acts      not_asked acts      not_asked stopped   over      over      no_run
no_room_found      no_run    not_asked not_asked waiting   acts      not_asked acts      not_asked stopped   over      over      no_run
worker_loaded      no_run    no_member no_member acts      acts      not_here  not_here  not_here  stopped   over      no_member no_run
state_arrived      no_run    no_member no_member acts      acts      acts      acts      acts      acts      acts      no_member no_run
worker_ready       no_run    no_member no_member training  training  acts      acts      training  stopped   over      no_member no_run
progress_report    no_run    no_member no_member notes     acts      acts      acts      acts      acts      acts      no_member no_run
evaluation_report  no_run    no_member no_member acts      acts      acts      acts      acts      notes     acts      no_member no_run
worker_paused      no_run    no_member no_member notes     notes     acts      acts      notes     notes     over      no_member no_run
worker_finished    no_run    no_member no_member ended     finishing finishing finishing finishing stopped   over      no_member no_run
collective_failed  no_run    no_member no_member fenced    fenced    fenced    fenced    fenced    notes     over      no_member no_run
worker_failed      no_run    no_member no_member ended     ended     ended     ended     ended     ended     ended     no_member no_run
final_ack          no_run    not_asked not_asked not_asked not_asked not_asked not_asked not_asked opening   not_asked not_asked no_run
state_copied       no_run    no_member no_member notes     notes     acts      acts      acts      notes     acts      no_member no_run
digested           no_run    no_member no_member acts      acts      acts      acts      acts      acts      acts      no_member no_run
contradicted       no_run    no_member no_member fenced    fenced    fenced    fenced    fenced    stopped   over      no_member no_run
checkpoint_written no_run    not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked no_run
memory_opened      no_run    not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked no_run
memory_gone        no_run    not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  not_here  no_run
chunks_fetched     no_run    not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked no_run
balance_answer     no_run    not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked no_run
saved_model        no_run    not_asked not_asked not_asked not_asked not_asked not_asked not_asked not_asked ended     ended     no_run
outside_trouble    no_run    ended     ended     ended     ended     ended     ended     ended     ended     ended     ended     no_run
clock_tick         notes     notes     notes     notes     notes     acts      notes     notes     notes     notes     notes     notes
ask balance        refused   acts      acts      acts      acts      acts      acts      acts      acts      acts      acts      refused
ask checkpoint     refused   refused   refused   acts      acts      acts      acts      acts      acts      refused   refused   refused
ask drain          refused   acts      acts      acts      acts      acts      acts      acts      acts      refused   refused   refused
ask evict          acts      acts      acts      fenced    waiting   fenced    fenced    fenced    waiting   acts      refused   acts
ask fault          refused   acts      acts      acts      acts      acts      acts      acts      acts      acts      refused   refused
ask note           refused   acts      acts      acts      acts      acts      acts      acts      acts      acts      acts      refused
ask pause          refused   acts      acts      acts      acts      acts      acts      notes     acts      refused   refused   refused
ask resume         refused   refused   refused   refused   refused   refused   refused   training  refused   refused   refused   refused
ask scale          refused   refused   refused   refused   refused   refused   refused   refused   refused   refused   refused   refused
ask stop           refused   ended     ended     ended     acts      acts      acts      acts      acts      acts      acts      refused
)";
  static const auto all = [] {
    std::map<std::string, std::map<std::string, std::string>> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream in(line);
      std::string event;
      if (!(in >> event))
        continue;
      if (event == "ask") {
        std::string what;
        in >> what;
        event += " " + what;
      }
      for (const std::string& state : states())
        in >> out[event][state];
    }
    return out;
  }();
  return all;
}

/// The states as a diagram: an arrow for each pair of states, with the events
/// that lead from one to the other.
inline std::string diagram() {
  // The ways to be in one state are one box.
  static const std::map<std::string, std::string> box{{"reopening", "opening"},
                                                      {"changing", "training"},
                                                      {"paused", "training"}};
  auto boxed = [](const std::string& state) {
    auto found = box.find(state);
    return found == box.end() ? state : found->second;
  };
  static const std::set<std::string> boxes(states().begin(), states().end());
  std::map<std::pair<std::string, std::string>, std::set<std::string>> arrows;
  for (const auto& [event, cells] : rows())
    for (const auto& [state, cell] : cells)
      if (boxes.contains(cell) && boxed(cell) != boxed(state))
        arrows[{boxed(state), boxed(cell)}].insert(event);
  std::string out = "```mermaid\nstateDiagram-v2\n  [*] --> idle\n";
  for (const auto& [way, events] : arrows) {
    out += "  " + way.first + " --> " + way.second + ": ";
    std::string list;
    for (const std::string& event : events)
      list += (list.empty() ? "" : ", ") + event;
    out += list + "\n";
  }
  return out + "```\n";
}

} // namespace ballast::coordinator
