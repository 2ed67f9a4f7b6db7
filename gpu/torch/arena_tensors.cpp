#include "gpu/torch/arena_tensors.hpp"

#include "runtime/base/errors.hpp"

#include <string>

namespace ballast::gpu {

namespace {

constexpr size_t known_arenas_max = 8;

} // namespace

arena_tensors::arena_tensors(std::vector<parameter_info> laid_out,
                             const model_place& place)
    : infos_(std::move(laid_out)), place_(place) {
  if (!infos_.empty())
    count_ = infos_.back().offset + infos_.back().count;
}

void arena_tensors::bind(std::span<float> parameters,
                         std::span<float> gradients) {
  parameters_ = &over(parameters);
  gradients_ = &over(gradients);
  parameter_arena_ = parameters;
  gradient_arena_ = gradients;
}

const arena_tensors::tensors& arena_tensors::over(std::span<float> arena) {
  if (arena.size() != count_)
    throw ballast_error(errc::internal, "an arena of " +
                                            std::to_string(arena.size()) +
                                            " elements bound to a model of " +
                                            std::to_string(count_));
  for (const auto& [base, made] : known_)
    if (base == arena.data())
      return *made;
  if (known_.size() >= known_arenas_max) // the old arenas are gone by now
    std::erase_if(known_, [&](const auto& k) {
      return k.second.get() != parameters_ && k.second.get() != gradients_;
    });
  auto made = std::make_unique<tensors>();
  for (const parameter_info& p : infos_)
    made->push_back(tensor_at(place_, arena.data() + p.offset, p.shape));
  known_.emplace_back(arena.data(), std::move(made));
  return *known_.back().second;
}

} // namespace ballast::gpu
