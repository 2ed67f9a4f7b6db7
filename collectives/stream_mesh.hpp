/// A byte stream between every two ranks of a generation (TCP between hosts,
/// Unix within one), and the engine that moves some outgoing and some incoming
/// streams at a time. Every stream begins with a frame that names its
/// operation; a frame that does not match is a mismatch, never data.
///
/// While the engine waits it watches every link: the end of any rank ends the
/// operation, unless that rank left properly and nothing is expected from it.
///
/// Used by one thread at a time; `stop_switch` interrupts it from any other.
/// All failures are collective_errors.
#pragma once

#include "collectives/handshake.hpp"
#include "collectives/socket.hpp"
#include "collectives/stop_switch.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ballast::collectives {

/// The data to send, polled as it becomes available.
class byte_source {
public:
  virtual ~byte_source() = default;
  virtual bool done() const = 0;
  /// The bytes that may be sent now, possibly none.
  virtual std::span<const char> ready() = 0;
  virtual void taken(size_t bytes) = 0;
};

/// Where received bytes go.
class byte_sink {
public:
  virtual ~byte_sink() = default;
  virtual bool done() const = 0;
  /// Empty while received bytes must wait for outgoing ones.
  virtual std::span<char> room() = 0;
  virtual void arrived(size_t bytes) = 0;
  /// Bytes that the sender sends independently of this end.
  virtual size_t coming() const = 0;
};

/// The parameters of a stream on which both ends must agree.
struct stream_label {
  uint32_t operation = 0;
  uint32_t detail = 0; // element type, root
  uint64_t bytes = 0;
  friend bool operator==(const stream_label&, const stream_label&) = default;
};

class stream_mesh {
public:
  struct link {
    unique_fd fd; // empty for this rank itself
    collectives::nonce nonce{};
    bool gone = false; // left properly
    /// Since when every check found it without an acknowledgement; zero: it
    /// acknowledges.
    deadline owes_since{};
    size_t wakes_at = 1; // bytes, as set in the kernel
  };

  /// `spins`: attempts before it sleeps in poll; 0 if cores are scarce.
  /// `link_timeout`: a host that acknowledges nothing for this long counts as
  /// dead.
  stream_mesh(int rank, std::vector<link> links,
              std::shared_ptr<stop_switch> stop, int spins,
              std::chrono::milliseconds link_timeout);
  ~stream_mesh();
  stream_mesh(const stream_mesh&) = delete;
  stream_mesh& operator=(const stream_mesh&) = delete;

  /// From now on sleeps until this many bytes, or all expected ones, have
  /// arrived: if cores compute, a wake-up for every packet costs them more than
  /// waiting costs the stream.
  void sleep_until_arrived(size_t bytes) { wake_bytes_ = bytes; }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }

  /// Sends all of `out` to rank `to` while receiving all of `in` from `from`.
  /// Null: nothing in this direction. A no-progress deadline: fails once
  /// nothing has moved for as long as it was to `until` when that value was
  /// first passed. A slow line may take its time, for one transfer and for
  /// many.
  void transfer(const stream_label& label, byte_source* out, int to,
                byte_sink* in, int from, deadline until);

  struct sending {
    stream_label label;
    byte_source* source = nullptr;
    int to = -1;
  };
  struct receiving {
    stream_label label;
    byte_sink* sink = nullptr;
    int from = -1;
  };
  /// The same for several streams at once, at most one to each rank and one
  /// from each.
  void transfer(std::span<const sending> out, std::span<const receiving> in,
                deadline until);

  /// Throws if any rank has left without a goodbye. Never blocks.
  void check_links();
  /// Tells all peers that this rank leaves; nothing may be in flight.
  void say_goodbye() noexcept;
  /// Cuts every link; the peers see the end at once. Any thread.
  void cut() noexcept;

  uint64_t bytes_sent() const { return bytes_sent_; }
  void throw_lost(int peer) const;

private:
  struct outgoing;
  struct incoming;

  outgoing begin(const sending& what);
  void move(std::span<outgoing> out, std::span<incoming> in, deadline until);
  bool push(outgoing& out);
  bool pull(incoming& in);
  std::chrono::nanoseconds patience_until(deadline until);
  void wait(std::span<const outgoing> out, std::span<const incoming> in,
            deadline until);
  void set_wake_bytes(const incoming& in);
  void look_for_silence(int peer);
  void look_at_the_others(std::span<const outgoing> out,
                          std::span<const incoming> in);
  bool left_in_good_order(int peer);

  int rank_;
  std::vector<link> links_;
  std::shared_ptr<stop_switch> stop_;
  int spins_;
  std::chrono::milliseconds link_timeout_;
  size_t wake_bytes_ = 1;
  deadline until_{}; // as passed by the caller
  std::chrono::nanoseconds patience_{};
  std::vector<uint32_t> sent_frames_;     // per peer
  std::vector<uint32_t> received_frames_; // per peer
  std::atomic<uint64_t> bytes_sent_{0};
};

/// A plain buffer as source and as sink.
class buffer_source final : public byte_source {
public:
  buffer_source(const void* data, size_t bytes)
      : left_(static_cast<const char*>(data), bytes) {}
  bool done() const override { return left_.empty(); }
  std::span<const char> ready() override { return left_; }
  void taken(size_t bytes) override { left_ = left_.subspan(bytes); }

private:
  std::span<const char> left_;
};

class buffer_sink final : public byte_sink {
public:
  buffer_sink(void* data, size_t bytes)
      : left_(static_cast<char*>(data), bytes) {}
  bool done() const override { return left_.empty(); }
  std::span<char> room() override { return left_; }
  void arrived(size_t bytes) override { left_ = left_.subspan(bytes); }
  size_t coming() const override { return left_.size(); }

private:
  std::span<char> left_;
};

} // namespace ballast::collectives
