/// Which history a training state belongs to. A digest is chained over the
/// committed steps of a run: it begins with what identifies the run and its
/// data, takes in every plan when its first step is committed, and every step
/// as steps.jsonl shows it. Two states with the same digest come from the same
/// steps of the same run; a step that was undone and done again gives another.
/// Pure. Finds mistakes and damage, not malice.
#pragma once

#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast {

/// What a checkpoint holds: the state after `step`, which generation and plan
/// made that step, and the digest of all steps up to it.
struct checkpoint_identity : position {
  ballast::generation generation{};
  plan_number plan{};
  uint64_t lineage = 0;
  friend bool operator==(const checkpoint_identity&,
                         const checkpoint_identity&) = default;
};

/// Tells a run from all others; `token` is drawn at random for each.
uint64_t run_identity(std::string_view token, std::string_view name);

/// Before the first step.
uint64_t lineage_begin(uint64_t run, uint64_t seed, uint64_t global_batch,
                       std::string_view content_id);

/// Behind `step`. `entered`: its plan, where the step before was done under
/// another one.
uint64_t lineage_after(uint64_t before, const committed_step& step,
                       const plan* entered);

/// 16 hex digits, as a checkpoint's manifest and the audit show it.
std::string lineage_text(uint64_t lineage);

} // namespace ballast
