/// A no-progress deadline for bulk transfers. A deadline for the whole transfer
/// would have to know its size and the network; this one bounds the time
/// without a byte. As long as bytes arrive, the transfer goes on. Pure: the
/// caller passes byte counts and the time.
#pragma once

#include "runtime/base/instant.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace ballast {

/// How long a transfer of a share, model or checkpoint may receive nothing.
constexpr std::chrono::seconds bulk_patience{15};
/// Transfers are cut into messages of at most this size, so that a slow
/// transfer is not mistaken for a stalled one: with 15 s, any rate above 35
/// kB/s passes; and so that who shares a link with it waits 4 ms at 1 Gbit/s.
constexpr uint64_t bulk_message_bytes = uint64_t{512} << 10;

class no_progress {
public:
  /// `expected` in bytes; 0 = unknown.
  no_progress(instant begun, std::chrono::nanoseconds patience,
              uint64_t expected = 0)
      : begun_(begun), last_(begun), patience_(patience),
        first_patience_(patience), expected_(expected) {}

  void arrived(uint64_t bytes, instant now) {
    bytes_ += bytes;
    if (bytes > 0)
      last_ = now;
  }
  /// Allows more time before the first byte, because the sender may have work
  /// to do first.
  void wait_longer_for_the_first(std::chrono::nanoseconds patience) {
    first_patience_ = patience;
  }
  /// The observer itself did not run for `gap`: that time does not count.
  void excuse(std::chrono::nanoseconds gap) { last_ += gap; }
  bool stalled(instant now) const { return now >= due(); }
  /// When the transfer counts as stalled if nothing arrives before.
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
