// Goal: each form of sampling_strategy means what it means to users of
// imbalanced-learn, and what it cannot mean is refused. Method: a table.
#include "data/resampling/sampling_targets.hpp"

#include "tests/data/source/stream_tester.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using graph::resampling_kind;

/// Classes with so many rows.
struct counted_classes {
  std::vector<uint32_t> of_row;
  std::vector<std::string> names;

  explicit counted_classes(const std::vector<size_t>& counts,
                           std::vector<std::string> all = {"a", "b", "c"})
      : names(std::move(all)) {
    names.resize(counts.size());
    for (uint32_t c = 0; c < counts.size(); ++c)
      of_row.insert(of_row.end(), counts[c], c);
  }
  labelled_rows rows() const {
    return {.features = {}, .of_row = of_row, .names = names, .label = "y"};
  }
};

using pairs = std::vector<std::pair<uint32_t, uint64_t>>;

pairs targets_of(const std::vector<size_t>& counts, const std::string& strategy,
                 resampling_kind kind) {
  const counted_classes classes(counts);
  pairs out;
  for (const class_target& one :
       sampling_targets(strategy, kind, classes.rows()))
    out.emplace_back(one.of_class, one.rows);
  return out;
}

constexpr auto over = resampling_kind::over;
constexpr auto under = resampling_kind::under;
constexpr auto clean = resampling_kind::clean;

TEST(sampling_targets, of_words_are_classes_and_rows_to_add) {
  const std::vector<size_t> counts{10, 4, 7};
  EXPECT_EQ(targets_of(counts, "auto", over), (pairs{{1, 6}, {2, 3}}));
  EXPECT_EQ(targets_of(counts, "\"auto\"", over), (pairs{{1, 6}, {2, 3}}));
  EXPECT_EQ(targets_of(counts, "not majority", over), (pairs{{1, 6}, {2, 3}}));
  EXPECT_EQ(targets_of(counts, "minority", over), (pairs{{1, 6}}));
  EXPECT_EQ(targets_of(counts, "not minority", over), (pairs{{0, 0}, {2, 3}}));
  EXPECT_EQ(targets_of(counts, "all", over), (pairs{{0, 0}, {1, 6}, {2, 3}}));
}

TEST(sampling_targets, of_words_are_classes_and_rows_to_keep) {
  const std::vector<size_t> counts{10, 4, 7};
  for (const resampling_kind kind : {under, clean}) {
    EXPECT_EQ(targets_of(counts, "auto", kind), (pairs{{0, 4}, {2, 4}}));
    EXPECT_EQ(targets_of(counts, "not minority", kind),
              (pairs{{0, 4}, {2, 4}}));
    EXPECT_EQ(targets_of(counts, "majority", kind), (pairs{{0, 4}}));
    EXPECT_EQ(targets_of(counts, "not majority", kind),
              (pairs{{1, 4}, {2, 4}}));
    EXPECT_EQ(targets_of(counts, "all", kind), (pairs{{0, 4}, {1, 4}, {2, 4}}));
  }
}

TEST(sampling_targets, take_the_first_of_classes_that_are_equally_large) {
  EXPECT_EQ(targets_of({5, 5, 5}, "auto", over), (pairs{{1, 0}, {2, 0}}));
  EXPECT_EQ(targets_of({5, 5, 5}, "auto", under), (pairs{{1, 5}, {2, 5}}));
  EXPECT_EQ(targets_of({5, 5, 5}, "minority", over), (pairs{{0, 0}}));
  EXPECT_EQ(targets_of({5, 5, 5}, "majority", clean), (pairs{{0, 5}}));
}

TEST(sampling_targets, of_a_ratio_are_of_two_classes) {
  EXPECT_EQ(targets_of({100, 20}, "0.5", over), (pairs{{1, 30}}));
  EXPECT_EQ(targets_of({100, 20}, "1", over), (pairs{{1, 80}}));
  EXPECT_EQ(targets_of({100, 20}, "0.5", under), (pairs{{0, 40}}));
  EXPECT_EQ(targets_of({20, 100}, "0.3", under), (pairs{{1, 66}}));
}

TEST(sampling_targets, of_classes_by_name) {
  EXPECT_EQ(targets_of({10, 4, 7}, R"({"b": 20, "a": 10})", over),
            (pairs{{0, 0}, {1, 16}}));
  EXPECT_EQ(targets_of({10, 4, 7}, R"({"c": 0})", under), (pairs{{2, 0}}));
  EXPECT_EQ(targets_of({10, 4, 7}, R"(["c", "a"])", clean),
            (pairs{{0, 4}, {2, 4}}));
  const counted_classes numbers({10, 4}, {"0", "1"});
  EXPECT_EQ(sampling_targets("[1.0]", clean, numbers.rows())[0].of_class, 1u);
}

TEST(sampling_targets, that_cannot_be_are_refused_with_what_was_expected) {
  struct refused {
    std::vector<size_t> counts;
    std::string strategy;
    resampling_kind kind;
    std::vector<std::string> said;
  };
  const std::vector<size_t> two{100, 20};
  for (const refused& one : std::vector<refused>{
           {two, "minority", under, {"'minority' is for methods that add"}},
           {two, "minority", clean, {"'minority' is for methods that add"}},
           {two, "majority", over, {"'majority' is for methods that remove"}},
           {two, "atuo", over, {"found 'atuo'", "did you mean auto?"}},
           {two, "0", over, {"above 0 and at most 1"}},
           {two, "1.5", under, {"above 0 and at most 1, found 1.5"}},
           {two, "0.2", over, {"not above that of the rows, 20 to 100"}},
           {two, "0.1", under, {"below that of the rows, 20 to 100"}},
           {two, "0.5", clean, {"a number is not for this method"}},
           {{9, 4, 7}, "0.5", over, {"for two classes", "'y' has 3"}},
           {two, R"({"a": 99})", over, {"class 'a' has 100 rows", "99"}},
           {two, R"({"b": 21})", under, {"class 'b' has 20 rows", "21"}},
           {two, R"({"b": -1})", over, {"class 'b'", "0 or more, found -1"}},
           {two, R"({"b": 40, "b": 50})", over, {"class 'b' is named twice"}},
           {two, R"({"d": 1})", over, {"no class 'd'; it has a, b"}},
           {two, R"({"a": 1})", clean, {"expected a list of classes"}},
           {two, R"(["a"])", over, {"a list is for methods that clean"}},
           {two, R"(["x"])", clean, {"no class 'x'"}}})
    EXPECT_THAT(
        refusal_of([&] { targets_of(one.counts, one.strategy, one.kind); },
                   errc::usage),
        has_all(one.said))
        << one.strategy;
  const counted_classes numbers({10, 4}, {"0", "1"});
  EXPECT_THAT(refusal_of(
                  [&] {
                    sampling_targets(R"({"1": 5, "1.0": 6})", over,
                                     numbers.rows());
                  },
                  errc::usage),
              testing::HasSubstr("class '1' is named twice"));
}

TEST(sampling_targets, need_two_classes) {
  EXPECT_THAT(
      refusal_of([] { targets_of({10}, "auto", over); }, errc::invalid_data),
      has_all({"column 'y' has one class, 'a'; expected two or more"}));
}

} // namespace
} // namespace ballast::data
