#include "data/operators/crash_note.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace ballast::data {

namespace {

// Looked at by a handler: no constructor may run there, so it has none.
thread_local const char* noted = nullptr;

void put(const char* text) {
  [[maybe_unused]] const ssize_t ignored =
      ::write(STDERR_FILENO, text, std::strlen(text));
}

/// Nothing but what is safe in a handler. The signal is the default one by now
/// and comes again.
void say_whose(int signal) {
  if (noted != nullptr) {
    const std::array<char, 3> number{char('0' + signal / 10),
                                     char('0' + signal % 10), '\0'};
    put("ballast: ");
    put(noted);
    put(" crashed (signal ");
    put(number[0] == '0' ? number.data() + 1 : number.data());
    put(")\n");
  }
  ::raise(signal);
}

void watch_signals() {
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
      continue;
    struct sigaction ours {};
    ours.sa_handler = say_whose;
    ours.sa_flags = int(SA_RESETHAND | SA_NODEFER);
    ::sigaction(signal, &ours, nullptr);
  }
}

} // namespace

crash_note::crash_note(const char* text) noexcept : before_(noted) {
  static std::once_flag once;
  std::call_once(once, watch_signals);
  noted = text;
}

crash_note::~crash_note() {
  noted = before_;
}

} // namespace ballast::data
