/// Keeps a plan within the memory of its workers. A plan that fits is
/// unchanged; otherwise whole chunks (a part of a chunk needs all of it) move
/// from workers above their limit to those with most room. Pure.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/place_shares.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast {

/// The bytes that each worker holds under a plan, by rank: each chunk of which
/// it owns a part, once, and its part of the test set.
std::vector<uint64_t> held_bytes(const manifest& set, const plan& of);

/// `limits` by rank, UINT64_MAX = none. Rows that a worker owned `before` stay
/// if possible. If the set does not fit, reports by how much, and `out` is
/// unusable.
memory_need fit_memory(const manifest& set, const plan& before, plan& out,
                       std::span<const uint64_t> limits);

/// The shard manager's reply to place_shares: the first plan or a repaired one,
/// within the limits.
placed_shares place(const manifest& set, const chunk_labels& labels,
                    double skew_tv, const place_shares& what);
placed_shares place(const manifest& set, double skew_tv,
                    const place_shares& what);

} // namespace ballast
