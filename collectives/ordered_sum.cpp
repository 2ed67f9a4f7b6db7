#include "collectives/ordered_sum.hpp"

#include "collectives/add.hpp"
#include "collectives/collective_error.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

namespace ballast::collectives {

namespace {

using ledger::fixed_sum;

/// Elements that are added at a time. All blocks of a sum of the usual depth
/// fit into 32 KiB.
constexpr size_t block_floats = 1024;
/// A chain of additions up to this long is one pass.
constexpr size_t chain_max = 64;

[[noreturn]] void refuse(const std::string& why) {
  throw collective_error(collective_errc::mismatch,
                         "a sum in a fixed order " + why +
                             "; every rank passes the sum of the plan's leaf "
                             "ranges (sum_of_ranks)");
}

/// Each part of each rank once, in any order: a rank with several ranges of
/// leaves numbers its parts by range.
void check_parts(const fixed_sum& how) {
  static_assert(rank_parts_max <= 64, "a bit for each");
  uint64_t taken[ledger::leaves_max] = {};
  for (const fixed_sum::term& term : how.terms) {
    if (term.rank < 0) {
      continue;
    }
    const auto rank = static_cast<size_t>(term.rank);
    if (rank >= how.parts.size() || term.part >= how.parts[rank] ||
        term.part >= rank_parts_max || (taken[rank] >> term.part & 1) != 0) {
      refuse("takes part " + std::to_string(term.part) + " of rank " +
             std::to_string(term.rank) + " that it has not, or took before");
    }
    taken[rank] |= uint64_t{1} << term.part;
  }
  for (size_t r = 0; r < how.parts.size(); ++r) {
    const auto parts = static_cast<uint32_t>(std::popcount(taken[r]));
    if (parts != how.parts[r]) {
      refuse("takes " + std::to_string(parts) + " of " +
             std::to_string(how.parts[r]) + " parts of rank " +
             std::to_string(r) + " (at most " + std::to_string(rank_parts_max) +
             ")");
    }
  }
}

void check_order(const fixed_sum& how) {
  uint32_t values = 0;
  for (const fixed_sum::term& term : how.terms) {
    if (term.rank < 0 && values < 2) {
      refuse("adds two values where " + std::to_string(values) + " are left");
    }
    values += term.rank < 0 ? -1 : 1;
    if (values > sum_depth_max) {
      refuse("holds more than " + std::to_string(sum_depth_max) +
             " values at once");
    }
  }
  if (values != 1) {
    refuse("ends with " + std::to_string(values) + " values, not one");
  }
}

/// a, b, +, c, +, ...: each value is added to the sum of those before it.
bool is_chain(const fixed_sum& how) {
  if (how.terms.size() > 2 * chain_max - 1) {
    return false;
  }
  for (size_t i = 0; i < how.terms.size(); ++i) {
    if ((how.terms[i].rank < 0) != (i > 0 && i % 2 == 0)) {
      return false;
    }
  }
  return true;
}

const float* value_of(const fixed_sum::term& term,
                      std::span<const rank_parts> ranks, size_t at) {
  const rank_parts& from = ranks[static_cast<size_t>(term.rank)];
  return from.first + term.part * from.stride + at;
}

void add_chain(const fixed_sum& how, std::span<const rank_parts> ranks,
               size_t begin, float* out, size_t count) {
  const void* sources[chain_max];
  size_t ways = 0;
  for (const fixed_sum::term& term : how.terms) {
    if (term.rank >= 0) {
      sources[ways++] = value_of(term, ranks, begin);
    }
  }
  sum_of(out, {sources, ways}, count, element_type::float32);
}

/// A part is read where it lies; what the value at a place of the stack is the
/// sum of goes into the block of that place, the last one into `out`.
void add_block(const fixed_sum& how, std::span<const rank_parts> ranks,
               size_t begin, float* out, size_t count,
               float (*blocks)[block_floats]) {
  const void* stack[sum_depth_max];
  size_t values = 0;
  const fixed_sum::term* last = &how.terms.back();
  for (const fixed_sum::term& term : how.terms) {
    if (term.rank >= 0) {
      stack[values++] = value_of(term, ranks, begin);
      continue;
    }
    values -= 2;
    float* sum = &term == last ? out : blocks[values];
    sum_of(sum, {stack + values, 2}, count, element_type::float32);
    stack[values++] = sum;
  }
}

uint64_t mixed(uint64_t hash, uint64_t value) { // FNV-1a, a word at a time
  return (hash ^ value) * 0x100000001b3;
}

} // namespace

void check_sum_call(const fixed_sum& how, int ranks, int me, rank_parts mine,
                    const float* out, size_t count) {
  if (how.parts.size() != static_cast<size_t>(ranks) ||
      how.parts.size() > ledger::leaves_max) {
    refuse("is over " + std::to_string(how.parts.size()) +
           " ranks in a collective of " + std::to_string(ranks));
  }
  check_parts(how);
  check_order(how);
  const size_t parts = how.parts[static_cast<size_t>(me)];
  if (parts > 1 && mine.stride < count) {
    refuse("finds parts of " + std::to_string(count) + " elements only " +
           std::to_string(mine.stride) + " apart");
  }
  const auto begin_of = [](const float* at) {
    return reinterpret_cast<uintptr_t>(at);
  };
  for (size_t p = 0; p < parts; ++p) {
    const float* part = mine.first + p * mine.stride;
    if (begin_of(part) < begin_of(out + count) &&
        begin_of(out) < begin_of(part + count)) {
      refuse("would overwrite part " + std::to_string(p) +
             " of this rank with its result");
    }
  }
}

uint32_t hash_of(const fixed_sum& how) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t parts : how.parts) {
    hash = mixed(hash, parts);
  }
  for (const fixed_sum::term& term : how.terms) {
    hash = mixed(hash, static_cast<uint32_t>(term.rank));
    hash = mixed(hash, term.part);
  }
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

uint32_t most_parts(const fixed_sum& how) {
  return how.parts.empty()
             ? 0
             : *std::max_element(how.parts.begin(), how.parts.end());
}

uint32_t all_parts(const fixed_sum& how) {
  return std::accumulate(how.parts.begin(), how.parts.end(), uint32_t{0});
}

void add_in_order(const fixed_sum& how, std::span<const rank_parts> ranks,
                  size_t begin, float* out, size_t count) {
  if (is_chain(how)) {
    return add_chain(how, ranks, begin, out, count);
  }
  alignas(64) float blocks[sum_depth_max][block_floats];
  for (size_t at = 0; at < count; at += block_floats) {
    add_block(how, ranks, begin + at, out + at,
              std::min(block_floats, count - at), blocks);
  }
}

} // namespace ballast::collectives
