/// One generation of the backend "ring": the mesh between all ranks, the shared
/// memory between those of one host, and the path of each operation.
///
///   one host                shared memory only
///   one rank per host       the ring over TCP
///   several of each         to the first rank of each host, between those
///                           over TCP, and back; a sum in a fixed order goes
///                           over the streams between all ranks
///
/// all_to_all takes the streams between all ranks, also within a host.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/cost_model.hpp"
#include "collectives/host_map.hpp"
#include "collectives/shm_algorithms.hpp"
#include "collectives/stream_algorithms.hpp"
#include "collectives/stream_ordered_sum.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace ballast::collectives {

class ring_collective final : public collective {
public:
  /// `local` is null if this host has one rank only.
  ring_collective(const collective_options& options, const host_map& hosts,
                  std::vector<stream_mesh::link> links,
                  std::unique_ptr<shm_group> local,
                  std::shared_ptr<stop_switch> stop, const cost_model& costs,
                  std::chrono::milliseconds link_timeout);
  ~ring_collective() override;

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  collective_state state() const override { return state_; }

  void all_reduce(void* data, size_t count, element_type type,
                  deadline until) override;
  void reduce_scatter(void* data, size_t count, element_type type,
                      deadline until) override;
  void all_gather(void* data, size_t count, element_type type,
                  deadline until) override;
  void sum_in_order(const ledger::fixed_sum& how, const float* parts,
                    size_t stride, float* out, size_t count,
                    deadline until) override;
  void all_to_all(const void* from, void* to, size_t bytes,
                  deadline until) override;
  void broadcast(void* data, size_t bytes, int root, deadline until) override;
  void fill_lacking(void* data, size_t bytes, std::span<const bytes_here> have,
                    deadline until) override;
  void send(const void* data, size_t bytes, int to, deadline until) override;
  void receive(void* data, size_t bytes, int from, deadline until) override;
  void barrier(deadline until) override;

  void on_peer_lost(std::function<void(int rank)> lost) override;
  void abort(const std::string& reason) noexcept override;
  void close(deadline until) override;
  uint64_t bytes_sent() const override;

  /// Measures the cost of a step, with the same result on every rank.
  /// Collective; for the first generation of a process.
  cost_model measure(deadline until);
  void use(const cost_model& costs);

private:
  void fail(collective_errc code, const std::string& what, int peer,
            const std::vector<dead_link>& links = {}) noexcept;
  void cut_off() noexcept;
  void leave() noexcept;
  template <class Operation>
  void guarded(Operation&& operation);

  bool one_host() const { return hosts_.leaders.size() == 1; }
  bool is_leader() const { return hosts_.local.front() == options_.rank; }
  void reduce_everywhere(void* data, size_t count, element_type type,
                         deadline until);
  void copy_everywhere(void* data, size_t bytes, int root, deadline until);
  void meet_everyone(deadline until);

  collective_options options_;
  host_map hosts_;
  std::shared_ptr<stop_switch> stop_;
  std::unique_ptr<shm_group> local_; // null: alone on its host
  stream_mesh mesh_;
  stream_algorithms wide_; // one rank for each host
  stream_ordered_sum everybody_;
  std::optional<shm_algorithms> near_;
  cost_model costs_;
  std::atomic<collective_state> state_{collective_state::ready};
  std::atomic<bool> cut_{false};
};

} // namespace ballast::collectives
