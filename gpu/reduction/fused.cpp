#include "gpu/reduction/fused.hpp"

#include "runtime/base/random.hpp"

#include <algorithm>
#include <utility>

namespace ballast::gpu {

fused::fused(const train_spec& how, const ledger::row_shape& row, model& of,
             compute_device& device, const arenas& memory, bucket_layout layout,
             residuals& unsent)
    : model_(of), memory_(memory), unsent_(unsent),
      pass_(how, row, of, device, memory, layout,
            compress_if(how, of, device, layout)) {}

bucket_sum* fused::compress_if(const train_spec& how, const model& of,
                               compute_device& device,
                               const bucket_layout& layout) {
  if (how.compression == compression_kind::none)
    return nullptr;
  return &compressed_.emplace(
      compressed_sum::parts{&how, &of.parameters(), layout, &device, &unsent_});
}

double fused::contribute(const step_work& of) {
  group_ = of.group;
  if (compressed_)
    compressed_->begin(of);
  const double loss =
      pass_.run(of.rows, mix(mix(of.seed, value(of.at.step)), of.rank),
                of.gradients, *of.group, patience());
  if (compressed_)
    compressed_->computed();
  return loss;
}

void fused::applied(ledger::position of, double samples) {
  if (compressed_)
    unsent_.applied(of.step, samples);
}

void fused::finish(worker::trailer& sums, std::span<float> statistics) {
  pass_.finish();
  if (!statistics.empty()) {
    std::fill(statistics.begin(), statistics.end(), 0.0f);
    model_.take_statistics(statistics);
    group_->all_reduce(statistics.data(), statistics.size(),
                       collectives::element_type::float32, patience());
  }
  group_->all_reduce(sums.data(), worker::trailer::floats,
                     collectives::element_type::float32, patience());
  if (compressed_)
    compressed_->finished(*group_, patience());
}

evaluation_sums fused::evaluate(const batch_view& rows, float* gradients) {
  model_.bind({memory_.parameters.get(), memory_.count},
              {gradients, memory_.count});
  return model_.evaluate(rows);
}

} // namespace ballast::gpu
