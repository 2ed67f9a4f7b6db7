/// Whether a worker may own rows before their bytes are there. Its steps ask
/// for what they lack anyway, one step ahead, and the rest follows beside them;
/// so a plan need not wait for the bytes of a worker whose rows come, as
/// measured, faster than its steps will lack them. Where nothing is measured,
/// the bytes come first. Pure; what it decides costs time at most, never a
/// sample.
#pragma once

#include "runtime/balance/shard_moves.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::balance {

/// One receiver of a plan.
struct rows_ahead {
  uint32_t to = 0;    // rank
  uint64_t bytes = 0; // of the chunks that it gets
  /// What its first steps under the plan lack, in a second; later ones lack
  /// less.
  double need_bytes_per_s = 0;
  double rate_bytes_per_s = 0; // at which its rows came lately; 0 = unknown
  bool ahead = false;          // it need not wait
  friend bool operator==(const rows_ahead&, const rows_ahead&) = default;
};

/// All by rank.
struct ahead_question {
  const ledger::manifest& set;
  std::vector<uint64_t> owned;     // rows, under the plan in force
  std::vector<uint64_t> rows_left; // of these, in this epoch
  std::vector<uint64_t> takes;     // of a batch, under the plan to come
  double step_s = 0;               // 0 = unknown
  std::vector<std::optional<double>> rates;
  /// Steps may need at most this part of a rate: gradients and other workers
  /// share the way.
  double part_max = 0.5;
};

/// Of each receiver of these moves, by rank.
std::vector<rows_ahead> judge_ahead(const std::vector<shard_move>& moves,
                                    const ahead_question& about);

/// No receiver has to wait; false if there is none.
bool all_ahead(const std::vector<rows_ahead>& receivers);

/// Why it does not wait, or why it does.
std::string sentence(const rows_ahead& of, const std::string& worker);

} // namespace ballast::balance
