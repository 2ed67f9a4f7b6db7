// Goal: a copy of a state is what it was when the copy was begun, is fetched
// whole or not at all, and is not held back by nobody. Method: a state of some
// pieces, changed as soon as await() allows it.
#include "actors/state_snapshot.hpp"

#include "data/model/safetensors.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace ballast::actors {
namespace {

class state_snapshots : public ::testing::Test {
protected:
  replica_image image(step_number after) {
    replica_image out;
    out.file = data::image_of({{"weight", {int64_t(values.size())}, values}},
                              {{"step", to_string(after)}});
    return out;
  }

  /// The whole of it; nothing where a piece is not there.
  std::optional<std::string> fetched(step_number after) {
    std::string out;
    while (true) {
      const auto piece = snapshot.read(state_blob(after), out.size());
      if (!piece)
        return std::nullopt;
      out += *piece;
      if (piece->size() < piece_bytes)
        return out;
    }
  }

  std::vector<float> values = std::vector<float>(20 << 20, 1.0F);
  state_snapshot snapshot;
};

TEST_F(state_snapshots, are_fetched_as_they_were_though_the_state_went_on) {
  snapshot.begin(step_number{7}, image(step_number{7}));
  snapshot.await();
  for (float& one : values)
    one = 2;
  const auto bytes = fetched(step_number{7});
  ASSERT_TRUE(bytes);
  EXPECT_GT(bytes->size(), 2 * piece_bytes);
  const data::tensor_file file = data::parse_safetensors(*bytes, "state");
  ASSERT_EQ(file.values.size(), values.size());
  for (float one : file.values)
    ASSERT_EQ(one, 1.0F);
  EXPECT_EQ(file.metadata.at("step"), "7");
}

TEST_F(state_snapshots, answer_who_asks_before_the_copy_is_complete) {
  snapshot.begin(step_number{3}, image(step_number{3}));
  EXPECT_TRUE(fetched(step_number{3}));
}

TEST_F(state_snapshots, give_no_piece_of_a_copy_that_was_replaced) {
  snapshot.begin(step_number{1}, image(step_number{1}));
  ASSERT_TRUE(snapshot.read(state_blob(step_number{1}), 0));
  snapshot.begin(step_number{2}, image(step_number{2}));
  EXPECT_FALSE(snapshot.read(state_blob(step_number{1}), piece_bytes));
  EXPECT_TRUE(fetched(step_number{2}));
}

TEST_F(state_snapshots, are_wanted_until_somebody_has_their_end) {
  EXPECT_FALSE(snapshot.is_fetched());
  snapshot.begin(step_number{1}, image(step_number{1}));
  EXPECT_TRUE(snapshot.is_fetched());
  ASSERT_TRUE(snapshot.read(state_blob(step_number{1}), 0));
  EXPECT_TRUE(snapshot.is_fetched());
  ASSERT_TRUE(fetched(step_number{1}));
  EXPECT_FALSE(snapshot.is_fetched());
}

TEST_F(state_snapshots, are_not_wanted_by_a_coordinator_that_is_gone) {
  snapshot.ordered_by(term{1});
  snapshot.begin(step_number{1}, image(step_number{1}));
  snapshot.ordered_by(term{1});
  EXPECT_TRUE(snapshot.is_fetched()) << "a fence of the same coordinator";
  snapshot.ordered_by(term{2});
  EXPECT_FALSE(snapshot.is_fetched());
  EXPECT_TRUE(fetched(step_number{1})) << "and it is there for the next";
}

TEST_F(state_snapshots, have_no_piece_of_another_name_nor_beyond_their_end) {
  snapshot.begin(step_number{1}, image(step_number{1}));
  EXPECT_FALSE(snapshot.read("model", 0));
  EXPECT_FALSE(snapshot.read("checkpoint-2", 0));
  EXPECT_FALSE(snapshot.read("checkpoint-1", uint64_t{1} << 40));
}

TEST_F(state_snapshots, may_have_their_room_made_before) {
  snapshot.make_room(values.size() * sizeof(float));
  snapshot.begin(step_number{1}, image(step_number{1}));
  snapshot.await();
  EXPECT_TRUE(fetched(step_number{1}));
}

/// Memory of this process, in bytes.
uint64_t resident() {
  uint64_t all = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * 4096;
}

TEST_F(state_snapshots, touch_no_more_memory_once_the_run_ends) {
  const uint64_t before = resident();
  snapshot.make_no_room();
  snapshot.make_room(uint64_t{3} << 30);
  snapshot.begin(step_number{1}, image(step_number{1}));
  snapshot.await(); // comes behind the room
  EXPECT_LT(resident(), before + (uint64_t{1} << 30));
  EXPECT_TRUE(fetched(step_number{1}));
}

TEST_F(state_snapshots, of_all_ranks_together_are_the_file) {
  const replica_image whole = image(step_number{7});
  std::string expected(whole.file.bytes(), '\0');
  whole.file.copy(0, expected);
  std::string found;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    state_snapshot part;
    part.begin(step_number{7}, image(step_number{7}), rank, 3);
    const state_note note = part.note(step_number{7});
    EXPECT_EQ(note.copied, step_number{7});
    EXPECT_EQ(note.file_bytes, expected.size());
    ASSERT_EQ(note.part.from, found.size());
    uint64_t hashed = 0;
    for (const data::state_part& one : note.checksums)
      hashed += one.bytes;
    EXPECT_EQ(hashed, note.part.to - note.part.from);
    EXPECT_FALSE(part.read(state_blob(step_number{7}), note.part.to + 1));
    while (found.size() < note.part.to) {
      const auto piece = part.read(state_blob(step_number{7}), found.size());
      ASSERT_TRUE(piece);
      ASSERT_FALSE(piece->empty());
      found += *piece;
    }
    EXPECT_FALSE(part.is_fetched()) << "all of it is";
  }
  EXPECT_TRUE(found == expected);
}

TEST_F(state_snapshots, are_written_where_the_file_is_seen) {
  char folder[] = "/tmp/ballast-snapshot-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/state";
  {
    snapshot.begin(step_number{7}, image(step_number{7}));
    const uint64_t bytes = snapshot.note(step_number{7}).file_bytes;
    const data::unfinished_state file(path, bytes);
    const data::shared_place place{path, file.token()};
    EXPECT_FALSE(snapshot.write({"checkpoint-6", {0, 10}, place}));
    for (uint64_t at = 0; at < bytes; at += piece_bytes)
      EXPECT_TRUE(snapshot.write(
          {"checkpoint-7", {at, std::min(at + piece_bytes, bytes)}, place}));
    EXPECT_FALSE(snapshot.is_fetched());
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(in), {}) ==
              *fetched(step_number{7}));
  std::filesystem::remove_all(folder);
}

TEST_F(state_snapshots, say_which_step_they_are_of_when_asked_for_another) {
  EXPECT_EQ(snapshot.note(step_number{4}).copied, step_number{});
  snapshot.begin(step_number{7}, image(step_number{7}));
  EXPECT_EQ(snapshot.note(step_number{8}).copied, step_number{7});
  EXPECT_TRUE(snapshot.note(step_number{8}).checksums.empty());
}

TEST_F(state_snapshots, stay_as_they_are_when_more_room_is_made) {
  snapshot.begin(step_number{1}, image(step_number{1}));
  snapshot.await();
  const auto before = fetched(step_number{1});
  for (int more = 1; more <= 10; ++more) { // beside each other
    snapshot.make_room(before->size() + uint64_t(more));
    const auto now = fetched(step_number{1});
    ASSERT_TRUE(now);
    ASSERT_TRUE(*now == *before);
  }
}

TEST_F(state_snapshots, are_never_mixed_while_they_are_replaced) {
  snapshot.begin(step_number{1}, image(step_number{1}));
  std::atomic<bool> ended{false};
  std::thread reader([&] {
    while (!ended)
      for (uint64_t step = 1; step <= 4; ++step)
        if (const auto bytes = fetched(step_number{step})) {
          const auto file = data::parse_safetensors(*bytes, "state");
          ASSERT_EQ(file.values.front(), float(step));
          ASSERT_EQ(file.values.back(), float(step));
        }
  });
  for (uint64_t step = 2; step <= 4; ++step) {
    snapshot.await();
    std::fill(values.begin(), values.end(), float(step));
    snapshot.begin(step_number{step}, image(step_number{step}));
  }
  ASSERT_TRUE(fetched(step_number{4}));
  ended = true;
  reader.join();
}

} // namespace
} // namespace ballast::actors
