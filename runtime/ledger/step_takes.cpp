#include "runtime/ledger/step_takes.hpp"

namespace ballast::ledger {

namespace {

std::vector<uint64_t> weights_of(const plan& of) {
  std::vector<uint64_t> out;
  out.reserve(of.shares.size());
  for (const share& one : of.shares)
    out.push_back(one.batch_weight);
  return out;
}

} // namespace

std::vector<leaf_range> leaves_under(const plan& of, uint32_t leaves) {
  return split_leaves(leaves, weights_of(of));
}

std::vector<uint64_t> takes_of_leaves(std::span<const leaf_range> parts,
                                      uint64_t rows, uint32_t leaves) {
  std::vector<uint64_t> out;
  out.reserve(parts.size());
  for (leaf_range one : parts) {
    const step_rows own = rows_of(one, rows, leaves);
    out.push_back(own.end - own.begin);
  }
  return out;
}

std::vector<uint64_t> takes_of_leaves(std::span<const leaf_ranges> by_rank,
                                      uint64_t rows, uint32_t leaves) {
  std::vector<uint64_t> out(by_rank.size());
  for (size_t rank = 0; rank < out.size(); ++rank)
    for (leaf_range one : by_rank[rank]) {
      const step_rows own = rows_of(one, rows, leaves);
      out[rank] += own.end - own.begin;
    }
  return out;
}

std::optional<std::string> kept_error(const plan& of, uint32_t leaves) {
  const kept_leaves& kept = of.kept;
  if (value(kept.step) == 0 && kept.by_rank.empty())
    return std::nullopt;
  if (kept.by_rank.size() != of.shares.size())
    return "leaves are kept by " + std::to_string(kept.by_rank.size()) +
           " of " + std::to_string(of.shares.size()) + " workers";
  return leaves_error(kept.by_rank, leaves);
}

std::vector<uint64_t> batch_parts(const plan& of, uint32_t leaves) {
  if (leaves == 0)
    return weights_of(of);
  std::vector<uint64_t> out;
  for (leaf_range one : leaves_under(of, leaves))
    out.push_back(count(one));
  return out;
}

} // namespace ballast::ledger
