#include "collectives/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ballast::collectives {

namespace {

/// On lines slower than this the cost of adding counts, too: the processors
/// wait for the line or train meanwhile. On a faster line the processors are
/// the bottleneck, and the measured byte_s includes their work.
constexpr double slow_line_byte_s = 1e-9;
constexpr double add_byte_s = 0.25e-9; // four GB a second and core

double add_seconds(const link_cost& cost, double bytes) {
  return cost.byte_s > slow_line_byte_s ? bytes * add_byte_s : 0;
}

int rounds_of_doubling(int ranks) {
  const unsigned n = static_cast<unsigned>(ranks);
  const int rounds = static_cast<int>(std::bit_width(n)) - 1;
  // Ranks beyond a power of two fold their data into a partner first and
  // receive the result from it afterwards.
  return std::has_single_bit(n) ? rounds : rounds + 2;
}

} // namespace

double ring_seconds(const link_cost& cost, int ranks, double bytes) {
  const double steps = 2.0 * (ranks - 1);
  return steps * (cost.latency_s + bytes / ranks * cost.byte_s) +
         add_seconds(cost, (ranks - 1) * bytes / ranks);
}

double doubling_seconds(const link_cost& cost, int ranks, double bytes) {
  // A folded rank adds nothing when it receives the result.
  const int adding = std::bit_width(static_cast<unsigned>(ranks) - 1);
  return rounds_of_doubling(ranks) * (cost.latency_s + bytes * cost.byte_s) +
         add_seconds(cost, adding * bytes);
}

reduce_way choose_way(const link_cost& cost, int ranks, size_t bytes) {
  const double b = static_cast<double>(bytes);
  return doubling_seconds(cost, ranks, b) <= ring_seconds(cost, ranks, b)
             ? reduce_way::doubling
             : reduce_way::ring;
}

size_t wake_bytes(const link_cost& cost) {
  // Four milliseconds of a gigabit line. On a fast line the other processors'
  // work, and with it the next packet, waits for this rank.
  return cost.byte_s > slow_line_byte_s ? size_t{512} << 10 : 1;
}

size_t one_shot_limit(const link_cost& cost, int ranks, size_t limit) {
  // One synchronisation and n + 1 passes over the bytes, against three
  // synchronisations and two passes: equal at 2 latency / ((n - 1) byte).
  const double passes = std::max(1, ranks - 1) * std::max(cost.byte_s, 1e-12);
  const double equal = 2 * cost.latency_s / passes;
  return static_cast<size_t>(
      std::clamp(equal, 4096.0, static_cast<double>(limit)));
}

link_cost fit_link_cost(double small_s, double large_s, double bytes, int steps,
                        double moved_ratio) {
  link_cost cost;
  cost.latency_s = std::max(1e-7, small_s / std::max(1, steps));
  cost.byte_s = std::max(1e-12, (large_s - small_s) / (bytes * moved_ratio));
  return cost;
}

} // namespace ballast::collectives
