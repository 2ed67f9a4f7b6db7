/// The command line of `ballast bench allreduce`.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace ballast::cli {

struct bench_options {
  std::vector<int> ranks = {2, 4};
  std::vector<size_t> bytes = {65536, 1048576, 4194304, 16777216, 67108864};
  std::vector<std::string> backends = {"ring-shm", "ring-tcp", "gloo"};
  double seconds = 2; // for each cell
  bool csv = false;
  bool heap = false;
  std::string host = "127.0.0.1";
  int kills = 0; // kill ranks and measure, instead of reducing at full speed
  // Set in children:
  int as_rank = -1;
  int of = 0;
};

/// The text of `--help`; printed after a usage_error.
extern const char* const bench_usage_text;

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws usage_error, and collective_error{unsupported} for a backend that
/// does not exist.
bench_options parse_bench_options(int argc, char** argv);

/// "a,b" as two texts.
std::vector<std::string> split(const std::string& text);

} // namespace ballast::cli
