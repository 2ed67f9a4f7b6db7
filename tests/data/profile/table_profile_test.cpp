// Goal: a profile says what is in the table, whatever batches it came in, and
// drift what has changed. Method: tables whose figures are known, against
// values computed the plain way.
#include "data/profile/drift.hpp"
#include "data/profile/profile_words.hpp"
#include "data/profile/profiler.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <cmath>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

template <class Builder, class Values>
std::shared_ptr<arrow::Array> array_of(Builder builder, const Values& values) {
  for (const auto& one : values)
    EXPECT_TRUE((one ? builder.Append(*one) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}
std::shared_ptr<arrow::Array>
numbers(const std::vector<std::optional<double>>& values) {
  return array_of(arrow::DoubleBuilder(), values);
}
std::shared_ptr<arrow::Array>
words(const std::vector<std::optional<std::string>>& values) {
  return array_of(arrow::StringBuilder(), values);
}
std::shared_ptr<arrow::RecordBatch> batch_of(
    const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>&
        columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), arrays[0]->length(),
                                  arrays);
}

table_profile profile(const arrow::RecordBatch& all, int64_t rows_at_once,
                      uint64_t rows_max = 1 << 20) {
  profiler out(*all.Slice(0, rows_at_once), rows_max);
  for (int64_t at = 0; at < all.num_rows(); at += rows_at_once)
    out.add(out.look(*all.Slice(at, rows_at_once)));
  return out.finish("some.csv");
}

std::vector<std::pair<std::string, uint64_t>>
ranked_words(const column_profile& of) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const counted_word* one : of.words.counts.ranked())
    out.emplace_back(one->word, one->rows);
  return out;
}

/// Normal numbers, some of them missing; whole ones; words.
std::shared_ptr<arrow::RecordBatch> some_table(double shift = 0) {
  const counter_random random(7, 1);
  std::vector<std::optional<double>> x, twice, ages;
  std::vector<std::optional<std::string>> cities;
  for (uint64_t i = 0; i < 5000; ++i) {
    const double v = 1e6 + shift + 3 * normal(random, i);
    x.push_back(i % 50 == 0 ? std::optional<double>() : v);
    twice.push_back(-2 * v + normal(random, i + 100'000));
    ages.push_back(double(20 + random.at(i) % 50));
    cities.push_back(i % 3 == 0 ? "oslo" : i % 3 == 1 ? "rome" : "bern");
  }
  return batch_of({{"x", numbers(x)},
                   {"twice", numbers(twice)},
                   {"age", numbers(ages)},
                   {"city", words(cities)}});
}

TEST(table_profile, has_the_figures_of_the_values) {
  const auto table = some_table();
  const table_profile found = profile(*table, 700);
  EXPECT_EQ(found.rows, 5000u);
  const column_profile& x = found.columns[0];
  EXPECT_EQ(x.missing, 100u);
  std::vector<double> values;
  const auto& column =
      static_cast<const arrow::DoubleArray&>(*table->column(0));
  for (int64_t i = 0; i < column.length(); ++i)
    if (column.IsValid(i))
      values.push_back(column.Value(i));
  std::sort(values.begin(), values.end());
  EXPECT_EQ(x.numbers.spread.least, values.front());
  EXPECT_EQ(x.numbers.spread.most, values.back());
  EXPECT_NEAR(x.numbers.spread.mean, 1e6, 1);
  EXPECT_NEAR(x.numbers.spread.deviation(), 3, 0.1);
  EXPECT_NEAR(x.distinct, 4900, 4900 * 4 * distinct_count::standard_error);
  const column_profile& age = found.columns[2];
  EXPECT_TRUE(age.numbers.whole);
  EXPECT_EQ(age.numbers.ranked().quantile(0), 20);
  EXPECT_NEAR(age.numbers.ranked().quantile(0.5), 44.5, 1);
  EXPECT_NEAR(age.distinct, 50, 1);
  EXPECT_THAT(ranked_words(found.columns[3]),
              ElementsAre(Pair("oslo", 1667u), Pair("rome", 1667u),
                          Pair("bern", 1666u)));
  EXPECT_EQ(found.columns[3].distinct, 3);
}

TEST(table_profile, has_the_same_bits_however_often_it_is_asked_and_batched) {
  const auto table = some_table();
  const std::string once = to_json(profile(*table, 5000)).dump();
  EXPECT_EQ(to_json(profile(*table, 5000)).dump(), once);
  const table_profile many = profile(*table, 64);
  const table_profile one = profile(*table, 5000);
  for (size_t i = 0; i < one.columns.size(); ++i) {
    EXPECT_EQ(many.columns[i].missing, one.columns[i].missing);
    EXPECT_EQ(many.columns[i].distinct, one.columns[i].distinct);
    EXPECT_EQ(ranked_words(many.columns[i]), ranked_words(one.columns[i]));
    EXPECT_NEAR(many.columns[i].numbers.ranked().quantile(0.3),
                one.columns[i].numbers.ranked().quantile(0.3), 0.1)
        << "counted from another origin";
  }
  EXPECT_EQ(many.repeated_rows, one.repeated_rows);
}

TEST(table_profile, correlates_the_rows_that_have_both) {
  const table_profile found = profile(*some_table(), 700);
  ASSERT_EQ(found.correlations.size(), 3u);
  EXPECT_EQ(found.correlations[0].a, 0u);
  EXPECT_EQ(found.correlations[0].b, 1u);
  EXPECT_EQ(found.correlations[0].rows, 4900u);
  // -2 v + noise of deviation 1, v of 3.
  EXPECT_NEAR(found.correlations[0].r, -6 / std::sqrt(37), 0.01);
  EXPECT_NEAR(found.correlations[1].r, 0, 0.06);
}

TEST(table_profile, says_nothing_of_the_correlation_with_a_constant) {
  const auto table = batch_of(
      {{"a", numbers({1.0, 2.0, 3.0})}, {"c", numbers({0.1, 0.1, 0.1})}});
  EXPECT_TRUE(profile(*table, 2).correlations.empty());
}

TEST(table_profile, counts_rows_that_are_equal_to_one_before_them) {
  const auto table = batch_of(
      {{"a", numbers({1.0, 2.0, 1.0, std::nullopt, std::nullopt, 1.0})},
       {"b", words({"x", "x", "x", "y", "y", "y"})}});
  EXPECT_EQ(profile(*table, 4).repeated_rows, 2u);
  EXPECT_EQ(profile(*table, 4, 5).repeated_rows, std::nullopt)
      << "more rows than are kept";
}

TEST(table_profile, holds_what_is_no_number) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const table_profile found = profile(
      *batch_of({{"a", numbers({nan, inf, 0.0, -0.0, std::nullopt, 4.0})}}), 4);
  const column_profile& a = found.columns[0];
  EXPECT_EQ(a.missing, 2u);
  EXPECT_EQ(a.numbers.infinite, 1u);
  EXPECT_EQ(a.numbers.zeros, 2u);
  EXPECT_EQ(a.numbers.spread.most, 4);
  EXPECT_THAT(describe(found), HasSubstr("a: 16.7 % infinite"));
  EXPECT_NEAR(a.distinct, 3, 0.1) << "0 and -0 are equal";
}

TEST(table_profile, of_a_column_without_values_has_no_figures) {
  const table_profile found =
      profile(*batch_of({{"a", numbers({std::nullopt, std::nullopt})},
                         {"w", words({std::nullopt, std::nullopt})}}),
              2);
  EXPECT_EQ(found.columns[0].missing, 2u);
  EXPECT_EQ(found.columns[0].distinct, 0);
  EXPECT_THAT(describe(found), HasSubstr("100.0 %"));
  EXPECT_THAT(profile_page(found, nullptr), HasSubstr("</html>"));
  EXPECT_FALSE(to_json(found)["columns"][0].contains("mean"));
}

TEST(table_profile, finds_outliers_beyond_the_fences) {
  std::vector<std::optional<double>> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(i % 101);
  values[7] = 5000;
  values[9] = -400;
  values[11] = 5000;
  const table_profile found = profile(*batch_of({{"a", numbers(values)}}), 100);
  const outliers far = outliers_of(found.columns[0].numbers);
  EXPECT_EQ(far.above, 2u);
  EXPECT_EQ(far.below, 1u);
  EXPECT_NEAR(far.low, -50, 2);
}

TEST(table_profile, shows_times_as_dates) {
  arrow::Date32Builder days;
  ASSERT_TRUE(days.AppendValues({0, 20'000}).ok());
  arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MILLI),
                                arrow::default_memory_pool());
  ASSERT_TRUE(times.AppendValues({1'700'000'000'000, 1'700'000'100'000}).ok());
  const table_profile found =
      profile(*batch_of({{"day", days.Finish().ValueOrDie()},
                         {"at", times.Finish().ValueOrDie()}}),
              2);
  EXPECT_EQ(value_text(found.columns[0], 20'000), "2024-10-04");
  EXPECT_EQ(value_text(found.columns[1], found.columns[1].numbers.spread.least),
            "2023-11-14T22:13:20");
}

TEST(table_profile, says_what_is_estimated_of_more_words_than_it_keeps) {
  std::vector<std::optional<std::string>> ids;
  for (size_t i = 0; i < 8000; ++i)
    ids.push_back("id-" + std::to_string(i));
  const auto only_ids = profile(*batch_of({{"id", words(ids)}}), 500);
  EXPECT_THAT(describe(only_ids),
              HasSubstr("; none of the others is in more than"));
  for (size_t i = 0; i < 8000; ++i)
    ids.push_back("HOT");
  const table_profile found = profile(*batch_of({{"id", words(ids)}}), 500);
  const column_profile& id = found.columns[0];
  EXPECT_FALSE(id.words.counts.is_exact());
  EXPECT_EQ(ranked_words(id)[0].first, "HOT");
  EXPECT_NEAR(id.distinct, 8001, 8001 * 4 * distinct_count::standard_error);
  const auto told = to_json(found)["columns"][0];
  EXPECT_EQ(told["estimated"], true);
  EXPECT_EQ(told["most_frequent"][0]["word"], "HOT");
  EXPECT_LE(told["most_frequent"][0]["rows_least"], 8000);
  EXPECT_GE(told["most_frequent"][0]["rows"], 8000);
  EXPECT_THAT(describe(found), HasSubstr("(estimated: more than 4096"));
  EXPECT_THAT(profile_page(found, nullptr), HasSubstr("Estimates, at most"));
}

TEST(table_profile, has_never_more_different_values_than_rows) {
  std::vector<std::optional<double>> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(i + 0.5);
    if (i % 1000 == 999) {
      EXPECT_LE(profile(*batch_of({{"a", numbers(values)}}), 5000)
                    .columns[0]
                    .distinct,
                double(values.size()));
    }
  }
}

TEST(table_profile, shows_only_the_beginning_of_long_texts) {
  const table_profile found = profile(
      *batch_of({{"w", words({std::string(1 << 20, 'x'), "short"})}}), 2);
  const table_drift drift =
      drift_between(profile(*batch_of({{"w", words({"a", "b"})}}), 2), found);
  for (const std::string& shown :
       {describe(found), profile_page(found, &drift), to_json(found).dump(),
        describe(drift), to_json(drift).dump()}) {
    EXPECT_THAT(shown, HasSubstr("xxx..."));
    EXPECT_LT(shown.size(), 10'000u);
  }
  const auto told = to_json(found)["columns"][0]["most_frequent"];
  EXPECT_FALSE(told[0].contains("bytes"));
  EXPECT_EQ(told[1]["bytes"], 1 << 20);
}

TEST(table_profile, holds_whole_numbers_of_64_bits) {
  arrow::Int64Builder ids;
  arrow::UInt64Builder masks;
  arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MICRO),
                                arrow::default_memory_pool());
  const int64_t most = std::numeric_limits<int64_t>::max();
  ASSERT_TRUE(ids.AppendValues({-most, most - 2, most - 1, most}).ok());
  ASSERT_TRUE(masks.AppendValues({3, 4, UINT64_MAX - 1, UINT64_MAX}).ok());
  const int64_t year_1 = -62'135'596'800'000'000;
  ASSERT_TRUE(times.AppendValues({year_1, 0, 1, 2}).ok());
  const table_profile found =
      profile(*batch_of({{"id", ids.Finish().ValueOrDie()},
                         {"mask", masks.Finish().ValueOrDie()},
                         {"at", times.Finish().ValueOrDie()}}),
              3);
  const auto told = to_json(found)["columns"];
  EXPECT_EQ(told[0]["least"], -most);
  EXPECT_EQ(told[0]["most"], most);
  EXPECT_EQ(told[0]["distinct"], 4) << "of one float64";
  EXPECT_EQ(told[1]["least"], 3);
  EXPECT_EQ(told[1]["most"], UINT64_MAX);
  EXPECT_EQ(told[2]["least"], year_1);
  EXPECT_THAT(describe(found), HasSubstr("0001-01-01T00:00:00"));
  EXPECT_EQ(found.repeated_rows, 0u);
}

TEST(table_profile, says_which_columns_are_not_correlated) {
  std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns;
  for (size_t i = 0; i < profiler::correlated_max + 2; ++i)
    columns.emplace_back("c" + std::to_string(i), numbers({1.0, 2.0, 3.0}));
  const table_profile found = profile(*batch_of(columns), 3);
  const std::string said =
      "only the first 64 of the 66 columns of numbers, not c64 and those "
      "behind it";
  EXPECT_THAT(describe(found), HasSubstr(said));
  EXPECT_THAT(profile_page(found, nullptr), HasSubstr(said));
  EXPECT_THAT(to_json(found)["not_correlated"], ElementsAre("c64", "c65"));
  EXPECT_THAT(profile_page(found, nullptr),
              HasSubstr("The first 40 of 64 columns are shown"));
}

TEST(value_counts, know_each_value_to_within_a_fifth_of_a_percent) {
  const counter_random random(3, 3);
  std::vector<double> values;
  for (uint64_t i = 0; i < 20'000; ++i)
    values.push_back(std::exp(4 * normal(random, i)) * (i % 2 == 0 ? 1 : -1));
  value_counts counts;
  counts.add(values);
  std::sort(values.begin(), values.end());
  const counted_values ranked(counts, values.front(), values.back(), false);
  for (const double part : {0.001, 0.1, 0.37, 0.63, 0.9, 0.999}) {
    // Between the values of the ranks on both sides.
    const double least = values[size_t(part * 19'999)];
    const double most = values[size_t(part * 19'999) + 1];
    EXPECT_GE(ranked.quantile(part), least - 0.005 * std::abs(least)) << part;
    EXPECT_LE(ranked.quantile(part), most + 0.005 * std::abs(most)) << part;
  }
  EXPECT_EQ(ranked.quantile(1), values.back());
}

TEST(value_counts, give_each_bin_as_many_whole_numbers) {
  value_counts counts;
  std::vector<double> values;
  for (int i = 0; i < 600; ++i)
    values.push_back(20 + i % 60);
  counts.add(values);
  const auto found = counted_values(counts, 20, 79, true).in_bins(24);
  EXPECT_EQ(found.width, 3);
  EXPECT_THAT(found.counts, ElementsAreArray(std::vector<uint64_t>(20, 30)));
  const auto few = counted_values(counts, 20, 79, true).in_bins(100);
  EXPECT_EQ(few.counts.size(), 60u);
}

TEST(value_counts, of_the_largest_numbers_have_one_bin) {
  const double most = std::numeric_limits<double>::max();
  value_counts counts;
  counts.add(std::vector<double>{-most, 0, most});
  const counted_values ranked(counts, -most, most, true);
  EXPECT_THAT(ranked.in_bins(24).counts, ElementsAre(3u));
  EXPECT_EQ(ranked.quantile(0.5), 0);
}

TEST(value_counts, are_as_fine_as_the_values_are_close_to_each_other) {
  const counter_random random(3, 4);
  std::vector<double> values;
  for (uint64_t i = 0; i < 20'000; ++i)
    values.push_back(1.7e9 + 30 * normal(random, i));
  value_counts counts(origin_of(values));
  counts.add(values);
  std::sort(values.begin(), values.end());
  const counted_values ranked(counts, values.front(), values.back(), false);
  for (const double part : {0.01, 0.2, 0.5, 0.8, 0.99})
    EXPECT_NEAR(ranked.quantile(part),
                values[size_t(std::round(part * 19'999))], 0.5)
        << part;
}

TEST(drift, is_none_between_samples_of_the_same) {
  const table_profile before = profile(*some_table(), 700);
  const table_drift same = drift_between(before, before);
  for (const column_drift& one : same.columns) {
    EXPECT_EQ(one.size, drift_size::none) << one.name;
    EXPECT_THAT(*one.distance, DoubleNear(0, 1e-12)) << one.name;
    EXPECT_THAT(*one.stability, DoubleNear(0, 1e-12)) << one.name;
  }
}

TEST(drift, of_numbers_is_the_distance_of_their_distributions) {
  // Normal numbers, moved by their deviation: 2 Phi(1/2) - 1.
  const table_drift found =
      drift_between(profile(*some_table(), 700), profile(*some_table(3), 700));
  EXPECT_THAT(*found.columns[0].distance, DoubleNear(0.3829, 0.02));
  EXPECT_EQ(found.columns[0].size, drift_size::large);
  EXPECT_EQ(found.columns[2].size, drift_size::none);
}

TEST(drift, names_words_columns_and_types_that_were_not_there) {
  const table_profile before =
      profile(*batch_of({{"city", words({"oslo", "rome", "oslo", "oslo"})},
                         {"n", numbers({1.0, 2.0, 3.0, 4.0})},
                         {"old", numbers({1.0, 2.0, 3.0, 4.0})}}),
              4);
  const table_profile after =
      profile(*batch_of({{"city", words({"oslo", "bern", "bern", "rome"})},
                         {"n", words({"1", "2", "3", "4"})},
                         {"new", numbers({1.0, 2.0, 3.0, 4.0})}}),
              4);
  const table_drift found = drift_between(before, after);
  EXPECT_THAT(found.columns[0].new_words, ElementsAre("bern"));
  EXPECT_EQ(found.columns[0].new_word_rows, 2u);
  EXPECT_THAT(*found.columns[0].distance, DoubleNear(0.5, 1e-12));
  EXPECT_EQ(found.columns[1].note, "was double, is string");
  EXPECT_THAT(found.gone, ElementsAre("old"));
  EXPECT_THAT(found.fresh, ElementsAre("new"));
  EXPECT_THAT(describe(found),
              HasSubstr("2 rows with what was not there: bern"));
}

TEST(drift, counts_what_is_missing_now) {
  std::vector<std::optional<double>> with, without;
  for (int i = 0; i < 200; ++i) {
    with.push_back(i % 10);
    without.push_back(i % 2 == 0 ? std::optional<double>() : double(i % 10));
  }
  const table_drift found =
      drift_between(profile(*batch_of({{"a", numbers(with)}}), 50),
                    profile(*batch_of({{"a", numbers(without)}}), 50));
  EXPECT_EQ(found.columns[0].missing_after, 0.5);
  EXPECT_EQ(found.columns[0].size, drift_size::large);
}

TEST(drift, of_a_column_that_becomes_or_was_wholly_missing_is_large) {
  const auto filled = profile(*batch_of({{"a", numbers({1.0, 2.0, 3.0})},
                                         {"w", words({"x", "y", "z"})}}),
                              3);
  const std::optional<double> none;
  const auto missing = profile(*batch_of({{"a", numbers({none, none, none})},
                                          {"w", numbers({none, none, none})}}),
                               3);
  for (const table_drift& found :
       {drift_between(filled, missing), drift_between(missing, filled)})
    for (const column_drift& one : found.columns) {
      EXPECT_EQ(one.size, drift_size::large) << one.name;
      EXPECT_GT(*one.stability, 10) << one.name;
      EXPECT_EQ(one.note, "") << one.name;
    }
  for (const column_drift& one : drift_between(missing, missing).columns)
    EXPECT_EQ(one.size, drift_size::none) << one.name;
}

TEST(drift, of_numbers_counts_infinities_at_their_ends) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<std::optional<double>> finite, high, low;
  for (int i = 0; i < 100; ++i) {
    finite.push_back(i % 10);
    high.push_back(i < 50 ? i % 10 : inf);
    low.push_back(i < 50 ? i % 10 : -inf);
  }
  const auto of = [](const auto& values) {
    return profile(*batch_of({{"a", numbers(values)}}), 30);
  };
  for (const auto& ends : {high, low}) {
    const table_drift found = drift_between(of(finite), of(ends));
    EXPECT_THAT(*found.columns[0].distance, DoubleNear(0.5, 1e-9));
    EXPECT_EQ(found.columns[0].size, drift_size::large);
  }
  const table_drift turned = drift_between(of(low), of(high));
  EXPECT_THAT(*turned.columns[0].distance, DoubleNear(0.5, 1e-9));
  EXPECT_EQ(drift_between(of(low), of(low)).columns[0].size, drift_size::none);
}

TEST(profile_page, shows_names_and_words_as_they_are_not_as_html) {
  const table_profile found =
      profile(*batch_of({{"<b>", words({"<script>alert(1)</script>"})}}), 1);
  const std::string page = profile_page(found, nullptr);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
}

} // namespace
} // namespace ballast::data
