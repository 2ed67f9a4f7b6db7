/// The nodes of a graph that read several inputs: a part of graph_builder.cpp.
#include "data/base/ordered_work.hpp"
#include "data/graph/graph_builder.hpp"
#include "data/operators/distinct_stream.hpp"
#include "data/operators/join_stream.hpp"
#include "data/operators/near_distinct_stream.hpp"
#include "data/operators/united_stream.hpp"

#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

using graph::op;

using key_names = std::vector<std::string>;

near_terms terms_of_near(const graph::node& one) {
  return {.similarity = value_of<double>(one, "similarity"),
          .shingle = value_of<uint64_t>(one, "shingle"),
          .words = value_of<std::string>(one, "shingle_of") == "words",
          .permutations = value_of<uint64_t>(one, "permutations"),
          .bands = value_of<uint64_t>(one, "bands")};
}

stream_pointer joined(const graph::node& one, std::vector<named_stream> from,
                      const operator_context& how) {
  join_terms terms;
  terms.kind =
      *parse_word<graph::join_kind>(value_of<std::string>(one, "kind"));
  terms.on_left = value_of<key_names>(one, "on");
  terms.on_right = value_of<key_names>(one, "on_right");
  terms.suffix = value_of<std::string>(one, "suffix");
  return join_rows(std::move(from[0].from), std::move(from[1].from),
                   std::move(terms), how);
}

} // namespace

stream_pointer graph_builder::distinct(size_t index,
                                       const operator_context& how) {
  const graph::node& one = data_.graph[index];
  const std::vector<graph::output>& inputs = wires_.inputs()[index];
  stream_pointer from = output(inputs.at(0));
  stream_pointer against = inputs.size() > 1 ? output(inputs[1]) : nullptr;
  const auto on = value_of<key_names>(one, "on");
  if (value_of<double>(one, "similarity") < 1)
    return near_distinct_rows(std::move(from), on, terms_of_near(one), how,
                              work_threads(), std::move(against));
  return distinct_rows(std::move(from), on, how, std::move(against));
}

stream_pointer graph_builder::united(size_t index,
                                     const operator_context& how) {
  const graph::node& one = data_.graph[index];
  const std::vector<graph::output>& inputs = wires_.inputs()[index];
  std::vector<named_stream> from;
  for (size_t i = 0; i < inputs.size(); ++i)
    from.push_back({one.from[i], output(inputs[i])});
  if (one.what == op::join)
    return joined(one, std::move(from), how);
  if (one.what == op::concat)
    return concat_rows(std::move(from), how);
  if (one.what == op::zip)
    return zip_rows(std::move(from), how);
  return mix_rows(std::move(from),
                  value_of<std::vector<double>>(one, "weights"), how);
}

} // namespace ballast::data
