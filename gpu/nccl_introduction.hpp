/// What a rank of the backend "nccl" tells the others before they join, and
/// whether all of them fit together. Needs neither CUDA nor NCCL.
#pragma once

#include "collectives/collective.hpp"

#include <string>
#include <vector>

namespace ballast {

struct nccl_introduction {
  int version = 0; // 22809: 2.28.9
  std::string gpu; // host and bus: which GPU this is
  std::string id;  // rank 0: where the communicator meets

  std::string text() const;
};

/// Which GPU that is, among all hosts, as NCCL tells them apart. `bus` as in
/// "0000:17:00.0".
std::string gpu_identity(const std::string& bus);

/// Rank 0's `id`. `all` by rank. Throws collective_error{mismatch} that names
/// the rank whose NCCL is another than this one's, or who shares a GPU.
std::string nccl_meeting_place(const std::vector<std::string>& all,
                               int own_version);

} // namespace ballast
