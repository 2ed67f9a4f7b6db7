#include "runtime/ledger/use_rounding.hpp"

#include "runtime/ledger/epoch_uses.hpp"

#include <cmath>
#include <vector>

namespace ballast::ledger {

namespace {

constexpr double far_off_from = 0.1; // of its part

struct weighed_chunk {
  double weight = 0;
  uint64_t rows = 0; // of a weight above 0
};

weighed_chunk weigh(const chunk_info& chunk) {
  weighed_chunk out;
  for (const weight_run& run : chunk.weights) {
    out.weight += run.rows * run.weight;
    out.rows += run.weight > 0 ? run.rows : 0;
  }
  return out;
}

} // namespace

use_rounding rounding_of(const sampling_spec& how, uint64_t seed,
                         const manifest& set) {
  use_rounding out;
  if (!how.is_weighted())
    return out;
  const auto uses = epoch_uses::of(how, 1, seed, set);
  double total = 0;
  for (const chunk_info& one : set.train)
    total += weigh(one).weight;
  out.uses = uses->in_epoch();
  for (size_t i = 0; i < set.train.size(); ++i) {
    const weighed_chunk chunk = weigh(set.train[i]);
    const double part = double(out.uses) * (chunk.weight / total);
    const double made = uses->of_chunks()[i];
    out.chunks += chunk.rows > 0 ? 1 : 0;
    if (chunk.rows > 0 && made == 0) {
      ++out.unused;
      out.unused_rows += chunk.rows;
    } else if (std::abs(made - part) > far_off_from * part) {
      ++out.far_off;
    }
  }
  return out;
}

} // namespace ballast::ledger
