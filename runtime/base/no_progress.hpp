/// The deadline of bulk work: not a time for the whole, which would have to
/// know the size and the network, but the longest time without a byte. As long
/// as something arrives, it goes on. Pure: fed with bytes and the time.
#pragma once

#include "runtime/base/instant.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace ballast {

/// How long shares, models and checkpoints may be on their way without a byte.
constexpr std::chrono::seconds bulk_patience{15};
/// A transfer travels in messages of at most this size, so that a slow one is
/// not mistaken for a stalled one: at 15 s, anything above 0.3 MB/s goes on.
constexpr uint64_t bulk_message_bytes = uint64_t{4} << 20;

class no_progress {
public:
  /// `expected` in bytes; 0 = not known.
  no_progress(instant begun, std::chrono::nanoseconds patience,
              uint64_t expected = 0)
      : begun_(begun), last_(begun), patience_(patience),
        first_patience_(patience), expected_(expected) {}

  void arrived(uint64_t bytes, instant now) {
    bytes_ += bytes;
    if (bytes > 0)
      last_ = now;
  }
  /// Before the first byte the other side may have work of its own.
  void wait_longer_for_the_first(std::chrono::nanoseconds patience) {
    first_patience_ = patience;
  }
  /// The observer itself stood still: that time counts for nobody.
  void excuse(std::chrono::nanoseconds gap) { last_ += gap; }
  bool stalled(instant now) const { return now >= due(); }
  /// When it will have stalled if nothing arrives before.
  instant due() const {
    return last_ + (bytes_ == 0 ? first_patience_ : patience_);
  }
  uint64_t bytes() const { return bytes_; }
  /// "no byte for 15.0 s; 1.2 MB of 7.0 GB had arrived after 3.1 s".
  std::string describe(instant now) const;

private:
  instant begun_;
  instant last_;
  std::chrono::nanoseconds patience_;
  std::chrono::nanoseconds first_patience_;
  uint64_t expected_;
  uint64_t bytes_ = 0;
};

/// "1.2 MB"; powers of 1000.
std::string byte_text(uint64_t bytes);

} // namespace ballast
