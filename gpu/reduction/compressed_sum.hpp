/// The sum of gradients that travel compressed (train.compression), with error
/// feedback: what a step leaves out is added to the gradient of the next one.
///
/// Per bucket: add what was left, encode, exchange, decode; with the last one
/// go the tensors that are not compressed, and a digest of what was decoded, so
/// that ranks whose sums differ do not go on. Statistics and the trailer are
/// not gradients: they never come here.
///
/// A step of which nothing may be left out (step_work) is sent as it is,
/// together with what is left of those before.
///
/// Gradients that are not on the host are brought there, and back.
///
/// Threads: begin() and finished() on the step thread, sum() as bucket_sum.
#pragma once

#include "gpu/bucket_layout.hpp"
#include "gpu/device.hpp"
#include "gpu/reduction/bucket_sum.hpp"
#include "gpu/reduction/codec.hpp"
#include "gpu/reduction/compressed_parts.hpp"
#include "gpu/reduction/compression_trial.hpp"
#include "gpu/reduction/reduction.hpp"
#include "gpu/reduction/residuals.hpp"
#include "runtime/job/job.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ballast::gpu {

class compressed_sum final : public bucket_sum {
public:
  struct parts {
    const train_spec* how = nullptr; // not `none`
    const std::vector<parameter_info>* parameters = nullptr;
    bucket_layout layout;
    compute_device* device = nullptr;
    residuals* unsent = nullptr;
  };
  /// What `with` points to outlives this.
  explicit compressed_sum(parts with);

  /// A step begins.
  void begin(const step_work& of);
  void sum(size_t bucket, float* gradients, collectives::collective& group,
           collectives::deadline until) override;
  /// This rank's own gradient of the step is computed.
  void computed() { computed_ = clock::now(); }
  /// All sums of the step are here. Throws collective_error.
  void finished(collectives::collective& group, collectives::deadline until);

private:
  using clock = std::chrono::steady_clock;

  void as_they_are(size_t bucket, float* gradients,
                   collectives::collective& group, collectives::deadline until);
  void add_unsent(arena_range to, float* gradients);
  void compress(size_t bucket, float* gradients, collectives::collective& group,
                collectives::deadline until);
  void sum_plain(float* gradients, collectives::collective& group,
                 collectives::deadline until);
  float* here(arena_range of, float* gradients);
  void back(arena_range of, float* gradients);

  const parts with_;
  const compressed_parts parts_;
  std::unique_ptr<codec> codec_; // with the first step
  compression_trial trial_;      // of `auto`
  std::optional<generation> generation_;

  // The step in flight.
  step_number step_{};
  uint64_t key_ = 0; // of seed and step
  float factor_ = 0; // of what is unsent
  bool compressed_ = false;
  bool whole_ = false;  // nothing may be left out of it
  uint32_t digest_ = 0; // of what was decoded
  clock::time_point began_;
  clock::time_point computed_;

  std::vector<float> packed_;
  std::vector<float> left_;
  std::vector<float> plain_;
  std::vector<float> on_host_; // gradients that are elsewhere
};

} // namespace ballast::gpu
