// Goal: words are counted in bounded memory with errors that are known, and
// the drift between tables of many words is what it is. Method: words whose
// rows are known, in parts.
#include "data/profile/distinct_count.hpp"
#include "data/profile/drift.hpp"
#include "data/profile/word_drift.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <map>

namespace ballast::data {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;

using rows_by_word = std::map<std::string, uint64_t>;

uint64_t hash_of_text(const std::string& text) {
  uint64_t out = 1;
  for (const char one : text)
    out = hash_of_number(out * 257 + uint8_t(one));
  return out;
}

word_counts counts_of(const rows_by_word& all) {
  std::vector<word_counts::seen> out;
  for (const auto& [word, rows] : all)
    out.push_back({hash_of_text(word), word, rows});
  return word_counts(std::move(out));
}

rows_by_word words_from(const std::string& name, size_t count, uint64_t rows) {
  rows_by_word out;
  for (size_t i = 0; i < count; ++i)
    out[name + std::to_string(i)] = rows;
  return out;
}

column_profile column_with(const rows_by_word& all) {
  column_profile out;
  out.name = "w";
  out.kind = profiled_kind::words;
  out.words.counts = counts_of(all);
  for (const auto& [word, rows] : all)
    out.rows += rows;
  return out;
}

table_drift drift_of_words(const rows_by_word& before,
                           const rows_by_word& after) {
  table_profile a, b;
  a.columns.push_back(column_with(before));
  b.columns.push_back(column_with(after));
  return drift_between(a, b);
}

/// Some words are frequent, most are rare; other ones in each part.
std::vector<rows_by_word> parts_of_many_words(uint64_t seed) {
  const counter_random random(seed, 1);
  std::vector<rows_by_word> out(30);
  uint64_t draw = 0;
  for (size_t part = 0; part < out.size(); ++part)
    for (int i = 0; i < 20'000; ++i) {
      const double at = double(random.at(draw++) % 1'000'000) / 1e6;
      const auto rank = uint64_t(std::exp(at * std::log(200'000.0)));
      ++out[part][std::to_string(rank + (rank > 100 ? part * 1000 : 0))];
    }
  return out;
}

TEST(word_counts, are_exact_of_few_words_however_they_come) {
  word_counts both = counts_of(words_from("a", 4000, 2));
  both.merge(counts_of(words_from("a", 4096, 3)));
  EXPECT_TRUE(both.is_exact());
  EXPECT_THAT(both.frequent(), SizeIs(4096));
  EXPECT_EQ(both.ranked()[0]->rows, 5u);
  EXPECT_EQ(both.ranked()[4095]->rows, 3u);
}

TEST(word_counts, are_no_further_from_the_truth_than_is_said) {
  word_counts counts;
  rows_by_word truth;
  uint64_t rows = 0;
  for (const rows_by_word& part : parts_of_many_words(5)) {
    counts.merge(counts_of(part));
    for (const auto& [word, times] : part) {
      truth[word] += times;
      rows += times;
    }
  }
  ASSERT_GT(truth.size(), 50'000u);
  EXPECT_GT(counts.error(), 0u);
  EXPECT_LE(counts.error(), rows / (word_counts::frequent_max + 1));
  EXPECT_LE(counts.frequent().size(), word_counts::frequent_max);
  std::map<std::string, uint64_t> found;
  for (const counted_word& one : counts.frequent())
    found[one.word] = one.rows;
  for (const auto& [word, times] : truth) {
    EXPECT_LE(found[word], times) << word;
    EXPECT_LE(times, found[word] + counts.error()) << word;
  }
  for (const counted_word& one : counts.sample())
    EXPECT_EQ(one.rows, truth[one.word]) << one.word;
  const auto hashes =
      std::count_if(truth.begin(), truth.end(), [&](const auto& one) {
        return hash_of_text(one.first) <= counts.sampled_to();
      });
  EXPECT_THAT(counts.sample(), SizeIs(size_t(hashes)));
  EXPECT_GT(hashes, long(word_counts::sampled_max / 2));
}

TEST(word_counts, find_a_frequent_word_that_comes_behind_many_others) {
  word_counts counts = counts_of(words_from("a", 8000, 1));
  counts.merge(counts_of({{"HOT", 8000}}));
  EXPECT_EQ(counts.ranked()[0]->word, "HOT");
  EXPECT_LE(counts.ranked()[0]->rows, 8000u);
  EXPECT_GE(counts.ranked()[0]->rows + counts.error(), 8000u);
}

TEST(word_counts, keep_the_beginning_of_a_long_word) {
  std::string text(255, 'x');
  for (int i = 0; i < 1000; ++i)
    text += "\u00e9";
  const word_counts counts = counts_of({{text, 2}, {text + "y", 1}});
  ASSERT_THAT(counts.frequent(), SizeIs(2)) << "of the same beginning";
  const counted_word& first = *counts.ranked()[0];
  EXPECT_EQ(first.word, std::string(255, 'x')) << "no half of a character";
  EXPECT_EQ(first.bytes, 2255u);
  EXPECT_EQ(shown_word(first), first.word + "...");
}

TEST(drift, of_many_words_without_a_common_one_is_the_largest) {
  for (const size_t count : {4096u, 4097u, 10'000u, 100'000u}) {
    const column_drift found =
        drift_of_words(words_from("a", count, 1), words_from("b", count, 1))
            .columns[0];
    EXPECT_THAT(*found.distance, DoubleNear(1, 1e-9)) << count;
    EXPECT_EQ(found.size, drift_size::large) << count;
    EXPECT_THAT(found.new_words, SizeIs(5)) << count;
    EXPECT_THAT(found.new_words, Each(StartsWith("b"))) << count;
    EXPECT_NEAR(double(found.new_word_rows), double(count), 1) << count;
    EXPECT_EQ(found.estimated, count > 4096) << count;
  }
}

TEST(drift, of_the_same_many_words_is_none) {
  const column_drift found =
      drift_of_words(words_from("a", 20'000, 3), words_from("a", 20'000, 3))
          .columns[0];
  EXPECT_THAT(*found.distance, DoubleNear(0, 1e-9));
  EXPECT_EQ(found.size, drift_size::none);
  EXPECT_THAT(found.new_words, SizeIs(0));
}

TEST(drift, names_a_frequent_new_word_among_many) {
  rows_by_word after = words_from("a", 8000, 1);
  after["HOT"] = 8000;
  const column_drift found =
      drift_of_words(words_from("a", 8000, 1), after).columns[0];
  EXPECT_THAT(*found.distance, DoubleNear(0.5, 0.01));
  EXPECT_EQ(found.size, drift_size::large);
  EXPECT_THAT(found.new_words, ElementsAre("HOT"));
  EXPECT_NEAR(double(found.new_word_rows), 8000, 100);
}

TEST(drift, of_the_shares_of_many_words_is_estimated_well) {
  rows_by_word after = words_from("a", 10'000, 5);
  for (size_t i = 0; i < 5000; ++i)
    after["a" + std::to_string(i)] = 15;
  const column_drift found =
      drift_of_words(words_from("a", 10'000, 10), after).columns[0];
  EXPECT_THAT(*found.distance, DoubleNear(0.25, 0.02));
  EXPECT_TRUE(found.estimated);
}

TEST(drift, from_few_words_to_many_tells_the_new_ones) {
  rows_by_word after = words_from("b", 10'000, 1);
  after["a0"] = 10'000;
  const column_drift found =
      drift_of_words(words_from("a", 2, 500), after).columns[0];
  // a1 has lost its half, a0 keeps it.
  EXPECT_THAT(*found.distance, DoubleNear(0.5, 0.01));
  EXPECT_NEAR(double(found.new_word_rows), 10'000, 100);
  EXPECT_THAT(found.new_words, Each(StartsWith("b")));
}

} // namespace
} // namespace ballast::data
