/// Identifies the history of a training state. A digest is chained over the
/// committed steps of a run: it starts with the identity of the run and its
/// data, includes every plan when its first step is committed, and every step
/// as steps.jsonl shows it. Equal digests mean the same steps of the same run;
/// a step that is undone and repeated gives another digest. Pure. Detects
/// mistakes and damage, not attacks.
#pragma once

#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace ballast::ledger {

/// The identity of a checkpoint: the state after `step`, the generation and
/// plan that made that step, and the digest of all steps up to it.
struct checkpoint_identity : position {
  ballast::generation generation{};
  plan_number plan{};
  uint64_t lineage = 0;
  friend bool operator==(const checkpoint_identity&,
                         const checkpoint_identity&) = default;
};

/// Distinguishes a run from all others; `token` is random for each run.
uint64_t run_identity(std::string_view token, std::string_view name);

/// Before the first step. `leaves`: of a step of order global, else 0.
uint64_t lineage_begin(uint64_t run, uint64_t seed, uint64_t global_batch,
                       std::string_view content_id, uint32_t leaves);

/// The digest after `step`. `entered`: its plan, if the step before had another
/// plan.
uint64_t lineage_after(uint64_t before, const committed_step& step,
                       const plan* entered);

/// 16 hex digits, as in checkpoint manifests and the audit.
std::string lineage_text(uint64_t lineage);

/// Of a checkpoint that is not the one that the ledger expects after this step:
/// what tells them apart. Precondition: something does.
std::string why_other(const checkpoint_identity& holds,
                      const checkpoint_identity& expected);

} // namespace ballast::ledger
