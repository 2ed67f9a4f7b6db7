/// The operators that learn from training rows, and those that are kept with
/// them: a part of operator_catalogue.cpp.
#include "runtime/graph/fitted_words.hpp"
#include "runtime/graph/operator_catalogue.hpp"

#include <algorithm>
#include <iterator>

namespace ballast::graph {

void add_fitted(std::vector<operator_about>& all);

namespace {

using text_option = std::string;
using list_option = std::vector<std::string>;

constexpr size_t outputs_most = 16;
constexpr double any_number = 1e300;

template <class Enum>
list_option words_in() {
  return {words_of<Enum>.begin(), words_of<Enum>.end()};
}

template <class Enum>
option one_word(const char* name, const char* doc, Enum usual) {
  return {.name = name,
          .doc = doc,
          .usual = to_string(usual),
          .words = words_in<Enum>()};
}

option columns_of(const char* doc) {
  return {
      .name = "columns", .doc = doc, .usual = list_option(), .required = true};
}

/// `learns`: from the rows of its first input.
void add_one(std::vector<operator_about>& all, op what, bool learns,
             std::string doc, std::vector<option> options) {
  all.push_back({.what = what,
                 .doc = std::move(doc),
                 .inputs_max = outputs_most,
                 .outputs_max = outputs_most,
                 .how = learns ? flow::blocking : flow::streaming,
                 .seeded = what == op::target_encode,
                 .each_input = true,
                 .fitted = learns,
                 .options = std::move(options)});
}

void add_impute(std::vector<operator_about>& all) {
  add_one(
      all, op::impute, true, "A value where one is missing (null, or NaN).",
      {columns_of("The columns that are filled."),
       one_word("strategy",
                "`mean`, `median` and `mode` of the training rows; `knn`: of "
                "the nearest training rows that have one (these, `mean` and "
                "`median` make float64); `constant`: `value`; `forward`: that "
                "of the row before; `drop`: the row is left out.",
                impute_kind::mean),
       {"value", "Of `constant`: a number, or text.", text_option()},
       {"indicator",
        "Whether a column NAME_missing (0 or 1) says where one was missing.",
        false},
       {.name = "neighbors",
        .doc = "Of `knn`: the mean of so many; fewer where no more have one. "
               "Distances are over all of `columns`: the mean square of the "
               "differences where both rows have a value.",
        .usual = uint64_t{5},
        .low = 1,
        .high = 1000},
       one_word("weights",
                "Of `knn`: whether all count alike, or by 1 over the "
                "`distance`.",
                neighbour_weights::uniform),
       {.name = "donors",
        .doc = "Of `knn`: at most so many training rows are kept, and searched "
               "for each row with a missing value; of more, drawn ones.",
        .usual = uint64_t{100'000},
        .low = 1,
        .high = 1e6}});
}

void add_scales(std::vector<operator_about>& all) {
  add_one(all, op::standardize, true,
          "(value - mean) / standard deviation of the training rows.",
          {columns_of("Columns of numbers."),
           {"center", "Whether the mean is subtracted.", true},
           {"scale",
            "Whether it is divided by the standard deviation (of n, not n - "
            "1); a constant column is divided by 1, which is said.",
            true}});
  add_one(all, op::min_max, true,
          "The least value of the training rows becomes `low`, the largest "
          "`high`, those between in proportion.",
          {columns_of("Columns of numbers."),
           {.name = "low",
            .doc = "The least.",
            .usual = 0.0,
            .low = -any_number,
            .high = any_number},
           {.name = "high",
            .doc = "The largest.",
            .usual = 1.0,
            .low = -any_number,
            .high = any_number},
           {"clip", "Whether what lies beyond them becomes `low` or `high`.",
            false}});
  add_one(all, op::max_abs, true,
          "Divided by the largest absolute value of the training rows.",
          {columns_of("Columns of numbers.")});
  add_one(
      all, op::robust, true,
      "(value - median) / distance of two quantiles of the training rows: "
      "outliers move neither.",
      {columns_of("Columns of numbers."),
       {.name = "low", .doc = "The lower quantile.", .usual = 0.25, .high = 1},
       {.name = "high",
        .doc = "The upper quantile.",
        .usual = 0.75,
        .high = 1}});
}

void add_shapes(std::vector<operator_about>& all) {
  add_one(all, op::power, true,
          "A power that makes the training rows look most like a normal "
          "distribution: the lambda of the largest likelihood.",
          {columns_of("Columns of numbers."),
           one_word("method",
                    "`yeo_johnson`: of any numbers; `box_cox`: of numbers "
                    "above 0.",
                    power_kind::yeo_johnson),
           {"standardize", "Whether the result is standardized.", true}});
  add_one(all, op::quantile, true,
          "The rank of a value among the training rows, between 0 and 1, or "
          "the number that has this rank in a normal distribution.",
          {columns_of("Columns of numbers."),
           {.name = "quantiles",
            .doc = "Between so many of them values are interpolated; at most "
                   "as many as there are training rows.",
            .usual = uint64_t{1000},
            .low = 2,
            .high = 100'000},
           one_word("output", "The distribution of the result.",
                    distribution_kind::uniform)});
  add_one(all, op::log, false,
          "The natural logarithm of value + `offset`. Learns nothing.",
          {columns_of("Columns of numbers."),
           {.name = "offset",
            .doc = "1 takes a 0 to 0.",
            .usual = 0.0,
            .low = -any_number,
            .high = any_number}});
  add_one(all, op::clip_outliers, true,
          "What lies too far off the middle of the training rows is brought "
          "to the limit, marked, or its row is left out.",
          {columns_of("Columns of numbers."),
           one_word("method",
                    "`z`: standard deviations from the mean; `mad`: 1.4826 "
                    "times the median distance from the median; `iqr`: "
                    "distances of the quartiles beyond them.",
                    outlier_kind::z),
           {.name = "limit",
            .doc = "How many of these; 0: 3 of `z`, 3.5 of `mad`, 1.5 of "
                   "`iqr`.",
            .usual = 0.0,
            .high = any_number},
           one_word("action",
                    "`clip`: to the limit; `remove`: the row is left out, of "
                    "every input; `mark`: a column NAME_outlier (0 or 1).",
                    outlier_action::clip)});
  add_one(all, op::bin, true,
          "The number of the bin, from 0, that a value falls into; what lies "
          "beyond the training rows falls into the first or last.",
          {columns_of("Columns of numbers."),
           one_word("method",
                    "`equal_width`: between the least and the largest value; "
                    "`quantile`: of equally many training rows (fewer bins "
                    "where many are equal).",
                    bin_kind::quantile),
           {.name = "bins",
            .doc = "How many.",
            .usual = uint64_t{5},
            .low = 2,
            .high = 10'000}});
}

void add_categories(std::vector<operator_about>& all) {
  const option unseen =
      one_word("unseen",
               "A category that no training row has: `error`; `ignore`: as if "
               "it were none; `other`: as one of its own.",
               unseen_kind::error);
  add_one(all, op::one_hot, true,
          "Instead of a column one for each category of the training rows, "
          "NAME_CATEGORY, that is 1 in its rows and else 0; with `unseen` "
          "`other` also NAME_other.",
          {columns_of("Columns of text, whole numbers or booleans."),
           unseen,
           {.name = "categories_max",
            .doc = "More of one column are an error.",
            .usual = uint64_t{256},
            .low = 1,
            .high = 65536},
           {"drop_first",
            "Whether the first category has no column: all 0 stands for it.",
            false}});
  add_one(all, op::ordinal, true,
          "The number of the category, from 0, in their order. `ignore` makes "
          "-1 of an unseen one, `other` the number behind the last.",
          {columns_of("Columns of text, whole numbers or booleans."), unseen});
  add_one(all, op::hash_encode, false,
          "A number below `buckets` for each category, by a hash; different "
          "ones may have the same. Learns nothing.",
          {columns_of("Columns of text, whole numbers or booleans."),
           {.name = "buckets",
            .doc = "How many.",
            .usual = uint64_t{1024},
            .low = 2,
            .high = 1 << 30}});
  add_one(all, op::target_encode, true,
          "The mean of `target` over the training rows of the category, drawn "
          "towards the mean of all where they are few. Of a training row it "
          "is the mean over the rows of other folds, so that no row knows its "
          "own target. `ignore` and `other` take the mean of all.",
          {columns_of("Columns of text, whole numbers or booleans."),
           {.name = "target",
            .doc = "A column of numbers, which is not changed.",
            .usual = text_option(),
            .required = true},
           {.name = "folds",
            .doc = "The training rows are dealt into so many, by their number "
                   "and the seed.",
            .usual = uint64_t{5},
            .low = 2,
            .high = 100},
           {.name = "smooth",
            .doc = "The mean of all counts as much as so many rows.",
            .usual = 10.0,
            .high = any_number},
           unseen});
}

/// How a text becomes tokens, of both operators on texts.
std::vector<option> tokens(std::vector<option> more) {
  std::vector<option> out{
      columns_of("Columns of text."),
      {.name = "analyzer",
       .doc = "`words`: runs of two or more letters, digits or underscores; "
              "`characters`: all characters, runs of space as one.",
       .usual = to_string(token_unit::words),
       .words = words_in<token_unit>()},
      {.name = "ngram_min",
       .doc = "A token is a run of at least so many words or characters, ...",
       .usual = uint64_t{1},
       .low = 1,
       .high = 16},
      {.name = "ngram_max",
       .doc = "... and of at most so many.",
       .usual = uint64_t{1},
       .low = 1,
       .high = 16},
      {"lowercase", "Whether letters are made small before.", true},
      {.name = "stop_words",
       .doc = "Words that are left out, before they are put together.",
       .usual = list_option()}};
  out.insert(out.end(), std::move_iterator(more.begin()),
             std::move_iterator(more.end()));
  return out;
}

option norm_of() {
  return one_word("norm",
                  "What the numbers of a row are divided by: the root of the "
                  "sum of their squares (`l2`), the sum of their absolute "
                  "values (`l1`), or nothing.",
                  norm_kind::l2);
}

void add_texts(std::vector<operator_about>& all) {
  add_one(
      all, op::tf_idf, true,
      "Instead of a column of text one for each token of the training rows, "
      "NAME_TOKEN: how often it occurs in the row, weighted by how few "
      "training rows have it, as scikit-learn's TfidfVectorizer does.",
      tokens(
          {{.name = "min_df",
            .doc = "Tokens that fewer training rows have are left out.",
            .usual = uint64_t{1},
            .low = 1},
           {.name = "max_df",
            .doc = "Likewise those that more than this part of the "
                   "training rows have.",
            .usual = 1.0,
            .low = 0,
            .high = 1,
            .low_excluded = true},
           {.name = "max_features",
            .doc = "At most so many are kept, those that occur most often; "
                   "of equal ones the first in order.",
            .usual = uint64_t{256},
            .low = 1,
            .high = 16384},
           {"use_idf",
            "Whether numbers are multiplied by ln((1 + rows) / (1 + rows "
            "with the token)) + 1.",
            true},
           {"smooth_idf", "Whether both 1 in that fraction are there.", true},
           {"sublinear_tf",
            "Whether a token that occurs n times counts 1 + ln(n).", false},
           norm_of()}));
  add_one(all, op::hash_text, false,
          "Instead of a column of text `buckets` of numbers, NAME_0, NAME_1, "
          "...: how often the tokens occur whose hash is the number of the "
          "bucket. Learns nothing.",
          tokens({{.name = "buckets",
                   .doc = "How many.",
                   .usual = uint64_t{256},
                   .low = 2,
                   .high = 16384},
                  {"signed",
                   "Whether half of the tokens count below 0, so that those "
                   "of one bucket cancel rather than add up.",
                   true},
                  norm_of()}));
}

void add_several(std::vector<operator_about>& all) {
  add_one(all, op::polynomial, false,
          "Products of the columns, and their powers, as further columns: "
          "`a^2`, `a b`. Learns nothing.",
          {columns_of("Columns of numbers."),
           {.name = "degree",
            .doc = "Of the largest product.",
            .usual = uint64_t{2},
            .low = 2,
            .high = 4},
           {"interaction_only", "Whether there are no powers.", false}});
  list_option parts{"year", "month", "day", "weekday"};
  add_one(all, op::date_parts, false,
          "Instead of a column of dates or times one for each part, "
          "NAME_PART; a weekday counts from 0, Monday. Learns nothing.",
          {columns_of("Columns of dates or timestamps (\"cast\" makes them "
                      "of text)."),
           {.name = "parts",
            .doc = "Which ones.",
            .usual = parts,
            .words = words_in<date_part>()},
           {"keep", "Whether the column itself stays, too.", false}});
  add_one(all, op::select_features, true,
          "Only those of the columns that say enough in the training rows; "
          "others are left out.",
          {columns_of("Columns of numbers, of which some are kept. All other "
                      "columns stay."),
           one_word("method",
                    "`variance`; or, with `target`, the absolute "
                    "`correlation`, `chi2` of values that are not below 0 "
                    "(counts, flags) and classes, or the "
                    "`mutual_information` of values and classes, in nats, of "
                    "any relation. What columns that say nothing have of the "
                    "last is about (`bins` - 1) (classes - 1) / (2 rows).",
                    selection_kind::variance),
           {.name = "target",
            .doc = "The column that the others are to tell something of: of "
                   "numbers for `correlation`, of classes for the other two.",
            .usual = text_option()},
           {.name = "bins",
            .doc = "Of `mutual_information`: a column with more different "
                   "values is cut into so many bins of about equally many "
                   "rows, equal values in the same one.",
            .usual = uint64_t{16},
            .low = 2,
            .high = 1000},
           {.name = "threshold",
            .doc = "Columns with a score of at most this are left out.",
            .usual = 0.0,
            .high = any_number},
           {.name = "count",
            .doc = "At most so many are kept, those with the largest scores; "
                   "0: any number.",
            .usual = uint64_t{0},
            .high = 65536}});
  add_one(all, op::pca, true,
          "Instead of the columns their principal components, pca_1, pca_2, "
          "..., behind the other columns.",
          {columns_of("Columns of numbers, at most 512."),
           {.name = "components",
            .doc = "How many.",
            .usual = uint64_t{2},
            .required = true,
            .low = 1,
            .high = 512},
           {"whiten", "Whether each is divided by its standard deviation.",
            false}});
}

} // namespace

void add_fitted(std::vector<operator_about>& all) {
  add_impute(all);
  add_scales(all);
  add_shapes(all);
  add_categories(all);
  add_texts(all);
  add_several(all);
}

} // namespace ballast::graph
