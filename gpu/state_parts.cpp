#include "gpu/state_parts.hpp"

#include "data/model/checkpoint_store.hpp"

#include <utility>

namespace ballast::gpu {

namespace {

/// Equal on every rank, like what it is a copy of.
void append_best(std::vector<state_part>& to, model& of, const arenas& memory) {
  state_part all{state_part::kind::best,
                 &cpu_device(),
                 {memory.best.get(), memory.count},
                 {}};
  for (const parameter_info& one : of.parameters())
    all.tensors.push_back(
        {data::best_prefix + one.name, one.shape, one.offset, one.count});
  to.push_back(std::move(all));
  float* at = memory.best_buffers.get();
  for (const model::buffer& one : of.buffers()) {
    to.push_back(
        {state_part::kind::best,
         &cpu_device(),
         {at, one.values.size()},
         {{data::best_prefix + one.name, one.shape, 0, one.values.size()}}});
    at += one.values.size();
  }
}

} // namespace

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
  if (memory.best)
    append_best(out, of, memory);
  return out;
}

std::span<const float> on_host(const state_part& part, host_rooms& room) {
  return on_host(*part.device, part.values.data(), part.values.size(), room);
}

} // namespace ballast::gpu
