#include "data/prepared/set_tables.hpp"

#include "data/prepared/prepared_folder.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/some_chunks.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

/// Sample ids in two runs a chunk; in chunk 1 they are not the source rows.
ledger::manifest set_of(uint32_t chunks) {
  ledger::manifest out;
  out.content_id = "0123456789abcdef";
  out.label = "label";
  out.sources = {"a.csv"};
  out.row = {4, {2, 2}, ledger::stored_type::uint8, 1.0 / 255, 0.5, 3};
  out.placement.resize(2);
  for (uint32_t id = 0; id < chunks; ++id) {
    ledger::chunk_info one{chunk_id(id),
                           5,
                           100 + id,
                           "00000000000000ab",
                           {id % 2, 5 - id % 2, 0},
                           {{5 * id, 2}, {5 * id + 2, 3}},
                           {}};
    one.source_rows = one.samples;
    if (id == 1)
      one.source_rows = {{1000, 5}};
    out.placement[id % 2].push_back(one.id);
    out.train.push_back(std::move(one));
  }
  out.train_rows = 5 * chunks;
  out.test = {
      {chunk_id{0}, 2, 50, "ffffffffffffffff", {1, 1, 0}, {{0, 2}}, {{7, 2}}}};
  out.test_rows = 2;
  return out;
}

std::string sample_table(const ledger::manifest& of) {
  const fs::path file = fs::path(::testing::TempDir()) /
                        ("samples-" + std::to_string(getpid()) + ".arrow");
  write_sample_table(of, file);
  std::ifstream in(file, std::ios::binary);
  std::string out(std::istreambuf_iterator<char>(in), {});
  fs::remove(file);
  return out;
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const ballast_error& error) {
    return error.what();
  }
  return "";
}

TEST(set_tables, hold_a_manifest_and_apart_from_it_its_samples) {
  const ledger::manifest before = set_of(7);
  ledger::manifest after = read_chunk_table(chunk_table(before), "here");
  EXPECT_TRUE(after.train[1].samples.empty());
  read_sample_table(sample_table(before), "here", after);
  EXPECT_EQ(nlohmann::json(after), nlohmann::json(before));
}

TEST(set_tables, for_workers_are_without_labels) {
  const ledger::manifest before = set_of(7);
  const std::string table =
      chunk_table(before, chunk_columns_wanted::no_labels);
  EXPECT_LT(table.size(), chunk_table(before).size());
  const ledger::manifest after = read_chunk_table(table, "here");
  EXPECT_TRUE(after.train[0].label_histogram.empty());
  EXPECT_EQ(after.train[6].checksum, before.train[6].checksum);
  EXPECT_EQ(after.train[6].bytes, before.train[6].bytes);
}

TEST(set_tables, of_few_chunks_are_not_written) {
  const temporary_folder folder;
  write_manifest(folder / "", set_of(7), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder / chunk_table_name));
  std::ifstream in(folder / "manifest.json");
  const auto read = nlohmann::json::parse(in).get<ledger::manifest>();
  EXPECT_EQ(read.train.size(), 7u);
}

TEST(set_tables, of_many_chunks_lie_beside_a_small_manifest) {
  const temporary_folder folder;
  const ledger::manifest before = set_of(chunks_in_json_max + 3);
  write_manifest(folder / "", before, nullptr);
  EXPECT_LT(std::filesystem::file_size(folder / "manifest.json"), 50'000u);
  std::ifstream in(folder / "manifest.json");
  auto after = nlohmann::json::parse(in).get<ledger::manifest>();
  ASSERT_TRUE(after.tables);
  EXPECT_EQ(after.placement, before.placement);
  read_chunks(folder / "", after);
  read_samples(folder / "", after);
  after.tables.reset();
  EXPECT_EQ(nlohmann::json(after), nlohmann::json(before));
}

TEST(set_tables, a_manifest_that_was_cut_off_says_so) {
  const temporary_folder folder;
  write_manifest(folder / "", set_of(7), nullptr);
  std::filesystem::resize_file(folder / "manifest.json", 100);
  EXPECT_THAT(message_of([&] { read_manifest(folder / ""); }),
              testing::AllOf(HasSubstr("manifest.json: is damaged or was cut "
                                       "off at byte 101"),
                             HasSubstr("prepare the set again")));
}

TEST(set_tables, that_are_damaged_are_named) {
  const temporary_folder folder;
  write_manifest(folder / "", set_of(chunks_in_json_max + 3), nullptr);
  std::ifstream in(folder / "manifest.json");
  auto about = nlohmann::json::parse(in).get<ledger::manifest>();
  const std::filesystem::path file = folder / chunk_table_name;
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(5000)
      .put('\x55');
  EXPECT_THAT(message_of([&] { read_chunks(folder / "", about); }),
              HasSubstr("chunks.arrow: is damaged"));
  std::filesystem::remove(file);
  EXPECT_THAT(message_of([&] { read_chunks(folder / "", about); }),
              HasSubstr("chunks.arrow is missing"));
}

TEST(set_tables, refuse_what_contradicts_itself) {
  ledger::manifest wrong = set_of(7);
  wrong.train_rows = 36;
  EXPECT_THAT(message_of([&] { read_chunk_table(chunk_table(wrong), "x"); }),
              HasSubstr("x: its chunks hold 35 rows, not 36"));
  const ledger::manifest good = set_of(7);
  ledger::manifest other = set_of(6);
  EXPECT_THAT(
      message_of([&] { read_sample_table(sample_table(good), "x", other); }),
      HasSubstr("of 8 chunks, the set has 7"));
  wrong = set_of(7);
  wrong.train[3].samples = {{0, 4}};
  ledger::manifest into = set_of(7);
  EXPECT_THAT(
      message_of([&] { read_sample_table(sample_table(wrong), "x", into); }),
      HasSubstr("chunk 3 has 4 samples, not 5"));
  EXPECT_THAT(message_of([] { read_chunk_table("rubbish", "x"); }),
              HasSubstr("x"));
}

} // namespace
} // namespace ballast::data
