#include "cli/commands/ending_signals.hpp"

#include "runtime/base/thread_name.hpp"
#include "store/unfinished.hpp"

#include <unistd.h>

namespace ballast::cli {

ending_signals::ending_signals() {
  sigemptyset(&watched_);
  for (int one : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // As nohup and a shell without job control have it.
    if (::sigaction(one, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&watched_, one);
  }
  sigaddset(&watched_, SIGUSR2); // that of the destructor
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  thread_ = std::thread([this] {
    name_this_thread("bl-signals");
    watch();
  });
}

ending_signals::~ending_signals() {
  ended_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ending_signals::watch() {
  while (!ended_) {
    int got = 0;
    if (sigwait(&watched_, &got) != 0 || ended_ || got == SIGUSR2)
      continue;
    if (number_ != 0) {
      store::remove_unfinished();
      ::_exit(128 + got);
    }
    number_ = got;
    stop_.request_stop();
  }
}

} // namespace ballast::cli
