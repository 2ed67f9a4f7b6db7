/// Whether the workers of a run whose sums have one order (reduction canonical)
/// compute and hold the same bits: what each makes of a made-up leaf before it
/// takes part, and the digests of its parameters every few steps. Pure.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ballast::coordinator {

/// Of the coordinator's core: a line for digests.jsonl.
struct write_digests {
  step_number step{};
  std::vector<std::string> tensors;
  std::vector<uint64_t> digests;
};

class equal_bits {
public:
  /// Why a worker cannot take part, whose probe is another than that of the
  /// first one; empty: it is the same, or the job asks for none.
  std::string other_probe(const std::string& name, const std::string& probe);

  /// What is known of a step with one more worker's digests of `world`.
  struct finding {
    bool first = false;         // nobody told of this step before
    std::vector<worker_id> odd; // whom at least two others contradict
    bool undecided = false;     // they differ, and nobody can say who is right
    std::string why; // of the two above: who, after which step, where
  };
  /// Each worker once; steps before the newest few are forgotten.
  finding take(const parameters_digested& what, const std::string& name,
               size_t world);

private:
  struct told {
    worker_id who{};
    std::string name;
    std::vector<uint64_t> digests;
  };

  std::string probed_first_;
  std::string probe_;
  std::map<step_number, std::vector<told>> steps_;
};

} // namespace ballast::coordinator
