#include "runtime/graph/resampling_methods.hpp"

namespace ballast::graph {

namespace {

using text = std::string;

template <class Enum>
std::vector<std::string> words_for() {
  return {words_of<Enum>.begin(), words_of<Enum>.end()};
}

constexpr double neighbours_max = 1000;

option strategy(resampling_kind kind) {
  const char* doc =
      kind == resampling_kind::clean
          ? "Which classes lose rows: `auto` or `not minority`, `majority`, "
            "`not majority`, `all`, or a list: `[\"a\", \"b\"]`."
      : kind == resampling_kind::under
          ? "`auto` or `not minority`: all classes but the smallest are cut to "
            "its rows; `majority`, `not majority`, `all`; a number in (0, 1], "
            "of two classes: the rows of the smaller over those of the larger "
            "one afterwards; or rows by class: `{\"a\": 100}`."
          : "`auto` or `not majority`: all classes but the largest are raised "
            "to its rows; `minority`, `not minority`, `all`; a number in (0, "
            "1], of two classes: the rows of the smaller over those of the "
            "larger one afterwards; or rows by class: `{\"a\": 1000}`.";
  return {.name = "sampling_strategy", .doc = doc, .usual = text("auto")};
}

option neighbours(const char* name, uint64_t usual, const char* doc) {
  return {.name = name,
          .doc = doc,
          .usual = usual,
          .low = 1,
          .high = neighbours_max};
}

option k_of_smote() {
  return neighbours("k_neighbors", 5,
                    "A new row lies between a row and one of so many nearest "
                    "rows of its class.");
}

option policy() {
  return {.name = "k_policy",
          .doc = "Of a class with no more rows than neighbours are wanted: "
                 "`error`; `shrink`: takes as many as there are; `duplicate`: "
                 "repeats its rows.",
          .usual = text("error"),
          .words = words_for<small_class>()};
}

option draws() {
  return {.name = "rng",
          .doc = "`counter`: each new row has numbers of its own; "
                 "`numpy_mt19937`: those of NumPy's RandomState(seed), in the "
                 "order in which imbalanced-learn draws them.",
          .usual = text("counter"),
          .words = words_for<draw_source>()};
}

option kind_sel() {
  return {.name = "kind_sel",
          .doc = "A row stays if `all` of these are of its class, or if the "
                 "most frequent class (`mode`; of several the first) is.",
          .usual = text("all"),
          .words = words_for<agreement>()};
}

option n_of_cleaning() {
  return neighbours("n_neighbors", 3, "How many nearest rows are looked at.");
}

void add_over(std::vector<resampling_about>& all) {
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
                   neighbours("m_neighbors", 10,
                              "The neighbours, of any class, that say whether "
                              "a row is in danger."),
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
           {.name = "max_iter",
            .doc = "Rounds of k-means at most.",
            .usual = uint64_t{300},
            .low = 1,
            .high = 10000}}});
}

void add_under(std::vector<resampling_about>& all) {
  const option how_many = strategy(resampling_kind::under);
  all.push_back(
      {.what = resampling::random_under,
       .kind = resampling_kind::under,
       .doc = "Keeps rows that are drawn.",
       .needs_numbers = false,
       .options = {how_many,
                   draws(),
                   {"replacement", "Whether a row may be drawn more than once.",
                    false}}});
  all.push_back(
      {.what = resampling::near_miss,
       .kind = resampling_kind::under,
       .doc = "Keeps the rows that are nearest to the smallest class.",
       .options = {
           how_many,
           {.name = "version",
            .doc = "1: by the mean distance to its nearest rows; 2: to "
                   "its furthest ones; 3: of the neighbours of its "
                   "rows those with the largest mean distance.",
            .usual = uint64_t{1},
            .low = 1,
            .high = 3},
           neighbours("n_neighbors", 3, "Of how many rows the mean is."),
           neighbours("n_neighbors_ver3", 3,
                      "Of version 3: how many neighbours of each row "
                      "are looked at.")}});
  all.push_back(
      {.what = resampling::cluster_centroids,
       .kind = resampling_kind::under,
       .doc = "Replaces the rows of a class by the centres that k-means finds "
              "in it.",
       .makes_rows = true,
       .options = {how_many,
                   {.name = "voting",
                    .doc = "`soft`: the centres; `hard`: the row nearest to "
                           "each centre, no row twice.",
                    .usual = text("soft"),
                    .words = words_for<voting>()},
                   {.name = "max_iter",
                    .doc = "Rounds of k-means at most.",
                    .usual = uint64_t{300},
                    .low = 1,
                    .high = 10000}}});
}

void add_hardness(std::vector<resampling_about>& all) {
  all.push_back(
      {.what = resampling::instance_hardness,
       .kind = resampling_kind::under,
       .doc = "Keeps the rows whose class is the most probable: the share of "
              "their nearest rows, themselves left out, that are of it; of "
              "equal ones drawn ones.",
       .options = {strategy(resampling_kind::under),
                   neighbours("n_neighbors", 5,
                              "Of how many nearest rows the share is.")}});
}

void add_clean(std::vector<resampling_about>& all) {
  const option which = strategy(resampling_kind::clean);
  all.push_back({.what = resampling::condensed_nn,
                 .kind = resampling_kind::clean,
                 .doc = "Keeps, besides the smallest class, only rows that the "
                        "rows kept so far would have given a wrong class.",
                 .options = {which,
                             {.name = "n_seeds_S",
                              .doc = "How many drawn rows it begins with.",
                              .usual = uint64_t{1},
                              .low = 1,
                              .high = 1e6}}});
  all.push_back({.what = resampling::one_sided_selection,
                 .kind = resampling_kind::clean,
                 .doc = "One pass of condensed_nn against the drawn rows and "
                        "the smallest class alone, then tomek_links.",
                 .options = {which,
                             {.name = "n_seeds_S",
                              .doc = "How many rows are drawn.",
                              .usual = uint64_t{1},
                              .low = 1,
                              .high = 1e6}}});
  all.push_back({.what = resampling::tomek_links,
                 .kind = resampling_kind::clean,
                 .doc = "Removes a row if it and a row of another class are "
                        "each other's nearest.",
                 .options = {which}});
  all.push_back({.what = resampling::enn,
                 .kind = resampling_kind::clean,
                 .doc = "Edited nearest neighbours: removes a row whose "
                        "neighbours are of another class.",
                 .options = {which, n_of_cleaning(), kind_sel()}});
  all.push_back({.what = resampling::renn,
                 .kind = resampling_kind::clean,
                 .doc = "enn again and again, until nothing changes.",
                 .options = {which,
                             n_of_cleaning(),
                             kind_sel(),
                             {.name = "max_iter",
                              .doc = "How often at most.",
                              .usual = uint64_t{100},
                              .low = 1,
                              .high = 10000}}});
  all.push_back({.what = resampling::all_knn,
                 .kind = resampling_kind::clean,
                 .doc = "enn with 1 neighbour, then with 2, up to n_neighbors.",
                 .options = {which,
                             n_of_cleaning(),
                             kind_sel(),
                             {"allow_minority",
                              "Whether a class may become smaller than the "
                              "smallest one was.",
                              false}}});
  all.push_back(
      {.what = resampling::ncr,
       .kind = resampling_kind::clean,
       .doc = "Neighbourhood cleaning: enn by mode, and the neighbours of rows "
              "of the smallest class that they give a wrong class.",
       .options = {which,
                   n_of_cleaning(),
                   {.name = "threshold_cleaning",
                    .doc = "The second part removes only rows of classes with "
                           "more rows than this times the smallest one's.",
                    .usual = 0.5,
                    .high = 1e6}}});
}

void add_both(std::vector<resampling_about>& all) {
  const option how_many = strategy(resampling_kind::over);
  all.push_back({.what = resampling::smote_enn,
                 .kind = resampling_kind::both,
                 .doc = "smote, then enn on all classes.",
                 .makes_rows = true,
                 .options = {how_many, k_of_smote(), policy(), draws(),
                             n_of_cleaning(), kind_sel()}});
  all.push_back({.what = resampling::smote_tomek,
                 .kind = resampling_kind::both,
                 .doc = "smote, then tomek_links on all classes.",
                 .makes_rows = true,
                 .options = {how_many, k_of_smote(), policy(), draws()}});
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

} // namespace

const std::vector<resampling_about>& resampling_catalogue() {
  static const std::vector<resampling_about> all = [] {
    std::vector<resampling_about> out;
    add_over(out);
    add_over_categories(out);
    add_over_clusters(out);
    add_under(out);
    add_hardness(out);
    add_clean(out);
    add_both(out);
    add_ranges(out);
    return out;
  }();
  return all;
}

const resampling_about& about(resampling what) {
  return resampling_catalogue().at(size_t(what));
}

} // namespace ballast::graph
