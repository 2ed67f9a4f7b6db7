/// The description of itself that a rank of the backend "nccl" sends before
/// joining, and the check that all ranks match. Needs neither CUDA nor NCCL.
#pragma once

#include "collectives/collective.hpp"

#include <string>
#include <vector>

namespace ballast::gpu {

struct nccl_introduction {
  int version = 0; // 22809: 2.28.9
  std::string gpu; // identity of the GPU: host and bus
  std::string id;  // rank 0: the communicator's id

  std::string text() const;
};

/// The identity of a GPU among all hosts, as NCCL distinguishes them. `bus` as
/// in "0000:17:00.0".
std::string gpu_identity(const std::string& bus);

/// Rank 0's `id`. `all` by rank. Throws collective_error{mismatch} that names
/// the rank whose NCCL version differs from this one's, or which shares a GPU.
std::string nccl_meeting_place(const std::vector<std::string>& all,
                               int own_version);

} // namespace ballast::gpu
