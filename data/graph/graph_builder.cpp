#include "data/graph/graph_builder.hpp"

#include "data/base/content_hash.hpp"
#include "data/base/ordered_work.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/graph/schema_alone.hpp"
#include "data/operators/check_stream.hpp"
#include "data/operators/counted_stream.hpp"
#include "data/operators/filter_stream.hpp"
#include "data/operators/flat_stream.hpp"
#include "data/operators/map_stream.hpp"
#include "data/operators/sample_stream.hpp"
#include "data/operators/shuffle_stream.hpp"
#include "data/operators/sort_stream.hpp"
#include "data/operators/split_stream.hpp"
#include "data/operators/timed_stream.hpp"
#include "data/resampling/resampled_stream.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/random.hpp"
#include "runtime/graph/check_rules.hpp"
#include "runtime/graph/resampling_node.hpp"

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

using graph::op;

using texts = std::vector<std::string>;
using by_column = std::map<std::string, std::string>;
using schema_pointer = std::shared_ptr<arrow::Schema>;

std::vector<sort_key> keys_of(const graph::node& one) {
  const auto down = value_of<texts>(one, "descending");
  std::vector<sort_key> out;
  for (const std::string& column : value_of<texts>(one, "by"))
    out.push_back({column, std::count(down.begin(), down.end(), column) > 0});
  return out;
}

split_terms terms_of_split(const graph::node& one) {
  split_terms out;
  out.by = *parse_word<graph::split_kind>(value_of<std::string>(one, "by"));
  out.column = value_of<std::string>(one, "column");
  out.fractions = value_of<std::vector<double>>(one, "fractions");
  return out;
}

map_terms terms_of_map(const graph::node& one) {
  map_terms out;
  out.library = value_of<std::string>(one, "library");
  out.function = value_of<std::string>(one, "function");
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [name, text] : value_of<by_column>(one, "options"))
    options[name] = nlohmann::json::parse(text);
  out.options = json_text(options);
  out.columns = value_of<texts>(one, "columns");
  out.keep = value_of<bool>(one, "keep");
  out.rows = value_of<uint64_t>(one, "rows");
  return out;
}

uint64_t number_of(const std::string& name) {
  content_hash hash;
  hash.update(name);
  return hash.digest();
}

std::set<size_t> inputs_of_repeats(const data_spec& data,
                                   const graph::wiring& wires) {
  std::set<size_t> out;
  for (size_t i = 0; i < data.graph.size(); ++i)
    if (data.graph[i].what == op::repeat)
      for (const graph::output& one : wires.inputs()[i])
        if (!one.of_source)
          out.insert(one.index);
  return out;
}

/// A sixteenth of what this process may hold for one operator alone, a
/// thirty-second for each of several that hold rows at once, and 256 MiB where
/// that is less. Less only where four times as much is not there, for it also
/// holds what it writes: half as much memory may be one pass over the disk
/// more.
uint64_t memory_of_operator(const std::vector<graph::node>& graph, size_t kept,
                            std::optional<uint64_t> most) {
  constexpr uint64_t part_min = 4;
  constexpr uint64_t part_max = 8;
  constexpr uint64_t least = 8 << 20;
  constexpr uint64_t usual_least = 256 << 20;
  const auto holds = size_t(
      std::count_if(graph.begin(), graph.end(), [](const graph::node& one) {
        return graph::about(one.what).how == graph::flow::blocking;
      }));
  const uint64_t part =
      std::clamp<uint64_t>(2 * (1 + holds + kept), part_min, part_max);
  const uint64_t available = available_memory_bytes();
  return std::min(most.value_or(std::max(usual_least, available / (4 * part))),
                  std::max(least, available / part));
}

graph_terms with_states(graph_terms terms) {
  if (terms.fitted == nullptr)
    terms.fitted = std::make_shared<fitted_states>();
  return terms;
}

} // namespace

graph_builder::graph_builder(const data_spec& data, const graph_terms& terms,
                             std::shared_ptr<row_origins> origins,
                             std::shared_ptr<node_counts> counts,
                             const graph::output& what)
    : data_(data), terms_(with_states(terms)), origins_(std::move(origins)),
      counts_(std::move(counts)), sources_(names_of_sources(data)),
      wires_(sources_, data.graph), what_(what),
      to_keep_(terms.new_rows ? std::set<size_t>()
                              : graph::kept_nodes(wires_, data.graph, what)),
      repeated_(inputs_of_repeats(data, wires_)),
      learned_(graph::learned_from(wires_, data.graph)),
      found_(std::make_shared<std::map<size_t, found_source>>()) {}

graph_builder::graph_builder(const data_spec& data, const graph_terms& terms,
                             all_nodes /*unused*/)
    : data_(data), terms_(with_states(terms)),
      origins_(std::make_shared<row_origins>()),
      counts_(std::make_shared<node_counts>()),
      sources_(names_of_sources(data)), wires_(sources_, data.graph), what_{},
      found_(std::make_shared<std::map<size_t, found_source>>()),
      only_schemas_(true) {}

stream_pointer graph_builder::build() {
  return output(what_);
}

stream_pointer graph_builder::build_all_parts() {
  BALLAST_CHECK(!what_.of_source, "a source has no parts");
  return node(what_.index);
}

std::vector<schema_pointer> graph_builder::schemas(const data_spec& data,
                                                   const graph_terms& terms,
                                                   bool here) {
  graph_builder all(data, terms, all_nodes{});
  for (size_t i = 0; i < data.graph.size(); ++i) {
    if (!all.inputs_are_known(i, here))
      all.known_.push_back(nullptr);
    else if (graph::about(data.graph[i].what).each_input)
      all.known_.push_back(all.changed_schema(i));
    else
      all.known_.push_back(all.node(i)->schema());
  }
  std::vector<schema_pointer> out = all.known_;
  for (size_t i = 0; i < data.graph.size(); ++i)
    if (data.graph[i].what == op::split && out[i] != nullptr)
      out[i] = all.output({false, i, 0})->schema(); // without the part's number
  return out;
}

bool graph_builder::is_known(const graph::output& what) {
  if (!what.of_source)
    return known_.at(what.index) != nullptr;
  const source_spec& spec = data_.sources.at(sources_[what.index]);
  if (is_sent(spec.format) || (spec.uri.find("://") != std::string::npos &&
                               !spec.uri.starts_with("file://")))
    return false;
  try {
    source(what.index);
    return true;
  } catch (const ballast_error& error) {
    if (error.what_failed().code == errc::stopped)
      throw;
    return false;
  }
}

operator_context graph_builder::context(const std::string& pointer,
                                        const std::string& name,
                                        uint64_t stream) const {
  operator_context out;
  out.pointer = pointer;
  out.name = name;
  out.memory_bytes =
      memory_of_operator(data_.graph, to_keep_.size(), terms_.memory_bytes);
  out.spill = terms_.spill;
  out.seed = mix(terms_.seed, stream);
  out.stop = terms_.stop;
  out.origins = origins_;
  out.faults = terms_.faults;
  out.removed = terms_.removed;
  out.found = terms_.found;
  return out;
}

operator_context graph_builder::context_of(size_t node) const {
  return context(graph::pointer_of(node), graph::name_of(data_.graph, node),
                 number_of(graph::draws_as(data_.graph, node)));
}

operator_context graph_builder::counted(const graph::output& what,
                                        operator_context how) const {
  how.given = counts_->of(what);
  return how;
}

stream_pointer graph_builder::output(const graph::output& what) {
  if (what.of_source)
    return source(what.index);
  if (graph::about(data_.graph[what.index].what).each_input)
    return changed(what);
  stream_pointer rows;
  if (only_schemas_)
    rows = std::make_unique<schema_alone>(known_.at(what.index),
                                          context_of(what.index));
  else if (to_keep_.count(what.index) > 0)
    rows = kept_rows::reader(kept(what.index));
  else
    rows = node(what.index);
  return data_.graph[what.index].what == op::split
             ? rows_of_part(std::move(rows), what.port,
                            counted(what, context_of(what.index)))
             : std::move(rows);
}

stream_pointer graph_builder::source(size_t index) {
  const std::string& name = sources_[index];
  found_source& found = (*found_)[index];
  const operator_context how =
      counted({true, index}, context("/data/sources/" + name, name, 0));
  stream_pointer out =
      source_rows(data_.sources.at(name), index, origins_, found, how);
  return only_schemas_ ? std::make_unique<schema_alone>(out->schema(), how)
                       : std::move(out);
}

std::shared_ptr<kept_rows> graph_builder::kept(size_t index) {
  std::shared_ptr<kept_rows>& out = kept_[index];
  if (out == nullptr)
    out = std::make_shared<kept_rows>(
        node(index), context_of(index),
        learned_.count(index) > 0    ? late_readers::any_columns
        : repeated_.count(index) > 0 ? late_readers::same_columns
                                     : late_readers::none);
  return out;
}

/// Of a split all parts.
stream_pointer graph_builder::node(size_t index) {
  const graph::node& one = data_.graph[index];
  const bool is_split = one.what == op::split;
  const operator_context how = counted(
      {false, index, is_split ? node_counts::all_parts : 0}, context_of(index));
  if (graph::about(one.what).each_input)
    return changed({false, index, 0});
  if (one.what == op::distinct)
    return distinct(index, how);
  if (graph::about(one.what).inputs_max > 1)
    return united(index, how);
  if (one.what == op::repeat)
    return repeat(index, how);
  if (is_split)
    return dealt(index, how);
  // States are made, and rows that go are told, where rows pass; those that
  // were kept would pass nothing.
  if (one.what == op::cache && terms_.nodes != nullptr && !only_schemas_ &&
      !has_states(data_, graph::output{false, index, 0}) &&
      !removes_rows(data_, graph::output{false, index, 0}))
    return cached(index, how);
  return of_one(one, output(wires_.inputs()[index][0]), how);
}

/// What lies above it is not even opened if its rows are there.
stream_pointer graph_builder::cached(size_t index,
                                     const operator_context& how) {
  if (stream_pointer rows = terms_.nodes->find(index, *origins_, how))
    return rows;
  return terms_.nodes->keep(index, output(wires_.inputs()[index][0]), origins_,
                            how);
}

stream_pointer graph_builder::of_one(const graph::node& one,
                                     stream_pointer from,
                                     const operator_context& how) {
  switch (one.what) {
  case op::filter:
    return filter_rows(std::move(from), value_of<std::string>(one, "where"),
                       how);
  case op::check:
    return checked_rows(std::move(from), graph::check_rules_of(one).rules, how);
  case op::select:
    return select_columns(std::move(from), value_of<texts>(one, "columns"),
                          how);
  case op::drop:
    return drop_columns(std::move(from), value_of<texts>(one, "columns"), how);
  case op::rename:
    return rename_columns(std::move(from), value_of<by_column>(one, "columns"),
                          how);
  case op::cast:
    return cast_columns(std::move(from), value_of<by_column>(one, "columns"),
                        how);
  case op::derive:
    return derive_columns(std::move(from), value_of<by_column>(one, "columns"),
                          how);
  case op::limit:
    return limit_rows(std::move(from), value_of<uint64_t>(one, "rows"),
                      value_of<uint64_t>(one, "skip"), how);
  case op::flat_map:
  case op::batch:
  case op::unbatch:
  case op::map:
  case op::cache:
  case op::prefetch:
    return flat_or_timed(one, std::move(from), how);
  case op::sort:
    return sort_rows(std::move(from), keys_of(one), how);
  case op::shuffle:
    return shuffle_rows(std::move(from), how);
  case op::resample:
    return resampled_stream(std::move(from),
                            {value_of<std::string>(one, "label"),
                             graph::resampling_of(one).value, work_threads()},
                            how);
  case op::sample:
    return sampled_rows(std::move(from),
                        {value_of<uint64_t>(one, "rows"),
                         value_of<std::string>(one, "by"),
                         value_of<std::string>(one, "weight")},
                        how);
  case op::repeat:
  case op::concat:
  case op::zip:
  case op::mix:
  case op::join:
  case op::split:
  default: // those with an output for each input
    break;
  }
  BALLAST_CHECK(false, "an operator of another kind");
}

/// Those that change how many rows there are, or when.
stream_pointer graph_builder::flat_or_timed(const graph::node& one,
                                            stream_pointer from,
                                            const operator_context& how) {
  switch (one.what) {
  case op::flat_map:
    return flat_rows(std::move(from), value_of<texts>(one, "columns"),
                     value_of<bool>(one, "keep_empty"), how);
  case op::batch:
    return batched_rows(std::move(from), value_of<uint64_t>(one, "rows"),
                        value_of<bool>(one, "drop_rest"), how);
  case op::unbatch:
    return unbatched_rows(std::move(from), value_of<texts>(one, "columns"),
                          how);
  case op::map:
    return map_rows(std::move(from), terms_of_map(one), how);
  case op::prefetch:
    // Bad rows are found in the order of the rows.
    if (how.faults != nullptr)
      return from;
    return prefetched_rows(std::move(from), value_of<uint64_t>(one, "batches"),
                           how);
  default:
    return cached_rows(std::move(from), how);
  }
}

stream_pointer graph_builder::repeat(size_t index,
                                     const operator_context& how) {
  const graph::output input = wires_.inputs()[index][0];
  stream_pointer from = output(input);
  stream_maker again;
  if (!input.of_source && to_keep_.count(input.index) > 0) {
    // Not the builder: it would be held by what it holds.
    again = [of = kept(input.index), split_port = input.port,
             is_split = data_.graph[input.index].what == op::split,
             its = context_of(input.index)] {
      stream_pointer rows = kept_rows::reader(of);
      return is_split ? rows_of_part(std::move(rows), split_port, its)
                      : std::move(rows);
    };
  } else { // a source, or little behind one: nothing there is kept
    const auto self = std::make_shared<graph_builder>(*this);
    self->kept_.clear();
    again = [self, input] { return self->output(input); };
  }
  return repeat_rows(std::move(from), std::move(again),
                     value_of<uint64_t>(data_.graph[index], "times"), how);
}

stream_pointer graph_builder::dealt(size_t index, const operator_context& how) {
  const split_terms terms = terms_of_split(data_.graph[index]);
  const graph::output input = wires_.inputs()[index][0];
  stream_pointer from = output(input);
  stream_pointer first_pass =
      terms.by == graph::split_kind::time ? output(input) : nullptr;
  return dealt_rows(std::move(from), std::move(first_pass), terms, how);
}

} // namespace ballast::data
