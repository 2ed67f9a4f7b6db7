#include "runtime/balance/measured_rates.hpp"

#include <algorithm>

namespace ballast::balance {

namespace {

constexpr size_t copies_kept = 32; // of each pair
constexpr size_t copies_min = 3;   // fewer copies are no measurement

using copies = std::vector<const link_copy*>;

double bytes_per_s(const link_copy& one) {
  return double(one.bytes) * 1e9 / double(one.ns);
}

uint64_t bytes_of(const copies& seen) {
  uint64_t all = 0;
  for (const link_copy* one : seen)
    all += one->bytes;
  return all;
}

std::optional<double> median_by_bytes(copies seen) {
  std::sort(seen.begin(), seen.end(),
            [](const link_copy* a, const link_copy* b) {
              return bytes_per_s(*a) < bytes_per_s(*b);
            });
  const uint64_t all = bytes_of(seen);
  uint64_t below = 0;
  for (const link_copy* one : seen) {
    below += one->bytes;
    if (2 * below >= all)
      return bytes_per_s(*one);
  }
  return std::nullopt;
}

void add_all(copies& to, const std::deque<link_copy>& from) {
  for (const link_copy& one : from)
    to.push_back(&one);
}

/// The time that each receiver needs for its moves.
class arrivals {
public:
  arrivals(const std::vector<worker_id>& ranks, const measured_rates& links)
      : ranks_(ranks), links_(links), busy_s_(ranks.size(), 0) {}

  /// The time of the slowest receiver, including this move.
  double with(const shard_move& move) {
    worker_id to = ranks_.at(move.to);
    std::optional<double> rate = links_.between(ranks_.at(move.from), to);
    if (!rate)
      rate = links_.into(to);
    if (rate)
      busy_s_[move.to] += double(move.bytes) / *rate;
    longest_s_ = std::max(longest_s_, busy_s_[move.to]);
    return longest_s_;
  }

private:
  const std::vector<worker_id>& ranks_;
  const measured_rates& links_;
  std::vector<double> busy_s_; // by rank
  double longest_s_ = 0;
};

} // namespace

void measured_rates::add(const link_copy& copy) {
  if (copy.bytes == 0 || copy.ns == 0)
    return;
  std::deque<link_copy>& seen = newest_[{copy.to, copy.from}];
  seen.push_back(copy);
  if (seen.size() > copies_kept)
    seen.pop_front();
}

void measured_rates::keep(const std::set<worker_id>& here) {
  std::erase_if(newest_, [&](const auto& one) {
    auto [to, from] = one.first;
    return !here.contains(to) || (from != worker_id{} && !here.contains(from));
  });
}

std::optional<double> measured_rates::rate_of(copies seen) const {
  if (seen.size() < copies_min && bytes_of(seen) < enough_bytes_)
    return std::nullopt;
  return median_by_bytes(std::move(seen));
}

std::optional<double> measured_rates::between(worker_id from,
                                              worker_id to) const {
  copies seen;
  if (auto found = newest_.find({to, from}); found != newest_.end())
    add_all(seen, found->second);
  return rate_of(std::move(seen));
}

std::optional<double> measured_rates::into(worker_id to) const {
  copies seen;
  for (const auto& [pair, some] : newest_)
    if (pair.first == to)
      add_all(seen, some);
  return rate_of(std::move(seen));
}

std::map<worker_id, size_t> measured_rates::sources_of(worker_id to) const {
  std::map<worker_id, size_t> out;
  for (const auto& [pair, some] : newest_)
    if (pair.first == to)
      out[pair.second] = some.size();
  return out;
}

double travel_s(const std::vector<shard_move>& moves,
                const std::vector<worker_id>& ranks,
                const measured_rates& links) {
  arrivals all(ranks, links);
  double out = 0;
  for (const shard_move& one : moves)
    out = all.with(one);
  return out;
}

size_t fit_in_travel(const std::vector<shard_move>& moves, double seconds,
                     const std::vector<worker_id>& ranks,
                     const measured_rates& links) {
  arrivals all(ranks, links);
  size_t fit = 0;
  while (fit < moves.size() && (all.with(moves[fit]) <= seconds || fit == 0))
    ++fit;
  return fit;
}

void cut_to(move_list& list, double seconds,
            const std::vector<worker_id>& ranks, const measured_rates& links) {
  cut_off(list, fit_in_travel(list.moves, seconds, ranks, links));
}

} // namespace ballast::balance
