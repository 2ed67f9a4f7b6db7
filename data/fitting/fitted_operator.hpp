/// An operator that learns from training rows and then changes any rows: what
/// it wants to know, what it learns, and what it makes of a batch. One class
/// for each operator; who gathers facts, merges them and keeps the state is the
/// same for all (fit_rows.hpp, fitted_state.hpp). Includes Arrow; for source
/// files of data/ only.
///
/// Operators and bound ones are immutable and used by any thread, but where
/// in_order() says so. Errors: ballast_error{invalid_data} at the node's
/// pointer; row_error of a cell.
#pragma once

#include "data/fitting/fitted_state.hpp"
#include "data/fitting/learned_facts.hpp"
#include "data/source/record_stream.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

/// A node that is fitted, or of which a state is applied.
struct fit_terms {
  graph::node what;
  std::string pointer; // "/data/graph/3"; of a state the name of its folder
  std::string name;    // of the node, for messages
  uint64_t seed = 0;

  std::string step() const { return ballast::to_string(what.what); }
};

/// A column of the output: one of the input by its place, or one that is made.
struct output_column {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  int input = -1;
  int made = -1;
};

/// Begins with the columns of the input (without the origin).
class output_layout {
public:
  using made_column = std::pair<std::string, std::shared_ptr<arrow::DataType>>;

  explicit output_layout(const arrow::Schema& input);
  /// Made columns in the place of one; none: it is dropped.
  void replace(const std::string& column, const std::vector<made_column>& by);
  void append(const std::string& name, std::shared_ptr<arrow::DataType> type);
  /// Refuses two columns of one name.
  std::vector<output_column> take(const std::string& pointer);

private:
  std::vector<output_column> columns_;
  int made_ = 0;
};

/// Rows that come in: the columns of the state in their order, without targets.
struct given_rows {
  arrow::ArrayVector columns;
  int64_t rows = 0;
  row_finder place;
  uint64_t first_row = 0;   // of the stream, from 0
  bool of_training = false; // the rows that the operator was fitted on
};
/// The made columns, in the order of output_column::made, one cell for each row
/// that came in; and which of these do not go on, in order, each once.
struct made_rows {
  arrow::ArrayVector columns;
  std::vector<bad_row> removed = {};
};

class bound_operator {
public:
  virtual ~bound_operator() = default;
  virtual made_rows apply(const given_rows& rows) = 0;
  /// Whether a batch depends on those before it: one thread, in order.
  virtual bool in_order() const { return false; }
};

class fitted_operator {
public:
  explicit fitted_operator(fit_terms terms) : terms_(std::move(terms)) {}
  virtual ~fitted_operator() = default;

  const fit_terms& terms() const { return terms_; }
  /// The columns that it reads, each once, a target last.
  virtual fit_needs needs() const = 0;
  /// Into a state whose columns have names, types and counts already.
  virtual void learn(const learned_facts& /*facts*/,
                     fitted_state& /*into*/) const {}
  /// Refuses a state of columns of which a number is not finite: it would make
  /// every row so, and that would be said of the rows only later.
  void check_learned(const fitted_state& state) const;
  /// Whether the names of its columns are learned, too, so that nothing is
  /// known of them before.
  virtual bool names_are_learned() const { return false; }
  /// Whether it leaves rows out, so that it looks at all of its columns even
  /// where nobody wants one of them.
  virtual bool drops_rows() const { return false; }
  /// `state`: empty unless names_are_learned().
  virtual std::vector<output_column>
  layout(const arrow::Schema& input, const fitted_state& state) const = 0;
  /// Columns of the state: as they come.
  virtual std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const = 0;

protected:
  /// Column `i` of the state, for messages.
  cell_owner owner_of(const learned_column& column) const {
    return {terms_.pointer, terms_.step(), column.name};
  }
  /// Of a column whose numbers are finite, but not what is learned of them.
  [[noreturn]] void refuse_too_large(const learned_column& column) const;
  std::vector<std::string> columns() const {
    return graph::value_of<std::vector<std::string>>(terms_.what, "columns");
  }

private:
  const fit_terms terms_;
};

/// The operator of a node. ballast_error{invalid_job}: options that contradict
/// each other.
std::unique_ptr<fitted_operator> make_operator(fit_terms terms);

/// A state that has learned nothing yet: what it will be fitted on. Refuses
/// columns that are not there, twice there, or of another type than needed.
fitted_state unfitted(const fitted_operator& what, const arrow::Schema& input);
/// Of an operator that learns nothing this is all; else what it makes of the
/// facts of all training rows.
fitted_state learned_of(const fitted_operator& what, fitted_state unfitted,
                        const learned_facts& facts);

/// By families; null: of another.
std::unique_ptr<fitted_operator> make_scale_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_shape_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_impute_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_outlier_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_category_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_target_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_several_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator>
make_selection_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_date_operator(const fit_terms& terms);
std::unique_ptr<fitted_operator> make_text_operator(const fit_terms& terms);

} // namespace ballast::data
