#include "data/graph/node_counts.hpp"

#include "data/graph/graph_sources.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>

namespace ballast::data {

/// Streams that are no more leave only what they gave: a repeat makes many.
std::shared_ptr<rows_given> node_counts::of(const graph::output& what) {
  const std::lock_guard lock(mutex_);
  output_counts& all = counts_[key_of(what)];
  const auto gone = std::ranges::partition(
      all.streams, [](const auto& one) { return one.use_count() > 1; });
  const output_counts before =
      longest({all.rows, all.ended, {gone.begin(), gone.end()}});
  all.rows = before.rows;
  all.ended = before.ended;
  all.streams.erase(gone.begin(), gone.end());
  return all.streams.emplace_back(std::make_shared<rows_given>());
}

node_counts::output_counts node_counts::longest(const output_counts& of) {
  output_counts out{of.rows, of.ended};
  for (const auto& one : of.streams) {
    out.rows = std::max(out.rows, one->rows.load());
    out.ended = out.ended || one->ended;
  }
  return out;
}

node_counts::output_counts node_counts::find(const graph::output& what) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(key_of(what));
  return found == counts_.end() ? output_counts() : longest(found->second);
}

uint64_t node_counts::rows(const graph::output& what) const {
  return find(what).rows;
}

/// Read to its end; of what nobody asked for, nothing is known.
bool node_counts::is_empty(const graph::output& what) const {
  const output_counts found = find(what);
  return found.rows == 0 && found.ended;
}

void node_counts::refuse_no_rows(const data_spec& data,
                                 const graph::wiring& wires, graph::output what,
                                 uint64_t left_out,
                                 const std::string& last) const {
  const auto inputs_of = [&](const graph::output& one) {
    std::vector<graph::output> out;
    if (one.of_source)
      return out;
    if (data.graph[one.index].what == graph::op::split && one.port != all_parts)
      return std::vector{graph::output{false, one.index, all_parts}};
    const std::vector<graph::output>& all = wires.inputs()[one.index];
    if (graph::about(data.graph[one.index].what).each_input)
      return std::vector{all.at(one.port)};
    return all;
  };
  const auto empty = [this](const graph::output& one) { return is_empty(one); };
  std::vector<graph::output> inputs = inputs_of(what);
  for (auto from = std::find_if(inputs.begin(), inputs.end(), empty);
       from != inputs.end();
       from = std::find_if(inputs.begin(), inputs.end(), empty)) {
    what = *from;
    inputs = inputs_of(what);
  }
  const std::string wrong =
      left_out == 0 ? ""
                    : "; " + std::to_string(left_out) +
                          (left_out == 1 ? " row is" : " rows are") +
                          " left out because something is wrong with " +
                          (left_out == 1 ? "it: " : "them, the last: ") + last;
  if (what.of_source) {
    const std::string name = names_of_sources(data).at(what.index);
    const std::string pointer = "/data/sources/" + name;
    throw ballast_error(errc::invalid_data,
                        printable(pointer) + ": gives no rows" + wrong,
                        pointer);
  }
  const graph::node& one = data.graph[what.index];
  const std::string pointer = graph::pointer_of(what.index);
  const bool is_part = one.what == graph::op::split && what.port != all_parts;
  uint64_t came = 0;
  for (const graph::output& input : inputs)
    came += rows(input);
  std::string name = graph::name_of(data.graph, what.index);
  if (is_part)
    name = one.as.at(what.port);
  if (!one.as.empty())
    name = to_string(one.what) + " '" + printable(name) + "'";
  throw ballast_error(errc::invalid_data,
                      pointer + ": " + name + " gives no rows, " +
                          std::to_string(came) + " came in" + wrong,
                      pointer);
}

} // namespace ballast::data
