// Goal: a copy of a state is what it was when the copy was begun, is fetched
// whole or not at all, and is not held back by nobody. Method: a state of some
// pieces, changed as soon as await() allows it.
#include "actors/state_snapshot.hpp"

#include "data/model/safetensors.hpp"

#include <atomic>
#include <gtest/gtest.h>
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
