/// The connections of one rank to all others in Gloo, from the first address to
/// the last closed socket: how a rank joins, and how it leaves without harm to
/// those who are still joining. Safe from any thread.
#pragma once

#include "collectives/abortable_gloo.hpp"

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ballast::collectives {

/// A Gloo context that is filled by hand: every pair listens from construction
/// on, and the control plane carries the addresses instead of a store.
class gloo_mesh final : public gloo::Context {
public:
  gloo_mesh(const std::shared_ptr<gloo::transport::Device>& device, int rank,
            int size);

  /// The addresses by peer rank, each with a length prefix.
  std::string payload() const;
  /// The address at which the rank of `payload` waits for `for_rank`.
  static std::vector<char> address_in(const std::string& payload, int for_rank);

  /// Waits for the connection with a peer; one thread. Throws what Gloo throws.
  void join(int peer, const std::vector<char>& address);
  /// Every rank has accepted every connection.
  void opened();
  bool is_open() const;

  /// Ends this rank's waits. In an operation it closes every connection, which
  /// notifies the peers. In a join it leaves those it has made: their other
  /// side may not have accepted them yet, and Gloo throws on a thread of its
  /// own, which ends the process, when it accepts a connection that was reset.
  void break_off() noexcept;

private:
  void end_join(std::optional<int> made);
  void close(int peer) noexcept;

  std::shared_ptr<abortable_gloo> waits_;
  std::vector<std::string> addresses_; // by rank

  mutable std::mutex mutex_; // guards the rest
  std::condition_variable join_ended_;
  bool joining_ = false;
  bool leaving_ = false;
  bool open_ = false;
  std::vector<bool> made_; // by rank
};

using gloo_mesh_ptr = std::shared_ptr<gloo_mesh>;

/// Meshes whose join was broken off, with the connections that they made, until
/// every rank has joined a later one.
class left_meshes {
public:
  void add(gloo_mesh_ptr one);
  void clear();

private:
  std::mutex mutex_;
  std::vector<gloo_mesh_ptr> all_;
};

} // namespace ballast::collectives
