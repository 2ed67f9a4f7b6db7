#include "data/graph/graph_stream.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/graph/temporary_folder.hpp"
#include "data/operators/counted_stream.hpp"
#include "data/operators/distinct_stream.hpp"
#include "data/operators/filter_stream.hpp"
#include "data/operators/join_stream.hpp"
#include "data/operators/shuffle_stream.hpp"
#include "data/operators/sort_stream.hpp"
#include "data/operators/source_stream.hpp"
#include "data/operators/split_stream.hpp"
#include "data/operators/united_stream.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

using graph::op;
using graph::output;

using texts = std::vector<std::string>;
using by_column = std::map<std::string, std::string>;

std::vector<sort_key> keys_of(const graph::node& one) {
  const auto down = value_of<texts>(one, "descending");
  std::vector<sort_key> out;
  for (const std::string& column : value_of<texts>(one, "by"))
    out.push_back({column, std::count(down.begin(), down.end(), column) > 0});
  return out;
}

/// A key that is a whole number on one side and has a fraction on the other, as
/// the numbers of a CSV file have: both become float64, by which they are equal
/// if they are as numbers.
void alike_keys(const join_terms& terms, std::vector<named_stream>& sides,
                const operator_context& how) {
  const texts& right = terms.on_right.empty() ? terms.on_left : terms.on_right;
  by_column casts[2];
  for (size_t i = 0; i < terms.on_left.size() && i < right.size(); ++i) {
    const std::string* names[] = {&terms.on_left[i], &right[i]};
    std::shared_ptr<arrow::Field> keys[2];
    for (size_t side = 0; side < 2; ++side)
      keys[side] = sides[side].from->schema()->GetFieldByName(*names[side]);
    for (size_t side = 0; side < 2; ++side)
      if (keys[0] && keys[1] && arrow::is_integer(keys[side]->type()->id()) &&
          arrow::is_floating(keys[1 - side]->type()->id()))
        casts[side][*names[side]] = "float64";
  }
  for (size_t side = 0; side < 2; ++side)
    if (!casts[side].empty())
      sides[side].from =
          cast_columns(std::move(sides[side].from), casts[side], how);
}

} // namespace

class graph_stream::builder {
public:
  builder(const data_spec& data, const graph_terms& terms,
          std::shared_ptr<row_origins> origins)
      : data_(data), terms_(terms), origins_(std::move(origins)),
        sources_(names_of_sources(data)), wires_(sources_, data.graph) {}

  stream_pointer build(const output& what) const {
    return what.of_source ? source(what.index) : node(what);
  }

private:
  operator_context context(const std::string& pointer, const std::string& name,
                           uint64_t stream) const {
    operator_context out;
    out.pointer = pointer;
    out.name = name;
    out.memory_bytes = terms_.memory_bytes;
    out.spill = terms_.spill;
    out.seed = mix(terms_.seed, stream);
    out.stop = terms_.stop;
    out.origins = origins_;
    return out;
  }

  stream_pointer source(size_t index) const {
    const std::string& name = sources_[index];
    return source_rows(data_.sources.at(name), index, origins_,
                       context("/data/sources/" + name, name, 0));
  }

  stream_pointer node(const output& what) const {
    const graph::node& one = data_.graph[what.index];
    const std::vector<output>& inputs = wires_.inputs()[what.index];
    const operator_context how =
        context(graph::pointer_of(what.index),
                graph::name_of(data_.graph, what.index), what.index + 1);
    if (graph::about(one.what).inputs_max > 1)
      return united(one, inputs, how);
    if (one.what == op::repeat || one.what == op::split)
      return read_again(one, what, inputs[0], how);
    stream_pointer from = build(inputs[0]);
    switch (one.what) {
    case op::filter:
      return filter_rows(std::move(from), value_of<std::string>(one, "where"),
                         how);
    case op::select:
      return select_columns(std::move(from), value_of<texts>(one, "columns"),
                            how);
    case op::drop:
      return drop_columns(std::move(from), value_of<texts>(one, "columns"),
                          how);
    case op::rename:
      return rename_columns(std::move(from),
                            value_of<by_column>(one, "columns"), how);
    case op::cast:
      return cast_columns(std::move(from), value_of<by_column>(one, "columns"),
                          how);
    case op::derive:
      return derive_columns(std::move(from),
                            value_of<by_column>(one, "columns"), how);
    case op::limit:
      return limit_rows(std::move(from), value_of<uint64_t>(one, "rows"),
                        value_of<uint64_t>(one, "skip"), how);
    case op::sort:
      return sort_rows(std::move(from), keys_of(one), how);
    case op::distinct:
      return distinct_rows(std::move(from), value_of<texts>(one, "on"), how);
    case op::shuffle:
      return shuffle_rows(std::move(from), how);
    case op::repeat:
    case op::concat:
    case op::zip:
    case op::mix:
    case op::join:
    case op::split:
      break;
    }
    BALLAST_CHECK(false, "an operator of another kind");
  }

  /// Those that begin their input anew.
  stream_pointer read_again(const graph::node& one, const output& what,
                            const output& input,
                            const operator_context& how) const {
    // The graph_stream holds neither the builder nor what it refers to.
    const auto self = std::make_shared<builder>(*this);
    const stream_maker make = [self, input] { return self->build(input); };
    if (one.what == op::repeat)
      return repeat_rows(make, value_of<uint64_t>(one, "times"), how);
    split_terms terms;
    terms.by = *parse_word<graph::split_kind>(value_of<std::string>(one, "by"));
    terms.column = value_of<std::string>(one, "column");
    terms.fractions = value_of<std::vector<double>>(one, "fractions");
    return split_rows(make, terms, what.port, how);
  }

  stream_pointer united(const graph::node& one,
                        const std::vector<output>& inputs,
                        const operator_context& how) const {
    std::vector<named_stream> from;
    for (size_t i = 0; i < inputs.size(); ++i)
      from.push_back({one.from[i], build(inputs[i])});
    if (one.what == op::join)
      return join(one, std::move(from), how);
    if (one.what == op::concat)
      return concat_rows(std::move(from), how);
    if (one.what == op::zip)
      return zip_rows(std::move(from), how);
    return mix_rows(std::move(from),
                    value_of<std::vector<double>>(one, "weights"), how);
  }

  static stream_pointer join(const graph::node& one,
                             std::vector<named_stream> from,
                             const operator_context& how) {
    join_terms terms;
    terms.kind =
        *parse_word<graph::join_kind>(value_of<std::string>(one, "kind"));
    terms.on_left = value_of<texts>(one, "on");
    terms.on_right = value_of<texts>(one, "on_right");
    terms.suffix = value_of<std::string>(one, "suffix");
    alike_keys(terms, from, how);
    return join_rows(std::move(from[0].from), std::move(from[1].from),
                     std::move(terms), how);
  }

  const data_spec& data_;
  const graph_terms terms_;
  const std::shared_ptr<row_origins> origins_;
  const std::vector<std::string> sources_;
  const graph::wiring wires_;
};

graph_stream::graph_stream(const data_spec& data, const std::string& output,
                           graph_terms terms)
    : graph_stream(data, output_of(data, output), std::move(terms)) {}

graph_stream::graph_stream(const data_spec& data, const graph::output& output,
                           graph_terms terms)
    : origins_(std::make_shared<row_origins>()) {
  if (terms.spill.empty())
    terms.spill = own_folder_ = make_temporary_folder();
  try {
    from_ = builder(data, terms, origins_).build(output);
  } catch (...) {
    remove_temporary_folder(own_folder_);
    throw;
  }
}

graph_stream::~graph_stream() {
  from_.reset();
  remove_temporary_folder(own_folder_);
}

std::shared_ptr<arrow::Schema> graph_stream::choose_all() {
  arrow::FieldVector fields = from_->schema()->fields();
  fields.pop_back(); // the origin
  std::vector<int> columns(fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  from_->choose(std::move(columns));
  return arrow::schema(std::move(fields));
}

std::shared_ptr<arrow::RecordBatch> graph_stream::next() {
  return from_->next();
}

} // namespace ballast::data
