// Goal: methods that clean remove the rows that their rules name, with equal
// points and classes in no order, too. Method: each rule as one loop over all
// rows, on points of several kinds.
#include "tests/data/resampling/some_rows.hpp"

namespace ballast::data {
namespace {

std::vector<some_points> kinds_to_clean() {
  return {normal_points(700, 4, 2, 51),  normal_points(500, 3, 4, 52, 0.4),
          tied_points(600, 2, 2, 53),    tied_points(500, 3, 3, 54),
          normal_points(400, 20, 2, 55), tied_points(300, 1, 3, 56)};
}

using goners = std::vector<uint8_t>;

std::vector<uint32_t> classes_of(const some_points& points) {
  std::vector<uint32_t> out;
  for (uint32_t c = 0; c < points.classes; ++c)
    out.push_back(c);
  return out;
}

std::vector<uint64_t> counted(const some_points& points, const goners& gone) {
  std::vector<uint64_t> out(points.classes);
  for (size_t i = 0; i < gone.size(); ++i)
    out[points.of_row[i]] += gone[i] == 0 ? 1 : 0;
  return out;
}

uint32_t smallest_of(const some_points& points) {
  const auto counts = counted(points, goners(points.of_row.size()));
  return uint32_t(std::min_element(counts.begin(), counts.end()) -
                  counts.begin());
}

/// The most frequent class; of several the first.
uint32_t winner_of(const some_points& points, std::vector<uint32_t> rows) {
  std::map<uint32_t, size_t> votes;
  for (const uint32_t row : rows)
    ++votes[points.of_row[row]];
  uint32_t best = votes.begin()->first;
  for (const auto& [c, count] : votes)
    if (count > votes[best])
      best = c;
  return best;
}

std::vector<uint32_t> first_rows(const some_points& points, uint32_t row,
                                 size_t k, const goners& gone) {
  std::vector<uint32_t> out;
  for (const neighbour& one :
       all_by_distance(points, row, classes_of(points), gone))
    if (out.size() < k)
      out.push_back(one.row);
  return out;
}

bool edited_away(const some_points& points, uint32_t row, size_t k, bool mode,
                 const goners& gone) {
  const std::vector<uint32_t> near = first_rows(points, row, k, gone);
  const uint32_t own = points.of_row[row];
  if (mode)
    return winner_of(points, near) != own;
  return std::ranges::any_of(
      near, [&](uint32_t other) { return points.of_row[other] != own; });
}

/// All classes but the smallest, or all.
goners once_edited(const some_points& points, size_t k, bool mode,
                   const goners& before, bool all = false) {
  goners out = before;
  for (const uint32_t row : points.rows())
    if (before[row] == 0 &&
        (all || points.of_row[row] != smallest_of(points)) &&
        edited_away(points, row, k, mode, before))
      out[row] = 1;
  return out;
}

bool must_end(const some_points& points, const goners& gone) {
  const auto before = counted(points, goners(gone.size()));
  const auto after = counted(points, gone);
  const uint32_t smallest = smallest_of(points);
  for (uint32_t c = 0; c < points.classes; ++c)
    if (after[c] == 0 || (c != smallest && after[c] < before[smallest]))
      return true;
  return false;
}

std::vector<uint32_t> stayed(const goners& gone) {
  std::vector<uint32_t> out;
  for (uint32_t row = 0; row < gone.size(); ++row)
    if (gone[row] == 0)
      out.push_back(row);
  return out;
}

TEST(enn, removes_rows_that_have_a_neighbour_of_another_class) {
  for (const some_points& points : kinds_to_clean())
    for (const size_t k : {1, 3, 6}) {
      const std::string n = "n_neighbors=" + std::to_string(k);
      const goners none(points.of_row.size());
      EXPECT_EQ(resampled(points, "enn", {n}).kept,
                stayed(once_edited(points, k, false, none)))
          << points.name << " " << k;
      EXPECT_EQ(resampled(points, "enn", {n, "kind_sel=mode"}).kept,
                stayed(once_edited(points, k, true, none)))
          << points.name << " " << k << " by mode";
    }
}

TEST(renn, repeats_until_nothing_changes_or_a_class_is_below_the_smallest) {
  for (const some_points& points : kinds_to_clean())
    for (const bool mode : {false, true}) {
      goners now(points.of_row.size());
      for (goners before(1, 2); before != now && !must_end(points, now);) {
        before = now;
        now = once_edited(points, 3, mode, before);
      }
      EXPECT_EQ(
          resampled(points, "renn", {mode ? "kind_sel=mode" : "kind_sel=all"})
              .kept,
          stayed(now))
          << points.name;
    }
}

TEST(renn, ends_after_the_rounds_that_are_allowed) {
  const some_points points = normal_points(700, 4, 2, 51);
  const goners none(points.of_row.size());
  const goners once = once_edited(points, 3, false, none);
  EXPECT_EQ(resampled(points, "renn", {"max_iter=1"}).kept, stayed(once));
  EXPECT_EQ(resampled(points, "renn", {"max_iter=2"}).kept,
            stayed(once_edited(points, 3, false, once)));
}

TEST(all_knn, edits_with_more_neighbours_each_time) {
  for (const some_points& points : kinds_to_clean())
    for (const bool mode : {false, true}) {
      goners now(points.of_row.size());
      for (size_t k = 1; k <= 4; ++k) {
        now = once_edited(points, k, mode, now);
        if (must_end(points, now))
          break;
      }
      EXPECT_EQ(
          resampled(points, "all_knn",
                    {"n_neighbors=4", mode ? "kind_sel=mode" : "kind_sel=all"})
              .kept,
          stayed(now))
          << points.name;
    }
}

TEST(ncr, removes_what_enn_does_and_what_misleads_the_smallest_class) {
  for (const some_points& points : kinds_to_clean()) {
    const goners none(points.of_row.size());
    goners expected = once_edited(points, 3, true, none);
    const auto counts = counted(points, none);
    const uint32_t smallest = smallest_of(points);
    for (const uint32_t row : points.rows()) {
      if (points.of_row[row] != smallest)
        continue;
      const std::vector<uint32_t> near = first_rows(points, row, 3, none);
      if (winner_of(points, {row, near[0], near[1]}) == smallest)
        continue;
      for (const uint32_t other : near)
        if (points.of_row[other] != smallest &&
            double(counts[points.of_row[other]]) >
                0.5 * double(counts[smallest]))
          expected[other] = 1;
    }
    EXPECT_EQ(resampled(points, "ncr").kept, stayed(expected)) << points.name;
  }
}

goners linked(const some_points& points, const goners& before, bool all) {
  goners out = before;
  for (const uint32_t row : points.rows()) {
    if (before[row] != 0 || (!all && points.of_row[row] == smallest_of(points)))
      continue;
    const uint32_t near = first_rows(points, row, 1, before).at(0);
    if (points.of_row[near] != points.of_row[row] &&
        first_rows(points, near, 1, before).at(0) == row)
      out[row] = 1;
  }
  return out;
}

TEST(tomek_links, removes_rows_whose_nearest_is_of_another_class_and_mutual) {
  for (const some_points& points : kinds_to_clean()) {
    const goners none(points.of_row.size());
    EXPECT_EQ(resampled(points, "tomek_links").kept,
              stayed(linked(points, none, false)))
        << points.name;
    EXPECT_EQ(resampled(points, "tomek_links", {"sampling_strategy=all"}).kept,
              stayed(linked(points, none, true)))
        << points.name;
  }
}

TEST(smote_enn, cleans_all_classes_of_what_smote_gives) {
  for (const some_points& points : kinds_to_clean()) {
    const resampled_rows more = resampled(points, "smote", {"k_policy=shrink"});
    some_points longer = points;
    longer.values.insert(longer.values.end(), more.values.begin(),
                         more.values.end());
    for (const made_row& one : more.made)
      longer.of_row.push_back(one.of_class);
    const goners none(longer.of_row.size());
    const auto expect = [&](const char* method, const goners& gone) {
      const resampled_rows found =
          resampled(points, method, {"k_policy=shrink"});
      std::vector<double> values;
      std::vector<uint32_t> kept;
      for (const uint32_t row : stayed(gone)) {
        if (row < points.of_row.size()) {
          kept.push_back(row);
          continue;
        }
        const double* at = longer.view().at(row);
        values.insert(values.end(), at, at + points.columns);
      }
      EXPECT_EQ(found.kept, kept) << method << " " << points.name;
      EXPECT_EQ(found.values, values) << method << " " << points.name;
    };
    expect("smote_tomek", linked(longer, none, true));
    expect("smote_enn", once_edited(longer, 3, false, none, true));
  }
}

TEST(cleaning, is_the_same_for_any_number_of_threads) {
  const some_points points = normal_points(3000, 6, 3, 57);
  for (const std::string method :
       {"tomek_links", "enn", "renn", "all_knn", "ncr", "condensed_nn",
        "one_sided_selection"})
    EXPECT_EQ(resampled(points, method).kept,
              resampled(points, method, {}, 3).kept)
        << method;
}

TEST(cleaning, refuses_more_neighbours_than_there_are_rows) {
  const some_points points = normal_points(8, 2, 2, 58, 0.5);
  EXPECT_THAT(refusal_of([&] { resampled(points, "enn", {"n_neighbors=8"}); },
                         errc::invalid_data),
              has_all({"enn: n_neighbors = 8 needs 9 rows or more, there are "
                       "8"}));
}

TEST(cleaning, refuses_to_leave_no_row) {
  some_points points = normal_points(8, 1, 2, 59);
  for (uint32_t i = 0; i < 8; ++i) {
    points.values[i] = i;
    points.of_row[i] = i % 2;
  }
  EXPECT_THAT(
      refusal_of([&] { resampled(points, "enn", {"sampling_strategy=all"}); },
                 errc::invalid_data),
      has_all({"enn removes all 8 rows"}));
}

/// A known error of others: the first row is compared by another number than
/// the others are.
TEST(condensed_nn, keeps_the_rows_that_one_pass_in_order_finds_wrong) {
  for (const some_points& points : kinds_to_clean()) {
    if (points.classes != 2)
      continue;
    const uint32_t smallest = smallest_of(points);
    const resampled_rows found = resampled(points, "condensed_nn");
    const uint32_t other = 1 - smallest;
    std::vector<uint32_t> kept;
    for (const uint32_t row : found.kept)
      if (points.of_row[row] == other)
        kept.push_back(row);
    ASSERT_FALSE(kept.empty());
    // Whichever of them was drawn first, the pass gives the others.
    bool some = false;
    for (const uint32_t seed : kept) {
      std::vector<uint32_t> now{seed};
      for (const uint32_t row : points.rows()) {
        if (points.of_row[row] != other || row == seed)
          continue;
        const auto nearest_of = [&](const std::vector<uint32_t>& among) {
          double best = std::numeric_limits<double>::infinity();
          for (const uint32_t one : among)
            best = std::min(best, squared_distance(points.view().at(row),
                                                   points.view().at(one),
                                                   points.columns));
          return best;
        };
        std::vector<uint32_t> few;
        for (const uint32_t one : points.rows())
          if (points.of_row[one] == smallest)
            few.push_back(one);
        if (!(nearest_of(now) < nearest_of(few)))
          now.push_back(row);
      }
      std::sort(now.begin(), now.end());
      some = some || now == kept;
    }
    EXPECT_TRUE(some) << points.name;
  }
}

} // namespace
} // namespace ballast::data
