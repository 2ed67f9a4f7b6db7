/// What is gathered of training rows before an operator learns from it: the
/// part of one batch, as a value, and several parts as one. Parts are put
/// together in the order of their batches (merge_tree.hpp), so that a run of
/// rows may as well be gathered by another process. Includes Arrow; for source
/// files of data/ only. Pure functions; errors: row_error of a cell.
#pragma once

#include "data/fitting/category_counts.hpp"
#include "data/fitting/column_values.hpp"
#include "data/fitting/moments.hpp"
#include "data/fitting/quantile_sketch.hpp"
#include "data/fitting/row_sample.hpp"
#include "data/fitting/text_tokens.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// A column that an operator reads, and what it wants to know of it.
struct column_need {
  std::string column;
  value_kind kind = value_kind::numbers;
  bool missing_allowed = false;
  bool moments = false;
  bool quantiles = false;
  bool categories = false;
  bool targets = false; // the target by category and fold
  /// Of a text: its tokens are counted; null: they are not.
  std::shared_ptr<const text_tokens> tokens = nullptr;
};

struct fit_needs {
  std::vector<column_need> columns;
  /// Of the columns that want neither categories nor targets: how they vary
  /// together; or their sums by class of the target.
  bool together = false;
  bool classes = false;
  int target = -1; // one of the columns
  uint64_t folds = 0;
  uint64_t seed = 0;
  /// Rows of all columns of numbers that are kept as they are, at most; 0:
  /// none. With `classes` the number of the class is behind them.
  uint64_t sample_rows = 0;
};

/// The fold of a training row, by its number from 0.
uint64_t fold_of(uint64_t row, uint64_t folds, uint64_t seed);

struct target_sum {
  double sum = 0;
  uint64_t count = 0;
  void add(const target_sum& other) {
    sum += other.sum;
    count += other.count;
  }
};
struct class_sums {
  uint64_t count = 0;
  std::vector<double> sums; // of each column that is taken together
};

struct column_facts {
  uint64_t values = 0;
  uint64_t missing = 0;
  moments numbers;
  quantile_sketch quantiles;
  category_counts categories;
  std::map<std::string, std::vector<target_sum>, std::less<>> targets;
  token_counts tokens;
};

struct learned_facts {
  uint64_t rows = 0;
  std::vector<column_facts> columns; // in the order of the needs
  std::vector<target_sum> folds;     // the target of all rows, by fold
  comoments together;
  std::map<std::string, class_sums, std::less<>> classes;
  row_sample sample;                    // NaN where a value is missing
  std::vector<std::string> class_names; // of the numbers there
};

/// Of one batch: the columns of the needs in their order. `step`: the operator,
/// `pointer`: its node, for messages; `first_row`: of all training rows.
learned_facts facts_of(const arrow::ArrayVector& columns,
                       const fit_needs& needs, const std::string& step,
                       const std::string& pointer, const row_finder& place,
                       uint64_t first_row);
/// `later` comes behind `into`. ballast_error{invalid_data}: more categories
/// than there may be.
void merge(learned_facts& into, learned_facts later, const fit_needs& needs,
           const std::string& pointer);

} // namespace ballast::data
