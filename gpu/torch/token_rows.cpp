#include "gpu/torch/token_rows.hpp"

#include "runtime/errors.hpp"

#include <ATen/ops/empty.h>

namespace ballast {
namespace {

[[noreturn]] void refuse(const batch_view& batch, uint32_t row, size_t at,
                         float found, int64_t vocabulary) {
  throw ballast_error(errc::invalid_data,
                      "token " + std::to_string(at + 1) + " of sample " +
                          (batch.sample_ids
                               ? std::to_string(batch.sample_ids[row])
                               : "in row " + std::to_string(row)) +
                          " is " + std::to_string(found) +
                          "; expected a whole number from 0 to " +
                          std::to_string(vocabulary - 1) +
                          " (/model/vocabulary says how many the model knows)");
}

} // namespace

token_rows token_rows_of(const batch_view& batch, const row_shape& row,
                         int64_t vocabulary) {
  const size_t length = row.features;
  const auto options = at::TensorOptions().dtype(at::kLong);
  token_rows out{at::empty({batch.rows, int64_t(length)}, options),
                 at::empty({batch.rows, int64_t(length)}, options)};
  auto* tokens = out.tokens.mutable_data_ptr<int64_t>();
  auto* next = out.next.mutable_data_ptr<int64_t>();
  for (uint32_t r = 0; r < batch.rows; ++r) {
    const size_t first = size_t(r) * length;
    for (size_t i = 0; i < length; ++i) {
      const float value = batch.features[first + i];
      const bool inside = value >= 0 && value < float(vocabulary); // no NaN
      tokens[first + i] = inside ? int64_t(value) : 0;
      if (!inside || float(tokens[first + i]) != value)
        refuse(batch, r, i, value, vocabulary);
    }
    for (size_t i = 0; i + 1 < length; ++i)
      next[first + i] = tokens[first + i + 1];
    next[first + length - 1] = no_token;
  }
  return out;
}

} // namespace ballast
