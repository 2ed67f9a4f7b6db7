/// Rows of tokens as LibTorch indexes with them.
#pragma once

#include "gpu/model.hpp"

#include <ATen/core/Tensor.h>

namespace ballast {

/// Stands where a row has no next token; cross_entropy_loss passes over it.
constexpr int64_t no_token = -100;

struct token_rows {
  at::Tensor tokens; // rows x tokens a row, int64
  at::Tensor next;   // the token after each, `no_token` after the last
};

/// ballast_error{invalid_data} names the sample where a value is no whole
/// number from 0 to below `vocabulary`.
token_rows token_rows_of(const batch_view& batch, const row_shape& row,
                         int64_t vocabulary);
/// The same where the model computes; the host looks at its own copy only.
token_rows token_rows_at(const model_place& place, const batch_view& batch,
                         const row_shape& row, int64_t vocabulary);

} // namespace ballast
