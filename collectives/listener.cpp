#include "collectives/listener.hpp"

#include "collectives/fault_point.hpp"
#include "runtime/base/thread_name.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>

namespace ballast::collectives {

using std::chrono::steady_clock;

bool link_inbox::let_in(proved_link link) {
  std::lock_guard lock(mutex_);
  size_t peer = static_cast<size_t>(link.peer);
  if (shut_ || peer >= seen_.size() || seen_[peer]) {
    return false;
  }
  seen_[peer] = true;
  arrived_.push_back(std::move(link));
  signal_eventfd(bell_.get());
  return true;
}

std::vector<proved_link> link_inbox::take() {
  std::lock_guard lock(mutex_);
  drain_eventfd(bell_.get());
  return std::exchange(arrived_, {});
}

void link_inbox::shut() {
  std::lock_guard lock(mutex_);
  shut_ = true;
  arrived_.clear();
  signal_eventfd(bell_.get());
}

bool link_inbox::is_shut() const {
  std::lock_guard lock(mutex_);
  return shut_;
}

/// A connection in the middle of its handshake.
struct listener::pending {
  unique_fd fd;
  steady_clock::time_point until;
  bool hello_read = false;
  size_t have = 0; // bytes received of the current frame
  hello_frame hello{};
  proof_frame proof{};
  collectives::nonce own{};
  std::shared_ptr<link_inbox> where;
};

listener::listener(const std::string& bind_host)
    : host_(bind_host), tcp_(listen_tcp(bind_host, port_)),
      local_(listen_local(local_name_)), wake_(make_eventfd()),
      thread_([this] { serve(); }) {}

listener::~listener() {
  ending_ = true;
  signal_eventfd(wake_.get());
  thread_.join();
}

void listener::add(std::shared_ptr<link_inbox> where) {
  std::lock_guard lock(mutex_);
  inboxes_.push_back(std::move(where));
}

void listener::remove(const std::shared_ptr<link_inbox>& where) {
  std::lock_guard lock(mutex_);
  std::erase(inboxes_, where);
}

std::shared_ptr<link_inbox> listener::find(const hello_frame& hello) const {
  std::lock_guard lock(mutex_);
  for (const auto& d : inboxes_) {
    if (value(d->options().generation) == hello.generation &&
        d->options().rank == hello.to) {
      return d;
    }
  }
  return nullptr;
}

void listener::serve() {
  name_this_thread("bl-mesh-accept");
  std::vector<pollfd> polled;
  while (!ending_) {
    polled.clear();
    polled.push_back({wake_.get(), POLLIN, 0});
    polled.push_back({tcp_.get(), POLLIN, 0});
    polled.push_back({local_.get(), POLLIN, 0});
    for (const pending& p : pending_) {
      polled.push_back({p.fd.get(), POLLIN, 0});
    }
    const int timeout_ms = pending_.empty() ? -1 : 100;
    if (::poll(polled.data(), polled.size(), timeout_ms) < 0) {
      continue; // interrupted by a signal
    }
    const size_t known = pending_.size();
    for (size_t i = 0; i < known; ++i) {
      if (polled[i + 3].revents != 0 && !advance(pending_[i])) {
        pending_[i].fd.reset();
      }
    }
    const auto now = steady_clock::now();
    std::erase_if(pending_,
                  [&](const pending& p) { return !p.fd || now > p.until; });
    accept_from(tcp_.get());
    accept_from(local_.get());
  }
}

void listener::accept_from(int fd) {
  while (unique_fd next = accept_one(fd)) {
    if (pending_.size() >= pending_max) {
      pending_.erase(pending_.begin()); // the oldest one had the longest time
    }
    pending p;
    p.fd = std::move(next);
    p.until = steady_clock::now() + patience;
    // The hello is often here already.
    if (advance(p)) {
      pending_.push_back(std::move(p));
    }
  }
}

namespace {

/// Continues reading `frame`: 1 complete, 0 not yet, -1 closed.
template <class Frame>
int read_frame(int fd, Frame& frame, size_t& have) {
  while (have < sizeof frame) {
    ptrdiff_t got = receive_some(fd, reinterpret_cast<char*>(&frame) + have,
                                 sizeof frame - have);
    if (got <= 0) {
      return static_cast<int>(got);
    }
    have += static_cast<size_t>(got);
  }
  have = 0;
  return 1;
}

template <class Frame>
bool send_frame(int fd, const Frame& frame) {
  // The first bytes on a fresh connection always fit into its buffer.
  return send_some(fd, &frame, sizeof frame) ==
         static_cast<ptrdiff_t>(sizeof frame);
}

} // namespace

/// False: this connection is finished, either way.
bool listener::advance(pending& p) {
  try {
    if (!p.hello_read) {
      int read = read_frame(p.fd.get(), p.hello, p.have);
      if (read <= 0) {
        return read == 0;
      }
      p.hello_read = true;
      p.until = steady_clock::now() + patience;
      if (!take_hello(p)) {
        return false;
      }
    }
    int read = read_frame(p.fd.get(), p.proof, p.have);
    return read == 0 || (read == 1 && take_proof(p));
  } catch (const std::exception&) { // no memory, no nonce: it must retry
    return false;
  }
}

bool listener::take_hello(pending& p) {
  p.where = find(p.hello);
  answer_frame answer{};
  answer.result = p.where ? judge(p.hello, p.where->options())
                          : verdict::unknown_generation;
  if (answer.result == verdict::prove_yourself) {
    reach(fault_point::handshake, p.where->options().rank);
    p.own = fresh_nonce();
    answer.nonce = p.own;
    answer.proof =
        make_proof(p.where->options().token, "accepts", p.hello, p.own);
  }
  return send_frame(p.fd.get(), answer) &&
         answer.result == verdict::prove_yourself;
}

bool listener::take_proof(pending& p) {
  welcome_frame answer{verdict::welcome};
  proof_bytes expected =
      make_proof(p.where->options().token, "connects", p.hello, p.own);
  if (!same_proof(expected, p.proof.proof)) {
    answer.result = verdict::wrong_proof;
    send_frame(p.fd.get(), answer);
    return false;
  }
  // Welcome first: afterwards the descriptor belongs to the opening.
  if (send_frame(p.fd.get(), answer)) {
    p.where->let_in(
        {p.hello.from, std::move(p.fd), link_nonce(p.hello.nonce, p.own)});
  }
  return false;
}

} // namespace ballast::collectives
