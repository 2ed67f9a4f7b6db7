#include "actors/gradient_plane.hpp"

#include "gpu/collective_backends.hpp"
#include "gpu/cuda_report.hpp"
#include "gpu/staged_collective.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"

#include <chrono>
#include <utility>

namespace ballast::actors {

namespace {

/// Bounds a silent peer.
constexpr std::chrono::seconds join_deadline{20};

/// What the job's collective lacks here it will lack in every generation.
std::unique_ptr<collectives::collective_backend>
open_backend(collective_kind wanted, gpu::compute_device& device) {
  try {
    return gpu::make_backend(to_string(wanted),
                             gpu::cuda_index(device.name()).value_or(-1));
  } catch (const collectives::collective_error& e) {
    throw ballast_error(errc::device_failed, e.what(), "/train/collective");
  }
}

} // namespace

gradient_plane::gradient_plane(collective_kind wanted,
                               gpu::compute_device& device)
    : wanted_(wanted), device_(device),
      backend_(open_backend(wanted_, device)) {}

collectives::collective_backend&
gradient_plane::backend_of(const assignment& order) {
  const std::string nccl = to_string(collective_kind::nccl);
  if (wanted_ != collective_kind::automatic || order.collective != nccl)
    return *backend_;
  if (!nccl_)
    nccl_ =
        gpu::make_backend(nccl, gpu::cuda_index(device_.name()).value_or(-1));
  return *nccl_;
}

bool gradient_plane::needs_mirror(
    const collectives::collective_backend& group) const {
  return !device_.is_host() && !group.capabilities().device_memory;
}

std::shared_ptr<collectives::collective_opening>
gradient_plane::open(const assignment& order, const std::string& bind_host,
                     uint64_t layout_hash, size_t count) {
  collectives::collective_backend& group = backend_of(order);
  count_ = count;
  // Peers learn of it when they join.
  if (needs_mirror(group) && !mirror_)
    mirror_ = device_.pin(group.allocate_arena(count), count);
  const std::vector<ledger::share>& shares = order.first->shares;
  monitor::log().info("generation {}: gradients of {} go over {}",
                      value(order.generation), shares.size(), group.name());
  collectives::collective_options options;
  options.generation = order.generation;
  options.size = int(shares.size());
  while (shares[size_t(options.rank)].worker != order.worker)
    ++options.rank;
  options.layout_hash = layout_hash;
  options.token = order.token;
  options.bind_host = bind_host;
  return group.prepare(options);
}

std::unique_ptr<collectives::collective>
gradient_plane::connect(const assignment& order,
                        collectives::collective_opening& opening,
                        const std::vector<std::string>& addresses) {
  collectives::collective_backend& group = backend_of(order);
  std::unique_ptr<collectives::collective> out;
  try {
    out = opening.connect(addresses,
                          std::chrono::steady_clock::now() + join_deadline);
  } catch (const collectives::collective_error& e) {
    // Two versions of NCCL, two workers on one GPU: trying again, as after the
    // death of a peer, would not help. "auto" has the ring to try.
    if (wanted_ == collective_kind::nccl &&
        e.code() == collectives::collective_errc::mismatch)
      throw ballast_error(errc::device_failed, e.what(), "/train/collective");
    throw;
  }
  if (!needs_mirror(group))
    return out;
  return make_staged_collective(std::move(out), device_, mirror_, count_);
}

} // namespace ballast::actors
