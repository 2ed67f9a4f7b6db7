#include "monitor/http/http_gate.hpp"

#include "runtime/base/thread_name.hpp"
#include "runtime/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::monitor {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// After the answer, the time for the client to read it and close. Closing a
/// socket with unread bytes resets the connection, and the answer is lost.
constexpr auto linger = 1s;

/// Bytes moved by a call on a socket. 0: it would block; empty: the connection
/// is unusable.
template <class Call>
std::optional<size_t> moved_by(Call call) {
  for (;;) {
    const ssize_t bytes = call();
    if (bytes > 0)
      return size_t(bytes);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return 0;
    return std::nullopt;
  }
}

/// Threads that execute jobs in order; queued jobs finish before they end.
class thread_pool {
public:
  explicit thread_pool(size_t threads) {
    threads_.reserve(threads);
    try {
      for (size_t i = 0; i < threads; ++i)
        threads_.emplace_back([this] { work(); });
    } catch (...) {
      // If a thread cannot be started; destroying an unjoined thread would
      // abort the process before it could report why.
      end();
      throw;
    }
  }
  ~thread_pool() { end(); }
  void add(std::function<void()> job) {
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

private:
  void end() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& one : threads_)
      one.join();
  }
  void work() {
    name_this_thread("bl-http");
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        if (jobs_.empty())
          return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

enum class phase : uint8_t { reading, answering, writing, lingering };

struct connection {
  connection(unique_fd fd, intake_limits limits, steady::time_point now)
      : socket(std::move(fd)), request(limits), since(now) {}

  unique_fd socket;
  http_intake request;
  phase at = phase::reading;
  steady::time_point since; // of connecting, then of the phase
  std::string answer;
  size_t written = 0;
};

} // namespace

struct http_gate::impl {
  impl(gate_limits limits, gate_handlers handlers)
      : limits(limits), handlers(std::move(handlers)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), pool(limits.threads) {}

  const gate_limits limits;
  const gate_handlers handlers;
  unique_fd wake;

  std::mutex mutex; // guards the three below
  std::vector<unique_fd> admitted;
  std::vector<std::pair<connection*, std::string>> answered;
  bool stopping = false;

  // Used by the gate's thread alone; addresses are stable while a connection
  // lives.
  std::list<connection> connections;
  thread_pool pool;
  std::thread thread;

  void run();
  void wake_up() const {
    const uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }
  bool take_news();
  bool make_room();
  void wait();
  bool read(connection& one);
  bool write(connection& one);
  bool skip(connection& one);
  bool step(connection& one, steady::time_point now);
  void hand_over(connection& one);
  void begin_answer(connection& one, std::string text);
  steady::time_point deadline(const connection& one) const;
};

/// True once the gate shuts down.
bool http_gate::impl::take_news() {
  uint64_t count = 0;
  (void)!::read(wake.get(), &count, sizeof count);
  std::vector<unique_fd> sockets;
  std::vector<std::pair<connection*, std::string>> answers;
  bool ending = false;
  {
    std::lock_guard lock(mutex);
    sockets = std::exchange(admitted, {});
    answers = std::exchange(answered, {});
    ending = stopping;
  }
  for (unique_fd& socket : sockets)
    if (make_room())
      connections.emplace_back(std::move(socket), limits.request,
                               steady::now());
  for (auto& [one, text] : answers)
    begin_answer(*one, std::move(text));
  return ending;
}

/// Closes the oldest connection without a complete request, else the one that
/// has been reading its answer longest; the list is in the order of arrival.
/// False: all of them wait for their answers.
bool http_gate::impl::make_room() {
  if (connections.size() < limits.connections_max)
    return true;
  for (phase which : {phase::reading, phase::lingering, phase::writing}) {
    auto oldest =
        std::find_if(connections.begin(), connections.end(),
                     [&](const connection& one) { return one.at == which; });
    if (oldest == connections.end())
      continue;
    connections.erase(oldest);
    return true;
  }
  return false;
}

steady::time_point http_gate::impl::deadline(const connection& one) const {
  switch (one.at) {
  case phase::reading:
    return one.since + (one.request.now() == http_intake::state::header
                            ? limits.header_deadline
                            : limits.request_deadline);
  case phase::writing:
    return one.since + limits.write_deadline;
  case phase::lingering:
    return one.since + linger;
  default:
    return steady::time_point::max(); // its thread answers
  }
}

void http_gate::impl::wait() {
  std::vector<pollfd> polled{{wake.get(), POLLIN, 0}};
  auto until = steady::time_point::max();
  for (const connection& one : connections) {
    short events = one.at == phase::writing     ? POLLOUT
                   : one.at == phase::answering ? 0
                                                : POLLIN;
    if (events != 0)
      polled.push_back({one.socket.get(), events, 0});
    until = std::min(until, deadline(one));
  }
  int wait_ms = -1;
  if (until != steady::time_point::max())
    wait_ms = int(std::max<int64_t>(
        0, std::chrono::ceil<std::chrono::milliseconds>(until - steady::now())
               .count()));
  ::poll(polled.data(), polled.size(), wait_ms);
}

void http_gate::impl::begin_answer(connection& one, std::string text) {
  one.answer = std::move(text);
  one.at = one.answer.empty() ? phase::lingering : phase::writing;
  one.since = steady::now();
}

/// To a thread of the pool.
void http_gate::impl::hand_over(connection& one) {
  one.at = phase::answering;
  const std::string& request = one.request.text();
  const bool stream = handlers.is_stream(one.request.target());
  pool.add([this, &one, &request, stream] {
    std::string text;
    if (stream)
      handlers.stream(request, one.socket.get());
    else
      text = handlers.answer(request);
    {
      std::lock_guard lock(mutex);
      answered.emplace_back(&one, std::move(text));
    }
    wake_up();
  });
}

/// False: the connection is unusable.
bool http_gate::impl::read(connection& one) {
  char block[16384];
  for (;;) {
    const auto got = moved_by(
        [&] { return ::recv(one.socket.get(), block, sizeof block, 0); });
    if (!got || *got == 0)
      return got.has_value();
    const auto state = one.request.take({block, *got});
    if (one.request.take_expectation()) {
      constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      (void)!::send(one.socket.get(), go_on.data(), go_on.size(), MSG_NOSIGNAL);
    }
    if (state == http_intake::state::whole) {
      hand_over(one);
      return true;
    }
    if (state == http_intake::state::refused) {
      begin_answer(one,
                   handlers.refusal(one.request.status(), one.request.why()));
      return true;
    }
  }
}

bool http_gate::impl::write(connection& one) {
  while (one.written < one.answer.size()) {
    const auto put = moved_by([&] {
      return ::send(one.socket.get(), one.answer.data() + one.written,
                    one.answer.size() - one.written, MSG_NOSIGNAL);
    });
    if (!put || *put == 0)
      return put.has_value();
    one.written += *put;
  }
  ::shutdown(one.socket.get(), SHUT_WR);
  one.at = phase::lingering;
  one.since = steady::now();
  return true;
}

bool http_gate::impl::skip(connection& one) {
  constexpr int blocks_max = 16; // then other connections get their turn
  char block[16384];
  for (int i = 0; i < blocks_max; ++i) {
    const auto got = moved_by(
        [&] { return ::recv(one.socket.get(), block, sizeof block, 0); });
    if (!got || *got == 0)
      return got.has_value();
  }
  return true;
}

bool http_gate::impl::step(connection& one, steady::time_point now) {
  // A late header gets an answer; if sending that is late, too, the connection
  // is closed.
  if (now >= deadline(one)) {
    if (one.at != phase::reading)
      return false;
    begin_answer(one,
                 handlers.refusal(408, "the request did not come in time"));
  }
  if (one.at == phase::reading && !read(one))
    return false;
  if (one.at == phase::writing && !write(one))
    return false;
  return one.at != phase::lingering || skip(one);
}

void http_gate::impl::run() {
  name_this_thread("bl-http");
  for (;;) {
    const bool ending = take_news();
    const auto now = steady::now();
    std::erase_if(connections, [&](connection& one) {
      const bool idle = one.at == phase::reading || one.at == phase::lingering;
      return (ending && idle) || !step(one, now);
    });
    if (ending && connections.empty())
      return;
    wait();
  }
}

http_gate::http_gate(gate_limits limits, gate_handlers handlers)
    : impl_(std::make_unique<impl>(limits, std::move(handlers))) {
  impl_->thread = std::thread([this] { impl_->run(); });
}

http_gate::~http_gate() {
  stop();
}

void http_gate::admit(int socket) {
  unique_fd taken(socket);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->stopping)
      return;
    impl_->admitted.push_back(std::move(taken));
  }
  impl_->wake_up();
}

void http_gate::stop() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake_up();
  if (impl_->thread.joinable())
    impl_->thread.join();
}

} // namespace ballast::monitor
