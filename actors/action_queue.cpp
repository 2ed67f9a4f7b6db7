#include "actors/action_queue.hpp"

#include "monitor/logs/log.hpp"

#include <iterator>
#include <utility>

namespace ballast::actors {

void action_queue::add(coordinator::actions list) {
  std::move(list.begin(), list.end(), std::back_inserter(queue_));
  if (!wait_.waiting())
    work_off();
}

void action_queue::add(queued_work what) {
  queue_.emplace_back(std::move(what));
  if (!wait_.waiting())
    work_off();
}

void action_queue::retry() {
  if (wait_.waiting() && wait_.due(by_.clock()))
    work_off();
}

void action_queue::work_off() {
  if (working_)
    return; // an entry of the queue added to it
  struct guard {
    bool& on;
    ~guard() { on = false; }
  } busy{working_};
  working_ = true;
  while (!queue_.empty()) {
    entry first = std::move(queue_.front());
    queue_.pop_front();
    try {
      perform(first);
    } catch (const ballast_error& e) {
      if (waits_for(e.what_failed())) {
        queue_.push_front(std::move(first));
        return;
      }
      by_.failed(e.what_failed());
      continue;
    }
    if (wait_.waiting())
      note_space();
  }
}

void action_queue::perform(entry& one) {
  if (auto* work = std::get_if<queued_work>(&one))
    work->todo();
  else
    by_.perform(std::get<coordinator::action>(one));
}

bool action_queue::waits_for(const failure& why) {
  if (why.code != errc::disk_full)
    return false;
  instant since = wait_.waiting() ? wait_.since() : by_.clock();
  if (wait_.failed(why.message, by_.clock(), by_.patience()))
    return true;
  waited_ += by_.clock() - since;
  return false;
}

void action_queue::note_space() {
  std::string message = wait_.message();
  instant took = wait_.over(by_.clock());
  waited_ += took;
  monitor::log().info("there is space again after {} ms",
                      took.count() / 1'000'000);
  queue_.emplace_front(coordinator::write_event{
      coordinator::events::disk_full{took, {}, message}});
}

void action_queue::drop(const failure& why) {
  std::deque<entry> rest = std::exchange(queue_, {});
  for (entry& one : rest)
    if (auto* work = std::get_if<queued_work>(&one); work && work->dropped)
      work->dropped(why);
}

} // namespace ballast::actors
