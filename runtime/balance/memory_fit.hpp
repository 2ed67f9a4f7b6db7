/// Keeps a plan within the memory of its workers. A plan that fits is
/// unchanged; otherwise whole chunks (a part of a chunk needs all of it) move
/// from workers above their limit to those with most room. Pure.
#pragma once

#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::balance {

/// The bytes that each worker holds under a plan, by rank: each chunk of which
/// it owns a part, once, and its part of the test set.
std::vector<uint64_t> held_bytes(const ledger::manifest& set,
                                 const ledger::plan& of);

/// `limits` by rank, UINT64_MAX = none. Rows that a worker owned `before` stay
/// if possible. If the set does not fit, reports by how much, and `out` is
/// unusable.
memory_need fit_memory(const ledger::manifest& set, const ledger::plan& before,
                       ledger::plan& out, std::span<const uint64_t> limits);

} // namespace ballast::balance
