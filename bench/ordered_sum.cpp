// What a sum in a fixed order costs beside an all-reduce of as many bytes,
// between processes of this machine. Blocks of both alternate, so that other
// load affects them equally.
//
//   ordered_sum BACKEND RANKS LEAVES SECONDS BYTES...
//
// The leaves are cut evenly: with as many as ranks (a power of two) each rank
// has one part. Prints a line for each size: the bytes, the parts of all ranks,
// the median ms of an all-reduce and of a sum, and the median of the quotients
// of neighbouring blocks.
#include "collectives/ordered_sum.hpp"
#include "collectives/ring.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ballast;
using namespace ballast::collectives;
using std::chrono::steady_clock;

constexpr int ranks_max = 64;

/// Where the ranks leave their addresses for each other.
struct meeting_place {
  std::atomic<int> here;
  char addresses[ranks_max][4096];
};

struct plan {
  std::string backend;
  int ranks = 2;
  ledger::fixed_sum how;
  double seconds = 1;
  std::vector<size_t> bytes;
};

deadline in_a_minute() {
  return steady_clock::now() + std::chrono::minutes(1);
}

std::unique_ptr<collective> join(collective_backend& backend, const plan& what,
                                 int rank, meeting_place& place) {
  collective_options options;
  options.generation = generation{1};
  options.rank = rank;
  options.size = what.ranks;
  options.token = "a token of the benchmark";
  auto opening = backend.prepare(options);
  std::strncpy(place.addresses[rank], opening->address().c_str(),
               sizeof place.addresses[rank] - 1);
  ++place.here;
  while (place.here < what.ranks)
    std::this_thread::yield();
  std::vector<std::string> addresses;
  for (int r = 0; r < what.ranks; ++r)
    addresses.emplace_back(place.addresses[r]);
  return opening->connect(addresses, in_a_minute());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One rank's buffers, and both operations on them.
class rank_bench {
public:
  rank_bench(const plan& what, int rank, meeting_place& place)
      : plan_(what),
        backend_(make_ring_backend(
            what.backend, {.share_memory = what.backend != "ring-tcp"})),
        stride_(*std::max_element(what.bytes.begin(), what.bytes.end()) /
                sizeof(float)),
        parts_(filled(stride_ * std::max(1U, most_parts(what.how)))),
        result_(filled(stride_)), sums_(filled(stride_)),
        joined_(join(*backend_, what, rank, place)) {}

  void run() {
    for (size_t bytes : plan_.bytes)
      measure(bytes);
    joined_->close(in_a_minute());
  }

private:
  std::shared_ptr<float[]> filled(size_t floats) {
    auto out = backend_->allocate_arena(floats);
    std::fill_n(out.get(), floats, 0.0F);
    return out;
  }

  void reduce(size_t floats) {
    joined_->all_reduce(sums_.get(), floats, element_type::float32,
                        in_a_minute());
  }
  void add_up(size_t floats) {
    joined_->sum_in_order(plan_.how, parts_.get(), stride_, result_.get(),
                          floats, in_a_minute());
  }

  template <class Operation>
  double block_ms(int rounds, Operation&& operation) {
    joined_->barrier(in_a_minute());
    const auto begin = steady_clock::now();
    for (int i = 0; i < rounds; ++i)
      operation();
    const std::chrono::duration<double, std::milli> spent =
        steady_clock::now() - begin;
    return spent.count() / rounds;
  }

  int agree(int value) {
    joined_->broadcast(&value, sizeof value, 0, in_a_minute());
    return value;
  }

  void measure(size_t bytes) {
    const size_t floats = bytes / sizeof(float);
    block_ms(3, [&] { reduce(floats); });
    block_ms(3, [&] { add_up(floats); });
    const double once = block_ms(3, [&] { reduce(floats); });
    const int rounds = agree(std::clamp(int(20 / once), 1, 1000));
    std::vector<double> reduced, added, quotients;
    const auto begin = steady_clock::now();
    bool enough = false;
    while (!enough) {
      reduced.push_back(block_ms(rounds, [&] { reduce(floats); }));
      added.push_back(block_ms(rounds, [&] { add_up(floats); }));
      quotients.push_back(added.back() / reduced.back());
      const std::chrono::duration<double> spent = steady_clock::now() - begin;
      enough = agree(spent.count() > plan_.seconds && reduced.size() >= 5) != 0;
    }
    if (joined_->rank() == 0) {
      std::printf("%zu %u %.4f %.4f %.3f\n", bytes, all_parts(plan_.how),
                  median(reduced), median(added), median(quotients));
      std::fflush(stdout);
    }
  }

  const plan& plan_;
  std::unique_ptr<collective_backend> backend_;
  size_t stride_;
  std::shared_ptr<float[]> parts_;
  std::shared_ptr<float[]> result_;
  std::shared_ptr<float[]> sums_;
  std::unique_ptr<collective> joined_;
};

int run_rank(const plan& what, int rank, meeting_place& place) {
  try {
    rank_bench(what, rank, place).run();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ordered_sum: rank %d: %s\n", rank, e.what());
    return 1;
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: ordered_sum ring|ring-tcp RANKS LEAVES SECONDS "
                 "BYTES...\n");
    return 2;
  }
  plan what;
  what.backend = argv[1];
  what.ranks = std::clamp(std::atoi(argv[2]), 1, ranks_max);
  const auto leaves =
      uint32_t(std::clamp(std::atoi(argv[3]), 1, int(ledger::leaves_max)));
  const std::vector<uint64_t> weights(static_cast<size_t>(what.ranks));
  what.how = ledger::sum_of_ranks(ledger::split_leaves(leaves, weights), leaves,
                                  leaves);
  what.seconds = std::atof(argv[4]);
  for (int i = 5; i < argc; ++i)
    what.bytes.push_back(
        std::max<size_t>(4, std::strtoull(argv[i], nullptr, 10)));
  std::signal(SIGPIPE, SIG_IGN);
  void* memory = ::mmap(nullptr, sizeof(meeting_place), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& place = *static_cast<meeting_place*>(memory);
  std::vector<pid_t> children;
  for (int rank = 0; rank < what.ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0)
      std::_Exit(run_rank(what, rank, place));
    children.push_back(child);
  }
  bool well = true;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    well &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return well ? 0 : 1;
}
