// Goal: a step that comes again is replayed, on the rows of its own batch, and
// whatever cannot be recorded is computed as it is. Method: a recorder that
// keeps the pass and runs it again.
#include "gpu/torch/recorded_steps.hpp"

#include "gpu/torch/placement.hpp"

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace ballast::gpu {
namespace {

struct played {
  int recorded = 0;
  int replayed = 0;
  bool refuses = false;
} counts;

class kept_pass final : public recorded_pass {
public:
  explicit kept_pass(std::function<void()> pass) : pass_(std::move(pass)) {}
  void replay() override {
    ++counts.replayed;
    pass_();
  }

private:
  std::function<void()> pass_;
};

class keeping_recorder final : public pass_recorder {
public:
  std::unique_ptr<recorded_pass>
  record(const std::function<void()>& pass) override {
    TORCH_CHECK(!counts.refuses, "played");
    ++counts.recorded;
    pass();
    return std::make_unique<kept_pass>(pass);
  }
};

std::unique_ptr<pass_recorder> open_keeping(const model_place&) {
  return std::make_unique<keeping_recorder>();
}

class recording : public ::testing::Test {
protected:
  void SetUp() override { counts = {}; }

  /// The sum of `rows` values from `first` on, computed where the pass is told.
  double sum(uint32_t rows, size_t first, const float* gradients = nullptr) {
    batch_view batch{.features = values_.data() + first, .rows = rows};
    batch.there.features = batch.features;
    const at::Tensor found = steps_.run(
        batch, {nullptr, gradients}, norms_, [this](const batch_view& on) {
          own_inputs_ = on.there.features < values_.data() ||
                        on.there.features >= values_.data() + values_.size();
          return tensor_at({}, on.there.features, {int64_t(on.rows)}).sum();
        });
    return found.item<double>();
  }

  std::vector<float> values_{1, 2, 4, 8, 16, 32, 64, 128};
  batch_norms norms_;
  bool own_inputs_ = false;
  recorded_steps steps_{{}, 1, open_keeping};
};

TEST_F(recording, begins_when_a_step_has_come_twice) {
  EXPECT_EQ(sum(2, 0), 3);
  EXPECT_EQ(sum(2, 1), 6);
  EXPECT_EQ(counts.recorded, 0);
  EXPECT_FALSE(own_inputs_);
  EXPECT_EQ(sum(2, 2), 12);
  EXPECT_EQ(counts.recorded, 1);
  EXPECT_EQ(sum(2, 3), 24) << "each batch has its own rows";
  EXPECT_TRUE(own_inputs_);
  EXPECT_EQ(counts.recorded, 1);
  EXPECT_EQ(counts.replayed, 2);
}

TEST_F(recording, is_for_one_number_of_rows_and_one_pair_of_arenas) {
  const float arenas[2] = {};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sum(2, 0, &arenas[0]), 3);
    EXPECT_EQ(sum(3, 0, &arenas[0]), 7);
    EXPECT_EQ(sum(2, 0, &arenas[1]), 3);
  }
  EXPECT_EQ(counts.recorded, 3);
  EXPECT_EQ(counts.replayed, 6);
}

TEST_F(recording, keeps_a_few_and_drops_the_one_unused_for_longest) {
  for (uint32_t rows = 1; rows <= 7; ++rows)
    for (int i = 0; i < 3; ++i)
      (void)sum(rows, 0);
  EXPECT_EQ(counts.recorded, 7);
  (void)sum(2, 0);
  EXPECT_EQ(counts.replayed, 8) << "still there";
  EXPECT_EQ(sum(1, 3), 8);
  EXPECT_EQ(counts.replayed, 8) << "dropped, begins anew";
}

TEST_F(recording, is_given_up_where_it_fails) {
  counts.refuses = true;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(sum(2, 1), 6);
  counts.refuses = false;
  EXPECT_EQ(sum(2, 1), 6);
  EXPECT_EQ(counts.recorded, 0);
}

TEST_F(recording, waits_while_statistics_of_an_earlier_pass_are_pending) {
  norms_.add("bn", 1, true);
  for (int i = 0; i < 3; ++i)
    (void)sum(2, 0);
  EXPECT_EQ(counts.replayed, 1);
  norms_.put_seen({{{at::zeros({1}), at::zeros({1}), 2, 4}}});
  EXPECT_EQ(sum(2, 0), 3);
  EXPECT_EQ(counts.replayed, 1);
  (void)norms_.take_seen();
  EXPECT_EQ(sum(2, 0), 3);
  EXPECT_EQ(counts.replayed, 2);
}

} // namespace
} // namespace ballast::gpu
