#include "runtime/balance/coverage.hpp"

#include <algorithm>

namespace ballast::balance {

namespace {

constexpr uint32_t holders_min = 2;
/// One row more or less must fit into every worker's budget.
constexpr double slack = 0.01;

} // namespace

std::vector<lone_class> lone_classes(const ledger::manifest& set,
                                     const ledger::plan& of) {
  return lone_classes(chunk_labels(set), of);
}

std::vector<lone_class> lone_classes(const chunk_labels& labels,
                                     const ledger::plan& of) {
  if (!labels.labelled())
    return {};
  struct holding {
    size_t holders = 0;
    uint32_t last = 0; // rank
    uint64_t rows = 0; // of the class, in all chunks of which they own parts
  };
  std::vector<holding> classes(labels.classes());
  size_t active = 0;
  for (uint32_t rank = 0; rank < of.shares.size(); ++rank) {
    active += !of.shares[rank].intervals.empty();
    for (const ledger::interval& part : of.shares[rank].intervals) {
      for (const label_rows& some : labels.of(part.chunk)) {
        holding& now = classes.at(some.label);
        now.holders += now.holders == 0 || now.last != rank;
        now.last = rank;
        now.rows += uint64_t(some.rows);
      }
    }
  }
  std::vector<lone_class> out;
  for (uint32_t label = 0; label < classes.size(); ++label)
    if (classes[label].holders == 1 && classes[label].rows >= holders_min &&
        active >= holders_min)
      out.push_back({label, classes[label].last});
  return out;
}

quota_request coverage_request(const label_counts& held, double skew_tv) {
  quota_request out{held, {}, skew_tv, holders_min};
  for (size_t rank = 0; rank < held.workers; ++rank)
    out.sizes.push_back(held.of_worker(rank));
  for (double skew : skews(held))
    out.skew_tv = std::max(out.skew_tv, skew);
  out.skew_tv = std::min(1.0, out.skew_tv + slack);
  return out;
}

} // namespace ballast::balance
