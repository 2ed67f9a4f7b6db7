// The lower bound of a data-parallel step: sleep, one all-reduce of the
// gradients, one more of 64 bytes. No control plane, no data, no optimizer.
// bench/step.py measures how much longer a step of Ballast takes.
//
//   bare_loop gloo|ring PARAMETERS SLEEP_US STEPS [RANKS=2]
//
// `gloo` is the library alone, `ring` is Ballast's own collective alone.
//
// Forks one process for each rank, all on 127.0.0.1. Rank 0 prints the time at
// which each step was complete: CLOCK_MONOTONIC in nanoseconds, one in each
// line.
#include "collectives/collective.hpp"
#include "gpu/collective_backends.hpp"

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
#include <fstream>
#include <functional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t trailer_floats = 16; // 64 bytes

struct loop_options {
  std::string collective;
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

using sum_of_ranks = std::function<void(std::vector<float>&)>;

sum_of_ranks gloo_sum(int rank, int ranks, const std::string& folder) {
  gloo::transport::tcp::attr where;
  where.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(where);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return [context](std::vector<float>& data) {
    if (data.empty())
      return;
    gloo::AllreduceOptions options(context);
    options.setOutput(data.data(), data.size());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    void (*add)(void*, const void*, const void*, size_t) = &gloo::sum<float>;
    options.setReduceFunction(add);
    gloo::allreduce(options);
  };
}

sum_of_ranks ring_sum(int rank, int ranks, const std::string& folder) {
  using namespace std::chrono_literals;
  std::shared_ptr<ballast::collectives::collective_backend> backend =
      ballast::gpu::make_backend("ring");
  ballast::collectives::collective_options options;
  options.generation = ballast::generation{1};
  options.rank = rank;
  options.size = ranks;
  auto opening = backend->prepare(options);
  std::string mine = folder + "/" + std::to_string(rank);
  std::ofstream(mine + ".tmp") << opening->address();
  std::filesystem::rename(mine + ".tmp", mine);
  std::vector<std::string> addresses;
  for (int other = 0; other < ranks; ++other) {
    std::string path = folder + "/" + std::to_string(other);
    while (!std::filesystem::exists(path))
      usleep(1000);
    std::ifstream file(path);
    addresses.emplace_back(std::istreambuf_iterator<char>(file),
                           std::istreambuf_iterator<char>());
  }
  std::shared_ptr<ballast::collectives::collective> joined =
      opening->connect(addresses, std::chrono::steady_clock::now() + 10s);
  return [backend, joined](std::vector<float>& data) {
    joined->all_reduce(data.data(), data.size(),
                       ballast::collectives::element_type::float32,
                       std::chrono::steady_clock::now() + 10s);
  };
}

std::vector<int64_t> loop(const loop_options& what, int rank,
                          const std::string& folder) {
  sum_of_ranks sum = what.collective == "ring"
                         ? ring_sum(rank, what.ranks, folder)
                         : gloo_sum(rank, what.ranks, folder);

  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // the default is 50 us
  std::vector<float> gradients(what.parameters, 0.0F);
  std::vector<float> trailer(trailer_floats, 0.0F);
  std::vector<int64_t> done_ns;
  done_ns.reserve(what.steps);
  for (size_t step = 0; step < what.steps; ++step) {
    sleep_from(monotonic_now(), what.sleep_us);
    sum(gradients);
    sum(trailer);
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
  if (argc >= 5) {
    what.collective = argv[1];
    what.parameters = std::strtoull(argv[2], nullptr, 10);
    what.sleep_us = std::strtoll(argv[3], nullptr, 10);
    what.steps = std::strtoull(argv[4], nullptr, 10);
    what.ranks = argc > 5 ? std::atoi(argv[5]) : 2;
  }
  if (argc < 5 || (what.collective != "gloo" && what.collective != "ring") ||
      what.steps == 0 || what.ranks < 1 || what.sleep_us < 0) {
    std::fprintf(stderr, "usage: bare_loop gloo|ring PARAMETERS SLEEP_US STEPS "
                         "[RANKS]\n");
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
