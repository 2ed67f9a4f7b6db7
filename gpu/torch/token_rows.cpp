#include "gpu/torch/token_rows.hpp"

#include "gpu/torch/placement.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>

namespace ballast::gpu {
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

int64_t token_at(const batch_view& batch, const ledger::row_shape& row,
                 uint32_t r, size_t i, int64_t vocabulary) {
  const float value = batch.features[size_t(r) * row.features + i];
  const bool inside = value >= 0 && value < float(vocabulary); // false for NaN
  const int64_t token = inside ? int64_t(value) : 0;
  if (!inside || float(token) != value)
    refuse(batch, r, i, value, vocabulary);
  return token;
}

} // namespace

void check_tokens(const batch_view& batch, const ledger::row_shape& row,
                  int64_t vocabulary) {
  for (uint32_t r = 0; r < batch.rows; ++r)
    for (size_t i = 0; i < row.features; ++i)
      (void)token_at(batch, row, r, i, vocabulary);
}

token_rows token_rows_of(const batch_view& batch, const ledger::row_shape& row,
                         int64_t vocabulary) {
  const size_t length = row.features;
  const auto options = at::TensorOptions().dtype(at::kLong);
  token_rows out{at::empty({batch.rows, int64_t(length)}, options),
                 at::empty({batch.rows, int64_t(length)}, options)};
  auto* tokens = out.tokens.mutable_data_ptr<int64_t>();
  auto* next = out.next.mutable_data_ptr<int64_t>();
  for (uint32_t r = 0; r < batch.rows; ++r) {
    const size_t first = size_t(r) * length;
    for (size_t i = 0; i < length; ++i)
      tokens[first + i] = token_at(batch, row, r, i, vocabulary);
    for (size_t i = 0; i + 1 < length; ++i)
      next[first + i] = tokens[first + i + 1];
    next[first + length - 1] = no_token;
  }
  return out;
}

token_rows token_rows_at(const model_place& place, const batch_view& batch,
                         const ledger::row_shape& row, int64_t vocabulary) {
  if (!place.elsewhere)
    return token_rows_of(batch, row, vocabulary);
  const int64_t length = row.features;
  const at::Tensor tokens =
      features_at(place, batch, {batch.rows, length}).to(at::kLong);
  at::Tensor next = at::full_like(tokens, no_token);
  next.narrow(1, 0, length - 1).copy_(tokens.narrow(1, 1, length - 1));
  return {tokens, next};
}

} // namespace ballast::gpu
