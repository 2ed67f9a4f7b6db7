/// What becomes of workers of a reproducible run that do not compute or hold
/// the bits of the others.
#include "runtime/coordinator/dismissal.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

bool refuse_unlike(coordinator_parts& p, const worker_loaded& message,
                   instant now) {
  const std::string& name = p.nodes.name_of(message.worker);
  std::string why = p.run.bits.unlike({message.worker, name, message.probe});
  if (why.empty())
    return false;
  p.run.links.newcomer_failed(name + ": " + why, now);
  dismiss(p, message.worker, {errc::unlike_workers, std::move(why)}, now);
  return true;
}

bool begin_alike(coordinator_parts& p, const generation_state& members,
                 instant now) {
  std::vector<equal_bits::probed> all;
  for (size_t rank = 0; rank < members.workers.size(); ++rank)
    all.push_back({members.workers[rank],
                   p.nodes.name_of(members.workers[rank]),
                   members.probes[rank]});
  const equal_bits::finding found = p.run.bits.begin_with(all);
  if (found.undecided) {
    fail(p, {errc::unlike_workers, "worker " + found.why, {}});
    return false;
  }
  if (found.first)
    p.out.put(journal_probe{p.run.bits.probe()});
  for (const equal_bits::probed& one : all)
    if (std::string why = p.run.bits.unlike(one); !why.empty())
      dismiss(p, one.who, {errc::unlike_workers, std::move(why)}, now);
  return found.odd.empty();
}

namespace {

void dismiss_odd(coordinator_parts& p, const equal_bits::finding& found,
                 instant now) {
  for (worker_id who : found.odd)
    dismiss(
        p, who,
        {errc::other_bits, found.why + ": its memory or a core of it is ill"},
        now);
}

} // namespace

template <>
void on(coordinator_parts& p, const parameters_digested& message, instant now) {
  if (!p.members.member(message.worker, message.generation))
    return;
  const equal_bits::finding found =
      p.run.bits.take(message, p.nodes.name_of(message.worker),
                      p.members.members()->workers.size());
  // Others come with a copy of the state, at any step.
  const uint32_t every = p.run.spec.job.train.digest_every_steps;
  if (found.first && every > 0 && value(message.step) % every == 0)
    p.out.put(write_digests{message.step, message.tensors, message.digests});
  if (found.undecided)
    return fail(p, {errc::other_bits,
                    found.why + ": memory or a core of one of the two is ill, "
                                "and there is no third worker to say of which",
                    {}});
  dismiss_odd(p, found, now);
}

namespace {

/// Of the generation whose step it is; none: another rank has said so, or the
/// step is done again anyway.
std::vector<worker_id> ranks_of(const coordinator_parts& p,
                                const leaves_contradicted& message) {
  if (!p.members.active() || p.members.in<fenced>() ||
      p.members.in<finishing>() || message.leaves.empty())
    return {};
  std::vector<worker_id> out;
  // A switch that the ranks have seen, and nobody here yet.
  if (const membership_change* change = p.members.change();
      change && message.generation == change->number)
    out = change->workers;
  else if (p.members.member(message.worker, message.generation))
    out = p.members.members()->workers;
  for (const contradicted_leaf& one : message.leaves)
    if (std::max(one.owner, one.checker) >= out.size())
      return {};
  return out;
}

/// Where nobody can say.
std::string who_is_ill(size_t world) {
  if (world == 1)
    return ": its memory or a core of it is ill; it tried again several times";
  if (world > 2)
    return ", and a third worker others than both: memory or cores of at least "
           "two of them are ill; nothing of the step was applied";
  return ": memory or a core of one of the two is ill, and there is no third "
         "worker to say of which; nothing of the step was applied. Look at "
         "both machines, or resume the run with three workers or more";
}

} // namespace

/// The step is computed again, by those that did not err.
template <>
void on(coordinator_parts& p, const leaves_contradicted& message, instant now) {
  const std::vector<worker_id> ranks = ranks_of(p, message);
  if (ranks.empty())
    return;
  const equal_bits::finding found =
      p.run.bits.take(message, ranks, [&p](worker_id who) {
        return describe_node(p.nodes.at(who));
      });
  const bool alone = ranks.size() == 1;
  if (alone && p.run.bits.may_retry(message.step))
    return fence_all(p, recovery_reasons::bits_differed{found.why}, now, now);
  if (found.undecided)
    return fail(p,
                {errc::other_bits, found.why + who_is_ill(ranks.size()), {}});
  dismiss_odd(p, found, now);
}

} // namespace ballast::coordinator
