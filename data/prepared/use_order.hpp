/// Puts the rows of chunks into the order that a job's sampling needs (job
/// field `train.sampling`), and says what each weighs: the step between placing
/// rows and writing them. What comes of it is in runtime/ledger/epoch_uses.hpp.
/// Pure functions of the tables.
#pragma once

#include "data/prepared/job_tables.hpp"
#include "runtime/balance/chunk_layout.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// A training sample whose cell of the sampling's column says nothing.
struct unusable_sample {
  uint64_t sample = 0;
  std::string cell;
  std::string expected;
};
/// Ascending. What order_for_uses refuses.
std::vector<unusable_sample> unusable_samples(const job& what,
                                              const job_tables& from);

/// Uses in an epoch, of a sampling with weights.
double uses_in_epoch(const job& what, const job_tables& from);

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
