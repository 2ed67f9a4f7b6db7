/// A min-cost flow by LEMON's network simplex. Also read by a C++17 compiler:
/// LEMON's headers are no C++20, so min_cost_flow.cpp is compiled as C++17 and
/// this header keeps to it, without other headers of ours. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ballast {

struct flow_arc {
  uint32_t from = 0;
  uint32_t to = 0;
  int64_t capacity = 0;
  int64_t cost = 0; // of each unit; may be negative
};

struct flow_problem {
  /// By node: what it sends (> 0) or takes (< 0). Sums to 0.
  std::vector<int64_t> supply;
  std::vector<flow_arc> arcs; // of finite capacity
};

struct flow {
  std::vector<int64_t> units; // on each arc
  /// By node, the dual: cost + price of `from` - price of `to` is not below 0
  /// where an arc has room, and not above where it carries something.
  std::vector<int64_t> prices;
};

/// Of least cost in sum; nothing if the supply cannot be sent. Integers all
/// the way.
std::optional<flow> min_cost_flow(const flow_problem& what);

} // namespace ballast
