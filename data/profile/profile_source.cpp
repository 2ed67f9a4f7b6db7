#include "data/profile/profile_source.hpp"

#include "data/base/ordered_work.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/profile/profiler.hpp"
#include "data/source/row_faults.hpp"

#include <arrow/api.h>

namespace ballast::data {

table_profile profile_of(const data_spec& data, const profile_terms& terms) {
  const auto& [source, spec] = *data.sources.begin();
  const std::string name =
      data.graph.empty() ? source : data.graph.back().as.at(0);
  graph_stream rows(data, name, {.stop = terms.stop, .faults = terms.faults});
  rows.choose_all();
  std::shared_ptr<arrow::RecordBatch> batch = rows.next();
  if (batch == nullptr)
    rows.refuse_no_rows();
  profiler all(*batch, terms.rows_max);
  ordered_work<profiler::part> beside(work_threads(), "bl-profile");
  for (; batch != nullptr; batch = rows.next()) {
    store::check_stop(terms.stop);
    if (beside.under_way() >= beside.wanted())
      all.add(beside.take());
    beside.give([&all, batch] { return all.look(*batch); });
  }
  while (beside.under_way() > 0)
    all.add(beside.take());
  if (terms.faults != nullptr)
    terms.faults->check(/*at_end=*/true);
  return all.finish(spec.uri);
}

} // namespace ballast::data
