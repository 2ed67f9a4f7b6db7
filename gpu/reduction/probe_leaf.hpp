/// The gradient of one made-up leaf at the parameters of the job's seed, as a
/// digest: what this worker would compute of a leaf, told before it computes
/// any that counts. Workers with another digest have another CPU, library or
/// environment, and would not end with the same bits.
///
/// Thread: that which builds the model, before it trains.
#pragma once

#include "gpu/model.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <span>
#include <string>

namespace ballast::gpu {

/// 16 hex digits. `parameters` are those of the seed; `gradients` are
/// overwritten.
std::string probe_leaf(const job& what, const ledger::row_shape& row, model& of,
                       std::span<float> parameters, std::span<float> gradients);

} // namespace ballast::gpu
