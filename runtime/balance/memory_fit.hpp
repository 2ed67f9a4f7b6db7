/// Keeps a plan within the memory of its workers. A plan that fits is left
/// alone; else whole chunks (a part of a chunk needs all of it) go from those
/// that would hold too much to those that have most room. Pure.
#pragma once

#include "runtime/balance/place_shares.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast {

/// Bytes that each worker holds under a plan, by rank: the chunks of which it
/// owns a part, each once, and its part of the test set.
std::vector<uint64_t> held_bytes(const manifest& set, const plan& of);

/// `limits` by rank, UINT64_MAX = none. What a worker owned `before` stays with
/// it where that can be. Where not all of it fits, says by how much, and `out`
/// is of no use.
memory_need fit_memory(const manifest& set, const plan& before, plan& out,
                       std::span<const uint64_t> limits);

/// What the shard manager answers to place_shares: the first plan or a repaired
/// one, within the limits.
placed_shares place(const manifest& set, double skew_tv,
                    const place_shares& what);

} // namespace ballast
