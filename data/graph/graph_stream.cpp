#include "data/graph/graph_stream.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/source/row_faults.hpp"

#include <arrow/api.h>

#include <numeric>
#include <optional>
#include <utility>

namespace ballast::data {

graph_stream::graph_stream(const data_spec& data, const std::string& output,
                           graph_terms terms)
    : graph_stream(data, output_of(data, output), std::move(terms)) {}

static uint64_t left_out_so_far(const row_faults* faults) {
  return faults != nullptr ? faults->counts().rows : 0;
}

graph_stream::graph_stream(const data_spec& data, const graph::output& output,
                           graph_terms terms, parts which)
    : data_(data), output_(output), faults_(terms.faults),
      left_out_before_(left_out_so_far(faults_)),
      origins_(std::make_shared<row_origins>(names_of_sources(data))),
      which_(which) {
  if (terms.spill.empty()) {
    own_folder_ = rows_folder::make();
    terms.spill = own_folder_.path();
  }
  graph_builder builder(data, terms, origins_, counts_, output);
  from_ = which == parts::all ? builder.build_all_parts() : builder.build();
}

std::shared_ptr<arrow::Schema> graph_stream::choose_all() {
  arrow::FieldVector fields = from_->schema()->fields();
  fields.pop_back(); // the origin
  std::vector<int> columns(fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  from_->choose(std::move(columns));
  if (which_ == parts::all)
    fields.pop_back();
  return arrow::schema(std::move(fields));
}

void graph_stream::refuse_no_rows() const {
  counts_->refuse_no_rows(data_, {names_of_sources(data_), data_.graph},
                          output_, left_out_so_far(faults_) - left_out_before_,
                          faults_ != nullptr ? faults_->found().last
                                             : std::string());
}

namespace {

/// Of no row; but text tells other types where a row may be wrong.
std::vector<std::shared_ptr<arrow::Schema>>
schemas_of(const data_spec& data, const store::work_watch& stop, bool here,
           found_files* found) {
  std::optional<row_faults> faults = row_faults::of(data);
  graph_terms terms;
  terms.stop = stop;
  terms.faults = faults ? &*faults : nullptr;
  terms.found = found;
  return graph_builder::schemas(data, terms, here);
}

} // namespace

std::vector<std::shared_ptr<arrow::Schema>>
schemas_of_nodes(const data_spec& data, const store::work_watch& stop,
                 found_files* found) {
  return schemas_of(data, stop, false, found);
}

void schemas_of_nodes_here(const data_spec& data,
                           const store::work_watch& stop) {
  schemas_of(data, stop, true, nullptr);
}

} // namespace ballast::data
