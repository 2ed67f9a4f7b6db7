/// How long a write that met a full disk is tried again before it counts as
/// failed. Pure: the time is handed in, the writing is the caller's.
#pragma once

#include <chrono>
#include <string>

namespace ballast {

class disk_wait {
public:
  using instant = std::chrono::nanoseconds;
  static constexpr std::chrono::milliseconds retry_every{200};
  static constexpr std::chrono::seconds tell_every{5};

  /// A write failed for want of space, with this message. False: it did for
  /// longer than `patience`, and waiting is over.
  bool failed(const std::string& message, instant now,
              std::chrono::seconds patience);
  /// The write fits now, or is given up. How long it was waited for.
  instant over(instant now);

  bool waiting() const { return waiting_; }
  instant since() const { return since_; }
  /// It is time to try again.
  bool due(instant now) const { return now - tried_ >= retry_every; }
  /// What is waited for and for how long, for users; empty: for nothing.
  std::string sentence() const;
  /// The message of the newest failure.
  const std::string& message() const { return message_; }

private:
  bool waiting_ = false;
  instant since_{};
  instant tried_{};
  std::chrono::seconds patience_{};
  std::string message_;
};

} // namespace ballast
