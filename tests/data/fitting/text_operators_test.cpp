// Goal: texts become the numbers that scikit-learn 1.9.1 makes of them, and
// what cannot be a text is refused by its row. Method: TfidfVectorizer's
// vocabulary and numbers of five training texts and three others, recorded; and
// properties of what has no such counterpart.
#include "data/fitting/text_tokens.hpp"
#include "tests/data/fitting/fitting_tester.hpp"

#include <cmath>
#include <map>
#include <set>

namespace ballast::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

rows_pointer five_texts() {
  return texts(R"([{"t":"The cat sat on the mat."},
                   {"t":"The dog ate the cat, the CAT!"},
                   {"t":"Ünïcode straße 東京 cat"},
                   {"t":"a b c"},
                   {"t":"dog_1 dog-1  dog 42"}])");
}
rows_pointer other_texts() {
  return texts(R"([{"t":"the cat and the unseen bird"},
                   {"t":"mat mat dog"}, {"t":"zzz"}])");
}

json tf_idf(const json& more = json::object()) {
  json out{{"op", "tf_idf"}, {"columns", {"t"}}};
  out.update(more);
  return out;
}

/// What is not 0 in each row, by token.
std::vector<std::map<std::string, double>> weights(fitted& of,
                                                   const rows_pointer& in) {
  const auto rows = of.rows(in);
  std::vector<std::map<std::string, double>> out(size_t(rows->num_rows()));
  for (const std::string& name : rows->schema()->field_names()) {
    if (name == origin_column)
      continue;
    const std::vector<double> column = column_of(*rows, name);
    for (size_t i = 0; i < column.size(); ++i)
      if (column[i] != 0)
        out[i][name.substr(2)] = column[i];
  }
  return out;
}

void expect_near(const std::vector<std::map<std::string, double>>& found,
                 const std::vector<std::map<std::string, double>>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t row = 0; row < found.size(); ++row) {
    EXPECT_EQ(found[row].size(), expected[row].size()) << "row " << row;
    for (const auto& [token, value] : expected[row]) {
      ASSERT_EQ(found[row].count(token), 1u) << "row " << row << ": " << token;
      EXPECT_NEAR(found[row].at(token), value, 1e-11)
          << "row " << row << ": " << token;
    }
  }
}

TEST(tf_idf, gives_the_numbers_of_scikit_learn) {
  fitted one(tf_idf(), five_texts());
  EXPECT_THAT(one.names(five_texts()),
              ElementsAre("t_42", "t_ate", "t_cat", "t_dog", "t_dog_1", "t_mat",
                          "t_on", "t_sat", "t_straße", "t_the", "t_ünïcode",
                          "t_東京"));
  expect_near(weights(one, five_texts()), {{{"cat", 0.272227509349},
                                            {"mat", 0.406484652759},
                                            {"on", 0.406484652759},
                                            {"sat", 0.406484652759},
                                            {"the", 0.655898516821}},
                                           {{"ate", 0.327856242424},
                                            {"cat", 0.439138293139},
                                            {"dog", 0.264512352037},
                                            {"the", 0.793537056112}},
                                           {{"cat", 0.36063832635},
                                            {"straße", 0.538497910106},
                                            {"ünïcode", 0.538497910106},
                                            {"東京", 0.538497910106}},
                                           {},
                                           {{"42", 0.466066808693},
                                            {"dog", 0.752039533316},
                                            {"dog_1", 0.466066808693}}});
  expect_near(weights(one, other_texts()),
              {{{"cat", 0.383338930174}, {"the", 0.923607743911}},
               {{"dog", 0.37410477245}, {"mat", 0.927386445464}},
               {}});
}

TEST(tf_idf, counts_runs_of_words_that_enough_rows_have) {
  fitted one(tf_idf({{"ngram_max", 2}, {"min_df", 2}}), five_texts());
  EXPECT_THAT(one.names(five_texts()),
              ElementsAre("t_cat", "t_dog", "t_the", "t_the cat"));
  expect_near(weights(one, five_texts()), {{{"cat", 0.348021025714},
                                            {"the", 0.838513620956},
                                            {"the cat", 0.419256810478}},
                                           {{"cat", 0.405571647092},
                                            {"dog", 0.244293681439},
                                            {"the", 0.732881044318},
                                            {"the cat", 0.488587362878}},
                                           {{"cat", 1.0}},
                                           {},
                                           {{"dog", 1.0}}});
}

TEST(tf_idf, takes_the_options_of_scikit_learn) {
  fitted one(
      tf_idf({{"sublinear_tf", true}, {"norm", "l1"}, {"smooth_idf", false}}),
      five_texts());
  expect_near(weights(one, other_texts()),
              {{{"cat", 0.317708179424}, {"the", 0.682291820576}},
               {{"dog", 0.302518730281}, {"mat", 0.697481269719}},
               {}});
  fitted counts(tf_idf({{"use_idf", false},
                        {"norm", "none"},
                        {"max_df", 0.5},
                        {"stop_words", {"on", "sat"}}}),
                five_texts());
  expect_near(weights(counts, five_texts()),
              {{{"mat", 1.0}, {"the", 2.0}},
               {{"ate", 1.0}, {"dog", 1.0}, {"the", 3.0}},
               {{"straße", 1.0}, {"ünïcode", 1.0}, {"東京", 1.0}},
               {},
               {{"42", 1.0}, {"dog", 2.0}, {"dog_1", 1.0}}});
}

TEST(tf_idf, counts_runs_of_characters) {
  fitted one(tf_idf({{"analyzer", "characters"},
                     {"ngram_min", 2},
                     {"ngram_max", 3},
                     {"min_df", 3}}),
             five_texts());
  EXPECT_THAT(one.names(five_texts()),
              ElementsAre("t_ c", "t_ ca", "t_at", "t_ca", "t_cat", "t_e "));
  expect_near(weights(one, five_texts()), {{{" c", 0.205805790136},
                                            {" ca", 0.244648213864},
                                            {"at", 0.733944641591},
                                            {"ca", 0.244648213864},
                                            {"cat", 0.244648213864},
                                            {"e ", 0.489296427727}},
                                           {{" c", 0.266585586334},
                                            {" ca", 0.316899186827},
                                            {"at", 0.475348780241},
                                            {"ca", 0.316899186827},
                                            {"cat", 0.316899186827},
                                            {"e ", 0.633798373655}},
                                           {{" c", 0.285078553633},
                                            {" ca", 0.338882394471},
                                            {"at", 0.338882394471},
                                            {"ca", 0.338882394471},
                                            {"cat", 0.338882394471},
                                            {"e ", 0.677764788942}},
                                           {{" c", 1.0}},
                                           {}});
}

// As Python's str.lower() of "ΣΊΣΥΦΟΣ. ΑΣ'Β Ας\u0301 ΣΣ Σ1 İstanbul".
TEST(tf_idf, lowers_letters_that_depend_on_their_neighbours_as_python_does) {
  const auto rows = texts(R"([{"t":"ΣΊΣΥΦΟΣ. ΌΣΣ ΣΑ'ΣΒ ΑΣ"},{"t":"İstanbul"},
                              {"t":"σίσυφος όσς σα σβ ας stanbul"}])");
  fitted one(tf_idf(), rows);
  EXPECT_THAT(one.names(rows), ElementsAre("t_stanbul", "t_ας", "t_σίσυφος",
                                           "t_σα", "t_σβ", "t_όσς"));
}

TEST(tf_idf, of_characters_takes_runs_of_any_space_for_one) {
  fitted one(
      tf_idf(
          {{"analyzer", "characters"}, {"use_idf", false}, {"norm", "none"}}),
      texts(R"([{"t":"a \t\u00a0\u3000b c"}])"));
  expect_near(weights(one, texts(R"([{"t":"a \t\u00a0\u3000b c"}])")),
              {{{"a", 1.0}, {" ", 2.0}, {"b", 1.0}, {"c", 1.0}}});
}

TEST(tf_idf, keeps_the_tokens_that_occur_most_often_and_says_so) {
  fitted one(tf_idf({{"max_features", 2}}), five_texts());
  EXPECT_THAT(one.names(five_texts()), ElementsAre("t_cat", "t_the"));
  EXPECT_THAT(one.state->columns[0].note, HasSubstr("keeps 2 of 12 tokens"));
  fitted ties(tf_idf({{"max_features", 1}}), texts(R"([{"t":"yy xx"}])"));
  EXPECT_THAT(ties.names(five_texts()), ElementsAre("t_xx"));
}

TEST(tf_idf, refuses_what_is_no_text_by_its_row) {
  const auto of = [](const char* more, const rows_pointer& rows) {
    return refused([&] { fitted(tf_idf(json::parse(more)), rows); });
  };
  EXPECT_THAT(of("{}", texts(R"([{"t":"one two"},{"t":null}])")),
              testing::AllOf(HasSubstr("the node: row 2, column 't'"),
                             HasSubstr("the value is missing"),
                             HasSubstr("\"impute\"")));
  EXPECT_THAT(of("{}", texts(R"([{"t":"a b"},{"t":"!"}])")),
              HasSubstr("column 't' has no token that is kept: 0 in the 2 "
                        "training rows; expected words of two letters"));
  EXPECT_THAT(of(R"({"min_df": 4})", five_texts()),
              HasSubstr("12 in the 5 training rows; lower \"min_df\""))
      << "the most frequent is in three";
  EXPECT_THAT(refused([] {
                fitted({{"op", "tf_idf"}, {"columns", {"x"}}},
                       numbers({"x"}, R"([{"x":1}])"));
              }),
              HasSubstr("'x' has the type double; \"tf_idf\" needs text"));
  EXPECT_THAT(refused(
                  [] {
                    fitted(tf_idf({{"ngram_min", 3}}), five_texts());
                  },
                  errc::invalid_job),
              HasSubstr("/data/graph/2/ngram_min: 3 is more than "
                        "\"ngram_max\", 1"));
}

TEST(tf_idf, refuses_bytes_that_are_no_utf_8) {
  arrow::StringBuilder builder;
  ASSERT_TRUE(builder.Append("fine text").ok());
  ASSERT_TRUE(builder.Append("bro\xffken").ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("t", arrow::utf8())}), 2,
      {builder.Finish().ValueOrDie()}));
  EXPECT_THAT(refused([&] { fitted(tf_idf(), rows); }),
              HasSubstr("row 2, column 't': the text is not UTF-8"));
}

TEST(hash_text, sums_tokens_of_a_bucket_and_learns_nothing) {
  const json node{{"op", "hash_text"},
                  {"columns", {"t"}},
                  {"buckets", 4},
                  {"norm", "none"},
                  {"signed", false}};
  fitted one(node, five_texts());
  EXPECT_EQ(one.state->rows, 0u);
  EXPECT_THAT(one.names(five_texts()), ElementsAre("t_0", "t_1", "t_2", "t_3"));
  std::vector<double> sums(5);
  const auto rows = one.rows(five_texts());
  for (const char* name : {"t_0", "t_1", "t_2", "t_3"}) {
    const auto column = column_of(*rows, name);
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += column[i];
  }
  EXPECT_THAT(sums, ElementsAre(6, 7, 4, 0, 4)) << "words of each text";
}

TEST(hash_text, has_rows_of_length_one) {
  fitted one({{"op", "hash_text"}, {"columns", {"t"}}, {"buckets", 16}},
             five_texts());
  for (const auto& row : weights(one, five_texts())) {
    double sum = 0;
    for (const auto& [bucket, value] : row)
      sum += value * value;
    EXPECT_TRUE(row.empty() || std::abs(sum - 1) < 1e-12) << sum;
  }
}

TEST(text_operators, work_on_many_columns_in_parts_of_a_batch) {
  const json node{{"op", "hash_text"}, {"columns", {"t"}}, {"buckets", 16384}};
  arrow::StringBuilder builder;
  for (int i = 0; i < 600; ++i)
    ASSERT_TRUE(builder.Append("word" + std::to_string(i)).ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("t", arrow::utf8())}), 600,
      {builder.Finish().ValueOrDie()}));
  fitted one(node, rows);
  EXPECT_EQ(one.rows(rows, false, 2)->num_rows(), 600) << "at most 256 at once";
}

} // namespace
} // namespace ballast::data
