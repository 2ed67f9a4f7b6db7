/// The states of a graph's nodes, while its outputs are read one after another:
/// what the training set needed fitted, the test set uses. Any thread.
#pragma once

#include "data/fitting/fitted_state.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

class fitted_states {
public:
  /// Null: the node was not fitted yet.
  std::shared_ptr<const fitted_state> find(size_t node) const {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(node);
    return found == states_.end() ? nullptr : found->second;
  }
  void add(size_t node, std::shared_ptr<const fitted_state> state) {
    const std::lock_guard lock(mutex_);
    states_[node] = std::move(state);
  }
  /// What a user should know; once, however often the rows pass.
  void tell(const std::string& note) {
    const std::lock_guard lock(mutex_);
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
      notes_.push_back(note);
  }
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  /// In the order of the nodes.
  std::vector<std::shared_ptr<const fitted_state>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const fitted_state>> out;
    for (const auto& [node, state] : states_)
      out.push_back(state);
    return out;
  }

private:
  mutable std::mutex mutex_; // guards the following
  std::map<size_t, std::shared_ptr<const fitted_state>> states_;
  std::vector<std::string> notes_;
};

} // namespace ballast::data
