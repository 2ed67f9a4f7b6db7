/// What a process says when it crashes inside of code that is not its own: a
/// line on stderr with whose code that was, and then the crash as it would have
/// been, with its signal and its core; and when that code ends the process,
/// which then ends with 1.
///
/// A note holds on the thread that made it, until it goes. Any thread; no
/// errors. Signals that something else handles already stay with that.
#pragma once

namespace ballast::data {

class crash_note {
public:
  /// "ballast: TEXT crashed (signal 11)"; the text outlives the note.
  explicit crash_note(const char* text);
  ~crash_note();
  crash_note(const crash_note&) = delete;

private:
  const char* before_;
};

} // namespace ballast::data
