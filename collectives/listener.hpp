/// The ears of a process: one TCP port and one local address for its whole
/// life, whatever generations come and go. Its thread accepts connections,
/// runs the handshake, and hands each one that proves itself to the door of
/// the generation and rank it asked for; all others are told why not.
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

namespace ballast {

/// A connection that both ends have proved.
struct proved_link {
  int peer = -1;
  unique_fd fd;
  ballast::nonce nonce{};
};

/// Where one opening waits for its peers. Arrivals signal `bell`.
class door {
public:
  explicit door(collective_options options)
      : options_(std::move(options)), bell_(make_eventfd()),
        seen_(static_cast<size_t>(options_.size)) {}

  const collective_options& options() const { return options_; }
  int bell() const { return bell_.get(); }

  /// By the listener. False if that peer is here already, or nobody waits.
  bool let_in(proved_link link);
  /// By the opening. Takes everybody who came since the last call.
  std::vector<proved_link> take();
  /// Nobody is let in any more.
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

  void add(std::shared_ptr<door> where);
  void remove(const std::shared_ptr<door>& where);

private:
  struct pending;

  void serve();
  void accept_from(int fd);
  bool advance(pending& p);
  bool take_hello(pending& p);
  bool take_proof(pending& p);
  std::shared_ptr<door> find(const hello_frame& hello) const;

  std::string host_;
  uint16_t port_ = 0;
  std::string local_name_;
  unique_fd tcp_;
  unique_fd local_;
  unique_fd wake_;
  std::vector<pending> pending_; // of the thread
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<door>> doors_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

} // namespace ballast
