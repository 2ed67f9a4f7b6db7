#include "gpu/state_parts.hpp"

#include "data/model/checkpoint_store.hpp"

#include <utility>

namespace ballast::gpu {

std::vector<state_part> state_parts(model& of, optimizer& update,
                                    const arenas& memory,
                                    compute_device& device) {
  using kind = state_part::kind;
  std::vector<part_tensor> tensors;
  for (const parameter_info& one : of.parameters())
    tensors.push_back({one.name, one.shape, one.offset, one.count});
  std::vector<state_part> out;
  out.push_back({kind::parameters,
                 &device,
                 {memory.parameters.get(), memory.count},
                 std::move(tensors)});
  // Buffers lie on the host, arenas where this worker computes.
  for (const model::buffer& one : of.buffers())
    out.push_back({kind::buffer,
                   &cpu_device(),
                   one.values,
                   {{one.name, one.shape, 0, one.values.size()}}});
  for (const optimizer::state_vector& one : update.state())
    out.push_back({kind::optimizer,
                   &device,
                   one.values,
                   {{data::optimizer_prefix + one.name,
                     {int64_t(one.values.size())},
                     0,
                     one.values.size()}}});
  return out;
}

std::span<const float> on_host(const state_part& part, host_rooms& room) {
  return on_host(*part.device, part.values.data(), part.values.size(), room);
}

} // namespace ballast::gpu
