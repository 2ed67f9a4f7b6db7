#include "runtime/graph/resampling_options.hpp"

namespace ballast::graph {

namespace {

constexpr double neighbours_most = 1000;

} // namespace

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
  return {
      .name = "sampling_strategy", .doc = doc, .usual = std::string("auto")};
}

option neighbours(const char* name, uint64_t usual, const char* doc) {
  return {.name = name,
          .doc = doc,
          .usual = usual,
          .low = 1,
          .high = neighbours_most};
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
          .usual = std::string("error"),
          .words = words_for<small_class>()};
}

option draws() {
  return {.name = "rng",
          .doc = "`counter`: each new row has numbers of its own; "
                 "`numpy_mt19937`: those of NumPy's RandomState(seed), in the "
                 "order in which imbalanced-learn draws them.",
          .usual = std::string("counter"),
          .words = words_for<draw_source>()};
}

option m_of_danger() {
  return neighbours("m_neighbors", 10,
                    "The neighbours, of any class, that say whether a row is "
                    "in danger.");
}

option rounds_of_k_means() {
  return {.name = "max_iter",
          .doc = "Rounds of k-means at most.",
          .usual = uint64_t{300},
          .low = 1,
          .high = 10000};
}

} // namespace ballast::graph
