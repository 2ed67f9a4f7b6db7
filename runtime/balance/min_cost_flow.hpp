/// A min-cost flow by LEMON's network simplex. LEMON's headers are not valid
/// C++20, so min_cost_flow.cpp is compiled as C++17, and this header keeps to
/// that and includes none of ours. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::balance {

struct flow_arc {
  uint32_t from = 0;
  uint32_t to = 0;
  int64_t capacity = 0;
  int64_t cost = 0; // of each unit; may be negative
};

struct flow_problem {
  /// By node: units sent (> 0) or received (< 0). Sums to 0.
  std::vector<int64_t> supply;
  std::vector<flow_arc> arcs; // of finite capacity
};

struct flow {
  std::vector<int64_t> units; // on each arc
  /// By node, the dual: cost + price of `from` - price of `to` is >= 0 if an
  /// arc has room, and <= 0 if it carries something.
  std::vector<int64_t> prices;
};

/// The flow of least total cost; nothing if the supply cannot be sent. Integers
/// throughout.
std::optional<flow> min_cost_flow(const flow_problem& what);

} // namespace ballast::balance
