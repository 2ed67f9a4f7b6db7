#include "gpu/collectives/join_mesh.hpp"

#include "gpu/collectives/fault_point.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace ballast {

namespace {

[[noreturn]] void lost(int peer, const std::string& why) {
  throw collective_error(
      collective_errc::peer_lost,
      "rank " + std::to_string(peer) + " cannot be reached: " + why, peer);
}

/// No connection came about at all.
[[noreturn]] void unreachable(int peer, const peer_address& address,
                              const std::string& why) {
  std::string where = address.same_host
                          ? "@" + address.local_name
                          : address.host + ":" + std::to_string(address.port);
  throw collective_error(collective_errc::peer_lost,
                         "rank " + std::to_string(peer) +
                             " cannot be reached at " + where + ": " + why,
                         peer, where);
}

/// The connecting side of one handshake.
class dialling {
public:
  dialling(const collective_options& options, int peer,
           const peer_address& address)
      : options_(&options), peer_(peer), address_(&address),
        hello_(make_hello(options, peer)) {
    start();
  }

  int peer() const { return peer_; }
  int fd() const { return fd_.get(); }
  bool done() const { return step_ == step::done; }
  bool must_retry() const { return step_ == step::queue_full; }
  short events() const { return step_ == step::connecting ? POLLOUT : POLLIN; }

  /// Blames the peer if it has not even taken the connection.
  void check_deadline() const {
    if (step_ == step::connecting)
      unreachable(peer_, *address_, "no answer before the deadline");
  }

  void start() {
    try {
      fd_ = address_->same_host
                ? start_connect_local(address_->local_name)
                : start_connect_tcp(address_->host, address_->port);
    } catch (const std::system_error& e) {
      // No peer is to blame for that.
      const int why = e.code().value();
      if (why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS)
        throw;
      unreachable(peer_, *address_, e.what());
    }
    step_ = fd_ ? step::connecting : step::queue_full;
  }

  /// Does what can be done now.
  void advance() {
    if (step_ == step::connecting) {
      if (int error = connect_result(fd_.get()); error != 0) {
        unreachable(peer_, *address_, std::generic_category().message(error));
      }
      reach(fault_point::handshake, options_->rank);
      send(hello_);
      step_ = step::asked;
    } else if (step_ == step::asked && read(answer_)) {
      check(answer_.result, verdict::prove_yourself);
      proof_bytes expected =
          make_proof(options_->token, "accepts", hello_, answer_.nonce);
      if (!same_proof(expected, answer_.proof)) {
        check(verdict::wrong_proof, verdict::welcome);
      }
      send(proof_frame{
          make_proof(options_->token, "connects", hello_, answer_.nonce)});
      step_ = step::proved;
    } else if (step_ == step::proved && read(welcome_)) {
      check(welcome_.result, verdict::welcome);
      step_ = step::done;
    }
  }

  stream_mesh::link take() {
    return {std::move(fd_), link_nonce(hello_.nonce, answer_.nonce), false};
  }

private:
  enum class step { queue_full, connecting, asked, proved, done };

  void check(verdict got, verdict wanted) const {
    if (got == wanted) {
      return;
    }
    throw collective_error(
        collective_errc::mismatch,
        "rank " + std::to_string(peer_) + " refused this rank in generation " +
            to_string(options_->generation) + ": " + to_string(got),
        peer_);
  }

  template <class Frame>
  void send(const Frame& frame) {
    if (send_some(fd_.get(), &frame, sizeof frame) !=
        static_cast<ptrdiff_t>(sizeof frame)) {
      lost(peer_, "it closed the connection during the handshake");
    }
  }

  template <class Frame>
  bool read(Frame& frame) {
    while (have_ < sizeof frame) {
      ptrdiff_t got =
          receive_some(fd_.get(), reinterpret_cast<char*>(&frame) + have_,
                       sizeof frame - have_);
      if (got < 0) {
        lost(peer_, "it closed the connection during the handshake");
      }
      if (got == 0) {
        return false;
      }
      have_ += static_cast<size_t>(got);
    }
    have_ = 0;
    return true;
  }

  const collective_options* options_;
  int peer_;
  const peer_address* address_;
  hello_frame hello_;
  answer_frame answer_{};
  welcome_frame welcome_{};
  size_t have_ = 0;
  unique_fd fd_;
  step step_ = step::connecting;
};

} // namespace

std::vector<stream_mesh::link> join_mesh(const std::vector<peer_address>& peers,
                                         const std::shared_ptr<door>& door,
                                         stop_switch& stop, int link_timeout_ms,
                                         deadline until) {
  const collective_options& options = door->options();
  std::vector<stream_mesh::link> links(peers.size());
  std::vector<dialling> calls;
  for (int r = 0; r < options.rank; ++r) {
    calls.emplace_back(options, r, peers[r]);
  }
  size_t missing = peers.size() - 1;
  auto keep = [&](int peer, stream_mesh::link link) {
    if (!peers[peer].same_host) {
      tune_tcp(link.fd.get(), link_timeout_ms);
    }
    links[peer] = std::move(link);
    --missing;
  };
  while (true) {
    stop.check();
    for (proved_link& link : door->take()) {
      keep(link.peer, {std::move(link.fd), link.nonce, false});
    }
    if (missing == 0) {
      return links;
    }
    std::vector<pollfd> polled = {{stop.bell(), POLLIN, 0},
                                  {door->bell(), POLLIN, 0}};
    bool retry = false;
    for (dialling& call : calls) {
      retry |= call.must_retry();
      polled.push_back({call.fd(), call.events(), 0}); // fd -1 is skipped
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      for (const dialling& call : calls)
        call.check_deadline();
      auto absent = [&](int r) { return r != options.rank && !links[r].fd; };
      int peer = 0;
      while (!absent(peer)) {
        ++peer;
      }
      throw collective_error(collective_errc::timeout,
                             "rank " + std::to_string(peer) + " and " +
                                 std::to_string(missing - 1) +
                                 " more did not join before the deadline",
                             peer);
    }
    int timeout_ms = static_cast<int>(std::min<int64_t>(left.count(), 1000));
    const size_t first_link = polled.size();
    for (const stream_mesh::link& link : links) {
      polled.push_back({link.fd.get(), POLLRDHUP, 0});
    }
    if (::poll(polled.data(), polled.size(), retry ? 1 : timeout_ms) < 0) {
      continue; // a signal
    }
    for (size_t r = 0; r < links.size(); ++r) {
      if (polled[first_link + r].revents != 0) {
        lost(static_cast<int>(r), "it gave up joining");
      }
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].must_retry()) {
        calls[i].start();
      } else if (polled[i + 2].revents != 0) {
        calls[i].advance();
        if (calls[i].done()) {
          keep(calls[i].peer(), calls[i].take());
        }
      }
    }
    std::erase_if(calls, [](const dialling& c) { return c.done(); });
  }
}

} // namespace ballast
