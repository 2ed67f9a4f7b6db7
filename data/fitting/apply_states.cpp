#include "data/fitting/apply_states.hpp"

#include "data/fitting/fitted_states.hpp"
#include "data/fitting/fitted_stream.hpp"
#include "data/fitting/state_files.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/sink/partial_path.hpp"
#include "data/sink/record_writer.hpp"
#include "data/sink/source_versions.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <memory>
#include <numeric>
#include <utility>

namespace ballast::data {

std::string type_word(const std::string& type) {
  for (const column_type one :
       {column_type::int64, column_type::float64, column_type::boolean,
        column_type::text, column_type::date, column_type::timestamp})
    if (arrow_type(one)->ToString() == type)
      return ballast::to_string(one);
  if (type == arrow::large_utf8()->ToString())
    return ballast::to_string(column_type::text);
  return {};
}

namespace {

using all_states = std::vector<std::shared_ptr<const fitted_state>>;

/// The first state that reads a column says what it was; but a column may be
/// one that a state before it made.
job with_types(const job& what, const std::string& node,
               const all_states& states) {
  job out = what;
  source_spec& source = out.data.sources.begin()->second;
  if (!is_untyped(source.format))
    return out;
  std::optional<row_faults> faults = row_faults::of(what.data);
  const auto there =
      graph_stream(what.data, node, {.faults = faults ? &*faults : nullptr})
          .choose_all();
  for (const auto& state : states)
    for (const learned_column& one : state->columns)
      if (const std::string word = type_word(one.type);
          !word.empty() && there->GetFieldIndex(one.name) >= 0)
        source.columns.try_emplace(one.name, word);
  return out;
}

/// `make`, whose errors name the state but not whose columns do not fit it.
template <class Make>
auto of_source(const job& what, const Make& make) {
  try {
    return make();
  } catch (const ballast_error& error) {
    const failure& why = error.what_failed();
    throw ballast_error(why.code,
                        printable(what.data.sources.begin()->second.uri) +
                            ": " + why.message,
                        why.pointer);
  }
}

/// Hands out the rows of a graph, whose origins its operators need.
std::shared_ptr<const row_origins> origins_of(const graph_stream& rows) {
  return {std::shared_ptr<const void>(), &rows.origins()};
}

} // namespace

applied_rows apply_states(const job& what, const apply_terms& terms) {
  const all_states states = read_states(terms.states);
  partial_path::remove_left_over(terms.file);
  check_writable(terms.file);
  const job typed = with_types(what, terms.node, states);
  const source_versions sources(typed.data, {terms.node}, terms.stop);
  auto source = std::make_unique<graph_stream>(
      typed.data, terms.node,
      graph_terms{.stop = terms.stop,
                  .faults = terms.left_out.faults,
                  .removed = terms.left_out.removed});
  operator_context context;
  context.stop = terms.stop;
  context.origins = origins_of(*source);
  context.removed = terms.left_out.removed;
  stream_pointer rows = std::move(source);
  fitted_states notes;
  for (const auto& state : states) {
    context.name = state->name;
    context.pointer =
        ballast::to_string(state->what.what) + " (" + state->name + ")";
    fitted_terms fitted;
    fitted.what =
        make_operator({state->what, context.pointer, state->name, state->seed});
    fitted.state = state;
    fitted.note = [&notes](const std::string& note) { notes.tell(note); };
    rows = of_source(what, [&] {
      return fitted_rows(std::move(rows), std::move(fitted), context);
    });
  }
  arrow::FieldVector fields = rows->schema()->fields();
  fields.pop_back(); // the origin
  std::vector<int> columns(fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  rows->choose(std::move(columns));
  partial_path made(terms.file, partial_path::kind::file);
  const auto writer =
      open_writer(terms.file, made.path(), arrow::schema(std::move(fields)));
  applied_rows out;
  while (const auto batch = rows->next()) {
    writer->write(batch);
    out.rows += uint64_t(batch->num_rows());
  }
  if (terms.left_out.faults != nullptr)
    terms.left_out.faults->check(/*at_end=*/true);
  sources.check_unchanged();
  writer->finish();
  publish_with_list({&made}, terms.left_out);
  out.states = describe(states);
  out.notes = notes.notes();
  return out;
}

} // namespace ballast::data
