/// Whether the workers of a run whose sums have one order (reduction canonical)
/// compute and hold the same bits: what each makes of a made-up leaf before it
/// takes part, the digests of its parameters every few steps, and leaves that
/// two of them computed. Pure.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ballast::coordinator {

// Of the coordinator's core (actions.hpp).

/// The digest of the probe of all workers that this run will ever have.
struct journal_probe {
  std::string probe;
};
/// A line for digests.jsonl.
struct write_digests {
  step_number step{};
  std::vector<std::string> tensors;
  std::vector<uint64_t> digests;
};

/// The ranks that erred in a leaf: whose second attempt differs from the first,
/// or whom a third rank and the other contradict. None: nobody can say.
std::vector<uint32_t> who_erred(const contradicted_leaf& what);

class equal_bits {
public:
  /// What is known of workers, or of a step.
  struct finding {
    bool first = false;         // nobody told of this before
    std::vector<worker_id> odd; // whom at least two others contradict
    bool undecided = false;     // they differ, and nobody can say who is right
    std::string why; // of the two above: who, at or after which step, where
  };

  struct probed {
    worker_id who{};
    std::string name;
    std::string digest; // empty: the job asks for none
  };
  /// An earlier life of the coordinator knew it; empty: it did not.
  void restore(std::string probe) { probe_ = std::move(probe); }
  const std::string& probe() const { return probe_; }
  /// Of those that a generation begins with. Where the run's probe is not known
  /// yet (`first`) it is that of most of them. `undecided`: it is nobody's, or
  /// as many have this one as that.
  finding begin_with(const std::vector<probed>& all);
  /// Why a newcomer cannot take part; empty: it can.
  std::string unlike(const probed& one) const;

  /// What is known of a step with one more worker's digests of `world`.
  /// Each worker once; steps before the newest few are forgotten.
  finding take(const parameters_digested& what, const std::string& name,
               size_t world);
  /// What is known of a step that nobody applied. `ranks`: of its generation;
  /// `describe`: who a worker is, with its host.
  finding take(const leaves_contradicted& what,
               const std::vector<worker_id>& ranks,
               const std::function<std::string(worker_id)>& describe) const;
  /// A lone worker errs at a step: it is to try again. False: it has done so
  /// a few times, and the step never had the same bits twice.
  bool may_retry(step_number step);

private:
  struct told {
    worker_id who{};
    std::string name;
    std::vector<uint64_t> digests;
  };

  std::string probe_;     // of the run
  std::string probed_by_; // one of its workers in this life
  std::map<step_number, std::vector<told>> steps_;
  step_number retried_{};
  uint32_t retries_ = 0; // of that step
};

} // namespace ballast::coordinator
