// The ranks of a drill: communicate with the control plane over descriptors 3
// (in) and 4 (out), one line for each message.
#include "collectives/collective.hpp"
#include "gpu/collective_backends.hpp"
#include "gpu/drill.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <thread>

namespace ballast::gpu {

namespace {

constexpr int from_control = 3;
constexpr int to_control = 4;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void say(const std::string& line) {
  std::string text = line + "\n";
  (void)!::write(to_control, text.data(), text.size());
}

/// The values that rank `rank` contributes to operation `round`: small
/// integers, so that every sum is exact.
float brought(int rank, uint64_t round, size_t i) {
  return static_cast<float>((i + 3 * static_cast<size_t>(rank) + round) % 7);
}

class drill_rank {
public:
  drill_rank(const std::string& backend, int rank, int ranks, size_t floats,
             std::chrono::milliseconds operation)
      : backend_(make_backend(backend)), rank_(rank), ranks_(ranks),
        arena_(backend_->allocate_arena(floats)), heap_(floats),
        floats_(floats), operation_(operation) {}

  /// Runs generations until told to end.
  int run() {
    collectives::set_fault_hook([this](collectives::fault_point at, int rank) {
      if (rank == rank_ && static_cast<int>(at) == where_ && --hits_ == 0) {
        inject_fault();
      }
    });
    std::string line;
    while (read_line(line)) {
      std::istringstream words(line);
      std::string command;
      words >> command;
      if (command != "prepare") {
        return command == "end" ? 0 : 1;
      }
      uint64_t number = 0;
      int where = -1, hits = 0, what = 0;
      words >> number >> where >> hits >> what;
      what_ = static_cast<harm>(what);
      hits_ = hits;
      where_ = where;
      one_generation(number);
    }
    return 1;
  }

private:
  bool read_line(std::string& line) {
    line.clear();
    char c = 0;
    while (::read(from_control, &c, 1) == 1) {
      if (c == '\n') {
        return true;
      }
      line += c;
    }
    return false;
  }

  void abort(const std::string& reason) {
    std::lock_guard lock(mutex_);
    if (joined_) {
      joined_->abort(reason);
    } else if (opening_) {
      opening_->abort(reason);
    }
  }

  void inject_fault() {
    const std::string line = "fault " + std::to_string(now_ns());
    // With `abort` this rank must abort before it sends the line, on which the
    // control plane aborts the others. After any other fault it could not send
    // the line, so it sends it before.
    if (what_ != harm::abort) {
      say(line);
    }
    switch (what_) {
    case harm::kill:
      ::raise(SIGKILL);
      break;
    case harm::stop:
      ::raise(SIGSTOP);
      break;
    case harm::exit:
      ::_exit(7);
    case harm::abort:
      abort("the drill says so");
      say(line);
      break;
    }
  }

  void one_generation(uint64_t number) {
    collectives::collective_options options;
    options.generation = generation{number};
    options.rank = rank_;
    options.size = ranks_;
    options.token = "drill";
    auto opening = backend_->prepare(options);
    {
      // Peers may connect, and reach a fault point of this rank, before the
      // assignment.
      std::lock_guard lock(mutex_);
      opening_ = opening.get();
    }
    say("address " + opening->address());
    std::vector<std::string> addresses(static_cast<size_t>(ranks_));
    for (std::string& a : addresses) {
      read_line(a);
    }
    std::thread listener([this] { listen_for_abort(); });
    try {
      reduce_for_ever(*opening, addresses);
    } catch (const collectives::collective_error& e) {
      say("out " + std::to_string(now_ns()) + " " +
          ballast::to_string(e.code()) + " " + std::to_string(e.peer()) + " " +
          e.what());
    }
    listener.join();
    std::lock_guard lock(mutex_);
    joined_.reset();
    opening_ = nullptr;
  }

  /// One line ends every generation: "abort" (during it or afterwards).
  void listen_for_abort() {
    std::string line;
    read_line(line);
    abort("fenced");
  }

  void reduce_for_ever(collectives::collective_opening& opening,
                       const std::vector<std::string>& addresses) {
    const int64_t began = now_ns();
    auto soon = [this] {
      return std::chrono::steady_clock::now() + operation_;
    };
    auto joined = opening.connect(addresses, soon());
    collectives::collective* group = joined.get();
    {
      std::lock_guard lock(mutex_);
      joined_ = std::move(joined);
    }
    say("open " + std::to_string(now_ns() - began));
    const size_t sizes[] = {floats_, 16, 4099, floats_ / 2 + 1, 1};
    for (uint64_t round = 0;; ++round) {
      const size_t count = std::min(floats_, sizes[round % 5]);
      float* data = round % 3 == 0 ? heap_.data() : arena_.get();
      for (size_t i = 0; i < count; ++i) {
        data[i] = brought(rank_, round, i);
      }
      group->all_reduce(data, count, collectives::element_type::float32,
                        soon());
      for (size_t i = 0; i < count; ++i) {
        float sum = 0;
        for (int r = 0; r < ranks_; ++r) {
          sum += brought(r, round, i);
        }
        if (data[i] != sum) {
          say("wrong element " + std::to_string(i) + " of " +
              std::to_string(count) + " in operation " + std::to_string(round));
          return;
        }
      }
      something_else(*group, round, data, count, soon());
    }
  }

  /// Other operations: training uses mostly all-reduces, but not only.
  void something_else(collectives::collective& group, uint64_t round,
                      float* data, size_t count, collectives::deadline until) {
    if (round % 4 == 1) {
      const int root = static_cast<int>(round) % ranks_;
      data[count - 1] = static_cast<float>(rank_ + 1);
      group.broadcast(data, count * sizeof(float), root, until);
      if (data[count - 1] != static_cast<float>(root + 1)) {
        say("wrong broadcast in operation " + std::to_string(round));
      }
    } else if (round % 4 == 2) {
      fill(group, round, data, count, until);
    } else if (round % 4 == 3) {
      group.barrier(until);
    }
  }

  /// Every second rank lacks what the others hold.
  void fill(collectives::collective& group, uint64_t round, float* data,
            size_t count, collectives::deadline until) {
    std::vector<collectives::bytes_here> have;
    for (int r = 0; r < ranks_; ++r) {
      have.push_back((static_cast<uint64_t>(r) + round / 4) % 2 == 0
                         ? collectives::bytes_here::all
                         : collectives::bytes_here::none);
    }
    const float wanted = static_cast<float>(round % 1000);
    const auto mine = have[static_cast<size_t>(rank_)];
    std::fill_n(data, count,
                mine == collectives::bytes_here::all ? wanted : -1);
    if (ranks_ > 1) {
      group.fill_lacking(data, count * sizeof(float), have, until);
    }
    if (ranks_ > 1 && std::count(data, data + count, wanted) !=
                          static_cast<ptrdiff_t>(count)) {
      say("wrong bytes were filled in, in operation " + std::to_string(round));
    }
  }

  std::unique_ptr<collectives::collective_backend> backend_;
  int rank_;
  int ranks_;
  std::shared_ptr<float[]> arena_;
  std::vector<float> heap_;
  size_t floats_;
  std::chrono::milliseconds operation_;
  // Read by whichever thread reaches a fault point.
  std::atomic<int> where_{-1};
  std::atomic<int> hits_{0};
  std::atomic<harm> what_{harm::kill};
  std::mutex mutex_;
  collectives::collective_opening* opening_ = nullptr;
  std::unique_ptr<collectives::collective> joined_;
};

} // namespace

bool is_drill_rank() {
  return std::getenv("BALLAST_DRILL") != nullptr;
}

int run_drill_rank() {
  std::signal(SIGPIPE, SIG_IGN);
  const char* text = std::getenv("BALLAST_DRILL");
  std::istringstream words(text != nullptr ? text : "");
  std::string backend;
  int rank = 0, ranks = 0;
  size_t floats = 0;
  int64_t operation_ms = 0;
  if (!(words >> backend >> rank >> ranks >> floats >> operation_ms)) {
    std::fprintf(stderr, "ballast: BALLAST_DRILL is not understood\n");
    return 2;
  }
  try {
    return drill_rank(backend, rank, ranks, floats,
                      std::chrono::milliseconds(operation_ms))
        .run();
  } catch (const std::exception& e) {
    say(std::string("wrong: ") + e.what());
    return 1;
  }
}

} // namespace ballast::gpu
