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

void opening_attempts::see(sighting& seen, std::string what) const {
  seen.what = std::move(what);
  uint32_t attempt = failures_ + 1;
  if (std::exchange(seen.newest, attempt) != attempt)
    ++seen.attempts;
}

void opening_attempts::complain(unreachable_address what) {
  see(complaints_[what.about][what.from], std::move(what.address));
}

void opening_attempts::lacks(worker_id who, std::string what) {
  see(lacks_[who], std::move(what));
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
  if (failures_++ == 0)
    first_failed_ = now;
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
        out.push_back({ranks[other], ranks[rank], seen->second.what});
    if (2 * out.size() > ranks.size() - 1 - rank)
      return out;
  }
  return {};
}

std::map<worker_id, std::string>
opening_attempts::unable(const std::vector<worker_id>& ranks) const {
  std::map<worker_id, std::string> out;
  bool again = false; // once may be chance
  for (worker_id who : ranks)
    if (auto seen = lacks_.find(who); seen != lacks_.end()) {
      out.emplace(who, seen->second.what);
      again |= seen->second.attempts >= 2;
    }
  return again ? out : std::map<worker_id, std::string>{};
}

} // namespace ballast
