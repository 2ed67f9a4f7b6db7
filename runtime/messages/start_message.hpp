/// What a newcomer is sent before the parameters: where its generation starts,
/// and the steps and evaluations that may not be reported yet, since it may be
/// the only one that lives to tell of them. Travels over the collective as
/// 64-bit words.
#pragma once

#include "runtime/ledger/ledger.hpp"
#include "runtime/messages/judgement.hpp"
#include "runtime/messages/reports.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast {

struct start_message {
  ledger::position at;
  std::vector<ledger::worker_cursor> cursors; // by rank
  std::vector<ledger::step_record> records;   // ascending
  judgement judged = {};
  std::vector<evaluation_report> evaluations = {}; // ascending
};

std::vector<uint64_t> to_words(const start_message& in);
/// Nothing where the words are no message: cut short, or longer than it.
std::optional<start_message> start_from_words(std::span<const uint64_t> words);

} // namespace ballast
