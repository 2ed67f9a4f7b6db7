/// What sums the gradients of a generation whose job says "auto": NCCL where
/// every worker computes on a GPU of its own and all have the same NCCL, else
/// the ring, which takes any mix. Made anew for each generation, because a
/// newcomer may be what the others are not. Pure.
#pragma once

#include "runtime/job/job_words.hpp"

#include <string>
#include <vector>

namespace ballast::coordinator {

/// What matters of a worker; from its hello.
struct rank_device {
  std::string worker;
  std::string device; // "cuda:0", "cpu": where this job computes
  /// Which GPU that is, among all hosts; empty: none. Two of one value are one
  /// GPU as NCCL sees it, which tells hosts apart by NCCL_HOSTID, too.
  std::string gpu;
  std::string nccl; // its version; empty: none that can be used
};

struct collective_choice {
  std::string name; // "ring", "nccl", ...
  /// One line; empty where there was nothing to choose, by the job or because
  /// nobody has a GPU.
  std::string reason;
};

/// `asked`: train.collective; anything but `automatic` is taken as it is.
/// `nccl_failed`: why NCCL is not tried again in this run; empty: it may be.
collective_choice choose_collective(collective_kind asked,
                                    const std::vector<rank_device>& ranks,
                                    const std::string& nccl_failed);

} // namespace ballast::coordinator
