/// Puts the rows of chunks into the order that a job's sampling needs (job
/// field `train.sampling`), and says what each weighs: the step between placing
/// rows and writing them. What comes of it is in runtime/ledger/epoch_uses.hpp.
/// Pure functions of the tables.
#pragma once

#include "data/prepared/job_tables.hpp"
#include "runtime/balance/chunk_layout.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <span>
#include <vector>

namespace ballast::data {

/// Changes which rows of a list share a chunk (`stratified`), and the order of
/// the rows in each: by class and weight, or by score. Returns the weight of
/// each training sample; empty: there are none. ballast_error{invalid_data}
/// that names row and column for what is no weight, score or known text.
std::vector<double> order_for_uses(const job& what, const job_tables& from,
                                   std::vector<balance::chunk_layout>& lists);

/// Of the rows of each chunk, as in the manifest.
void describe_weights(const std::vector<double>& of_sample,
                      const std::vector<std::span<const uint64_t>>& chunks,
                      std::vector<ledger::chunk_info>& into);

} // namespace ballast::data
