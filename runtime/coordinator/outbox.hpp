/// Where every part of the coordinator puts what is to be done. The shell takes
/// the list after each event and performs it in order. Owned by the shell, used
/// on the coordinator's thread.
#pragma once

#include "runtime/coordinator/actions.hpp"

#include <utility>

namespace ballast::coordinator {

class outbox {
public:
  template <class Action>
  void put(Action&& what) {
    list_.emplace_back(std::forward<Action>(what));
  }
  /// One line for events.jsonl.
  void tell(run_event what) { put(write_event{std::move(what)}); }
  void expect(size_t more) { list_.reserve(list_.size() + more); }
  /// All that was put in since the last call.
  actions take() { return std::exchange(list_, {}); }
  bool empty() const { return list_.empty(); }

private:
  actions list_;
};

} // namespace ballast::coordinator
