#include "runtime/opening_attempts.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

std::chrono::milliseconds opening_attempts::wait() const {
  std::chrono::milliseconds out = wait_least;
  for (uint32_t i = 1; i < failures_ && out < wait_most; ++i)
    out *= 2;
  return std::min(out, wait_most);
}

void opening_attempts::complain(unreachable_address what) {
  sighting& seen = complaints_[what.about][what.from];
  seen.address = std::move(what.address);
  uint32_t attempt = failures_ + 1;
  if (std::exchange(seen.newest, attempt) != attempt)
    ++seen.attempts;
}

bool opening_attempts::judge(bool everybody_answered, instant now) {
  std::string why = std::exchange(suspected_, {});
  if (why.empty() || !everybody_answered)
    return false;
  failed(std::move(why), now);
  return true;
}

void opening_attempts::failed(std::string why, instant now) {
  reason_ = std::move(why);
  ++failures_;
  retry_at_ = now + wait();
}

bool opening_attempts::tick(instant now) {
  if (!retry_at_ || now < *retry_at_)
    return false;
  retry_at_.reset();
  return true;
}

std::vector<unreachable_address>
opening_attempts::unreachable(const std::vector<worker_id>& ranks) const {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto about = complaints_.find(ranks[rank]);
    if (about == complaints_.end())
      continue;
    std::vector<unreachable_address> out;
    // Once may be a peer that a fence reached earlier.
    for (size_t other = 0; other < ranks.size(); ++other)
      if (auto seen = about->second.find(ranks[other]);
          seen != about->second.end() && seen->second.attempts >= 2)
        out.push_back({ranks[other], ranks[rank], seen->second.address});
    if (2 * out.size() > ranks.size() - 1 - rank)
      return out;
  }
  return {};
}

} // namespace ballast
