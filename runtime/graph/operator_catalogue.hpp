/// Every operator of a data graph: what it does, what it reads, what may be
/// said to it, and whether rows flow through it or all must have come before
/// the first goes on. One table: validation, JSON Schema, the reference of the
/// job and `ballast data show` all come from it, and data/graph builds what it
/// names. Pure values.
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ballast::graph {

enum class op : uint8_t {
  filter,
  check,
  select,
  drop,
  rename,
  cast,
  derive,
  flat_map,
  map,
  limit,
  repeat,
  batch,
  unbatch,
  concat,
  zip,
  mix,
  join,
  sort,
  distinct,
  shuffle,
  sample,
  resample,
  split,
  cache,
  prefetch,
  impute,
  standardize,
  min_max,
  max_abs,
  robust,
  power,
  quantile,
  log,
  clip_outliers,
  bin,
  one_hot,
  ordinal,
  hash_encode,
  target_encode,
  tf_idf,
  hash_text,
  polynomial,
  date_parts,
  select_features,
  pca,
};

enum class join_kind : uint8_t { inner, left, right, full, semi, anti };
enum class split_kind : uint8_t { random, stratified, group, time };
/// What `cast` makes of a column.
enum class column_type : uint8_t {
  int64,
  float64,
  boolean,
  text,
  date,
  timestamp,
};

/// A value of an option; its alternative is the option's type. The map is of
/// columns: their names, and what is said of each.
using option_value =
    std::variant<bool, uint64_t, double, std::string, std::vector<std::string>,
                 std::vector<double>, std::map<std::string, std::string>>;

struct option {
  std::string name;
  std::string doc;
  /// Its type, and what it is where nothing is said.
  option_value usual;
  bool required = false;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  /// Of a text, or of the texts of a map; empty: any.
  std::vector<std::string> words = {};
  /// What the values of a map are, or the text itself.
  enum class kind : uint8_t {
    plain,
    path, // relative: to the folder of the job file
    json, // of a map: any JSON, kept as its text
  };
  kind is = kind::plain;
};

/// How rows go through an operator.
enum class flow : uint8_t {
  streaming, // a row goes on as soon as it is there
  blocking,  // all must have come; what does not fit into memory is on disk
};

struct operator_about {
  op what{};
  std::string doc;
  size_t inputs_min = 1;
  size_t inputs_max = 1;
  size_t outputs_min = 1;
  size_t outputs_max = 1;
  flow how = flow::streaming;
  bool seeded = false; // what it does depends on the job's seed
  /// As many outputs as inputs: each is that input, changed row by row.
  bool each_input = false;
  /// Of these: it learns from the rows of its first input before it changes
  /// any, so that these must be training rows.
  bool fitted = false;
  std::vector<option> options = {};
};

/// In the order of op.
const std::vector<operator_about>& operator_catalogue();
const operator_about& about(op what);
/// Null: it has no option of this name.
const option* find_option(op what, std::string_view name);

} // namespace ballast::graph

namespace ballast {

template <>
inline constexpr auto words_of<graph::op> = std::to_array<std::string_view>(
    {"filter",    "check",         "select",        "drop",
     "rename",    "cast",          "derive",        "flat_map",
     "map",       "limit",         "repeat",        "batch",
     "unbatch",   "concat",        "zip",           "mix",
     "join",      "sort",          "distinct",      "shuffle",
     "sample",    "resample",      "split",         "cache",
     "prefetch",  "impute",        "standardize",   "min_max",
     "max_abs",   "robust",        "power",         "quantile",
     "log",       "clip_outliers", "bin",           "one_hot",
     "ordinal",   "hash_encode",   "target_encode", "tf_idf",
     "hash_text", "polynomial",    "date_parts",    "select_features",
     "pca"});
template <>
inline constexpr auto words_of<graph::join_kind> =
    std::to_array<std::string_view>({"inner", "left", "right", "full", "semi",
                                     "anti"});
template <>
inline constexpr auto words_of<graph::split_kind> =
    std::to_array<std::string_view>({"random", "stratified", "group", "time"});
template <>
inline constexpr auto words_of<graph::column_type> =
    std::to_array<std::string_view>({"int64", "float64", "bool", "text", "date",
                                     "timestamp"});
template <>
inline constexpr auto words_of<graph::flow> =
    std::to_array<std::string_view>({"streaming", "blocking"});

} // namespace ballast
