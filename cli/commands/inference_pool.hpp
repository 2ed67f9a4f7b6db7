/// Processes that compute parts of rows with a trained model: started as there
/// is work for them, each handed one part after another, replaced when they
/// die. What is handed to whom is decided by runtime/inference/part_board.hpp.
///
///   pool -> process  {"part": 3, "rows": FILE, "answers": FILE, "judge":
///   false} process -> pool  {"ready": true}
///                    {"done": 3, "rows": ..}
///                    {"refused": {"code": .., "message": .., "pointer": ..}}
///
/// A process sees the end of this one by their socket, and ends. One owner, one
/// thread. Errors: ballast_error of a process that refuses, {worker_lost} where
/// they keep dying.
#pragma once

#include "cli/child_process.hpp"
#include "runtime/inference/part_board.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

using inference::part_number;
using inference::seat_number;

struct pool_terms {
  std::filesystem::path model; // the folder of the run
  std::string fingerprint;     // trained_run's
  std::filesystem::path logs;  // folder for what the processes say
  uint32_t seats = 1;
  bool judges = false; // the answers are evaluation_parts
};

/// Where the rows of a part are, and where its answers go.
struct part_files {
  std::filesystem::path rows;
  std::filesystem::path answers;
};

class inference_pool {
public:
  explicit inference_pool(pool_terms terms);
  inference_pool(const inference_pool&) = delete;
  /// Kills the processes.
  ~inference_pool();

  void add(part_number part, part_files files);
  bool wants_parts() const { return board_.wants_parts(); }
  bool is_empty() const { return board_.is_empty(); }
  /// Starts and hands out what is due, waits at most so long, and returns what
  /// was said of the parts that are done.
  std::vector<nlohmann::json> step(std::chrono::milliseconds wait);
  uint64_t deaths() const { return board_.deaths(); }

private:
  void perform(const inference::board_action& one);
  void start(seat_number seat);
  void hand(seat_number seat, part_number part);
  void hear(seat_number seat, std::vector<nlohmann::json>& done);
  void bury(seat_number seat);

  const pool_terms terms_;
  inference::part_board board_;
  std::map<seat_number, child_process> processes_;
  std::map<part_number, part_files> files_; // of parts that are not done
};

} // namespace ballast::cli
