// Goal: rows that are much alike are found, the first of them stays, and no
// others go. Method: sets with a known similarity, random rows against a
// comparison of all pairs, and tables.
#include "data/operators/near_distinct_stream.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"
#include "tests/data/operators/operator_tester.hpp"

#include <cmath>
#include <set>

namespace ballast::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string text_row(const std::string& text) {
  row_text out;
  out.add_text(text);
  return out.bytes();
}

std::vector<uint64_t> set_of(const std::string& text, uint64_t shingle,
                             bool words) {
  return shingles_of(text_row(text), {.shingle = shingle, .words = words});
}

TEST(shingles, are_runs_of_characters_or_words) {
  EXPECT_THAT(set_of("abcab", 2, false), SizeIs(3)) << "ab, bc, ca";
  EXPECT_THAT(set_of("a b c a b", 2, true), SizeIs(3));
  EXPECT_EQ(set_of("a  b\tc\n", 2, true), set_of("a b c", 2, true));
  EXPECT_THAT(set_of("äöü", 2, false), SizeIs(2)) << "characters, not bytes";
  EXPECT_THAT(set_of("abc", 5, false), SizeIs(1)) << "shorter than a run";
  EXPECT_THAT(set_of("", 5, false), SizeIs(1));
  EXPECT_EQ(jaccard(set_of("abcd", 2, false), set_of("bcde", 2, false)), 0.5);
  EXPECT_EQ(jaccard(set_of("abcd", 2, false), set_of("abcd", 2, false)), 1);
}

TEST(shingles, of_a_value_a_gap_and_another_column_are_never_alike) {
  row_text text, value, gap, second;
  text.add_text("7");
  value.add_value("7");
  gap.add_missing();
  second.add_missing();
  second.add_value("7");
  const near_terms terms{.shingle = 1};
  std::set<uint64_t> all;
  for (const row_text* one : {&text, &value, &gap})
    all.insert(shingles_of(one->bytes(), terms)[0]);
  EXPECT_EQ(all.size(), 3u);
  const auto both = shingles_of(second.bytes(), terms);
  EXPECT_EQ(jaccard(both, shingles_of(value.bytes(), terms)), 0);
}

TEST(bands, are_as_few_as_find_99_of_100) {
  const auto found = [](double similarity, uint64_t permutations) {
    const uint64_t bands = bands_for(similarity, permutations);
    const uint64_t rows = permutations / bands;
    return 1 - std::pow(1 - std::pow(similarity, double(rows)), double(bands));
  };
  for (const double similarity : {0.5, 0.7, 0.8, 0.9, 0.95})
    EXPECT_GE(found(similarity, 128), 0.99) << similarity;
  EXPECT_LT(bands_for(0.9, 128), bands_for(0.6, 128));
  EXPECT_EQ(bands_for(0.1, 8), 8u);
}

/// Two sets of 90 words, `common` of which both have.
std::pair<std::string, std::string> pair_with(uint64_t number, size_t common) {
  const auto word = [number](size_t i) {
    return " " + std::to_string(mix(number, i));
  };
  std::pair<std::string, std::string> out;
  for (size_t i = 0; i < 90; ++i) {
    out.first += word(i);
    out.second += word(i < common ? i : 1000 + i);
  }
  return out;
}

TEST(near_index, finds_95_of_100_pairs_at_the_similarity_and_none_below) {
  const near_terms terms{.similarity = 0.8, .shingle = 1, .words = true};
  const min_hash hash(terms);
  for (const size_t common : {80, 79}) { // of 100 and 101 words
    near_index kept(terms);
    size_t found = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
      const auto [first, second] = pair_with(i, common);
      for (const std::string& text : {text_row(first), text_row(second)}) {
        const auto shingles = shingles_of(text, terms);
        std::vector<uint64_t> keys(hash.bands());
        hash.keys_of(shingles, keys);
        const auto near = kept.add(text, shingles, keys);
        found += near ? 1 : 0;
        if (near) {
          EXPECT_EQ(near->similarity, 0.8);
        }
      }
    }
    if (common == 80)
      EXPECT_GE(found, 950u);
    else
      EXPECT_EQ(found, 0u);
  }
}

std::shared_ptr<arrow::RecordBatch> posts() {
  return rows_of(
      {arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8())},
      R"([{"id":1,"text":"the quick brown fox jumps over the lazy dog"},
          {"id":2,"text":"a red sea is not a blue sky in the evening"},
          {"id":3,"text":"the quick brown fox jumps over the lazy dogs"},
          {"id":4,"text":null},
          {"id":5,"text":"the quick brown fox jumped over a lazy dog"},
          {"id":6,"text":null},
          {"id":7,"text":""},
          {"id":8,"text":"the quick brown fox jumps over the lazy dog!"}])");
}

std::vector<std::string> near_rows(const std::vector<std::string>& on,
                                   const near_terms& terms,
                                   const operator_context& context,
                                   int64_t rows_at_once = 4096,
                                   size_t threads = 1) {
  const auto all = all_of(near_distinct_rows(stream_of(posts(), rows_at_once),
                                             on, terms, context, threads));
  std::vector<std::string> out;
  for (int64_t i = 0; i < all->num_rows(); ++i)
    out.push_back(all->column(0)->GetScalar(i).ValueOrDie()->ToString());
  return out;
}

TEST(near_distinct_stream, keeps_the_first_of_rows_that_are_alike) {
  const spill_folder folder;
  EXPECT_THAT(
      near_rows({"text"}, {.similarity = 0.8, .shingle = 3}, folder.context()),
      ElementsAre("1", "2", "4", "5", "7"));
  EXPECT_THAT(
      near_rows({"text"}, {.similarity = 0.5, .shingle = 3}, folder.context()),
      ElementsAre("1", "2", "4", "7"));
  EXPECT_THAT(
      near_rows({}, {.similarity = 0.9, .shingle = 3}, folder.context()),
      ElementsAre("1", "2", "4", "5", "6", "7"))
      << "a number is one shingle beside those of a text";
  EXPECT_THAT(near_rows({"id"}, {.similarity = 0.8}, folder.context()),
              SizeIs(8));
}

TEST(near_distinct_stream, tells_the_rows_that_go_with_the_one_that_stays) {
  const spill_folder folder;
  removed_rows removed;
  operator_context how = folder.context();
  how.removed = &removed;
  how.origins =
      std::make_shared<row_origins>(std::vector<std::string>{"posts"});
  near_rows({"text"}, {.similarity = 0.8, .shingle = 3}, how);
  EXPECT_EQ(removed.counts().removed.at("the node"), 3u);
  EXPECT_THAT(removed.lines(),
              AllOf(HasSubstr(R"("row":3,"operator":"the node","reason":"is )"
                              R"(near )"),
                    HasSubstr("row 1, which stays (similarity 0.9"),
                    HasSubstr("row 4, which stays (similarity 1)")));
}

/// Random sentences, of which some are changed a little and come again.
std::shared_ptr<arrow::RecordBatch> some_sentences(size_t rows) {
  const counter_random random(5, 1);
  std::vector<std::vector<uint64_t>> all;
  arrow::StringBuilder texts;
  arrow::DoubleBuilder numbers;
  uint64_t next = 0;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<uint64_t> words;
    if (i > 0 && random.unit(next++) < 0.4)
      words = all[random.below(all.size(), next++)];
    while (words.size() < 20)
      words.push_back(random.below(500, next++));
    for (uint64_t change = random.below(4, next++); change > 0; --change) {
      const uint64_t at = random.below(words.size(), next++);
      words[at] = random.below(500, next++);
    }
    std::string text;
    for (const uint64_t word : words)
      text += "w" + std::to_string(word) + " ";
    EXPECT_TRUE(texts.Append(text).ok());
    EXPECT_TRUE(numbers.Append(double(i % 3)).ok());
    all.push_back(std::move(words));
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("t", arrow::utf8()),
                     arrow::field("n", arrow::float64())}),
      int64_t(rows),
      {texts.Finish().ValueOrDie(), numbers.Finish().ValueOrDie()}));
}

TEST(near_distinct_stream, agrees_with_a_comparison_of_all_pairs) {
  const spill_folder folder;
  const auto rows = some_sentences(700);
  const near_terms terms{.similarity = 0.7, .shingle = 1, .words = true};
  const auto got = all_of(
      near_distinct_rows(stream_of(rows), {}, terms, folder.context(), 1));
  const auto& texts = static_cast<const arrow::StringArray&>(*rows->column(0));
  const auto& origins = static_cast<const arrow::UInt64Array&>(*got->column(2));
  std::vector<std::vector<uint64_t>> kept;
  size_t at = 0, missed = 0;
  for (int64_t i = 0; i < rows->num_rows(); ++i) {
    row_text row;
    row.add_text(texts.GetView(i));
    row.add_value(std::to_string(i % 3));
    const auto own = shingles_of(row.bytes(), terms);
    const bool near = std::ranges::any_of(kept, [&](const auto& other) {
      return jaccard(own, other) >= terms.similarity;
    });
    const bool stays = at < size_t(got->num_rows()) &&
                       origins.Value(int64_t(at)) == uint64_t(i);
    EXPECT_TRUE(near || stays) << "row " << i << " is near no other";
    missed += near && stays ? 1 : 0;
    if (stays) {
      ++at;
      kept.push_back(own);
    }
  }
  EXPECT_LT(got->num_rows(), 600);
  EXPECT_LE(missed, 7u) << "1 of 100 may be missed";
}

TEST(near_distinct_stream, is_the_same_for_any_threads_and_batches) {
  const spill_folder folder;
  const auto rows = some_sentences(3000);
  const near_terms terms{.similarity = 0.7, .shingle = 4};
  const auto once = all_of(
      near_distinct_rows(stream_of(rows), {"t"}, terms, folder.context(), 1));
  for (const int64_t at_once : {1, 700, 5000})
    EXPECT_TRUE(once->Equals(*all_of(near_distinct_rows(
        stream_of(rows, at_once), {"t"}, terms, folder.context(), 3))))
        << at_once;
}

TEST(near_distinct_stream, refuses_more_rows_than_it_may_hold) {
  const spill_folder folder;
  const auto rows = some_sentences(20'000);
  try {
    all_of(near_distinct_rows(stream_of(rows), {"t"},
                              {.similarity = 0.99, .shingle = 4},
                              folder.context(1), 1));
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the node: with a similarity"),
                                    HasSubstr("/data/memory_mb")));
  }
}

TEST(near_distinct_stream, refuses_columns_that_have_no_shingles) {
  const spill_folder folder;
  const auto rows = rows_of({arrow::field("l", arrow::list(arrow::int64()))},
                            R"([{"l":[1]}])");
  try {
    near_distinct_rows(stream_of(rows), {}, {}, folder.context(), 1);
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("/on: column 'l' has the type"),
                                    HasSubstr("expected text, numbers")));
  }
}

} // namespace
} // namespace ballast::data
