/// How long a write that failed on a full disk is retried before the failure is
/// final. Pure: the caller passes the time and does the writing.
#pragma once

#include <chrono>
#include <string>

namespace ballast {

class disk_wait {
public:
  using instant = std::chrono::nanoseconds;
  static constexpr std::chrono::milliseconds retry_every{200};
  static constexpr std::chrono::seconds tell_every{5};

  /// A write failed for lack of space, with this message. Returns false once
  /// writes have failed for longer than `patience`: the caller gives up.
  bool failed(const std::string& message, instant now,
              std::chrono::seconds patience);
  /// The write succeeded, or the caller gave up. Returns how long it waited.
  instant over(instant now);

  bool waiting() const { return waiting_; }
  instant since() const { return since_; }
  /// True when the next attempt is due.
  bool due(instant now) const { return now - tried_ >= retry_every; }
  /// The cause and duration of the wait, as a sentence for users; empty if
  /// nothing waits.
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
