#include "collectives/ring_collective.hpp"

#include "collectives/fault_point.hpp"
#include "collectives/stream_all_to_all.hpp"
#include "collectives/stream_fill.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace ballast::collectives {

namespace {

member_list leaders_of(const host_map& hosts, int rank) {
  member_list out;
  out.ranks = hosts.leaders;
  out.me = hosts.host_of[static_cast<size_t>(rank)];
  return out;
}

/// Position of a rank of this host among its local ranks.
int local_index(const host_map& hosts, int rank) {
  auto at = std::find(hosts.local.begin(), hosts.local.end(), rank);
  return static_cast<int>(at - hosts.local.begin());
}

/// Spinning is faster than sleeping if every rank has a core.
int spins(int local_ranks) {
  return local_ranks <= static_cast<int>(std::thread::hardware_concurrency())
             ? 20
             : 0;
}

void check_rank(int other, int size) {
  if (other < 0 || other >= size) {
    throw collective_error(collective_errc::mismatch,
                           "no rank " + std::to_string(other) +
                               " in a collective of " + std::to_string(size));
  }
}

constexpr uint32_t op_point_to_point = 100;
/// Fewer bytes are there sooner by way of a tree.
constexpr size_t fill_bytes_min = size_t{256} << 10;

stream_label point_to_point(size_t bytes) {
  return {op_point_to_point, 0, bytes};
}

template <class Operation>
double seconds_of(Operation&& operation) {
  const auto start = std::chrono::steady_clock::now();
  operation();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Upper bound for a measured operation.
constexpr double measured_longest_s = 0.25;

/// The fastest of a few, after a warm-up.
template <class Operation>
double best_of(int rounds, Operation&& operation) {
  operation();
  double best = seconds_of(operation);
  for (int i = 1; i < rounds; ++i) {
    best = std::min(best, seconds_of(operation));
  }
  return best;
}

} // namespace

ring_collective::ring_collective(const collective_options& options,
                                 const host_map& hosts,
                                 std::vector<stream_mesh::link> links,
                                 std::unique_ptr<shm_group> local,
                                 std::shared_ptr<stop_switch> stop,
                                 const cost_model& costs,
                                 std::chrono::milliseconds link_timeout)
    : options_(options), hosts_(hosts), stop_(std::move(stop)),
      local_(std::move(local)),
      mesh_(options.rank, std::move(links), stop_,
            spins(static_cast<int>(hosts.local.size())), link_timeout),
      wide_(mesh_, leaders_of(hosts, options.rank)), everybody_(mesh_) {
  if (local_) {
    near_.emplace(*local_);
    // Within a host the kernel wakes us; the state of a rank of another host
    // shows only on its link, and so does a death if the kernel has no robust
    // futexes.
    local_->look_elsewhere([this] { mesh_.check_links(); },
                           std::chrono::milliseconds(one_host() ? 100 : 5));
  }
  use(costs);
}

ring_collective::~ring_collective() {
  if (stop_->stopped()) {
    cut_off();
  } else if (state_ != collective_state::closed) {
    leave();
  }
}

void ring_collective::use(const cost_model& costs) {
  costs_ = costs;
  mesh_.sleep_until_arrived(wake_bytes(costs.stream));
  if (near_) {
    near_->set_one_shot_bytes(
        one_shot_limit(costs.shared, local_->count(), staging_bytes));
  }
}

void ring_collective::on_peer_lost(std::function<void(int rank)> lost) {
  if (local_) { // the death of a process on another host shows on its link
    local_->watch(std::move(lost));
  }
}

// -- operations ---------------------------------------------------------------

void ring_collective::all_reduce(void* data, size_t count, element_type type,
                                 deadline until) {
  guarded([&] { reduce_everywhere(data, count, type, until); });
}

void ring_collective::reduce_everywhere(void* data, size_t count,
                                        element_type type, deadline until) {
  if (count == 0 || size() == 1) {
    return;
  }
  if (near_ && one_host()) {
    return near_->all_reduce(data, count, type, until);
  }
  if (near_) {
    near_->reduce(data, count, type, 0, until);
  }
  reach(fault_point::between_phases, options_.rank);
  if (is_leader()) {
    const int hosts = wide_.members().count();
    wide_.all_reduce(data, count, type,
                     choose_way(costs_.stream, hosts, count * size_of(type)),
                     until);
  }
  if (near_) {
    near_->broadcast(data, count * size_of(type), 0, 0, true, until);
  }
}

void ring_collective::reduce_scatter(void* data, size_t count,
                                     element_type type, deadline until) {
  guarded([&] {
    if (count == 0 || size() == 1) {
      return;
    }
    if (!near_ && hosts_.leaders.size() == static_cast<size_t>(size())) {
      wide_.reduce_scatter(data, count, type, until);
    } else if (near_ && one_host()) {
      near_->reduce_scatter(data, count, type, until);
    } else { // all ranks get everything, including their slice
      reduce_everywhere(data, count, type, until);
    }
  });
}

void ring_collective::all_gather(void* data, size_t count, element_type type,
                                 deadline until) {
  guarded([&] {
    if (count == 0 || size() == 1) {
      return;
    }
    if (!near_ && hosts_.leaders.size() == static_cast<size_t>(size())) {
      wide_.all_gather(data, count, type, until);
    } else if (near_ && one_host()) {
      near_->all_gather(data, count, type, until);
    } else {
      char* bytes = static_cast<char*>(data);
      const size_t width = size_of(type);
      for (int r = 0; r < size(); ++r) {
        slice s = slice_of(count, r, size());
        copy_everywhere(bytes + s.begin * width, (s.end - s.begin) * width, r,
                        until);
      }
    }
  });
}

void ring_collective::sum_in_order(const ledger::fixed_sum& how,
                                   const float* parts, size_t stride,
                                   float* out, size_t count, deadline until) {
  guarded([&] {
    const rank_parts mine{parts, stride};
    check_sum_call(how, size(), rank(), mine, out, count);
    if (count == 0) {
      return;
    }
    if (size() == 1) {
      add_in_order(how, {&mine, 1}, 0, out, count);
    } else if (near_ && one_host()) {
      near_->sum_in_order(how, parts, stride, out, count, until);
    } else {
      if (near_) {
        near_->announce_sum(how, count, until);
      }
      everybody_.sum(how, mine, out, count, costs_.stream, until);
    }
  });
}

void ring_collective::all_to_all(const void* from, void* to, size_t bytes,
                                 deadline until) {
  guarded([&] { exchange_blocks(mesh_, from, to, bytes, until); });
}

void ring_collective::broadcast(void* data, size_t bytes, int root,
                                deadline until) {
  check_rank(root, size());
  guarded([&] { copy_everywhere(data, bytes, root, until); });
}

void ring_collective::fill_lacking(void* data, size_t bytes,
                                   std::span<const bytes_here> have,
                                   deadline until) {
  guarded([&] {
    const fill_route route = route_of(hosts_, have);
    if (bytes == 0 || size() == 1) {
      return;
    }
    if (!route.takers.empty() && bytes < fill_bytes_min) {
      return copy_everywhere(data, bytes, route.givers.front(), until);
    }
    const auto copy_here = [&] {
      if (route.near_root >= 0) {
        near_->broadcast(
            data, bytes, local_index(hosts_, route.near_root), route.near_root,
            have[static_cast<size_t>(rank())] == bytes_here::none, until);
      }
    };
    if (route.held_here) {
      copy_here();
    }
    fill_over_streams(mesh_, route, static_cast<char*>(data), bytes, until);
    if (!route.held_here) {
      copy_here();
    }
  });
}

void ring_collective::copy_everywhere(void* data, size_t bytes, int root,
                                      deadline until) {
  if (bytes == 0 || size() == 1) {
    return;
  }
  const int root_host = hosts_.host_of[static_cast<size_t>(root)];
  const bool here =
      root_host == hosts_.host_of[static_cast<size_t>(options_.rank)];
  if (near_ && here) {
    // Within one host no rank forwards data.
    near_->broadcast(data, bytes, local_index(hosts_, root), root, true, until);
  }
  if (is_leader() && !one_host()) {
    wide_.broadcast(data, bytes, root_host, until);
  }
  if (near_ && !here) {
    near_->broadcast(data, bytes, 0, root, true, until);
  }
}

void ring_collective::send(const void* data, size_t bytes, int to,
                           deadline until) {
  check_rank(to, size());
  guarded([&] {
    buffer_source out(data, bytes);
    mesh_.transfer(point_to_point(bytes), &out, to, nullptr, -1, until);
  });
}

void ring_collective::receive(void* data, size_t bytes, int from,
                              deadline until) {
  check_rank(from, size());
  guarded([&] {
    buffer_sink in(data, bytes);
    mesh_.transfer(point_to_point(bytes), nullptr, -1, &in, from, until);
  });
}

void ring_collective::barrier(deadline until) {
  guarded([&] { meet_everyone(until); });
}

void ring_collective::meet_everyone(deadline until) {
  if (near_) {
    near_->barrier(until);
  }
  if (is_leader() && !one_host()) {
    wide_.barrier(until);
  }
  if (near_ && !one_host()) {
    near_->barrier(until);
  }
}

// -- the end ------------------------------------------------------------------

void ring_collective::abort(const std::string& reason) noexcept {
  if (state_ != collective_state::closed) {
    fail(collective_errc::aborted, reason, -1);
  }
}

void ring_collective::close(deadline until) {
  state_ = collective_state::draining;
  barrier(until);
  leave();
  state_ = collective_state::closed;
}

void ring_collective::leave() noexcept {
  if (local_) {
    local_->leave();
  }
  mesh_.say_goodbye();
}

void ring_collective::fail(collective_errc code, const std::string& what,
                           int peer,
                           const std::vector<dead_link>& links) noexcept {
  stop_->stop(code, what, peer, links);
  cut_off();
}

/// Tells all peers why this rank has stopped, whatever stopped it: abort() of
/// the opening may have done so before this object existed.
void ring_collective::cut_off() noexcept {
  if (cut_.exchange(true)) {
    return;
  }
  state_ = collective_state::dead;
  if (local_) {
    stop_->tell([&](collective_errc code, const std::string& what, int peer) {
      local_->fail(code, what, peer);
    });
  }
  mesh_.cut();
}

template <class Operation>
void ring_collective::guarded(Operation&& operation) {
  if (state_ == collective_state::closed) {
    throw collective_error(collective_errc::aborted,
                           "the collective is closed");
  }
  if (stop_->stopped()) {
    cut_off();
    stop_->raise();
  }
  try {
    reach(fault_point::operation, options_.rank);
    operation();
    reach(fault_point::finished, options_.rank);
  } catch (const collective_error& e) {
    fail(e.code(), e.what(), e.peer(), e.links());
    stop_->raise(); // the first reason: such as an abort that cut the links
  } catch (const std::exception& e) {
    fail(collective_errc::peer_lost, e.what(), -1);
    stop_->raise();
  }
}

uint64_t ring_collective::bytes_sent() const {
  return mesh_.bytes_sent() + (near_ ? near_->bytes_sent() : 0);
}

// -- costs --------------------------------------------------------------------

cost_model ring_collective::measure(deadline until) {
  constexpr size_t floats = 65536;
  // The last one exceeds the burst that a line with a limited rate accepts
  // within milliseconds.
  constexpr size_t floats_streamed[] = {4096, 32768, 262144};
  constexpr int rounds = 6;
  std::vector<float> data(std::max(floats, floats_streamed[2]));
  cost_model found;
  guarded([&] {
    if (near_) {
      near_->set_one_shot_bytes(4096);
      const int n = local_->count();
      double small = best_of(rounds, [&] { near_->barrier(until); });
      double large = best_of(2, [&] {
        near_->all_reduce(data.data(), floats, element_type::float32, until);
      });
      // In, a slice of each rank, the other slices out.
      found.shared = fit_link_cost(small, large, floats * sizeof(float), 1,
                                   1.0 + 2.0 * (n > 1));
    }
    const int hosts = wide_.members().count();
    if (is_leader() && hosts > 1) {
      double small = best_of(rounds, [&] { wide_.barrier(until); });
      const int steps = std::max(1, static_cast<int>(hosts > 2) + 1);
      for (size_t count : floats_streamed) {
        double large = best_of(2, [&] {
          wide_.all_reduce(data.data(), count, element_type::float32,
                           reduce_way::ring, until);
        });
        found.stream = fit_link_cost(small, large, count * sizeof(float), steps,
                                     2.0 * (hosts - 1) / hosts);
        // Small messages reveal a slow line, on which larger ones would take
        // long. All ranks stop at the same size.
        wide_.all_reduce(&large, 1, element_type::float64, reduce_way::doubling,
                         until);
        if (8 * large / hosts > measured_longest_s) {
          break;
        }
      }
    }
    // All ranks use the mean, because all must choose alike.
    double mean[4] = {found.shared.latency_s, found.shared.byte_s,
                      found.stream.latency_s, found.stream.byte_s};
    reduce_everywhere(mean, 4, element_type::float64, until);
    found.shared = {mean[0] / size(), mean[1] / size()};
    found.stream = {mean[2] / size(), mean[3] / size()};
  });
  use(found);
  return found;
}

} // namespace ballast::collectives
