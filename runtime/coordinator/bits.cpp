/// What becomes of workers of a reproducible run that do not compute or hold
/// the bits of the others.
#include "runtime/coordinator/dismissal.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <utility>

namespace ballast::coordinator {

bool computes_other_bits(coordinator_parts& p, const worker_loaded& message,
                         instant now) {
  const std::string& name = p.nodes.name_of(message.worker);
  std::string why = p.run.bits.other_probe(name, message.probe);
  if (why.empty())
    return false;
  worker_failed failed;
  failed.worker = message.worker;
  failed.generation = message.generation;
  failed.code = errc::other_bits;
  failed.message = std::move(why);
  on(p, failed, now);
  return true;
}

template <>
void on(coordinator_parts& p, const parameters_digested& message, instant now) {
  if (!p.members.member(message.worker, message.generation))
    return;
  const equal_bits::finding found =
      p.run.bits.take(message, p.nodes.name_of(message.worker),
                      p.members.members()->workers.size());
  if (found.first)
    p.out.put(write_digests{message.step, message.tensors, message.digests});
  if (found.undecided)
    return fail(p, {errc::other_bits,
                    found.why + ": memory or a core of one of the two is ill, "
                                "and there is no third worker to say of which",
                    {}});
  for (worker_id who : found.odd)
    dismiss(
        p, who,
        {errc::other_bits, found.why + ": its memory or a core of it is ill"},
        now);
}

} // namespace ballast::coordinator
