#include "runtime/coordinator/roster.hpp"

#include <algorithm>

namespace ballast::coordinator {

std::string describe_node(const node& who) {
  return "worker " + who.about.name + " (pid " + std::to_string(who.about.pid) +
         " on " + who.about.host + ")";
}

events::worker_process process_of(const node& who) {
  return {who.about.name, who.incarnation, who.about.pid, who.about.host};
}

void roster::begin_run(std::chrono::milliseconds heartbeat) {
  detector_ = failure_detector(heartbeat);
  proven_.clear();
}

bool roster::connected(worker_id who) const {
  auto found = nodes_.find(who);
  return found != nodes_.end() && found->second.connected;
}

const node* roster::find(const std::string& name) const {
  for (const auto& [id, who] : nodes_)
    if (who.connected && who.about.name == name)
      return &who;
  return nullptr;
}

std::string roster::name_of(worker_id who) const {
  auto found = nodes_.find(who);
  return found == nodes_.end() ? "w?" + to_string(who)
                               : found->second.about.name;
}

/// `run` gives no name twice; by hand a second process may have it while the
/// first one is frozen.
bool roster::joined_anew(worker_id who) const {
  const std::string& name = nodes_.at(who).about.name;
  return supervised_ &&
         std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
           return one.first != who && one.second.connected &&
                  one.second.about.name == name;
         });
}

const node& roster::add(const worker_hello& hello,
                        std::optional<instant> held_back, instant now) {
  last_ = next(last_);
  node& fresh = nodes_[last_];
  fresh.id = last_;
  fresh.incarnation = ++incarnations_[hello.name];
  fresh.about = hello;
  fresh.held_back_until = held_back;
  detector_.heard(last_, now);
  return fresh;
}

const node& roster::take_back(const worker_hello& hello, instant now) {
  node& back = nodes_.at(hello.was);
  back.about = hello;
  back.connected = true;
  detector_.heard(back.id, now);
  if (hello.leaving)
    leaving_.insert(back.id);
  return back;
}

void roster::remember(worker_id who, const std::string& name,
                      uint32_t incarnation, bool left) {
  last_ = std::max(last_, who);
  uint32_t& newest = incarnations_[name];
  newest = std::max(newest, incarnation);
  node& known = nodes_[who];
  known.id = who;
  known.incarnation = incarnation;
  known.about.name = name;
  known.connected = false;
  known.left = left;
}

instant roster::lose(worker_id who, bool left) {
  node& gone = nodes_.at(who);
  gone.connected = false;
  gone.left = left;
  gone.last_word = detector_.last_word(who);
  detector_.forget(who);
  return gone.last_word;
}

void roster::release(worker_id who) {
  node& leaver = nodes_.at(who);
  leaver.connected = false;
  leaver.left = true;
  leaving_.erase(who);
  detector_.forget(who);
}

void roster::forget(worker_id who) {
  nodes_.erase(who);
  proven_.erase(who);
  leaving_.erase(who);
}

void roster::beat(const heartbeat& beat, instant now) {
  nodes_.at(beat.worker).last = beat;
  detector_.heard(beat.worker, now);
}

bool roster::may_train(const node& who, const std::string& run) const {
  return who.connected && !who.about.leaving && !who.held_back_until &&
         (who.about.not_for.empty() || who.about.not_for != run);
}

void roster::ask_to_leave(worker_id who, bool announced) {
  if (announced)
    nodes_.at(who).about.leaving = true;
  else
    leaving_.insert(who);
}

void roster::dismiss(worker_id who, const std::string& run) {
  nodes_.at(who).about.not_for = run;
}

void roster::hold_back(worker_id who, instant until) {
  nodes_.at(who).held_back_until = until;
}

void roster::let_back(instant now) {
  for (auto& [id, who] : nodes_)
    if (who.held_back_until && now >= *who.held_back_until)
      who.held_back_until.reset();
}

void roster::call_back(size_t least, const std::string& run) {
  const auto here =
      std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& one) {
        return may_train(one.second, run);
      });
  if (size_t(here) < least)
    for (auto& [id, who] : nodes_)
      if (who.held_back_until != instant::max()) // it is on its way out
        who.held_back_until.reset();
}

void roster::prove(const std::vector<worker_id>& workers) {
  proven_.insert(workers.begin(), workers.end());
}

void roster::note_memory(const worker_hello& hello) {
  uint64_t& memory = memory_[hello.host];
  memory = std::max(memory, hello.memory_bytes);
}

host_shares roster::shares(const std::vector<worker_id>& workers,
                           uint32_t local_least) const {
  return {nodes_, memory_, workers, local_least};
}

std::set<worker_id> connected(const roster& of) {
  std::set<worker_id> out;
  for (const auto& [id, who] : of.all())
    if (who.connected)
      out.insert(out.end(), id);
  return out;
}

} // namespace ballast::coordinator
