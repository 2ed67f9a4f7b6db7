/// A worker's way to sum gradients with the other ranks of a generation: the
/// backend that the job names, and NCCL beside it where a generation of a job
/// that says "auto" is to use it. Outlives generations; each opens and connects
/// a collective of its own.
///
/// Used by the thread that opens a generation, one at a time. Throws
/// collective_error; ballast_error{device_failed} where trying again in another
/// generation would not help.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/device.hpp"
#include "runtime/job/job_words.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::actors {

class gradient_plane {
public:
  /// `wanted`: the job's train.collective. `device` outlives this.
  gradient_plane(collective_kind wanted, gpu::compute_device& device);

  /// Memory that its collectives reach is allocated with this.
  collectives::collective_backend& backend() { return *backend_; }
  /// A collective that listens, for the generation of `order`, over `count`
  /// gradients.
  std::shared_ptr<collectives::collective_opening>
  open(const assignment& order, const std::string& bind_host,
       uint64_t layout_hash, size_t count);
  /// All ranks joined, for tensors that are where this worker computes.
  std::unique_ptr<collectives::collective>
  connect(const assignment& order, collectives::collective_opening& opening,
          const std::vector<std::string>& addresses);

private:
  collectives::collective_backend& backend_of(const assignment& order);
  bool needs_mirror(const collectives::collective_backend& group) const;

  collective_kind wanted_;
  gpu::compute_device& device_;
  std::unique_ptr<collectives::collective_backend> backend_;
  std::unique_ptr<collectives::collective_backend> nccl_;
  /// Of the host, for collectives that do not reach into the device.
  std::shared_ptr<float[]> mirror_;
  size_t count_ = 0;
};

} // namespace ballast::actors
