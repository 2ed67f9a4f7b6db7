/// Rows of tokens as LibTorch index tensors.
#pragma once

#include "gpu/model.hpp"

#include <ATen/core/Tensor.h>

namespace ballast::gpu {

/// Marks the end of a row, which has no next token; cross_entropy_loss ignores
/// it.
constexpr int64_t no_token = -100;

struct token_rows {
  at::Tensor tokens; // rows x tokens a row, int64
  at::Tensor next;   // the token after each, `no_token` after the last
};

/// ballast_error{invalid_data} names the sample if a value is not a whole
/// number from 0 to below `vocabulary`. Reads the host's copy.
void check_tokens(const batch_view& batch, const ledger::row_shape& row,
                  int64_t vocabulary);
/// Checks them, too.
token_rows token_rows_of(const batch_view& batch, const ledger::row_shape& row,
                         int64_t vocabulary);
/// The same at the model's place. On a device nothing is checked, and the host
/// reads nothing.
token_rows token_rows_at(const model_place& place, const batch_view& batch,
                         const ledger::row_shape& row, int64_t vocabulary);

} // namespace ballast::gpu
