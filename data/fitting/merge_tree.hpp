/// Puts the parts of numbered batches together in one binary tree, which
/// depends on how many there are and on nothing else: batches 2 i and 2 i + 1
/// first, then these pairs, and so on; what is left over at the end from right
/// to left. So a state has the same bits whoever made which part. A value; one
/// owner, one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::data {

template <class Part>
class merge_tree {
public:
  /// The part of the next batch. `merge(into, later)` puts two together.
  template <class Merge>
  void add(Part next, const Merge& merge) {
    size_t level = 0;
    for (; !open_.empty() && open_.back().first == level; ++level) {
      Part earlier = std::move(open_.back().second);
      open_.pop_back();
      merge(earlier, std::move(next));
      next = std::move(earlier);
    }
    open_.emplace_back(level, std::move(next));
  }
  /// All of them; nothing: there was none.
  template <class Merge>
  std::optional<Part> take(const Merge& merge) {
    if (open_.empty())
      return std::nullopt;
    Part out = std::move(open_.back().second);
    open_.pop_back();
    for (; !open_.empty(); open_.pop_back()) {
      merge(open_.back().second, std::move(out));
      out = std::move(open_.back().second);
    }
    return out;
  }

private:
  std::vector<std::pair<size_t, Part>> open_; // with their level
};

} // namespace ballast::data
