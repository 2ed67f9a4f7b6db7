#include "gpu/collective_backends.hpp"

#include "collectives/gloo.hpp"
#include "collectives/local.hpp"
#include "collectives/ring.hpp"
#include "gpu/cuda_library.hpp"

namespace ballast {

std::vector<std::string> backend_names() {
  return {"ring", "ring-shm", "ring-tcp", "gloo", "local"};
}

std::unique_ptr<collective_backend> make_backend(const std::string& name,
                                                 int cuda) {
  if (name == "ring" || name == "auto") {
    return make_ring_backend("ring", {});
  }
  if (name == "ring-shm") {
    return make_ring_backend(name, {.cross_hosts = false});
  }
  if (name == "ring-tcp") {
    return make_ring_backend(name, {.share_memory = false});
  }
  if (name == "gloo") {
    return make_gloo_backend();
  }
  if (name == "local") {
    return make_local_backend();
  }
  if (name == "nccl" && cuda >= 0) {
    return open_nccl_backend(cuda);
  }
  if (name == "nccl") {
    throw collective_error(
        collective_errc::unsupported,
        "'nccl' sums between GPUs, and this worker computes on the CPU; start "
        "every worker with --device cuda:N, or set train.collective to 'ring', "
        "which takes both");
  }
  std::string names;
  for (const std::string& known : backend_names()) {
    names += (names.empty() ? "" : ", ") + known;
  }
  throw collective_error(collective_errc::unsupported,
                         "no collective backend '" + name +
                             "' in this build; it has: auto, " + names);
}

} // namespace ballast
