// The least that a data-parallel step can cost: sleep, one Gloo all-reduce of
// the gradients, one more of 64 bytes. No control plane, no data, no optimizer.
// bench/step.py measures how much more a step of Ballast takes.
//
//   bare_loop PARAMETERS SLEEP_US STEPS [RANKS=2]
//
// Forks one process for each rank, all on 127.0.0.1. Rank 0 prints the moment
// at which each step was complete: CLOCK_MONOTONIC in nanoseconds, one a line.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t trailer_floats = 16; // 64 bytes

struct loop_options {
  size_t parameters = 0;
  int64_t sleep_us = 0;
  size_t steps = 0;
  int ranks = 2;
};

timespec monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now;
}

int64_t as_ns(timespec time) {
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void sleep_from(timespec start, int64_t us) {
  int64_t until = as_ns(start) + us * 1000;
  timespec then{until / 1'000'000'000, until % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, nullptr) != 0) {
  }
}

void sum(const std::shared_ptr<gloo::Context>& context,
         std::vector<float>& data) {
  if (data.empty())
    return;
  gloo::AllreduceOptions options(context);
  options.setOutput(data.data(), data.size());
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  void (*add)(void*, const void*, const void*, size_t) = &gloo::sum<float>;
  options.setReduceFunction(add);
  gloo::allreduce(options);
}

std::vector<int64_t> loop(const loop_options& what, int rank,
                          const std::string& folder) {
  gloo::transport::tcp::attr where;
  where.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(where);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, what.ranks);
  context->connectFullMesh(store, device);

  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // else 50 us
  std::vector<float> gradients(what.parameters, 0.0F);
  std::vector<float> trailer(trailer_floats, 0.0F);
  std::vector<int64_t> done_ns;
  done_ns.reserve(what.steps);
  for (size_t step = 0; step < what.steps; ++step) {
    sleep_from(monotonic_now(), what.sleep_us);
    sum(context, gradients);
    sum(context, trailer);
    done_ns.push_back(as_ns(monotonic_now()));
  }
  return done_ns;
}

int run_rank(const loop_options& what, int rank, const std::string& folder) {
  try {
    std::vector<int64_t> done_ns = loop(what, rank, folder);
    if (rank == 0)
      for (int64_t t : done_ns)
        std::printf("%lld\n", static_cast<long long>(t));
    std::fflush(stdout);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bare_loop: rank %d: %s\n", rank, e.what());
    return 1;
  }
}

} // namespace

int main(int argc, char** argv) {
  loop_options what;
  if (argc >= 4) {
    what.parameters = std::strtoull(argv[1], nullptr, 10);
    what.sleep_us = std::strtoll(argv[2], nullptr, 10);
    what.steps = std::strtoull(argv[3], nullptr, 10);
    what.ranks = argc > 4 ? std::atoi(argv[4]) : 2;
  }
  if (argc < 4 || what.steps == 0 || what.ranks < 1 || what.sleep_us < 0) {
    std::fprintf(stderr,
                 "usage: bare_loop PARAMETERS SLEEP_US STEPS [RANKS]\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::string folder =
      std::filesystem::temp_directory_path() / "bare_loop.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("bare_loop: no temporary folder");
    return 1;
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < what.ranks; ++rank) {
    pid_t pid = fork();
    if (pid == 0)
      _exit(run_rank(what, rank, folder));
    if (pid > 0)
      children.push_back(pid);
  }
  bool failed = children.size() != size_t(what.ranks);
  for (pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    failed = failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  std::filesystem::remove_all(folder);
  return failed ? 1 : 0;
}
