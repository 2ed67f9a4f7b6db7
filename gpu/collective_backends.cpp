#include "gpu/collective_backends.hpp"

#include "collectives/gloo.hpp"
#include "collectives/local.hpp"
#include "collectives/ring.hpp"
#include "gpu/cuda_library.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/words.hpp"

#include <cstdint>
#include <optional>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;

namespace {

enum class backend_kind : uint8_t {
  ring,
  ring_shm, // between processes of one host only
  ring_tcp, // by sockets only, also within a host
  gloo,
  local,
  nccl,
  automatic,
};

} // namespace

} // namespace ballast::gpu

template <>
inline constexpr auto ballast::words_of<ballast::gpu::backend_kind> =
    std::to_array<std::string_view>({"ring", "ring-shm", "ring-tcp", "gloo",
                                     "local", "nccl", "auto"});

namespace ballast::gpu {

namespace {

std::unique_ptr<collectives::collective_backend> nccl_backend_on(int cuda) {
  if (cuda >= 0) {
    return open_nccl_backend(cuda);
  }
  throw collective_error(
      collective_errc::unsupported,
      "'nccl' sums between GPUs, and this worker computes on the CPU; start "
      "every worker with --device cuda:N, or set train.collective to 'ring', "
      "which takes both");
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::string names;
  for (const std::string& known : backend_names()) {
    names += (names.empty() ? "" : ", ") + known;
  }
  throw collective_error(collective_errc::unsupported,
                         "no collective backend '" + name +
                             "' in this build; it has: auto, " + names);
}

} // namespace

std::vector<std::string> backend_names() {
  return {words_of<backend_kind>.begin(),
          words_of<backend_kind>.begin() + int(backend_kind::nccl)};
}

std::unique_ptr<collectives::collective_backend>
make_backend(const std::string& name, int cuda) {
  const std::optional<backend_kind> kind = parse_word<backend_kind>(name);
  if (!kind) {
    refuse_unknown(name);
  }
  switch (*kind) {
  case backend_kind::ring:
  case backend_kind::automatic:
    return collectives::make_ring_backend(
        ballast::to_string(backend_kind::ring), {});
  case backend_kind::ring_shm:
    return collectives::make_ring_backend(name, {.cross_hosts = false});
  case backend_kind::ring_tcp:
    return collectives::make_ring_backend(name, {.share_memory = false});
  case backend_kind::gloo:
    return collectives::make_gloo_backend();
  case backend_kind::local:
    return collectives::make_local_backend();
  case backend_kind::nccl:
    return nccl_backend_on(cuda);
  }
  BALLAST_CHECK(false, "a backend of no kind");
}

} // namespace ballast::gpu
