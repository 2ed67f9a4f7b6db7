/// What sums the gradients of the next generation, from what its workers said
/// of themselves, and when NCCL is given up for the rest of a run.
#include "runtime/coordinator/run_state.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

collective_choice choose_collective(const run& of,
                                    const std::map<worker_id, node>& nodes,
                                    const std::vector<worker_id>& workers) {
  // What it measures is the runtime: it computes on the CPU wherever it is.
  const bool on_cpu = of.what.model.kind == "emulated";
  std::vector<rank_device> ranks;
  for (worker_id who : workers) {
    const worker_hello& about = nodes.at(who).about;
    ranks.push_back({about.name, on_cpu ? "cpu" : about.device,
                     on_cpu ? std::string() : about.gpu, about.nccl});
  }
  return choose_collective(of.what.train.collective, ranks, of.nccl_failed);
}

void suspect_nccl(run& of, const worker_failed& message,
                  const std::string& name) {
  const bool of_change = of.change && message.generation == of.change->number;
  const collective_choice& how =
      of_change ? of.change->collective : of.members->collective;
  const bool took_a_step = !of_change && of.members->commits.committed() >
                                             of.members->commits.base();
  if (of.what.train.collective == "auto" && how.name == "nccl" &&
      !took_a_step && message.lost_rank < 0)
    of.nccl_suspect = name + ": " + message.message;
}

void judge_nccl(run& of) {
  const std::string suspect = std::exchange(of.nccl_suspect, {});
  const auto answered = [&of](worker_id who) {
    return of.fenced->acks().contains(who);
  };
  std::vector<worker_id> all = of.members->workers;
  if (of.change)
    all.insert(all.end(), of.change->workers.begin(), of.change->workers.end());
  if (!suspect.empty() && std::all_of(all.begin(), all.end(), answered))
    of.nccl_failed = suspect;
}

} // namespace ballast
