#include "runtime/coordinator/straggler.hpp"

#include <algorithm>

namespace ballast::coordinator {

namespace {

/// Of steps, that a worker is judged by.
constexpr uint64_t judged_ns = 1'000'000'000;

/// The newest numbers of both kinds of trouble.
device_trouble merged(const device_trouble& before, device_trouble now) {
  if (!now.has(device_cause::data)) {
    now.from = before.from;
    now.data_percent = before.data_percent;
  } else if (now.causes == uint8_t(device_cause::data)) {
    now.celsius = before.celsius;
    now.memory_errors = before.memory_errors;
    now.xid = before.xid;
  }
  return now;
}

} // namespace

void stragglers::heard(worker_id who, const device_trouble& what, instant now) {
  auto found = known_.find(who);
  if (found == known_.end() && what.causes == 0)
    return;
  if (found == known_.end()) {
    found = known_.emplace(who, entry{}).first;
    found->second.is.who = who;
    found->second.is.since = now;
  }
  entry& mine = found->second;
  const uint8_t before = mine.is.what.causes;
  if (what.causes != 0)
    mine.is.what = merged(mine.is.what, what);
  mine.is.what.causes = uint8_t(before | what.causes);
  for (int bit = 1; bit < 256; bit *= 2)
    if (what.has(device_cause(bit)))
      mine.last_told[device_cause(bit)] = now;
}

void stragglers::worked(worker_id who, const progress_report& done,
                        instant now) {
  work& sum = work_[who];
  sum.data_ns += done.data_ns;
  sum.all_ns += done.data_ns + done.compute_ns + done.reduce_ns + done.apply_ns;
  if (done.rows_from != rows_source::unknown)
    sum.from = done.rows_from;
  if (sum.all_ns < judged_ns)
    return;
  const double part = double(sum.data_ns) / double(sum.all_ns);
  const bool late = part >= data_part_min;
  if (late && sum.late) {
    device_trouble what;
    what.add(device_cause::data);
    what.from = sum.from;
    what.data_percent = uint8_t(part * 100);
    heard(who, what, now);
  }
  sum = {.late = late};
}

void stragglers::tell_again() {
  for (auto& [who, one] : known_) {
    one.told = 0;
    one.told_slow = false;
  }
}

void stragglers::measured(const std::map<worker_id, double>& row_us) {
  for (auto& [who, one] : known_) {
    std::vector<double> others;
    for (auto [other, us] : row_us)
      if (other != who && us > 0)
        others.push_back(us);
    const auto mine = row_us.find(who);
    one.is.ratio = 0;
    if (others.empty() || mine == row_us.end() || mine->second <= 0)
      continue;
    auto middle = others.begin() + ptrdiff_t(others.size() - 1) / 2;
    std::nth_element(others.begin(), middle, others.end());
    one.is.ratio = mine->second / *middle;
  }
}

std::vector<stragglers::change> stragglers::changes(instant now) {
  std::vector<change> out;
  for (auto next = known_.begin(); next != known_.end();) {
    entry& one = next->second;
    std::erase_if(one.last_told, [&](const auto& told) {
      return now - told.second >= over_after;
    });
    uint8_t standing = 0;
    for (auto [cause, when] : one.last_told)
      standing |= uint8_t(cause);
    if (standing == 0) { // `is` keeps what it was
      if (one.told != 0)
        out.push_back({one.is, true});
      next = known_.erase(next);
      continue;
    }
    one.is.what.causes = standing;
    const bool another = (standing & ~one.told) != 0;
    const bool slow = one.is.slow() && !one.told_slow;
    if (another || slow)
      out.push_back({one.is, false});
    // A cause that ended while others stand is news when it comes back.
    one.told = standing;
    one.told_slow = one.told_slow || slow;
    ++next;
  }
  return out;
}

std::vector<stragglers::finding> stragglers::standing() const {
  std::vector<finding> out;
  for (const auto& [who, one] : known_)
    out.push_back(one.is);
  return out;
}

} // namespace ballast::coordinator
