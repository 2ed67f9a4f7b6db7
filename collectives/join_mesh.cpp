#include "collectives/join_mesh.hpp"

#include "collectives/fault_point.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

namespace ballast::collectives {

namespace {

using std::chrono::steady_clock;

/// A handshake without progress for this long has failed: the kernel sends
/// connection requests at once and then after 1, 3 and 7 seconds.
constexpr auto handshake_patience = std::chrono::seconds(8);
/// A link without a response for this long is reported, whatever else the join
/// fails of.
constexpr auto told_patience = std::chrono::seconds(2);
/// Other broken links appear about as soon as the first.
constexpr auto settle_time = std::chrono::milliseconds(100);

[[noreturn]] void lost(int peer, const std::string& why,
                       std::vector<dead_link> links = {}) {
  throw collective_error(collective_errc::peer_lost,
                         "rank " + std::to_string(peer) +
                             " cannot be reached: " + why,
                         peer, std::move(links));
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
  /// -1 once it is broken: poll skips that.
  int fd() const { return fd_.get(); }
  bool done() const { return step_ == step::done; }
  bool is_broken() const { return step_ == step::broken; }
  bool must_retry() const { return step_ == step::queue_full; }
  short events() const { return step_ == step::connecting ? POLLOUT : POLLIN; }
  steady_clock::duration silence() const {
    return steady_clock::now() - progress_;
  }

  void start() {
    try {
      fd_ = address_->same_host
                ? start_connect_local(address_->local_name)
                : start_connect_tcp(address_->host, address_->port);
    } catch (const std::system_error& e) {
      // A local error; no peer is at fault.
      const int why = e.code().value();
      if (why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS)
        throw;
      return give_up(e.what());
    }
    step_ = fd_ ? step::connecting : step::queue_full;
  }

  /// Ends this handshake and records why. Others may fail at the same time.
  void give_up(const std::string& why) {
    link_ = link(why);
    fd_.reset();
    step_ = step::broken;
  }
  dead_link link(const std::string& why) const {
    if (step_ == step::broken)
      return link_;
    const bool taken = step_ == step::asked || step_ == step::proved;
    return {peer_, taken ? std::string() : where(), why};
  }

  /// Does everything that is possible without blocking.
  void advance() {
    if (step_ == step::connecting) {
      if (int error = connect_result(fd_.get()); error != 0) {
        return give_up(std::generic_category().message(error));
      }
      reach(fault_point::handshake, options_->rank);
      send(hello_);
      go_on(step::asked);
    } else if (step_ == step::asked && read(answer_)) {
      check(answer_.result, verdict::prove_yourself);
      proof_bytes expected =
          make_proof(options_->token, "accepts", hello_, answer_.nonce);
      if (!same_proof(expected, answer_.proof)) {
        check(verdict::wrong_proof, verdict::welcome);
      }
      send(proof_frame{
          make_proof(options_->token, "connects", hello_, answer_.nonce)});
      go_on(step::proved);
    } else if (step_ == step::proved && read(welcome_)) {
      check(welcome_.result, verdict::welcome);
      go_on(step::done);
    }
  }

  stream_mesh::link take() {
    return {std::move(fd_), link_nonce(hello_.nonce, answer_.nonce), false};
  }

private:
  enum class step { queue_full, connecting, asked, proved, done, broken };

  void go_on(step to) {
    step_ = to;
    progress_ = steady_clock::now();
  }

  std::string where() const {
    return address_->same_host
               ? "@" + address_->local_name
               : address_->host + ":" + std::to_string(address_->port);
  }

  void check(verdict got, verdict wanted) const {
    if (got == wanted) {
      return;
    }
    // It listened before its address was known, so it has left since.
    if (got == verdict::unknown_generation) {
      lost(peer_, to_string(got) + " any more");
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
  steady_clock::time_point progress_ = steady_clock::now();
  dead_link link_; // set once it is broken
};

/// All handshakes of one opening, including those that peers begin.
class mesh_joining {
public:
  mesh_joining(const std::vector<peer_address>& peers, link_inbox& inbox,
               stop_switch& stop, int link_timeout_ms, deadline until,
               silent_links* silent)
      : peers_(peers), inbox_(inbox), stop_(stop),
        link_timeout_ms_(link_timeout_ms), links_(peers.size()),
        missing_(peers.size() - 1), begun_(steady_clock::now()),
        patience_(until - begun_), until_(until), silent_(silent) {
    for (int r = 0; r < rank(); ++r)
      calls_.emplace_back(inbox.options(), r, peers[static_cast<size_t>(r)]);
  }

  std::vector<stream_mesh::link> run() {
    while (true) {
      stop_.check();
      for (proved_link& link : inbox_.take())
        keep(link.peer, {std::move(link.fd), link.nonce, false});
      if (silent_ != nullptr)
        silent_->set(missing_ == 0 ? std::vector<dead_link>()
                                   : silent_for(told_patience));
      if (missing_ == 0)
        return std::move(links_);
      check_time();
      advance();
    }
  }

private:
  int rank() const { return inbox_.options().rank; }

  void keep(int peer, stream_mesh::link link) {
    const auto at = static_cast<size_t>(peer);
    if (!peers_[at].same_host)
      tune_tcp(link.fd.get(), link_timeout_ms_);
    links_[at] = std::move(link);
    --missing_;
    until_ = steady_clock::now() + patience_;
  }

  /// This rank's connections that are broken, or silent for this long.
  std::vector<dead_link> silent_for(steady_clock::duration patience) const {
    std::vector<dead_link> out;
    for (const dialling& call : calls_)
      if (call.is_broken() || call.silence() >= patience)
        out.push_back(call.link("no answer"));
    if (steady_clock::now() - begun_ >= patience)
      for (size_t r = static_cast<size_t>(rank()) + 1; r < links_.size(); ++r)
        if (!links_[r].fd)
          out.push_back({static_cast<int32_t>(r), {}, "it did not connect"});
    return out;
  }

  /// Throws once the opening cannot succeed.
  void check_time() {
    const auto now = steady_clock::now();
    const bool late = now >= until_;
    for (dialling& call : calls_)
      if (!call.is_broken() && !call.must_retry() &&
          (late || call.silence() >= handshake_patience))
        call.give_up("no answer for " +
                     std::to_string(call.silence() / std::chrono::seconds(1)) +
                     " s");
    if (any_broken() && !broken_since_)
      broken_since_ = now;
    if (broken_since_ && (late || now - *broken_since_ >= settle_time))
      fail();
    if (late) {
      size_t peer = 0;
      while (peer == static_cast<size_t>(rank()) || links_[peer].fd)
        ++peer;
      throw collective_error(collective_errc::timeout,
                             "rank " + std::to_string(peer) + " and " +
                                 std::to_string(missing_ - 1) +
                                 " more did not join before the deadline",
                             static_cast<int>(peer),
                             silent_for(std::min<steady_clock::duration>(
                                 told_patience, patience_)));
    }
  }

  bool any_broken() const {
    return std::any_of(calls_.begin(), calls_.end(),
                       [](const dialling& c) { return c.is_broken(); });
  }

  [[noreturn]] void fail() const {
    std::vector<dead_link> links = silent_for(told_patience);
    const dead_link& first = links.front();
    lost(first.rank,
         (first.address.empty() ? "" : "at " + first.address + ": ") +
             first.why,
         links);
  }

  int timeout_ms() const {
    if (broken_since_)
      return static_cast<int>(settle_time.count());
    for (const dialling& call : calls_)
      if (call.must_retry())
        return 1;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until_ - steady_clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 1, 1000));
  }

  void advance() {
    std::vector<pollfd> polled = {{stop_.bell(), POLLIN, 0},
                                  {inbox_.bell(), POLLIN, 0}};
    for (const dialling& call : calls_)
      polled.push_back({call.fd(), call.events(), 0}); // fd -1 is skipped
    const size_t first_link = polled.size();
    for (const stream_mesh::link& link : links_)
      polled.push_back({link.fd.get(), POLLRDHUP, 0});
    if (::poll(polled.data(), polled.size(), timeout_ms()) < 0)
      return; // interrupted by a signal
    for (size_t r = 0; r < links_.size(); ++r)
      if (polled[first_link + r].revents != 0) {
        if (any_broken())
          fail(); // that may be the cause on the other side, too
        lost(static_cast<int>(r), "it gave up joining",
             silent_for(told_patience));
      }
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i].must_retry()) {
        calls_[i].start();
      } else if (polled[i + 2].revents != 0) {
        calls_[i].advance();
        if (calls_[i].done())
          keep(calls_[i].peer(), calls_[i].take());
      }
    }
    std::erase_if(calls_, [](const dialling& c) { return c.done(); });
  }

  const std::vector<peer_address>& peers_;
  link_inbox& inbox_;
  stop_switch& stop_;
  int link_timeout_ms_;
  std::vector<stream_mesh::link> links_;
  std::vector<dialling> calls_;
  size_t missing_;
  steady_clock::time_point begun_;
  steady_clock::duration patience_;
  deadline until_; // extended whenever another rank joins
  std::optional<steady_clock::time_point> broken_since_;
  silent_links* silent_;
};

} // namespace

std::vector<stream_mesh::link>
join_mesh(const std::vector<peer_address>& peers,
          const std::shared_ptr<link_inbox>& inbox, stop_switch& stop,
          int link_timeout_ms, deadline until, silent_links* silent) {
  return mesh_joining(peers, *inbox, stop, link_timeout_ms, until, silent)
      .run();
}

} // namespace ballast::collectives
