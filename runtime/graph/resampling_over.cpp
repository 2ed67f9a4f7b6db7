// The methods of resampling that add rows.
#include "runtime/graph/resampling_options.hpp"

#include <utility>

namespace ballast::graph {

namespace {

using text = std::string;

void add_basic(std::vector<resampling_about>& all) {
  const option how_many = strategy(resampling_kind::over);
  all.push_back(
      {.what = resampling::random_over,
       .kind = resampling_kind::over,
       .doc = "Repeats rows that are drawn with replacement.",
       .needs_numbers = false,
       .options = {how_many,
                   draws(),
                   {.name = "shrinkage",
                    .doc = "Above 0: the repeated rows are moved by normal "
                           "noise, this much times a smoothing bandwidth "
                           "times the deviation of each column in the class.",
                    .usual = 0.0,
                    .high = 1e6}}});
  all.push_back({.what = resampling::smote,
                 .kind = resampling_kind::over,
                 .doc = "Adds rows on the lines between a row and its nearest "
                        "neighbours of the same class.",
                 .makes_rows = true,
                 .options = {how_many, k_of_smote(), policy(), draws()}});
  all.push_back(
      {.what = resampling::borderline_smote,
       .kind = resampling_kind::over,
       .doc = "As smote, but only from rows in danger: at least half of their "
              "neighbours, and not all, are of other classes.",
       .makes_rows = true,
       .options = {how_many,
                   k_of_smote(),
                   m_of_danger(),
                   {.name = "kind",
                    .doc = "`borderline-1`: lines to rows of the same class; "
                           "`borderline-2`: to rows of any class, and of "
                           "those to another one at most the first half.",
                    .usual = text("borderline-1"),
                    .words = words_for<borderline_kind>()},
                   policy()}});
  all.push_back(
      {.what = resampling::adasyn,
       .kind = resampling_kind::over,
       .doc = "As smote, but a row gives the more new ones the more of its "
              "neighbours are of other classes; exactly as many as wanted.",
       .makes_rows = true,
       .options = {how_many,
                   neighbours("n_neighbors", 5,
                              "For both: how many neighbours are counted, and "
                              "between how many the new rows lie."),
                   policy()}});
}

void add_over_categories(std::vector<resampling_about>& all) {
  const option how_many = strategy(resampling_kind::over);
  all.push_back(
      {.what = resampling::smotenc,
       .kind = resampling_kind::over,
       .doc =
           "As smote, of rows with categories, too: where two rows differ in "
           "one, their squared distance grows by the square of the median "
           "deviation of the columns of numbers in the class. A new row has "
           "of each the most frequent one of the neighbours; of several a "
           "drawn one.",
       .takes_categories = true,
       .makes_rows = true,
       .options = {how_many,
                   {.name = "categorical_features",
                    .doc = "Which columns are categories: `auto` (text and "
                           "booleans), or a list: `[\"city\", \"kind\"]`.",
                    .usual = text("auto")},
                   k_of_smote(),
                   policy()}});
  all.push_back(
      {.what = resampling::smoten,
       .kind = resampling_kind::over,
       .doc = "Of rows of categories alone: a new row has of each the most "
              "frequent one (of several the first) of a drawn row and its "
              "nearest of the same class, by the value difference metric: two "
              "categories are the nearer the more alike the classes of their "
              "rows are.",
       .needs_numbers = false,
       .takes_categories = true,
       .makes_rows = true,
       .options = {how_many,
                   neighbours("k_neighbors", 5,
                              "How many nearest rows of the class are asked "
                              "beside the row itself."),
                   policy(), draws()}});
}

void add_over_clusters(std::vector<resampling_about>& all) {
  all.push_back(
      {.what = resampling::kmeans_smote,
       .kind = resampling_kind::over,
       .doc = "As smote, within clusters that k-means finds among all rows: of "
              "those with enough rows of the class a cluster gets the more new "
              "ones the further its rows are apart; exactly as many as wanted.",
       .makes_rows = true,
       .options = {
           strategy(resampling_kind::over),
           neighbours("k_neighbors", 2,
                      "A new row lies between a row and one of so many nearest "
                      "rows of its class and cluster; a cluster with no more "
                      "rows of the class than that gets none."),
           {.name = "n_clusters",
            .doc = "How many clusters.",
            .usual = uint64_t{8},
            .low = 1,
            .high = 10000},
           {.name = "cluster_balance_threshold",
            .doc = "The least share that the class has among a cluster's rows, "
                   "from 0 to 1; `auto`: half of its share of the new rows.",
            .usual = text("auto")},
           {.name = "density_exponent",
            .doc = "A cluster's part of the new rows is as the mean distance "
                   "of its rows of the class (of more than 8192 so many drawn "
                   "ones) to this power, over their number n; `auto`: 0.16 "
                   "(log_1.6 n)^1.8.",
            .usual = text("auto")},
           rounds_of_k_means()}});
}

void add_over_border(std::vector<resampling_about>& all) {
  all.push_back(
      {.what = resampling::svm_smote,
       .kind = resampling_kind::over,
       .doc = "As smote, but only from the support vectors of a classifier "
              "with the kernel exp(-gamma d^2): from those in danger (half of "
              "their neighbours or more are of other classes) to neighbours, "
              "from the others away from them; those with such neighbours "
              "alone are noise. At most 100,000 rows.",
       .makes_rows = true,
       .options = {
           strategy(resampling_kind::over),
           k_of_smote(),
           m_of_danger(),
           {.name = "out_step",
            .doc = "How far away from a neighbour a new row is at most, in "
                   "distances to it.",
            .usual = 0.5,
            .high = 100},
           {.name = "C",
            .doc = "How much a row on the wrong side of the border counts.",
            .usual = 1.0,
            .low = 1e-6,
            .high = 1e6},
           {.name = "gamma",
            .doc = "Of the kernel; 0: 1 over the columns times the variance of "
                   "all values.",
            .usual = 0.0,
            .high = 1e9},
           policy()}});
}

std::vector<option> of_ranges() {
  return {
      {.name = "sampling_strategy",
       .doc = "`balance`: each range gets as many rows as the others; "
              "`extreme`: the more the fewer it has. The sum stays.",
       .usual = text("balance"),
       .words = {"balance", "extreme"}},
      {.name = "relevance",
       .doc = "How much values are of interest: `auto`, by a box plot (the "
              "median 0; the last value that is no outlier 1, on a side that "
              "has outliers), or values with theirs: `[[10, 1], [20, 0]]`; a "
              "cubic without slope at these lies between.",
       .usual = text("auto")},
      {.name = "relevance_threshold",
       .doc = "Values of at least this relevance are rare; a range is a run "
              "of values that are rare, or are not.",
       .usual = 0.5,
       .low = 0.001,
       .high = 1},
      {.name = "relevance_coefficient",
       .doc = "Of `auto`: outliers are more than this many distances of the "
              "quartiles beyond them.",
       .usual = 1.5,
       .high = 1000},
      {.name = "rare",
       .doc = "Of `auto`: which outliers count, the `low` ones, the `high` "
              "ones, or `both`.",
       .usual = text("both"),
       .words = words_for<rare_values>()},
      {.name = "under_sample",
       .doc = "Whether ranges with more rows than they get lose some.",
       .usual = true},
      neighbours("k_neighbors", 5,
                 "A new row lies between a row and one of so many nearest rows "
                 "of its range."),
      policy()};
}

} // namespace

void add_over(std::vector<resampling_about>& all) {
  add_basic(all);
  add_over_categories(all);
  add_over_clusters(all);
  add_over_border(all);
}

void add_ranges(std::vector<resampling_about>& all) {
  all.push_back({.what = resampling::smoter,
                 .kind = resampling_kind::ranges,
                 .doc = "Of a label that is a number to be predicted: rows of "
                        "rare values are added as by smote, the number between "
                        "those of the two rows likewise; rows of the others "
                        "are drawn.",
                 .makes_rows = true,
                 .options = of_ranges()});
  std::vector<option> more = of_ranges();
  more.push_back({.name = "noise",
                  .doc = "The deviation of the noise, in deviations of each "
                         "column in the range.",
                  .usual = 0.02,
                  .high = 1000});
  all.push_back({.what = resampling::smogn,
                 .kind = resampling_kind::ranges,
                 .doc = "As smoter; but where the neighbour is further off "
                        "than half the row's median distance to the rows of "
                        "its range (of more than 8192 so many of them), the "
                        "new row is the row itself, moved by normal noise.",
                 .makes_rows = true,
                 .options = std::move(more)});
}

} // namespace ballast::graph
