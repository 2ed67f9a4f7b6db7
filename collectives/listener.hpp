/// The listener of a process: one TCP port and one local address for its whole
/// life, across all generations. Its thread accepts connections, runs the
/// handshake, and passes each authenticated one to the `link_inbox` of the
/// generation and rank that it names; all others receive the reason of the
/// refusal.
///
/// Thread-safe. Limits: `pending_max` unfinished handshakes, `patience` for
/// each frame of one.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/handshake.hpp"
#include "collectives/socket.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ballast::collectives {

/// A connection on which both ends proved the token.
struct proved_link {
  int peer = -1;
  unique_fd fd;
  collectives::nonce nonce{};
};

/// The queue in which one opening receives its peers. Arrivals signal `bell`.
class link_inbox {
public:
  explicit link_inbox(collective_options options)
      : options_(std::move(options)), bell_(make_eventfd()),
        seen_(static_cast<size_t>(options_.size)) {}

  const collective_options& options() const { return options_; }
  int bell() const { return bell_.get(); }

  /// Called by the listener. False if that peer is here already, or the opening
  /// is closed.
  bool let_in(proved_link link);
  /// Called by the opening. Takes all arrivals since the last call.
  std::vector<proved_link> take();
  /// Refuses all further arrivals.
  void shut();
  bool is_shut() const;

private:
  collective_options options_;
  unique_fd bell_;
  mutable std::mutex mutex_;
  std::vector<proved_link> arrived_;
  std::vector<bool> seen_;
  bool shut_ = false;
};

class listener {
public:
  static constexpr size_t pending_max = 256;
  static constexpr std::chrono::milliseconds patience{2000};

  explicit listener(const std::string& bind_host);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  const std::string& host() const { return host_; }
  uint16_t port() const { return port_; }
  const std::string& local_name() const { return local_name_; }

  void add(std::shared_ptr<link_inbox> where);
  void remove(const std::shared_ptr<link_inbox>& where);

private:
  struct pending;

  void serve();
  void accept_from(int fd);
  bool advance(pending& p);
  bool take_hello(pending& p);
  bool take_proof(pending& p);
  std::shared_ptr<link_inbox> find(const hello_frame& hello) const;

  std::string host_;
  uint16_t port_ = 0;
  std::string local_name_;
  unique_fd tcp_;
  unique_fd local_;
  unique_fd wake_;
  std::vector<pending> pending_; // used by the listener's thread only
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<link_inbox>> inboxes_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

} // namespace ballast::collectives
