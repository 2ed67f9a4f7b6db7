// Goal: a step that is done again after a failure ends with the same bits as if
// nothing had happened, and only leaves that were not finished are computed.
// Method: the reductions of four ranks, of which one is gone at the second
// attempt, against one rank that does the step alone.
#include "gpu/reduction/canonical.hpp"

#include "runtime/base/random.hpp"
#include "runtime/ledger/kept_leaves.hpp"
#include "tests/collectives/harness.hpp"

#include <atomic>
#include <numeric>

namespace ballast::gpu::abandoning {
namespace {

using ballast::testing::complaints;
using ballast::testing::rank_group;
using collectives::collective;
using ledger::leaf_ranges;

constexpr uint32_t leaves = 32;
constexpr size_t width = 7;

/// Its gradients and statistics show in their bits in which order they were
/// added up; calls `begins` in each leaf.
class row_model final : public model {
public:
  const std::vector<parameter_info>& parameters() const override {
    return parameters_;
  }
  size_t parameter_count() const override { return width; }
  void initialize(std::span<float>) override {}
  void bind(std::span<float> parameters, std::span<float> gradients) override {
    values_ = parameters;
    gradients_ = gradients;
  }
  double accumulate(const batch_view& batch, uint64_t seed,
                    const std::function<void(size_t)>& ready) override {
    const counter_random random(seed, 0);
    for (uint32_t r = 0; r < batch.rows; ++r)
      pending_ += float(1 / (1.0 + double(batch.sample_ids[r])));
    if (begins)
      begins();
    double loss = 0;
    for (uint32_t r = 0; r < batch.rows; ++r)
      for (size_t i = 0; i < width; ++i) {
        const uint64_t at = batch.sample_ids[r] * width + i;
        const double scale = random.unit(at) > 0.5 ? 1e6 : 1e-3;
        gradients_[i] += values_[i] + float((random.unit(at) - 0.5) * scale);
        loss += random.unit(at);
      }
    if (ready)
      ready(0);
    return loss;
  }
  evaluation_sums evaluate(const batch_view&) override { return {}; }
  size_t statistics_count() const override { return 1; }
  void take_statistics(std::span<float> out) override {
    out[0] += std::exchange(pending_, 0.0F);
  }

  std::function<void()> begins;

private:
  std::vector<parameter_info> parameters_{{"all", {width}, 0, width}};
  std::span<float> values_, gradients_;
  float pending_ = 0;
};

struct step_result {
  std::vector<float> gradients;
  std::vector<float> statistics;
  float loss = 0;
  friend bool operator==(const step_result&, const step_result&) = default;
};

/// What a worker process keeps of one generation to the next.
struct process {
  explicit process(size_t threads) : models(threads) {
    how.leaves = leaves;
    memory.count = width;
    memory.parameters = std::shared_ptr<float[]>(new float[width]);
    std::iota(memory.parameters.get(), memory.parameters.get() + width, 0.1F);
    room = lay_out_leaves(leaves, threads, width, 1);
    room.values = std::shared_ptr<float[]>(new float[room.floats()]());
  }
  /// Another generation.
  canonical& begin() {
    std::vector<model*> all;
    for (row_model& one : models) {
      one.begins = [this] { ++computed; };
      all.push_back(&one);
    }
    sums.emplace(how, ledger::row_shape{}, all, memory, room, abandoned, flips);
    sums->resume();
    before += computed.exchange(0);
    return *sums;
  }
  /// The rank's part in a step of so many rows.
  void contribute(collective& group, const std::vector<leaf_ranges>& by_rank,
                  uint64_t samples, uint64_t step = 5) {
    step_work work = work_of(uint32_t(group.rank()), by_rank, samples, step);
    work.group = &group;
    (void)sums->contribute(work);
  }
  step_work work_of(uint32_t rank, const std::vector<leaf_ranges>& by_rank,
                    uint64_t samples, uint64_t step = 5) {
    ids.clear();
    for (ledger::leaf_range one : by_rank[rank]) {
      const ledger::step_rows rows = ledger::rows_of(one, samples, leaves);
      for (uint64_t id = rows.begin; id < rows.end; ++id)
        ids.push_back(id);
    }
    step_work work;
    work.at = {epoch_number{1}, step_number{step}};
    work.samples = samples;
    work.rows.sample_ids = ids.data();
    work.rows.rows = uint32_t(ids.size());
    work.seed = 3;
    work.rank = rank;
    work.leaves = by_rank;
    work.gradients = gradients.data();
    return work;
  }
  step_result finish() {
    ballast::worker::trailer trailer;
    std::vector<float> statistics(1);
    sums->finish(trailer, statistics);
    return {gradients, statistics, float(trailer.loss_sum())};
  }
  /// After so many leaves nothing more is begun.
  void break_off_after(uint32_t last) {
    if (last == 0)
      sums->interrupt();
    for (row_model& one : models)
      one.begins = [this, last] {
        if (++computed == last)
          sums->interrupt();
      };
  }

  train_spec how;
  std::vector<row_model> models;
  arenas memory;
  leaf_memory room;
  abandoned_step abandoned;
  std::atomic<uint64_t> flips{0};
  std::optional<canonical> sums;
  std::atomic<uint32_t> computed{0}; // leaves, in this generation
  uint32_t before = 0;               // and in those before it
  std::vector<uint64_t> ids;
  std::vector<float> gradients = std::vector<float>(width);
};

step_result alone(uint64_t samples) {
  process all(1);
  step_result out;
  rank_group group("local", 1);
  const auto outcomes = group.run([&](collective& c) {
    all.begin();
    all.contribute(c, {{{0, leaves}}}, samples);
    out = all.finish();
  });
  EXPECT_EQ(complaints(outcomes), "");
  return out;
}

std::vector<leaf_ranges> quarters() {
  return {{{0, 8}}, {{8, 16}}, {{16, 24}}, {{24, 32}}};
}

/// Without one of them.
std::vector<leaf_ranges> left(size_t gone) {
  std::vector<leaf_ranges> had = quarters();
  had.erase(had.begin() + std::ptrdiff_t(gone));
  const std::vector<uint64_t> equal(had.size(), 1);
  return ledger::keep_leaves(step_number{5}, std::move(had), equal, leaves)
      .by_rank;
}

uint32_t count_of(const leaf_ranges& of) {
  uint32_t out = 0;
  for (ledger::leaf_range one : of)
    out += count(one);
  return out;
}

class abandoned_steps : public ::testing::TestWithParam<size_t> {
protected:
  /// Four ranks, each of which breaks off after another number of leaves; what
  /// is begun is finished.
  void first_attempt(std::vector<std::unique_ptr<process>>& all, uint32_t after,
                     uint64_t samples) {
    for (size_t i = 0; i < 4; ++i)
      all.push_back(std::make_unique<process>(GetParam()));
    rank_group group("local", 4);
    const auto outcomes = group.run([&](collective& c) {
      process& me = *all[size_t(c.rank())];
      me.begin();
      me.break_off_after((after + uint32_t(c.rank())) % 9);
      me.contribute(c, quarters(), samples);
      me.sums->drop();
    });
    ASSERT_EQ(complaints(outcomes), "");
  }
};

TEST_P(abandoned_steps, go_on_with_the_leaves_that_are_there) {
  for (uint64_t samples : {70, 20})
    for (size_t gone : {0, 1, 3})
      for (uint32_t after = 0; after <= 8; ++after) {
        SCOPED_TRACE(std::to_string(gone) + " is gone, " +
                     std::to_string(after) + " leaves, " +
                     std::to_string(samples) + " rows");
        std::vector<std::unique_ptr<process>> all;
        first_attempt(all, after, samples);
        all.erase(all.begin() + std::ptrdiff_t(gone));
        const step_result expected = alone(samples);
        rank_group group("local", 3);
        const auto outcomes = group.run([&](collective& c) {
          process& me = *all[size_t(c.rank())];
          me.begin();
          me.contribute(c, left(gone), samples);
          EXPECT_EQ(me.finish(), expected);
        });
        ASSERT_EQ(complaints(outcomes), "");
        if (samples < leaves)
          continue;
        for (size_t rank = 0; rank < 3; ++rank)
          EXPECT_EQ(all[rank]->computed,
                    count_of(left(gone)[rank]) - all[rank]->before);
      }
}

TEST_P(abandoned_steps, go_on_again_after_another_failure) {
  std::vector<std::unique_ptr<process>> all;
  first_attempt(all, 3, 70);
  all.erase(all.begin());
  rank_group three("local", 3);
  auto outcomes = three.run([&](collective& c) {
    process& me = *all[size_t(c.rank())];
    me.begin();
    me.break_off_after(3);
    me.contribute(c, left(0), 70);
    me.sums->drop();
  });
  ASSERT_EQ(complaints(outcomes), "");
  all.pop_back();
  std::vector<leaf_ranges> had = left(0);
  had.pop_back();
  const std::vector<uint64_t> equal(2, 1);
  const std::vector<leaf_ranges> now =
      ledger::keep_leaves(step_number{5}, had, equal, leaves).by_rank;
  ASSERT_EQ(now.size(), 2U);
  const step_result expected = alone(70);
  rank_group two("local", 2);
  outcomes = two.run([&](collective& c) {
    process& me = *all[size_t(c.rank())];
    me.begin();
    me.contribute(c, now, 70);
    EXPECT_EQ(me.finish(), expected);
    EXPECT_EQ(me.computed, 16U - me.before);
  });
  ASSERT_EQ(complaints(outcomes), "");
}

TEST_P(abandoned_steps, of_which_the_leaves_lie_elsewhere_are_computed_anew) {
  // What the parts of the new ranges need in its place is given up.
  std::vector<std::unique_ptr<process>> all;
  first_attempt(all, 6, 70);
  const std::vector<std::vector<leaf_ranges>> others{
      {{{0, 11}}, {{11, 22}}, {{22, 32}}, {}},
      {{{3, 5}}, {{0, 3}, {5, 31}}, {{31, 32}}, {}},
      {{{0, 32}}, {}, {}, {}}};
  const step_result expected = alone(70);
  for (const auto& other : others) {
    rank_group group("local", 4);
    const auto outcomes = group.run([&](collective& c) {
      process& me = *all[size_t(c.rank())];
      me.begin();
      me.contribute(c, other, 70);
      EXPECT_EQ(me.finish(), expected);
      me.sums->drop();
    });
    ASSERT_EQ(complaints(outcomes), "");
  }
}

TEST_P(abandoned_steps, are_no_other_step) {
  std::vector<std::unique_ptr<process>> all;
  first_attempt(all, 8, 70);
  const step_result expected = alone(69);
  rank_group group("local", 4);
  auto outcomes = group.run([&](collective& c) {
    process& me = *all[size_t(c.rank())];
    me.begin();
    me.contribute(c, quarters(), 69);
    EXPECT_EQ(me.computed, 8U);
    EXPECT_EQ(me.finish(), expected);
    me.sums->applied({epoch_number{1}, step_number{5}}, 69);
    me.sums->drop();
    EXPECT_EQ(me.abandoned.samples, 0U) << "it is in the parameters";
    me.begin();
    me.contribute(c, quarters(), 69);
    me.sums->drop();
    me.begin();
    me.contribute(c, quarters(), 69, 6);
    EXPECT_EQ(me.computed, 8U) << "of the step before";
  });
  ASSERT_EQ(complaints(outcomes), "");
}

TEST_P(abandoned_steps, may_be_gone_on_with_before_the_others_are_there) {
  for (uint32_t ahead : {0, 1, 3, 20}) {
    SCOPED_TRACE(std::to_string(ahead) + " leaves ahead");
    std::vector<std::unique_ptr<process>> all;
    first_attempt(all, 2, 70);
    all.erase(all.begin() + 1);
    const step_result expected = alone(70);
    const std::vector<leaf_ranges> now = left(1);
    rank_group group("local", 3);
    const auto outcomes = group.run([&](collective& c) {
      process& me = *all[size_t(c.rank())];
      me.begin();
      if (ahead == 0)
        me.sums->stop_ahead();
      for (row_model& one : me.models)
        one.begins = [&] {
          if (++me.computed == ahead)
            me.sums->stop_ahead();
        };
      const step_work work = me.work_of(uint32_t(c.rank()), now, 70);
      me.sums->compute_ahead(work);
      EXPECT_GE(me.computed, std::min(ahead, 3U));
      me.contribute(c, now, 70);
      EXPECT_EQ(me.finish(), expected);
      EXPECT_EQ(me.computed, count_of(now[size_t(c.rank())]) - me.before);
    });
    ASSERT_EQ(complaints(outcomes), "");
  }
}

TEST(abandoned_step, of_a_lone_worker_is_done_again) {
  process one(1);
  const step_result expected = alone(70);
  rank_group group("local", 1);
  const auto outcomes = group.run([&](collective& c) {
    for (uint32_t after : {0U, 5U, 20U, 31U}) {
      one.begin();
      one.break_off_after(after);
      one.contribute(c, {{{0, leaves}}}, 70);
      one.sums->drop();
    }
    one.begin();
    one.contribute(c, {{{0, leaves}}}, 70);
    EXPECT_EQ(one.finish(), expected);
  });
  ASSERT_EQ(complaints(outcomes), "");
}

INSTANTIATE_TEST_SUITE_P(threads, abandoned_steps, ::testing::Values(1, 2));

} // namespace
} // namespace ballast::gpu::abandoning
