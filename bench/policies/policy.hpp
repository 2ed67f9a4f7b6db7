/// Balancers of others, restated as pure functions of what they can see, so
/// that they can be compared with our planner on the same placements and in
/// virtual time (bench/policies/policy_simulator.cpp). Nothing of the product
/// uses this.
///
/// All of them were made for things that have a size and no label: actors,
/// regions, partitions. So that they can reach the same final balance as ours,
/// each is given the kindest generalisation there is: it keeps its rule, and
/// applies it to every label by itself, as it would to an entity type, a table
/// or a topic of its own. A worker's fair number of a label's units is its part
/// of them. Who knows of no unequal nodes is told the fair numbers all the
/// same.
///
/// A unit is what moves as a whole and has one label: a row where placements
/// are compared, a chunk of one class where time is simulated.
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

/// Where every unit is. Units are numbered worker by worker, then class by
/// class, as they lie at first. Moving costs O(1).
class unit_places {
public:
  explicit unit_places(const label_counts& held);

  const label_counts& counts() const { return counts_; }
  const std::vector<uint32_t>& units_at(size_t worker, size_t label) const {
    return at_[worker * counts_.classes + label];
  }
  size_t units() const { return owner_.size(); }
  uint32_t owner(uint32_t unit) const { return owner_[unit]; }
  uint32_t label(uint32_t unit) const { return label_[unit]; }

  void move(uint32_t unit, uint32_t to);

private:
  label_counts counts_;
  std::vector<std::vector<uint32_t>> at_; // [worker * classes + label]
  std::vector<uint32_t> owner_;           // by unit, as the next two
  std::vector<uint32_t> label_;
  std::vector<uint32_t> slot_; // in its list of at_
};

/// What a balancer sees when it looks. Loads are as old as the newest report;
/// where a unit is, whoever holds it says at once.
struct cluster_view {
  const label_counts& reported;     // units, by worker and class
  const std::vector<double>& parts; // of every label, by worker; sums to 1
  const unit_places& places;
  const std::vector<unit_move>& in_flight;
  uint64_t now = 0;         // ticks
  uint64_t reported_at = 0; // the tick whose loads these are
};

/// One balancer. Has the memory that its source gives it, no clock, and random
/// numbers that its seed decides.
class policy {
public:
  virtual ~policy() = default;
  virtual std::string name() const = 0;
  /// What it wants to move now: units that are at `from` and not in flight,
  /// each at most once.
  virtual std::vector<unit_move> tick(const cluster_view& view) = 0;
};

/// How many units beyond its fair number a worker is said to hold; < 0 is too
/// few.
class label_excess {
public:
  label_excess(const cluster_view& view, size_t label);
  double operator[](size_t worker) const { return excess_[worker]; }
  size_t workers() const { return excess_.size(); }
  uint64_t total() const { return total_; }
  /// Workers by excess, the least first; ties by rank.
  std::vector<uint32_t> least_first() const;

private:
  std::vector<double> excess_;
  uint64_t total_ = 0; // units of the label
};

/// Picks units by chance, none twice in a tick and none that is in flight: what
/// "some shard of that node" means to all of the sources.
class unit_picker {
public:
  explicit unit_picker(uint64_t seed) : random_(seed, 0x706f6c696379) {}

  void new_tick(const cluster_view& view);
  /// At most `count` units of the label, from one worker to another; fewer
  /// where there are not so many.
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
