#include "gpu/reduction/leaf_slots.hpp"

#include "collectives/add.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace ballast::gpu {

namespace {

constexpr size_t leaves_log_max = 32; // leaf numbers are of so many bits

/// Floats to a whole number of cache lines.
size_t rounded(size_t floats) {
  return (floats + 15) / 16 * 16;
}

/// Of a tree whose root is 1, the children of i are 2 i and 2 i + 1.
uint32_t number_of(ledger::tree_node node, uint32_t leaves) {
  return (leaves + node.begin) / node.leaves;
}

} // namespace

leaf_memory lay_out_leaves(uint32_t leaves, size_t threads, size_t gradients,
                           size_t statistics) {
  // Taken in order, what is complete are parts, at most one node of each size,
  // and what the threads are at.
  const size_t height = size_t(std::bit_width(leaves));
  leaf_memory out;
  out.threads = threads;
  out.slots = std::min<size_t>(leaves, 3 * height + threads + 1);
  out.gradients = gradients;
  out.statistics = statistics;
  out.gradient_stride = rounded(gradients);
  out.statistics_stride = rounded(statistics);
  return out;
}

leaf_slots::leaf_slots(const leaf_memory& memory) : memory_(memory) {}

void leaf_slots::begin(const ledger::leaf_ranges& mine, uint32_t leaves,
                       uint64_t rows, float* lone,
                       std::span<const held_sum> kept) {
  leaves_ = leaves;
  lone_ = lone;
  waiting_.clear();
  leading_.assign(leaves, 0);
  has_rows_.assign(2 * size_t(leaves), false);
  is_part_.assign(2 * size_t(leaves), false);
  held_.assign(2 * size_t(leaves), 0);
  used_.assign(memory_.slots, false);
  for (ledger::leaf_range one : mine)
    for (uint32_t leaf = one.begin; leaf < one.end; ++leaf) {
      const ledger::step_rows part =
          ledger::rows_of({leaf, leaf + 1}, rows, leaves);
      if (part.begin == part.end)
        continue;
      waiting_.push_back(leaf);
      for (uint32_t node = leaves + leaf; node > 0; node /= 2)
        has_rows_[node] = true;
    }
  uint32_t parts = 0;
  for (ledger::leaf_range one : mine)
    for (const ledger::tree_node& node : ledger::nodes_of(one)) {
      if (!has_rows_[number_of(node, leaves)])
        continue;
      is_part_[number_of(node, leaves)] = true;
      for (uint32_t leaf = node.begin;; ++leaf)
        if (has_rows_[leaves + leaf]) {
          leading_[leaf] = ++parts;
          break;
        }
    }
  std::fill_n(used_.begin(), parts, true);
  keep(kept, parts);
  std::reverse(waiting_.begin(), waiting_.end());
}

/// A sum that leads a part is of use only in the part's slot, any other only
/// beside those; and what is left must be enough for leaves in order.
void leaf_slots::keep(std::span<const held_sum> kept, uint32_t parts) {
  const size_t room = memory_.slots < leaves_
                          ? size_t(std::bit_width(leaves_)) + memory_.threads
                          : 0;
  std::vector<bool> there(leaves_);
  for (held_sum one : kept) {
    uint32_t node = one.node;
    if (node == 0 || node >= 2 * leaves_ || one.slot >= memory_.slots ||
        !has_rows_[node])
      continue;
    const uint32_t width = leaves_ / std::bit_floor(node);
    const uint32_t begin = (node - std::bit_floor(node)) * width;
    uint32_t leader = 0; // of the part that begins in this node
    for (uint32_t leaf = begin; leaf < begin + width; ++leaf)
      leader = std::max(leader, leading_[leaf]);
    while (!is_part_[node] && node > 1 && !has_rows_[node ^ 1])
      node /= 2;
    uint32_t part = node;
    while (part > 0 && !is_part_[part])
      part /= 2;
    if (part == 0 || (!is_part_[node] && held_[node ^ 1] != 0))
      continue;
    if (leader > 0 ? one.slot + 1 != leader || lone_ : one.slot < parts)
      continue;
    if (leader == 0) {
      if (size_t(std::count(used_.begin(), used_.end(), false)) <= room)
        continue;
      used_[one.slot] = true;
    }
    held_[node] = one.slot + 1;
    std::fill_n(there.begin() + begin, width, true);
  }
  std::erase_if(waiting_, [&](uint32_t leaf) { return there[leaf]; });
}

std::vector<held_sum> leaf_slots::held() const {
  std::vector<held_sum> out;
  // What a lone worker had elsewhere is not there the next time.
  for (uint32_t node = 1; node < held_.size(); ++node)
    if (held_[node] > 0 && !(lone_ && held_[node] == 1))
      out.push_back({node, held_[node] - 1});
  return out;
}

float* leaf_slots::gradients_at(uint32_t slot) const {
  return slot == 0 && lone_ ? lone_ : memory_.gradients_at(slot);
}

std::optional<leaf_slots::place> leaf_slots::take(bool piecewise) {
  std::unique_lock lock(mutex_);
  if (waiting_.empty() || given_up_)
    return std::nullopt;
  place out;
  out.leaf = waiting_.back();
  waiting_.pop_back();
  if (leading_[out.leaf] > 0) {
    out.slot = leading_[out.leaf] - 1;
  } else {
    // From the end: away from the parts that more leaves would have.
    auto free = used_.rend();
    freed_.wait(lock, [&] {
      free = std::find(used_.rbegin(), used_.rend(), false);
      return free != used_.rend() || given_up_;
    });
    if (given_up_)
      return std::nullopt;
    *free = true;
    out.slot = uint32_t(used_.rend() - free - 1);
  }
  out.gradients = gradients_at(out.slot);
  out.statistics = memory_.statistics_at(out.slot);
  out.completes = leaves_ + out.leaf;
  // A sum stays in the slot of its left half.
  for (uint32_t& node = out.completes; piecewise && !is_part_[node];
       node /= 2) {
    const uint32_t sibling = node ^ 1;
    if (!has_rows_[sibling])
      continue;
    if (node % 2 == 0 || held_[sibling] == 0)
      break;
    out.beside.push_back(std::exchange(held_[sibling], 0) - 1);
  }
  return out;
}

/// The tree adds what is on the left to the sum of all that is below it on the
/// right; of two floats it does not matter which comes first.
void leaf_slots::add_up(const place& of, size_t begin, size_t count) const {
  if (of.beside.empty())
    return;
  std::array<const void*, leaves_log_max + 1> sources{};
  size_t ways = 0;
  sources[ways++] = of.gradients + begin;
  for (uint32_t slot : of.beside)
    sources.at(ways++) = gradients_at(slot) + begin;
  collectives::sum_of(gradients_at(of.beside.back()) + begin,
                      std::span(sources).first(ways), count,
                      collectives::element_type::float32);
}

uint32_t leaf_slots::added_up(const place& of) {
  uint32_t from = of.slot;
  for (uint32_t slot : of.beside) {
    add_statistics(slot, from);
    from = slot;
  }
  const std::lock_guard lock(mutex_);
  used_[of.slot] = false;
  for (size_t i = 0; i + 1 < of.beside.size(); ++i)
    used_[of.beside[i]] = false;
  freed_.notify_all();
  return from;
}

void leaf_slots::add(uint32_t into, uint32_t from) {
  collectives::add_into(gradients_at(into), gradients_at(from),
                        memory_.gradients, collectives::element_type::float32);
  add_statistics(into, from);
}

void leaf_slots::add_statistics(uint32_t into, uint32_t from) {
  if (memory_.statistics > 0)
    collectives::add_into(memory_.statistics_at(into),
                          memory_.statistics_at(from), memory_.statistics,
                          collectives::element_type::float32);
}

void leaf_slots::done(const place& of) {
  uint32_t node = of.completes;
  uint32_t slot = of.beside.empty() ? of.slot : added_up(of);
  std::unique_lock lock(mutex_);
  while (!is_part_[node]) {
    const uint32_t sibling = node ^ 1;
    if (has_rows_[sibling]) {
      if (held_[sibling] == 0)
        break;
      const uint32_t other = std::exchange(held_[sibling], 0) - 1;
      const bool right = node % 2 == 1;
      const uint32_t into = right ? other : slot;
      const uint32_t from = right ? slot : other;
      lock.unlock();
      add(into, from);
      lock.lock();
      used_[from] = false;
      freed_.notify_one();
      slot = into;
    }
    node /= 2;
  }
  held_[node] = slot + 1;
}

void leaf_slots::give_up() {
  {
    std::lock_guard lock(mutex_);
    given_up_ = true;
  }
  freed_.notify_all();
}

bool leaf_slots::given_up() const {
  std::lock_guard lock(mutex_);
  return given_up_;
}

void leaf_slots::resume() {
  std::lock_guard lock(mutex_);
  given_up_ = false;
}

} // namespace ballast::gpu
