#include "gpu/tensor_digests.hpp"

#include "data/base/content_hash.hpp"
#include "runtime/base/on_threads.hpp"

#include <algorithm>

namespace ballast::gpu {

namespace {

/// A thread is not started for less than so many floats.
constexpr size_t thread_floats = size_t{1} << 20;

} // namespace

std::vector<uint64_t> tensor_digests(const model& of, compute_device& device,
                                     const arenas& memory, size_t threads) {
  host_rooms room;
  const std::span<const float> values =
      on_host(device, memory.parameters.get(), memory.count, room);
  const std::vector<parameter_info>& all = of.parameters();
  std::vector<uint64_t> out(all.size());
  for_each_piece(all.size(),
                 std::min(threads, 1 + memory.count / thread_floats),
                 "bl-digest", [&](size_t i) {
                   data::content_hash hash;
                   hash.update(values.data() + all[i].offset,
                               all[i].count * sizeof(float));
                   out[i] = hash.digest();
                 });
  return out;
}

} // namespace ballast::gpu
