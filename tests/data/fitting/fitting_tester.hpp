/// What the tests of fitted operators share: operators as a job writes them,
/// fitted on rows made of JSON, and what they make of rows.
#pragma once

#include "data/fitting/fit_rows.hpp"
#include "data/fitting/fitted_stream.hpp"
#include "tests/data/operators/operator_tester.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

using rows_pointer = std::shared_ptr<arrow::RecordBatch>;

/// {"op": "standardize", "columns": ["x"], ...}
inline fit_terms terms_of(const nlohmann::json& node, uint64_t seed = 7) {
  fit_terms out;
  out.what.what = *parse_word<graph::op>(node.at("op").get<std::string>());
  for (const auto& [name, value] : node.items())
    if (name != "op")
      std::visit(
          [&value = value](auto& place) {
            place = value.template get<std::decay_t<decltype(place)>>();
          },
          graph::option_of(out.what, name));
  out.pointer = "/data/graph/2";
  out.name = "the node";
  out.seed = seed;
  return out;
}

class fitted {
public:
  fitted(const nlohmann::json& node, const rows_pointer& training,
         size_t threads = 1, int64_t rows_at_once = 4096)
      : what(make_operator(terms_of(node))),
        state(std::make_shared<const fitted_state>(fit_rows(
            *what, stream_of(training, rows_at_once), context(), threads))) {}

  /// With the origin.
  rows_pointer rows(const rows_pointer& in, bool of_training = false,
                    size_t threads = 1, int64_t rows_at_once = 4096) {
    fitted_terms terms{what, state, of_training, threads};
    terms.note = [this](const std::string& note) { notes.push_back(note); };
    return all_of(fitted_rows(stream_of(in, rows_at_once), terms, context()));
  }
  /// Without it, as text.
  std::vector<std::string> lines(const rows_pointer& in,
                                 bool of_training = false) {
    const auto out = rows(in, of_training);
    return lines_of(*out->RemoveColumn(out->num_columns() - 1).ValueOrDie());
  }
  std::vector<std::string> names(const rows_pointer& in) {
    std::vector<std::string> out = rows(in)->schema()->field_names();
    out.pop_back();
    return out;
  }

  static operator_context context() {
    operator_context out;
    out.pointer = "/data/graph/2";
    out.name = "the node";
    return out;
  }

  std::shared_ptr<const fitted_operator> what;
  std::shared_ptr<const fitted_state> state;
  std::vector<std::string> notes;
};

inline rows_pointer numbers(const std::vector<std::string>& names,
                            const std::string& json) {
  arrow::FieldVector fields;
  for (const std::string& name : names)
    fields.push_back(arrow::field(name, arrow::float64()));
  return rows_of(fields, json);
}
inline rows_pointer texts(const std::string& json) {
  return rows_of({arrow::field("t", arrow::utf8())}, json);
}

inline std::vector<double> column_of(const arrow::RecordBatch& rows,
                                     const std::string& name) {
  const auto& column =
      static_cast<const arrow::DoubleArray&>(*rows.GetColumnByName(name));
  std::vector<double> out;
  for (int64_t i = 0; i < column.length(); ++i)
    out.push_back(column.Value(i));
  return out;
}

/// The message of what a call refuses.
template <class Call>
std::string refused(Call call, errc code = errc::invalid_data) {
  try {
    call();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was taken";
  return {};
}

} // namespace ballast::data
