// `ballast bench allreduce`: the speed of this machine's collectives, side by
// side. The parent starts one process for each rank (this program again),
// carries their addresses like a coordinator, and prints rank 0's measurements.
// Backends alternate in blocks of a few rounds, so that other load on the
// machine affects all of them equally.
#include "cli/commands/bench_allreduce.hpp"
#include "gpu/collective_backends.hpp"

#include "cli/commands/bench_options.hpp"
#include "collectives/collective.hpp"
#include "gpu/drill.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

extern char** environ;

namespace ballast::cli {

namespace {

using steady_clock = std::chrono::steady_clock;

// -- one rank -----------------------------------------------------------------

/// A joined backend of this rank, with its buffer.
struct contestant {
  std::string name;
  std::unique_ptr<collectives::collective_backend> backend;
  std::shared_ptr<float[]> arena;
  std::unique_ptr<collectives::collective_opening> opening;
  std::unique_ptr<collectives::collective> joined;
  std::vector<double> ms;
  int block = 1; // rounds before the next backend
};

collectives::deadline in_a_minute() {
  return steady_clock::now() + std::chrono::minutes(1);
}

std::string read_line() {
  std::string line;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar()) {
    line += static_cast<char>(c);
  }
  return line;
}

/// Prints this rank's address, reads all of them, joins.
void join(contestant& c, const bench_options& options, size_t floats,
          uint64_t number) {
  c.backend = gpu::make_backend(c.name);
  c.arena = options.heap ? std::shared_ptr<float[]>(new float[floats]())
                         : c.backend->allocate_arena(floats);
  std::fill_n(c.arena.get(), floats, 0.0f);
  collectives::collective_options what;
  what.generation = generation{number};
  what.rank = options.as_rank;
  what.size = options.of;
  what.token = "bench";
  what.bind_host = options.host;
  c.opening = c.backend->prepare(what);
  std::printf("%s\n", c.opening->address().c_str());
  std::fflush(stdout);
  std::vector<std::string> addresses;
  for (int r = 0; r < options.of; ++r) {
    addresses.push_back(read_line());
  }
  c.joined = c.opening->connect(addresses, in_a_minute());
}

double reduce_once(contestant& c, size_t floats) {
  auto start = steady_clock::now();
  c.joined->all_reduce(c.arena.get(), floats,
                       collectives::element_type::float32, in_a_minute());
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start)
      .count();
}

/// Returns rank 0's value on every rank.
int agree(contestant& c, int value) {
  c.joined->broadcast(&value, sizeof value, 0, in_a_minute());
  return value;
}

void warm_up(contestant& c, size_t floats) {
  for (int i = 0; i < 3; ++i) {
    reduce_once(c, floats);
  }
  double once = reduce_once(c, floats);
  for (int i = 0; i < 4; ++i) {
    once = std::min(once, reduce_once(c, floats));
  }
  constexpr double turn_ms = 40;
  c.block = agree(c, std::clamp(static_cast<int>(turn_ms / once), 1, 2000));
  c.ms.clear();
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size());
  return values[std::min(values.size() - 1, static_cast<size_t>(at))];
}

void print_row(const contestant& c, int ranks, size_t bytes) {
  const std::vector<double>& ms = c.ms;
  double median = quantile(ms, 0.5);
  double p99 = quantile(ms, 0.99);
  double algbw = static_cast<double>(bytes) / median / 1e6;
  double factor = 2.0 * (ranks - 1) / ranks;
  std::printf("%s,%d,%zu,%zu,%.4f,%.4f,%.4f,%.4f,%.4f\n", c.name.c_str(), ranks,
              bytes, ms.size(), median, p99, algbw, algbw * factor,
              quantile(ms, 0));
  std::fflush(stdout);
}

void measure(std::vector<contestant>& all, const bench_options& options,
             size_t bytes) {
  const size_t floats = bytes / sizeof(float);
  for (contestant& c : all) {
    warm_up(c, floats);
  }
  const auto start = steady_clock::now();
  const double budget_s = options.seconds * static_cast<double>(all.size());
  constexpr size_t rounds_min = 5;
  while (true) {
    for (contestant& c : all) {
      c.joined->barrier(in_a_minute());
      for (int i = 0; i < c.block; ++i) {
        c.ms.push_back(reduce_once(c, floats));
      }
    }
    double spent =
        std::chrono::duration<double>(steady_clock::now() - start).count();
    bool enough = spent >= budget_s && all.front().ms.size() >= rounds_min;
    if (agree(all.front(), enough ? 1 : 0) == 1) {
      break;
    }
  }
  if (options.as_rank == 0) {
    for (const contestant& c : all) {
      print_row(c, options.of, bytes);
    }
  }
}

int run_rank(const bench_options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  size_t largest =
      *std::max_element(options.bytes.begin(), options.bytes.end());
  std::vector<contestant> all(options.backends.size());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].name = options.backends[i];
    join(all[i], options, largest / sizeof(float), i + 1);
  }
  for (size_t bytes : options.bytes) {
    measure(all, options, bytes);
  }
  for (contestant& c : all) {
    c.joined->close(in_a_minute());
  }
  return 0;
}

// -- the parent ---------------------------------------------------------------

struct child {
  pid_t pid = -1;
  FILE* to = nullptr;
  FILE* from = nullptr;
};

child start_child(const std::vector<std::string>& arguments) {
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], 0);
  posix_spawn_file_actions_adddup2(&actions, up[1], 1);
  std::vector<char*> argv;
  for (const std::string& a : arguments) {
    argv.push_back(const_cast<char*>(a.c_str()));
  }
  argv.push_back(nullptr);
  child c;
  int error = ::posix_spawn(&c.pid, "/proc/self/exe", &actions, nullptr,
                            argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(down[0]);
  ::close(up[1]);
  if (error != 0) {
    throw std::runtime_error(std::string("cannot start a rank: ") +
                             std::strerror(error));
  }
  c.to = ::fdopen(down[1], "w");
  c.from = ::fdopen(up[0], "r");
  return c;
}

bool read_line(FILE* from, std::string& line) {
  line.clear();
  for (int c = std::fgetc(from); c != EOF; c = std::fgetc(from)) {
    if (c == '\n') {
      return true;
    }
    line += static_cast<char>(c);
  }
  return false;
}

template <class T>
std::string joined(const std::vector<T>& items) {
  std::ostringstream out;
  for (size_t i = 0; i < items.size(); ++i) {
    out << (i == 0 ? "" : ",") << items[i];
  }
  return out.str();
}

std::vector<child> start_ranks(const bench_options& options, int ranks) {
  std::vector<child> children;
  for (int r = 0; r < ranks; ++r) {
    children.push_back(start_child(
        {"ballast", "bench", "allreduce", "--as-rank", std::to_string(r),
         "--of", std::to_string(ranks), "--bytes", joined(options.bytes),
         "--backends", joined(options.backends), "--seconds",
         std::to_string(options.seconds), "--buffers",
         options.heap ? "heap" : "arena", "--host", options.host}));
  }
  return children;
}

/// Carries the addresses of one backend from every rank to every rank.
bool exchange_addresses(std::vector<child>& children) {
  std::string all, line;
  for (child& c : children) {
    if (!read_line(c.from, line)) {
      return false;
    }
    all += line + "\n";
  }
  for (child& c : children) {
    std::fputs(all.c_str(), c.to);
    std::fflush(c.to);
  }
  return true;
}

/// `row`: called with every line of rank 0. True on success.
bool run_world(const bench_options& options, int ranks,
               const std::function<void(const std::string&)>& row) {
  std::vector<child> children = start_ranks(options, ranks);
  bool well = true;
  for (size_t i = 0; i < options.backends.size() && well; ++i) {
    well = exchange_addresses(children);
  }
  std::string line;
  while (well && read_line(children[0].from, line)) {
    row(line);
  }
  for (child& c : children) {
    if (!well) {
      ::kill(c.pid, SIGKILL);
    }
    int status = 0;
    ::waitpid(c.pid, &status, 0);
    well &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::fclose(c.to);
    std::fclose(c.from);
  }
  return well;
}

std::string human(size_t bytes) {
  if (bytes >= (1u << 20) && bytes % (1u << 20) == 0) {
    return std::to_string(bytes >> 20) + " MiB";
  }
  if (bytes >= 1024 && bytes % 1024 == 0) {
    return std::to_string(bytes >> 10) + " KiB";
  }
  return std::to_string(bytes) + " B";
}

void print_table_row(const std::string& csv) {
  std::vector<std::string> cell = split(csv);
  if (cell.size() == 9) {
    std::printf("%-10s %5s %9s %7s %11s %11s %9s %9s %11s\n", cell[0].c_str(),
                cell[1].c_str(), human(std::stoull(cell[2])).c_str(),
                cell[3].c_str(), cell[4].c_str(), cell[5].c_str(),
                cell[6].c_str(), cell[7].c_str(), cell[8].c_str());
    std::fflush(stdout);
  }
}

/// Repeatedly kills a rank and measures the time until the last survivor has
/// left its operation, and until a new generation is open.
int run_kills(const bench_options& options) {
  std::printf("%-10s %5s %6s %9s %9s %9s %9s %9s %8s %6s\n", "backend", "ranks",
              "kills", "p50 ms", "p99 ms", "max ms", "open p50", "open p99",
              "crashes", "hangs");
  bool well = true;
  for (const std::string& backend : options.backends) {
    for (int ranks : options.ranks) {
      gpu::drill_plan plan;
      plan.backend = backend;
      plan.ranks = ranks;
      plan.rounds = options.kills;
      plan.child = {"ballast", "bench", "allreduce"};
      gpu::drill_report report = run_drill(plan);
      well &= report.well();
      for (const std::string& complaint : report.complaints) {
        std::fprintf(stderr, "ballast: %s: %s\n", backend.c_str(),
                     complaint.c_str());
      }
      const std::vector<double>&out = report.out_ms, &open = report.open_ms;
      std::printf("%-10s %5d %6zu %9.2f %9.2f %9.2f %9.2f %9.2f %8d %6d\n",
                  backend.c_str(), ranks, out.size(), quantile(out, 0.5),
                  quantile(out, 0.99), quantile(out, 1), quantile(open, 0.5),
                  quantile(open, 0.99), report.crashes, report.hangs);
      std::fflush(stdout);
    }
  }
  return well ? 0 : 1;
}

int run_bench(const bench_options& options) {
  if (options.csv) {
    std::printf(
        "backend,ranks,bytes,rounds,median_ms,p99_ms,algbw_gb_s,busbw_gb_s,"
        "min_ms\n");
  } else {
    std::printf("%-10s %5s %9s %7s %11s %11s %9s %9s %11s\n", "backend",
                "ranks", "bytes", "rounds", "median ms", "p99 ms", "algbw",
                "busbw", "min ms");
  }
  for (int ranks : options.ranks) {
    bool well = run_world(options, ranks, [&](const std::string& line) {
      options.csv ? (void)std::puts(line.c_str()) : print_table_row(line);
      std::fflush(stdout);
    });
    if (!well) {
      std::fprintf(stderr,
                   "ballast: a rank of the benchmark failed with %d "
                   "ranks; its last line says why\n",
                   ranks);
      return 1;
    }
  }
  return 0;
}

} // namespace

int bench_allreduce(int argc, char** argv) {
  if (gpu::is_drill_rank()) {
    return gpu::run_drill_rank();
  }
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0 ||
        std::strcmp(argv[i], "-h") == 0) {
      std::printf("%s", bench_usage_text);
      return 0;
    }
  }
  try {
    bench_options options = parse_bench_options(argc, argv);
    if (options.kills > 0) {
      return run_kills(options);
    }
    return options.as_rank >= 0 ? run_rank(options) : run_bench(options);
  } catch (const usage_error& e) {
    std::fprintf(stderr, "ballast: %s\n%s", e.what(), bench_usage_text);
    return 2;
  } catch (const collectives::collective_error& e) {
    bool usage = e.code() == collectives::collective_errc::unsupported;
    std::fprintf(stderr, "ballast: %s\n", e.what());
    return usage ? 2 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ballast: %s\n", e.what());
    return 1;
  }
}

} // namespace ballast::cli
