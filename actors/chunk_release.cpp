#include "actors/chunk_release.hpp"

#include <algorithm>

namespace ballast::actors {

namespace {

/// By number of the chunk.
struct needed_chunks {
  std::vector<bool> train;
  std::vector<bool> test;

  explicit needed_chunks(const ledger::manifest& set)
      : train(set.train.size()), test(set.test.size()) {}

  void add(const ledger::plan& what, worker_id self) {
    for (size_t rank = 0; rank < what.shares.size(); ++rank) {
      if (what.shares[rank].worker != self)
        continue;
      for (const ledger::interval& part : what.shares[rank].intervals)
        train[value(part.chunk)] = true;
      // As an evaluation divides them.
      for (size_t i = rank; i < test.size(); i += what.shares.size())
        test[i] = true;
    }
  }
  void add(const fetch_order& what) {
    for (const fetch_order::source& from : what.sources)
      for (const ledger::interval& part : from.pieces)
        train[value(part.chunk)] = true;
  }
};

} // namespace

size_t chunk_release::applied(const std::vector<ledger::step_record>& steps,
                              const ledger::plan* next, worker_id self,
                              const ledger::manifest& set,
                              data::chunk_store& from) {
  if (!fresh_ || std::none_of(steps.begin(), steps.end(),
                              [this](const ledger::step_record& one) {
                                return one.plan == fresh_->number;
                              }))
    return 0;
  needed_chunks needed(set);
  needed.add(*fresh_, self);
  if (next)
    needed.add(*next, self);
  if (fetched_ && fetched_->number > fresh_->number)
    needed.add(*fetched_);
  else
    fetched_.reset();
  fresh_.reset();
  return from.keep_only(data::data_part::train, needed.train) +
         from.keep_only(data::data_part::test, needed.test);
}

} // namespace ballast::actors
