#include "runtime/balance/rows_ahead.hpp"

#include "runtime/base/row_request.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace ballast::balance {

namespace {

struct arriving {
  uint64_t bytes = 0;
  double rows = 0;
  double rows_left = 0;  // of these, in this epoch
  double read_bytes = 0; // where a step lacks each of the rows alone
};

/// What a step reads for one row that it lacks, at most.
double bytes_for_a_row(const ledger::chunk_info& of) {
  return of.bytes <= small_chunk_bytes
             ? double(of.bytes)
             : double(part_of_rows * of.bytes) / double(of.rows);
}

/// The part of a worker's rows that this epoch has not used yet.
double part_left(const ahead_question& about, size_t rank) {
  const auto owned = double(std::max<uint64_t>(1, about.owned.at(rank)));
  return std::min(1.0, double(about.rows_left.at(rank)) / owned);
}

/// Of a take. A draw takes each row that is left with the same probability; and
/// the next epoch may begin before all is here.
double part_lacked(const arriving& what, const ahead_question& about,
                   size_t to) {
  const double all = what.rows / (what.rows + double(about.owned.at(to)));
  const double left = what.rows_left + double(about.rows_left.at(to));
  return left > 0 ? std::max(all, what.rows_left / left) : all;
}

std::string megabytes(double bytes_per_s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB/s", bytes_per_s / 1e6);
  return text;
}

} // namespace

std::vector<rows_ahead> judge_ahead(const std::vector<shard_move>& moves,
                                    const ahead_question& about) {
  std::map<uint32_t, arriving> coming;
  for (const shard_move& one : moves) {
    const auto moved = double(rows(one.what));
    arriving& to = coming[one.to];
    to.bytes += one.bytes;
    to.rows += moved;
    to.rows_left += moved * part_left(about, one.from);
    to.read_bytes +=
        moved * bytes_for_a_row(about.set.train.at(value(one.what.chunk)));
  }
  std::vector<rows_ahead> out;
  for (const auto& [to, what] : coming) {
    rows_ahead one{to, what.bytes};
    one.rate_bytes_per_s = about.rates.at(to).value_or(0);
    if (about.step_s > 0 && what.rows > 0) {
      const double lacked =
          std::ceil(double(about.takes.at(to)) * part_lacked(what, about, to));
      const double step_bytes =
          std::min(lacked * what.read_bytes / what.rows, double(what.bytes));
      one.need_bytes_per_s = step_bytes / about.step_s;
    }
    one.ahead = about.step_s > 0 && one.rate_bytes_per_s > 0 &&
                one.need_bytes_per_s <= about.part_max * one.rate_bytes_per_s;
    out.push_back(one);
  }
  return out;
}

bool all_ahead(const std::vector<rows_ahead>& receivers) {
  return !receivers.empty() &&
         std::all_of(receivers.begin(), receivers.end(),
                     [](const rows_ahead& one) { return one.ahead; });
}

std::string sentence(const rows_ahead& of, const std::string& worker) {
  if (of.rate_bytes_per_s == 0)
    return "the bytes come first: how fast rows come to " + worker +
           " is not known";
  const std::string numbers = worker + "'s steps lack at most " +
                              megabytes(of.need_bytes_per_s) +
                              " of them, and its rows came at " +
                              megabytes(of.rate_bytes_per_s) + " lately";
  return of.ahead ? "owned before their bytes are there: " + numbers
                  : "the bytes come first: " + numbers;
}

} // namespace ballast::balance
