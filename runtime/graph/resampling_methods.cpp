#include "runtime/graph/resampling_options.hpp"

namespace ballast::graph {

namespace {

using text = std::string;

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

option seeds(const char* doc) {
  return {.name = "n_seeds_S",
          .doc = doc,
          .usual = uint64_t{1},
          .low = 1,
          .high = 1e6};
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
                   rounds_of_k_means()}});
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
  all.push_back(
      {.what = resampling::condensed_nn,
       .kind = resampling_kind::clean,
       .doc = "Keeps, besides the smallest class, only rows that the "
              "rows kept so far would have given a wrong class.",
       .options = {which, seeds("How many drawn rows it begins with.")}});
  all.push_back({.what = resampling::one_sided_selection,
                 .kind = resampling_kind::clean,
                 .doc = "One pass of condensed_nn against the drawn rows and "
                        "the smallest class alone, then tomek_links.",
                 .options = {which, seeds("How many rows are drawn.")}});
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
                 .doc = "enn again and again, until nothing changes, or a "
                        "round leaves a class with fewer rows than the "
                        "smallest one had at first, or with none; that round "
                        "counts.",
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

} // namespace

const std::vector<resampling_about>& resampling_catalogue() {
  static const std::vector<resampling_about> all = [] {
    std::vector<resampling_about> out;
    add_over(out);
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
