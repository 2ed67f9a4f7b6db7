#include "data/operators/crash_note.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
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

/// Code of a user that ends the process would leave a command that did nothing
/// and says that all is well.
void say_who_ended() {
  if (noted == nullptr)
    return;
  put("ballast: ");
  put(noted);
  put(" ended the process\n");
  ::_exit(1);
}

/// On which a handler runs whose thread has no stack left.
class spare_stack {
public:
  spare_stack() : room_(new char[size]) {
    stack_t before{};
    if (::sigaltstack(nullptr, &before) != 0 ||
        (before.ss_flags & SS_DISABLE) == 0)
      return; // it has one
    stack_t ours{};
    ours.ss_sp = room_.get();
    ours.ss_size = size;
    ours_ = ::sigaltstack(&ours, nullptr) == 0;
  }
  ~spare_stack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (ours_)
      ::sigaltstack(&none, nullptr);
  }
  spare_stack(const spare_stack&) = delete;

private:
  static constexpr size_t size = 64 << 10;
  const std::unique_ptr<char[]> room_;
  bool ours_ = false;
};

void watch_signals() {
  std::atexit(say_who_ended);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
      continue;
    struct sigaction ours {};
    ours.sa_handler = say_whose;
    ours.sa_flags = int(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
    ::sigaction(signal, &ours, nullptr);
  }
}

} // namespace

crash_note::crash_note(const char* text) : before_(noted) {
  static std::once_flag once;
  std::call_once(once, watch_signals);
  thread_local const spare_stack stack;
  noted = text;
}

crash_note::~crash_note() {
  noted = before_;
}

} // namespace ballast::data
