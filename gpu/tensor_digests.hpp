/// Digests of the parameters, tensor by tensor: by which workers find out that
/// they do not have the same any more, and a replay where it differs. Plain
/// functions; the parameters stand still meanwhile.
#pragma once

#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/training_state.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::gpu {

/// XXH64 of each parameter, in the order of the model, by so many threads.
std::vector<uint64_t> tensor_digests(const model& of, compute_device& device,
                                     const arenas& memory, size_t threads);

/// After which steps a worker of a reproducible run tells digests: every so
/// often, and before the state is copied, so that no copy is published of which
/// ranks have other parts. Each step once.
class digest_reports {
public:
  explicit digest_reports(const train_spec& how)
      : every_(how.reduction == reduction_kind::canonical
                   ? how.digest_every_steps
                   : 0) {}

  bool is_due(step_number after) {
    return every_ > 0 && value(after) % every_ == 0 && is_new(after);
  }
  /// False also where the job wants none at all.
  bool is_new(step_number after) {
    return every_ > 0 && std::exchange(told_, after) != after;
  }

private:
  uint32_t every_;
  std::optional<step_number> told_;
};

} // namespace ballast::gpu
