#include "runtime/coordinator/fragment_board.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

bool reads_fragments(const std::string& boot_of_worker,
                     const std::string& boot_of_coordinator,
                     bool on_this_machine) {
  return on_this_machine || boot_of_worker.empty() ||
         boot_of_worker != boot_of_coordinator;
}

void fragment_board::gone(worker_id who) {
  take_back(who);
  others_.erase(who);
}

bool fragment_board::left_out(worker_id who) {
  take_back(who);
  const auto found = others_.find(who);
  return found != others_.end() && std::exchange(found->second.asked, false);
}

void fragment_board::take_back(worker_id who) {
  for (size_t i = 0; i < files_.size(); ++i) {
    file& one = files_[i];
    if (one.is >= state::done || one.who != who)
      continue;
    release(one);
    one.is = one.here ? state::given : state::waiting;
    if (!one.here)
      next_ = std::min(next_, i);
  }
}

/// No other has it any more.
void fragment_board::release(file& one) {
  if (!one.who)
    return;
  if (const auto found = others_.find(*one.who);
      found != others_.end() && found->second.has > 0)
    --found->second.has;
  one.who.reset();
}

std::optional<size_t> fragment_board::take_here(instant now) {
  while (next_ < files_.size() && files_[next_].is != state::waiting)
    ++next_;
  if (next_ < files_.size()) {
    files_[next_].is = state::given;
    files_[next_].here = true;
    return next_;
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    file& one = files_[i];
    if (one.is == state::given && !one.here &&
        now - one.since >= fragment_patience) {
      one.here = true;
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::pair<worker_id, size_t>> fragment_board::give(instant now) {
  std::vector<std::pair<worker_id, size_t>> out;
  for (bool given = true; std::exchange(given, false);)
    for (auto& [who, reader] : others_) { // one each, in turn
      if (!reader.asked || reader.has >= each_max_)
        continue;
      while (next_ < files_.size() && files_[next_].is != state::waiting)
        ++next_;
      if (next_ == files_.size())
        return out;
      files_[next_] = {state::given, who, now, false};
      ++reader.has;
      out.emplace_back(who, next_);
      given = true;
    }
  return out;
}

bool fragment_board::arriving(size_t number, worker_id from) {
  file& one = files_.at(number);
  if (one.is >= state::arriving)
    return false;
  // Whoever else has it works for nothing, as does the reader here.
  if (one.who != from) {
    release(one);
    if (const auto found = others_.find(from); found != others_.end())
      ++found->second.has;
    one.who = from;
  }
  one.is = state::arriving;
  return true;
}

bool fragment_board::finish(size_t number, state how) {
  file& one = files_.at(number);
  if (one.is >= state::done)
    return false;
  if (one.is == state::arriving && one.who)
    if (const auto found = others_.find(*one.who); found != others_.end())
      ++found->second.read;
  release(one);
  one.is = how;
  ++finished_;
  return true;
}

bool fragment_board::done(size_t number) {
  return finish(number, state::done);
}

bool fragment_board::refused(size_t number) {
  return finish(number, state::refused);
}

size_t fragment_board::read_by(worker_id who) const {
  const auto found = others_.find(who);
  return found == others_.end() ? 0 : found->second.read + found->second.has;
}

} // namespace ballast::coordinator
