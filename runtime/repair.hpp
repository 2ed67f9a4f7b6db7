/// The plan after a change of membership: the simple rule until a planner that
/// minimises moves takes over.
#pragma once

#include "runtime/plan.hpp"

#include <vector>

namespace ballast {

/// Whoever stays keeps what it owns. What the others owned goes, largest piece
/// first, to the worker with the fewest rows; then the richest gives whole
/// pieces to newcomers while that brings the two closer. `workers` in rank
/// order. Pure; the result is a partition wherever `before` is one.
plan repaired_plan(const plan& before, const std::vector<worker_id>& workers,
                   generation gen, plan_number number);

} // namespace ballast
