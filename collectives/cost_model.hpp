/// Chooses the algorithm by message size: the alpha-beta model with measured
/// parameters. Pure, and computed from the same parameters on every rank,
/// because all ranks must choose alike. Formulas: docs/collectives.md.
#pragma once

#include "collectives/stream_algorithms.hpp"

#include <cstddef>

namespace ballast::collectives {

/// The cost of one step on a link: latency_s + bytes * byte_s.
struct link_cost {
  double latency_s = 0;
  double byte_s = 0;
};

struct cost_model {
  link_cost stream{40e-6, 0.5e-9}; // sockets
  link_cost shared{10e-6, 0.1e-9}; // shared memory of one host
};

double ring_seconds(const link_cost& cost, int ranks, double bytes);
double doubling_seconds(const link_cost& cost, int ranks, double bytes);
reduce_way choose_way(const link_cost& cost, int ranks, size_t bytes);

/// A rank that waits for a stream sleeps until this many bytes have arrived, if
/// as many are expected: on a slow line, where its cores compute meanwhile.
size_t wake_bytes(const link_cost& cost);

/// Up to this size it is faster that every rank adds everything than to divide
/// the work and synchronise more often. At most `limit`.
size_t one_shot_limit(const link_cost& cost, int ranks, size_t limit);

/// Fits the two parameters to the times of two operations: `small_s` for almost
/// no data, `large_s` for `bytes`, each of `steps` steps that move
/// `bytes_a_step` of the bytes.
link_cost fit_link_cost(double small_s, double large_s, double bytes, int steps,
                        double moved_ratio);

} // namespace ballast::collectives
