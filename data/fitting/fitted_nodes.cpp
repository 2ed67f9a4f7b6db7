/// The nodes of a graph that change each of their inputs row by row, and those
/// of them that learn first: a part of data/graph/graph_builder.cpp.
#include "data/fitting/fit_rows.hpp"
#include "data/fitting/fitted_stream.hpp"
#include "data/graph/graph_builder.hpp"
#include "data/graph/schema_alone.hpp"
#include "data/source/batch_pieces.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

/// What a user should know of what was learned.
void tell_notes(const fitted_state& state, const std::string& pointer,
                fitted_states& to) {
  const std::string whose =
      pointer + ": \"" + ballast::to_string(state.what.what) + "\": column '";
  for (const learned_column& one : state.columns) {
    if (!one.note.empty())
      to.tell(whose + printable(one.name) + "' " + one.note);
    if (one.quantile_error > 0)
      to.tell(whose + printable(one.name) +
              "': its quantiles are not exact, "
              "their ranks are off by at most " +
              std::to_string(one.quantile_error * 100) + " % of the rows");
  }
}

} // namespace

bool graph_builder::inputs_are_known(size_t index, bool here) {
  const std::vector<graph::output>& inputs = wires_.inputs()[index];
  return std::all_of(inputs.begin(), inputs.end(), [&](const auto& one) {
    return one.of_source && !here ? true : is_known(one);
  });
}

fit_terms graph_builder::fit_terms_of(size_t index) const {
  const operator_context how = context_of(index);
  return {data_.graph[index], how.pointer, how.name, how.seed};
}

/// What an output's node has learned, or will have to know to change rows.
std::shared_ptr<const fitted_state>
graph_builder::state_of(const fitted_operator& what, const graph::output& of) {
  if (auto known = terms_.fitted->find(of.index))
    return known;
  if (terms_.new_rows)
    throw ballast_error(errc::invalid_data,
                        what.terms().pointer + ": what \"" + what.terms().name +
                            "\" has learned is not kept with the run",
                        what.terms().pointer);
  const bool learns = graph::about(data_.graph[of.index].what).fitted;
  const std::vector<graph::output>& inputs = wires_.inputs()[of.index];
  auto out = std::make_shared<const fitted_state>(fit_rows(
      what, output(inputs.at(learns ? 0 : of.port)), context_of(of.index)));
  tell_notes(*out, what.terms().pointer, *terms_.fitted);
  terms_.fitted->add(of.index, out);
  return out;
}

stream_pointer graph_builder::changed(const graph::output& what) {
  const operator_context how = counted(what, context_of(what.index));
  if (only_schemas_) {
    const auto known = known_outputs_.find({what.index, what.port});
    return std::make_unique<schema_alone>(known->second, how);
  }
  fitted_terms terms;
  fit_terms learned = fit_terms_of(what.index);
  // Draws go on as those of the run, whatever the way of new rows calls nodes.
  if (const auto known = terms_.fitted->find(what.index))
    learned.seed = known->seed;
  terms.what = make_operator(learned);
  terms.state = state_of(*terms.what, what);
  terms.of_training = !terms_.new_rows && what.port == 0 &&
                      graph::about(data_.graph[what.index].what).fitted;
  terms.note = [to = terms_.fitted](const std::string& note) {
    to->tell(note);
  };
  return fitted_rows(output(wires_.inputs()[what.index].at(what.port)),
                     std::move(terms), how);
}

/// Of all its outputs, as far as they are known before a row is read; returns
/// that of the first.
std::shared_ptr<arrow::Schema> graph_builder::changed_schema(size_t index) {
  const auto what = make_operator(fit_terms_of(index));
  const std::vector<graph::output>& inputs = wires_.inputs()[index];
  fitted_state state;
  for (size_t port = 0; port < inputs.size(); ++port) {
    const auto input = plain_schema(output(inputs[port])->schema());
    if (port == 0)
      state = unfitted(*what, *input);
    check_schema(state, *input, graph::pointer_of(index));
    if (what->names_are_learned())
      continue;
    arrow::FieldVector fields;
    for (const output_column& one : what->layout(*input, state))
      fields.push_back(arrow::field(one.name, one.type));
    fields.push_back(input->fields().back()); // the origin
    known_outputs_[{index, port}] = arrow::schema(std::move(fields));
  }
  return known_outputs_[{index, size_t{0}}];
}

} // namespace ballast::data
