#include "bench/policies/policy.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::policies {

unit_places::unit_places(const balance::label_counts& held)
    : counts_(held), at_(held.workers * held.classes) {
  for (size_t worker = 0; worker < held.workers; ++worker)
    for (size_t label = 0; label < held.classes; ++label)
      for (uint64_t i = held.at(worker, label); i > 0; --i) {
        std::vector<uint32_t>& here = at_[worker * held.classes + label];
        slot_.push_back(uint32_t(here.size()));
        here.push_back(uint32_t(owner_.size()));
        owner_.push_back(uint32_t(worker));
        label_.push_back(uint32_t(label));
      }
}

void unit_places::move(uint32_t unit, uint32_t to) {
  uint32_t from = owner_[unit];
  uint32_t label = label_[unit];
  std::vector<uint32_t>& before = at_[from * counts_.classes + label];
  slot_[before.back()] = slot_[unit];
  before[slot_[unit]] = before.back();
  before.pop_back();
  std::vector<uint32_t>& after = at_[to * counts_.classes + label];
  slot_[unit] = uint32_t(after.size());
  after.push_back(unit);
  owner_[unit] = to;
  --counts_.at(from, label);
  ++counts_.at(to, label);
}

label_excess::label_excess(const cluster_view& view, size_t label)
    : total_(view.reported.of_class(label)) {
  for (size_t worker = 0; worker < view.reported.workers; ++worker)
    excess_.push_back(double(view.reported.at(worker, label)) -
                      view.parts[worker] * double(total_));
}

std::vector<uint32_t> label_excess::least_first() const {
  std::vector<uint32_t> out(excess_.size());
  std::iota(out.begin(), out.end(), 0u);
  std::stable_sort(out.begin(), out.end(), [this](uint32_t a, uint32_t b) {
    return excess_[a] < excess_[b];
  });
  return out;
}

void unit_picker::new_tick(const cluster_view& view) {
  taken_.clear();
  for (const unit_move& one : view.in_flight)
    taken_.insert(one.unit);
}

void unit_picker::pick(const cluster_view& view, size_t label, uint32_t from,
                       uint32_t to, uint64_t count,
                       std::vector<unit_move>& out) {
  std::vector<uint32_t> free;
  for (uint32_t unit : view.places.units_at(from, label))
    if (!taken(unit))
      free.push_back(unit);
  for (uint64_t i = 0; i < std::min<uint64_t>(count, free.size()); ++i) {
    std::swap(free[i], free[i + below(free.size() - i)]);
    take(free[i]);
    out.push_back({free[i], from, to});
  }
}

} // namespace ballast::policies
