#include "data/prepared/fragment_helpers.hpp"

#include <utility>
#include <vector>

namespace ballast::data {

void fragment_helpers::joined(worker_id who, std::string name, order_to send) {
  const std::lock_guard telling(telling_);
  {
    const std::lock_guard lock(mutex_);
    all_[who] = {std::move(name), std::move(send)};
  }
  if (listener_ != nullptr)
    listener_->joined(who);
}

void fragment_helpers::gone(worker_id who) {
  const std::lock_guard telling(telling_);
  {
    const std::lock_guard lock(mutex_);
    all_.erase(who);
  }
  if (listener_ != nullptr)
    listener_->gone(who);
}

void fragment_helpers::answered(const fragment_ready& what) {
  const std::lock_guard telling(telling_);
  if (listener_ != nullptr)
    listener_->answered(what);
}

void fragment_helpers::listen(fragment_listener* to) {
  const std::lock_guard telling(telling_);
  listener_ = to;
  std::vector<worker_id> there;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [who, about] : all_)
      there.push_back(who);
  }
  if (to != nullptr)
    for (worker_id who : there)
      to->joined(who);
}

void fragment_helpers::order(worker_id who, const prepare_fragment& what) {
  const std::lock_guard lock(mutex_);
  if (const auto found = all_.find(who); found != all_.end())
    found->second.send(what);
}

bool fragment_helpers::any() {
  const std::lock_guard lock(mutex_);
  return !all_.empty();
}

std::string fragment_helpers::name_of(worker_id who) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(who);
  return found == all_.end() ? std::string() : found->second.name;
}

} // namespace ballast::data
