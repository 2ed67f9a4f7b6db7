// Stock gloo::allreduce (ring, float sum) over TCP on the loopback: the
// baseline of bench/allreduce.py in C++, without any code of Ballast.
//
//   gloo_allreduce RANKS SECONDS BYTES...
//
// Every rank is a process. Rank 0 measures, after a warm-up, until the seconds
// of a size are spent, and prints one line for each size: the size, then the
// time of every round in milliseconds.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using steady_clock = std::chrono::steady_clock;

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start)
      .count();
}

class rank {
public:
  rank(int number, int ranks, const std::string& folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(number, ranks)) {
    gloo::transport::tcp::attr address;
    address.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(address);
    gloo::rendezvous::FileStore store(folder);
    context_->connectFullMesh(store, device);
  }

  double reduce_once(std::vector<float>& data) {
    auto start = steady_clock::now();
    gloo::AllreduceOptions options(context_);
    options.setOutput(data.data(), data.size());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    void (*add)(void*, const void*, const void*, size_t) = &gloo::sum<float>;
    options.setReduceFunction(add);
    gloo::allreduce(options);
    return ms_since(start);
  }

  int what_rank_0_says(int value) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(&value, 1);
    options.setRoot(0);
    gloo::broadcast(options);
    return value;
  }

  void measure(size_t bytes, double seconds) {
    std::vector<float> data(bytes / sizeof(float));
    double once = 1e9;
    for (int i = 0; i < 5; ++i) {
      once = std::min(once, reduce_once(data));
    }
    const int block =
        what_rank_0_says(std::clamp(static_cast<int>(40 / once), 1, 2000));
    std::vector<double> ms;
    auto start = steady_clock::now();
    do {
      for (int i = 0; i < block; ++i) {
        ms.push_back(reduce_once(data));
      }
    } while (what_rank_0_says(ms_since(start) < seconds * 1e3 ? 1 : 0) == 1);
    if (context_->rank == 0) {
      std::printf("%zu", bytes);
      for (double t : ms) {
        std::printf(" %.4f", t);
      }
      std::printf("\n");
    }
  }

private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: gloo_allreduce RANKS SECONDS BYTES...\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]);
  const double seconds = std::atof(argv[2]);
  std::signal(SIGPIPE, SIG_IGN);
  std::string folder =
      std::filesystem::temp_directory_path() / "gloo_allreduce.XXXXXX";
  if (ranks < 1 || !mkdtemp(folder.data())) {
    std::fprintf(stderr, "gloo_allreduce: no temporary folder, or no ranks\n");
    return 1;
  }
  std::vector<pid_t> others;
  int number = 0;
  for (int r = 1; r < ranks && number == 0; ++r) {
    pid_t pid = fork();
    if (pid == 0) {
      number = r;
    } else {
      others.push_back(pid);
    }
  }
  int code = 0;
  try {
    rank me(number, ranks, folder);
    for (int i = 3; i < argc; ++i) {
      me.measure(std::strtoull(argv[i], nullptr, 10), seconds);
    }
    me.what_rank_0_says(0); // no rank leaves early
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gloo_allreduce: rank %d: %s\n", number, e.what());
    code = 1;
  }
  std::fflush(stdout);
  if (number != 0) {
    _exit(code);
  }
  for (pid_t pid : others) {
    waitpid(pid, nullptr, 0);
  }
  std::filesystem::remove_all(folder);
  return code;
}
