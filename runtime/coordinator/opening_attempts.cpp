#include "runtime/coordinator/opening_attempts.hpp"

#include "runtime/coordinator/vertex_cover.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ballast::coordinator {

std::chrono::milliseconds opening_attempts::wait() const {
  std::chrono::milliseconds out = wait_least;
  for (uint32_t i = 1; i < failures_ && out < wait_most; ++i)
    out *= 2;
  return std::min(out, wait_most);
}

void opening_attempts::suspect(std::string why, bool first_hand) {
  if (first_hand_ && !suspected_.empty())
    return;
  suspected_ = std::move(why);
  first_hand_ = first_hand;
}

void opening_attempts::complain(broken_link what) {
  complaint& about = complaints_[std::minmax(what.from, what.about)];
  // Both ends may say so; who dialled knows more.
  if (about.seen.attempts == 0 || !what.address.empty())
    about.said = std::move(what);
  count(about.seen);
}

void opening_attempts::lacks(worker_id who, std::string what) {
  lacks_[who].what = std::move(what);
  count(lacks_[who].seen);
}

void opening_attempts::count(sighting& seen) const {
  uint32_t attempt = failures_ + 1;
  if (std::exchange(seen.newest, attempt) != attempt)
    ++seen.attempts;
}

bool opening_attempts::judge(bool everybody_answered, instant now) {
  std::string why = std::exchange(suspected_, {});
  first_hand_ = false;
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

std::vector<broken_link>
opening_attempts::broken(const std::vector<worker_id>& ranks) const {
  std::vector<broken_link> out;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t other = rank + 1; other < ranks.size(); ++other)
      // Once may be a peer that a fence reached earlier.
      if (auto seen = complaints_.find(std::minmax(ranks[rank], ranks[other]));
          seen != complaints_.end() && seen->second.seen.attempts >= 2)
        out.push_back(seen->second.said);
  return out;
}

std::map<worker_id, std::string>
opening_attempts::unable(const std::vector<worker_id>& ranks) const {
  std::map<worker_id, std::string> out;
  bool again = false; // once may be chance
  for (worker_id who : ranks)
    if (auto seen = lacks_.find(who); seen != lacks_.end()) {
      out.emplace(who, seen->second.what);
      again |= seen->second.seen.attempts >= 2;
    }
  return again ? out : std::map<worker_id, std::string>{};
}

std::vector<worker_id> whom_to_dismiss(const std::vector<broken_link>& broken,
                                       const std::vector<worker_id>& ranks,
                                       const std::set<worker_id>& spared,
                                       const std::set<worker_id>& unheard_of) {
  auto nobody_found = [&](size_t rank) {
    const auto in_vain = std::count_if(
        broken.begin(), broken.end(), [&](const broken_link& one) {
          return one.about == ranks[rank] && !one.address.empty();
        });
    return in_vain > 0 && size_t(in_vain) + rank + 1 == ranks.size();
  };
  // Who is to go first comes first.
  std::vector<std::tuple<bool, bool, uint64_t, worker_id>> order;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const worker_id who = ranks[rank];
    order.emplace_back(spared.contains(who),
                       !(unheard_of.contains(who) && nobody_found(rank)),
                       UINT64_MAX - value(who), who);
  }
  std::sort(order.begin(), order.end());
  auto place = [&order](worker_id who) {
    return size_t(std::find_if(order.begin(), order.end(),
                               [who](const auto& one) {
                                 return std::get<worker_id>(one) == who;
                               }) -
                  order.begin());
  };
  std::vector<graph_edge> edges;
  for (const broken_link& one : broken)
    edges.emplace_back(place(one.from), place(one.about));
  const auto dear =
      std::count_if(order.begin(), order.end(),
                    [](const auto& o) { return !std::get<0>(o); });
  std::vector<worker_id> out;
  for (size_t vertex : vertex_cover(edges, size_t(dear)))
    out.push_back(std::get<worker_id>(order[vertex]));
  return out;
}

} // namespace ballast::coordinator
