/// The training state as one list of named parts: what a newcomer receives, a
/// checkpoint holds, and a resume reads. Whoever has to go over all of the
/// state asks for this list, so that a part that is added is forgotten nowhere.
/// Equal on every rank, part by part; what is a rank's own, such as residuals
/// of compressed gradients, is not among them.
///
/// The spans are those of model, optimizer and arenas, and live as long. Read
/// and written by the thread that steps, or while it stands still.
#pragma once

#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "gpu/training_state.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

/// Of a part: what has a name and a shape in a model file.
struct part_tensor {
  std::string name;
  std::vector<int64_t> shape;
  size_t first = 0; // of the part's values
  size_t count = 0;
};

struct state_part {
  enum class kind : uint8_t { parameters, buffer, optimizer, best };
  kind what = kind::parameters;
  compute_device* device = nullptr; // where the values lie
  std::span<float> values;
  std::vector<part_tensor> tensors; // ascending, over all values
};

/// Parameters first (one part), then buffers, then the optimizer's state, then
/// the best parameters and buffers so far, if they are kept.
std::vector<state_part> state_parts(model& of, optimizer& update,
                                    const arenas& memory,
                                    compute_device& device);

/// A part's values for host code, as on_host().
std::span<const float> on_host(const state_part& part, host_rooms& room);

} // namespace ballast::gpu
