#include "runtime/ledger/lineage.hpp"

#include "runtime/base/random.hpp"
#include "runtime/base/text_digest.hpp"

namespace ballast::ledger {

namespace {

uint64_t add_plan(uint64_t digest, const plan& entered) {
  for (const share& one : entered.shares) {
    digest = mix(digest, value(one.worker));
    digest = mix(digest, value(one.since));
    digest = mix(digest, one.batch_weight);
    digest = mix(digest, one.stream);
    digest = mix(digest, one.intervals.size());
    for (const interval& part : one.intervals) {
      digest = mix(digest, value(part.chunk));
      digest = mix(digest, uint64_t{part.begin} << 32 | part.end);
    }
  }
  for (const leaf_ranges& own : entered.kept.by_rank)
    for (leaf_range one : own)
      digest = mix(digest, uint64_t{one.begin} << 32 | one.end);
  return digest;
}

} // namespace

uint64_t run_identity(std::string_view token, std::string_view name) {
  return text_digest(text_digest(0x72756e, token), name);
}

uint64_t lineage_begin(uint64_t run, uint64_t seed, uint64_t global_batch,
                       std::string_view content_id, uint32_t leaves) {
  if (leaves > 0)
    run = mix(run, leaves);
  return text_digest(mix(mix(run, seed), global_batch), content_id);
}

uint64_t lineage_after(uint64_t before, const committed_step& step,
                       const plan* entered) {
  uint64_t out = entered ? add_plan(before, *entered) : before;
  for (uint64_t field :
       {value(step.step), value(step.epoch), value(step.generation),
        value(step.plan), uint64_t{step.world}, step.samples})
    out = mix(out, field);
  return out;
}

std::string lineage_text(uint64_t lineage) {
  return digest_text(lineage);
}

std::string why_other(const checkpoint_identity& holds,
                      const checkpoint_identity& expected) {
  if (holds.generation == generation{})
    return "its manifest names no generation, plan and lineage";
  if (holds.generation != expected.generation || holds.plan != expected.plan)
    return "it is of generation " + to_string(holds.generation) +
           " under plan " + to_string(holds.plan) + "; the run did step " +
           to_string(holds.step) + " in generation " +
           to_string(expected.generation) + " under plan " +
           to_string(expected.plan);
  if (holds.epoch != expected.epoch)
    return "its manifest says epoch " + to_string(holds.epoch) +
           "; the run did step " + to_string(holds.step) + " in epoch " +
           to_string(expected.epoch);
  return "it is of other steps than the ledger's: of another run, of steps "
         "that were undone, or the ledger was changed (lineage " +
         lineage_text(holds.lineage) + ", the run's is " +
         lineage_text(expected.lineage) + ")";
}

} // namespace ballast::ledger
