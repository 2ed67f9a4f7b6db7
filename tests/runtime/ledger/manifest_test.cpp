#include "runtime/ledger/manifest.hpp"

#include "tests/runtime/ledger/expanded.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::ledger {
namespace {

manifest small_set() {
  manifest out;
  out.content_id = "0123456789abcdef";
  out.label = "label";
  out.sources = {"a.csv", "b.csv"};
  out.left_out = {"name"};
  out.row = {4, {2, 2}, stored_type::uint8, 1.0 / 255, 0.5, 3, 5};
  out.train_rows = 7;
  out.test_rows = 2;
  out.train = {
      {chunk_id{0},
       4,
       100,
       "00000000000000aa",
       {2, 1, 1},
       {{0, 3}, {5, 1}},
       {{0, 3}, {7, 1}}},
      {chunk_id{1},
       3,
       90,
       "00000000000000bb",
       {1, 1, 1},
       {{3, 2}, {6, 1}},
       {{3, 2}, {6, 1}}},
  };
  out.test = {
      {chunk_id{0}, 2, 50, "00000000000000cc", {1, 1, 0}, {{0, 2}}, {{5, 2}}}};
  out.placement = {{chunk_id{1}}, {chunk_id{0}}};
  return out;
}

std::string message_of(const nlohmann::json& text) {
  try {
    text.get<manifest>();
  } catch (const nlohmann::json::exception& error) {
    return error.what();
  }
  return "";
}

TEST(manifest, maps_every_row_to_its_sample) {
  chunk_info chunk;
  chunk.rows = 6;
  chunk.samples = {{10, 3}, {2, 1}, {20, 2}};
  const std::vector<uint64_t> expected{10, 11, 12, 2, 20, 21};
  EXPECT_EQ(expand(chunk.samples), expected);
  for (uint32_t row = 0; row < chunk.rows; ++row)
    EXPECT_EQ(value(sample_at(chunk, row)), expected[row]) << row;
}

TEST(manifest, names_rows_as_their_owner_knows_them) {
  manifest set = small_set();
  EXPECT_EQ(describe_rows(set, {{chunk_id{0}, 3}, {chunk_id{1}, 0}}),
            "sample 5 (chunk 0 row 3, row 8 of a.csv + b.csv), sample 3 (chunk "
            "1 row 0, row 4 of a.csv + b.csv)");
  set.sources.clear();
  std::string many =
      describe_rows(set, std::vector<row_ref>(12, {chunk_id{0}, 3}));
  EXPECT_TRUE(many.starts_with("sample 5 (chunk 0 row 3), sample")) << many;
  EXPECT_TRUE(many.ends_with("(chunk 0 row 3) and 2 more")) << many;
}

TEST(manifest, compresses_to_the_fewest_runs_and_back) {
  const std::vector<std::vector<uint64_t>> lists{
      {}, {7}, {0, 1, 2}, {2, 1, 0}, {5, 6, 6, 7}, {9, 0, 1, 10}};
  for (const std::vector<uint64_t>& list : lists)
    EXPECT_EQ(expand(compress(list)), list);
  EXPECT_EQ(compress({0, 1, 2}), (std::vector<id_run>{{0, 3}}));
  EXPECT_EQ(compress({2, 1, 0}).size(), 3u);
}

TEST(manifest, survives_json) {
  const manifest before = small_set();
  const nlohmann::json text = before;
  const manifest after = nlohmann::json::parse(text.dump()).get<manifest>();
  EXPECT_EQ(nlohmann::json(after), text);
  EXPECT_EQ(after.train[0].samples, before.train[0].samples);
  EXPECT_EQ(after.train[0].source_rows, before.train[0].source_rows);
  EXPECT_EQ(after.train[1].source_rows, before.train[1].source_rows);
  EXPECT_EQ(after.row.scale, before.row.scale);
  EXPECT_EQ(after.row.target_bins, before.row.target_bins);
  EXPECT_EQ(after.placement, before.placement);
}

TEST(manifest, of_an_older_build_has_no_bins) {
  nlohmann::json text = small_set();
  text["row"].erase("target_bins");
  EXPECT_EQ(text.get<manifest>().row.target_bins, 0u);
}

TEST(manifest, refuses_what_contradicts_itself) {
  const nlohmann::json good = small_set();
  auto changed = [&](const char* pointer, const nlohmann::json& to) {
    nlohmann::json text = good;
    text[nlohmann::json::json_pointer(pointer)] = to;
    return message_of(text);
  };
  auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(message_of(good), "");
  EXPECT_TRUE(has(changed("/version", 2), "version 2"));
  EXPECT_TRUE(has(changed("/train_rows", 8), "7 rows, not 8"));
  EXPECT_TRUE(has(changed("/train/1/id", 0), "chunk 0 stands"));
  EXPECT_TRUE(has(changed("/train/0/samples", "0+5"), "samples of chunk 0"));
  EXPECT_TRUE(has(changed("/train/0/samples", "0+3"), "samples of chunk 0"));
  EXPECT_TRUE(has(changed("/train/0/samples", "0+18446744073709551615"),
                  "samples of chunk 0"));
  EXPECT_TRUE(has(changed("/train/0/samples", "0-4"), "no list of runs"));
  EXPECT_TRUE(
      has(changed("/train/0/samples", "5+18446744073709551615"), "a run of"));
  EXPECT_TRUE(has(changed("/placement/0", "2"), "chunk 2 of 2"));
  EXPECT_TRUE(has(changed("/row/features", "four"), "type must be number"));
  EXPECT_TRUE(has(changed("/row/stored", "uint4"), "'uint4' cannot be stored"));
  EXPECT_TRUE(has(message_of(nlohmann::json::object()), "version"));
}

} // namespace
} // namespace ballast::ledger
