#include "data/prepared/chunk_description.hpp"

#include <vector>

namespace ballast::data {

namespace {

/// Exactly as much memory as they need: of scattered rows they take more than
/// the labels.
template <class Id>
std::vector<ledger::id_run> runs_of(std::span<const uint64_t> samples, Id id) {
  std::vector<ledger::id_run> out;
  size_t runs = 0;
  for (size_t i = 0; i < samples.size(); ++i)
    runs += i == 0 || id(samples[i]) != id(samples[i - 1]) + 1;
  out.reserve(runs);
  for (uint64_t sample : samples)
    if (!out.empty() && out.back().first + out.back().count == id(sample))
      ++out.back().count;
    else
      out.push_back({id(sample), 1});
  return out;
}

} // namespace

ledger::chunk_info describe_chunk(const part_rows& part,
                                  const ledger::row_shape& row,
                                  std::span<const uint64_t> samples,
                                  const chunk& made) {
  const source_table& table = *part.table;
  ledger::chunk_info out;
  out.id = made.id;
  out.rows = made.rows;
  out.bytes = made.bytes;
  out.checksum = checksum(made, row);
  out.label_histogram.resize(histogram_bins(row));
  const std::vector<int32_t>& bin = table.histogram_bin();
  if (!bin.empty())
    for (uint64_t sample : samples)
      ++out.label_histogram[size_t(bin[part.rows[sample]])];
  out.samples = runs_of(samples, [](uint64_t sample) { return sample; });
  if (!part.rows.are_all() || !table.taken_rows.empty())
    out.source_rows = runs_of(samples, [&](uint64_t sample) {
      return table.source_row(part.rows[sample]);
    });
  return out;
}

} // namespace ballast::data
