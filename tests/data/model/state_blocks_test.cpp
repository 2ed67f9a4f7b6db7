// Goal: a state's file is read whole, in any number of parts and by any number
// of threads, and what is not what it was is named. Method: files of some
// bytes, of which one is changed.
#include "data/model/state_blocks.hpp"

#include "data/store/chunk.hpp"
#include "tests/store/expect_error.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t size = (5 << 20) + 13; // some blocks, and a part of one

std::string hash_of(const std::string& bytes) {
  content_hash hash;
  hash.update(bytes);
  return hex16(hash.digest());
}

class state_files : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "ballast-state-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern;
    for (uint64_t i = 0; i < size; ++i)
      content += char(i * 2654435761 >> 7);
    write();
  }
  void TearDown() override { fs::remove_all(folder); }

  void write() const { std::ofstream(file(), std::ios::binary) << content; }
  fs::path file() const { return folder / "state.safetensors"; }

  /// In parts that end there.
  state_checksums cut_at(const std::set<uint64_t>& ends) const {
    state_checksums out;
    for (uint64_t end : ends) {
      const std::string part = content.substr(out.bytes, end - out.bytes);
      out.parts.push_back({part.size(), hash_of(part)});
      out.bytes = end;
    }
    return out;
  }

  fs::path folder;
  std::string content;
};

TEST_F(state_files, are_whole_in_however_many_parts) {
  const auto cuts = {std::set<uint64_t>{size}, std::set<uint64_t>{4096, size},
                     std::set<uint64_t>{1, 2, 3, 1 << 20, 3 << 20, size}};
  for (const std::set<uint64_t>& ends : cuts)
    for (uint32_t threads : {1, 2, 5})
      EXPECT_NO_THROW(check_state_file(file(), cut_at(ends), threads));
  state_checksums with_nothing = cut_at({100, size});
  with_nothing.parts.insert(with_nothing.parts.begin() + 1, {0, hash_of("")});
  EXPECT_NO_THROW(check_state_file(file(), with_nothing, 4));
}

TEST_F(state_files, name_the_part_in_which_a_bit_has_changed) {
  const state_checksums was = cut_at({4096, 2 << 20, 4 << 20, size});
  content[(4 << 20) - 1] ^= 1;
  write();
  EXPECT_FAILURE(check_state_file(file(), was, 4), errc::invalid_data,
                 "its state does not match its checksum in bytes 2097152 to "
                 "4194304 (part 3 of 4)");
  content[size - 1] ^= 64;
  write();
  EXPECT_FAILURE(check_state_file(file(), cut_at({100, size - 1}), 4),
                 errc::invalid_data, "bytes of 5242892");
}

TEST_F(state_files, that_are_cut_or_gone_are_refused) {
  const state_checksums was = cut_at({1000, size});
  fs::resize_file(file(), 50);
  EXPECT_FAILURE(check_state_file(file(), was, 2), errc::invalid_data,
                 "has 50 bytes of 5242893");
  const auto opened = file_blocks(file(), 50);
  fs::resize_file(file(), 20);
  std::string to(50, '\0');
  const std::span<char> all(to);
  EXPECT_FAILURE(opened->read(0, std::span(&all, 1)), errc::invalid_data,
                 "ends at byte 20");
  fs::remove(file());
  EXPECT_FAILURE(check_state_file(file(), was, 2), errc::invalid_data,
                 "No such file");
}

TEST_F(state_files, are_read_into_many_small_places) {
  const auto reader = file_blocks(file(), size);
  std::string to(size, '\0');
  std::vector<std::span<char>> places;
  for (uint64_t at = 0; at < size; at += places.back().size())
    places.push_back(std::span(to).subspan(
        at, std::min<uint64_t>(size - at, 1 + at % 77000)));
  for (size_t i = 0; i < 3; ++i)
    places.insert(places.begin() + long(i * 40), std::span<char>());
  reader->read(0, places);
  EXPECT_EQ(to, content);
}

TEST_F(state_files, have_headers_only_of_what_fits_into_them) {
  const std::string wrong = std::string(7, '\xff') + '\0' + "{}";
  std::ofstream(file(), std::ios::binary) << wrong;
  EXPECT_FAILURE((void)header_bytes(*file_blocks(file(), wrong.size()),
                                    wrong.size(), "its state"),
                 errc::invalid_data, "its header claims");
  std::ofstream(file(), std::ios::binary) << "abc";
  EXPECT_FAILURE((void)header_bytes(*file_blocks(file(), 3), 3, "its state"),
                 errc::invalid_data, "shorter than 8 bytes");
}

TEST(state_blocks, end_with_the_first_error_whoever_waits) {
  state_check check("its state", {1000, {{1000, "0"}}});
  const auto read = [&] {
    for_each_block(
        {0, 1000, 10, 4},
        [&]() -> block_work {
          return [&](uint64_t at, uint64_t count) {
            const std::string bytes(count, 'x');
            if (at == 30)
              throw ballast_error(errc::unreachable, "the network is gone");
            const std::span<const char> came(bytes);
            check.add(at, std::span(&came, 1)); // of later ones waits for it
          };
        },
        [&] { check.stop(); });
  };
  EXPECT_FAILURE(read(), errc::unreachable, "the network is gone");
}

TEST(state_blocks, are_given_up_between_two_of_them) {
  std::atomic<int> asked = 0;
  std::atomic<int> read = 0;
  EXPECT_FAILURE(
      for_each_block(
          {0, 1000, 10, 1, [&] { return ++asked > 3; }},
          [&]() -> block_work { return [&](uint64_t, uint64_t) { ++read; }; },
          [] {}),
      errc::stopped, "wanted no more");
  EXPECT_EQ(read, 3);
}

TEST(state_checksums, are_those_of_old_manifests_and_of_new_ones) {
  std::string why;
  const auto old = checksums_in(
      nlohmann::json{{"bytes", 12U}, {"xxh64", "0123456789abcdef"}}, why);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->parts.size(), 1u);
  EXPECT_EQ(old->parts[0].bytes, 12u);
  EXPECT_EQ(old->parts[0].xxh64, "0123456789abcdef");
  const state_checksums parts{12, {{4, "a"}, {8, "b"}}};
  const auto again = checksums_in(as_json(parts), why);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->parts[1].xxh64, "b");
  for (const char* text :
       {R"({"bytes": 12})", R"({"bytes": -1, "xxh64": "a"})",
        R"({"bytes": 12, "xxh64": 4})", R"({"bytes": 12, "slices": 3})",
        R"({"bytes": 12, "slices": [{"bytes": 12}]})",
        R"({"bytes": 12, "slices": [{"bytes": 11, "xxh64": "a"}]})",
        R"({"bytes": 0, "slices": [{"bytes": 18446744073709551615,
            "xxh64": "a"}, {"bytes": 1, "xxh64": "a"}]})",
        "[]", "3", "{"}) {
    why.clear();
    EXPECT_FALSE(checksums_in(nlohmann::json::parse(text, nullptr, false), why))
        << text;
    EXPECT_NE(why, "") << text;
  }
}

} // namespace
} // namespace ballast::data
