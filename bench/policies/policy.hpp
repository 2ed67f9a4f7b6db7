/// Balancers of other systems, restated as pure functions of their input, so
/// that they can be compared with our planner on the same placements and in
/// virtual time (bench/policies/policy_simulator.cpp). The product does not use
/// this.
///
/// All of them were made for objects with a size and no label: actors, regions,
/// partitions. So that they can reach the same final balance as ours, each gets
/// the most favourable generalisation: it keeps its rule, and applies it to
/// every label separately, as it would to an entity type, a table or a topic of
/// its own. A worker's fair number of a label's units is its part of them.
/// Policies that do not know unequal nodes get the fair numbers nevertheless.
///
/// A unit moves as a whole and has one label: a row when placements are
/// compared, a chunk of one class when time is simulated.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/base/random.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ballast::policies {

struct unit_move {
  uint32_t unit = 0;
  uint32_t from = 0; // worker
  uint32_t to = 0;   // worker
  friend bool operator==(const unit_move&, const unit_move&) = default;
};

/// The place of every unit. Units are numbered worker by worker, then class by
/// class, in the initial placement. Moving costs O(1).
class unit_places {
public:
  explicit unit_places(const balance::label_counts& held);

  const balance::label_counts& counts() const { return counts_; }
  const std::vector<uint32_t>& units_at(size_t worker, size_t label) const {
    return at_[worker * counts_.classes + label];
  }
  size_t units() const { return owner_.size(); }
  uint32_t owner(uint32_t unit) const { return owner_[unit]; }
  uint32_t label(uint32_t unit) const { return label_[unit]; }

  void move(uint32_t unit, uint32_t to);

private:
  balance::label_counts counts_;
  std::vector<std::vector<uint32_t>> at_; // [worker * classes + label]
  std::vector<uint32_t> owner_;           // by unit, as the next two
  std::vector<uint32_t> label_;
  std::vector<uint32_t> slot_; // in its list of at_
};

/// The input of a balancer. Loads are as old as the newest report; the places
/// of units are current.
struct cluster_view {
  const balance::label_counts& reported; // units, by worker and class
  const std::vector<double>& parts;      // of every label, by worker; sums to 1
  const unit_places& places;
  const std::vector<unit_move>& in_flight;
  uint64_t now = 0;         // ticks
  uint64_t reported_at = 0; // the tick at which these loads were reported
};

/// One balancer. Has the memory that its source has, no clock, and random
/// numbers derived from its seed.
class policy {
public:
  virtual ~policy() = default;
  virtual std::string name() const = 0;
  /// The moves to start now: units that are at `from` and not in flight, each
  /// at most once.
  virtual std::vector<unit_move> tick(const cluster_view& view) = 0;
};

/// The units beyond its fair number that a worker holds according to the
/// reports; < 0 is too few.
class label_excess {
public:
  label_excess(const cluster_view& view, size_t label);
  double operator[](size_t worker) const { return excess_[worker]; }
  size_t workers() const { return excess_.size(); }
  uint64_t total() const { return total_; }
  /// Workers by excess, ascending; ties by rank.
  std::vector<uint32_t> least_first() const;

private:
  std::vector<double> excess_;
  uint64_t total_ = 0; // units of the label
};

/// Picks random units, none twice in a tick and none in flight: the meaning of
/// "some shard of that node" in all of the sources.
class unit_picker {
public:
  explicit unit_picker(uint64_t seed) : random_(seed, 0x706f6c696379) {}

  void new_tick(const cluster_view& view);
  /// At most `count` units of the label, from one worker to another; fewer if
  /// there are not enough.
  void pick(const cluster_view& view, size_t label, uint32_t from, uint32_t to,
            uint64_t count, std::vector<unit_move>& out);
  bool taken(uint32_t unit) const { return taken_.contains(unit); }
  void take(uint32_t unit) { taken_.insert(unit); }
  uint64_t below(uint64_t bound) { return random_.below(bound, next_++); }

private:
  counter_random random_;
  uint64_t next_ = 0;
  std::set<uint32_t> taken_;
};

} // namespace ballast::policies
