/// The collectives of this build by name: those between CPUs (collectives/) and
/// NCCL between GPUs.
#pragma once

#include "collectives/collective.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::gpu {

/// "gloo", "ring", ...; throws collective_error{unsupported} with the list of
/// names for any other. "auto" is the ring, which every generation can use,
/// also with workers on GPUs, whose buckets then pass through host memory.
/// "nccl" reduces between GPUs: it is not among the names, and needs `cuda`,
/// the index of this worker's GPU.
std::unique_ptr<collectives::collective_backend>
make_backend(const std::string& name, int cuda = -1);
std::vector<std::string> backend_names();

} // namespace ballast::gpu
