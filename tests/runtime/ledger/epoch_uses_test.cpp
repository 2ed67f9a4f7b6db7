#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/sampling/class_weights.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <cmath>
#include <map>
#include <numeric>

namespace ballast::ledger {
namespace {

chunk_info chunk_with(uint32_t id, std::vector<weight_run> weights) {
  chunk_info out;
  out.id = chunk_id(id);
  for (const weight_run& run : weights) {
    out.rows += run.rows;
    out.label_histogram.push_back(run.rows);
  }
  out.weights = std::move(weights);
  return out;
}

manifest set_of(std::vector<chunk_info> chunks) {
  manifest out;
  for (const chunk_info& one : chunks)
    out.train_rows += one.rows;
  out.train = std::move(chunks);
  out.order = row_layout::by_class;
  return out;
}

/// 1000 rows of class 0 and 10 of class 1, in chunks of each and of both.
manifest long_tailed() {
  const double often = 1.0 / 1000, rare = 1.0 / 10;
  return set_of({chunk_with(0, {{500, often}, {0, rare}}),
                 chunk_with(1, {{300, often}, {4, rare}}),
                 chunk_with(2, {{0, often}, {5, rare}}),
                 chunk_with(3, {{200, often}, {1, rare}})});
}

sampling_spec kind(sampling_kind what) {
  sampling_spec out;
  out.kind = what;
  return out;
}

std::shared_ptr<const epoch_uses> uses_of(const sampling_spec& how,
                                          const manifest& set,
                                          uint64_t seed = 1,
                                          uint64_t epochs = 4) {
  EXPECT_FALSE(epoch_uses::mistake(how, set));
  return epoch_uses::of(how, epochs, seed, set);
}

std::vector<uint32_t> times(const epoch_uses& of, uint64_t epoch,
                            uint32_t chunk, uint32_t rows) {
  std::vector<uint32_t> out(rows);
  for (uint32_t row : of.order(epoch_number{epoch}, chunk_id{chunk}))
    ++out.at(row);
  return out;
}

TEST(systematic_counts, keep_the_sum_and_every_part_within_one) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::test_random random(seed);
    std::vector<double> weights(random.between(1, 40));
    for (double& weight : weights)
      weight = random.below(4) == 0 ? 0 : double(random.below(1000)) / 7;
    weights[random.below(weights.size())] = 1;
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const uint64_t uses = random.below(5000);
    const auto counts =
        systematic_counts(weights, uses, double(random.below(1000)) / 1000);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), uses);
    for (size_t i = 0; i < counts.size(); ++i) {
      EXPECT_LT(std::abs(double(counts[i]) - double(uses) * weights[i] / total),
                1 + 1e-6);
      if (weights[i] == 0) {
        EXPECT_EQ(counts[i], 0U);
      }
    }
  }
}

TEST(class_weights, make_all_classes_alike_or_as_their_effective_number) {
  const std::vector<uint64_t> rows{1000, 10, 0};
  const auto alike = sampling::class_weights(rows, std::nullopt);
  EXPECT_DOUBLE_EQ(alike[0] * 1000, alike[1] * 10);
  EXPECT_EQ(alike[2], 0);
  const auto effective = sampling::class_weights(rows, 0.99);
  EXPECT_NEAR(effective[0], 0.01 / (1 - std::pow(0.99, 1000)), 1e-15);
  EXPECT_NEAR(effective[1], 0.01 / (1 - std::pow(0.99, 10)), 1e-15);
  EXPECT_EQ(sampling::class_weights(rows, 0.0), (std::vector<double>{1, 1, 0}));
}

/// As scikit-learn 1.9.1 computes it of these rows; a class without rows, which
/// it refuses, changes nothing.
TEST(class_weights, balanced_are_those_of_scikit_learn) {
  EXPECT_EQ(sampling::balanced_class_weights(std::vector<uint64_t>{6, 3, 1}),
            (std::vector<double>{10.0 / 18, 10.0 / 9, 10.0 / 3}));
  EXPECT_EQ(sampling::balanced_class_weights(std::vector<uint64_t>{6, 0, 3, 1}),
            (std::vector<double>{10.0 / 18, 0, 10.0 / 9, 10.0 / 3}));
}

TEST(epoch_uses, are_refused_with_the_name_of_the_column_and_the_file) {
  manifest set = set_of({chunk_with(0, {{10, 0}})});
  set.sources = {"/data/rows.csv"};
  sampling_spec how = kind(sampling_kind::weighted);
  how.column = "w";
  const auto message = [&] { return epoch_uses::mistake(how, set).message; };
  EXPECT_NE(message().find("the weights of all rows (column \"w\" of "
                           "/data/rows.csv) add up to 0; expected"),
            std::string::npos)
      << message();
  set.train[0].weights = {{10, 1e308}};
  EXPECT_NE(message().find("add up to inf;"), std::string::npos) << message();
}

TEST(epoch_uses, are_none_where_each_row_is_used_once) {
  EXPECT_EQ(epoch_uses::of(kind(sampling_kind::once), 1, 1, long_tailed()),
            nullptr);
}

TEST(epoch_uses, balance_classes_over_chunks_of_one_and_of_several) {
  const manifest set = long_tailed();
  const auto uses = uses_of(kind(sampling_kind::weighted), set);
  EXPECT_EQ(uses->in_epoch(), 1010U);
  for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
    std::vector<double> of_class(2);
    for (uint32_t c = 0; c < 4; ++c) {
      const chunk_info& chunk = set.train[c];
      const auto made = times(*uses, epoch, c, chunk.rows);
      EXPECT_EQ(std::accumulate(made.begin(), made.end(), 0U),
                uses->of_chunks()[c]);
      for (uint32_t row = 0; row < chunk.rows; ++row)
        of_class[row < chunk.label_histogram[0] ? 0 : 1] += made[row];
    }
    // A chunk is within one use of its part, a class within one for each.
    EXPECT_NEAR(of_class[0], 505, 6);
    EXPECT_NEAR(of_class[1], 505, 6);
  }
}

TEST(epoch_uses, of_a_row_are_the_floor_or_ceiling_of_its_part) {
  const manifest set = set_of({chunk_with(0, {{10, 1}, {5, 2.5}, {3, 0}})});
  const auto uses = uses_of(kind(sampling_kind::weighted), set);
  const double each = 18 / 22.5;
  for (uint64_t epoch = 1; epoch <= 50; ++epoch) {
    const auto made = times(*uses, epoch, 0, 18);
    for (uint32_t row = 0; row < 18; ++row) {
      const double part = each * (row < 10 ? 1 : row < 15 ? 2.5 : 0);
      EXPECT_GE(made[row], std::floor(part));
      EXPECT_LE(made[row], std::ceil(part));
    }
  }
}

TEST(epoch_uses, of_a_row_have_the_mean_of_its_part_over_epochs) {
  const manifest set = set_of({chunk_with(0, {{7, 1}, {2, 3.3}, {1, 0.1}})});
  const auto uses = uses_of(kind(sampling_kind::weighted), set);
  const int epochs = 20'000;
  std::vector<double> mean(10);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto made = times(*uses, uint64_t(epoch), 0, 10);
    for (size_t row = 0; row < 10; ++row)
      mean[row] += double(made[row]) / epochs;
  }
  const double each = 10 / (7 + 6.6 + 0.1);
  for (size_t row = 0; row < 10; ++row) {
    const double part = each * (row < 7 ? 1 : row < 9 ? 3.3 : 0.1);
    const double rest = part - std::floor(part);
    // Four deviations of a mean of so many: 1 in 1,600 by chance for ten.
    EXPECT_NEAR(mean[row], part, 4 * std::sqrt(rest * (1 - rest) / epochs));
  }
}

TEST(epoch_uses, of_a_chunk_have_the_mean_of_its_part_over_seeds) {
  const manifest set =
      set_of({chunk_with(0, {{1, 0.3}}), chunk_with(1, {{1, 0.7}}),
              chunk_with(2, {{1, 2}})});
  double of_first = 0;
  const int seeds = 4'000;
  for (int seed = 1; seed <= seeds; ++seed)
    of_first +=
        double(uses_of(kind(sampling_kind::weighted), set, uint64_t(seed))
                   ->of_chunks()[0]) /
        seeds;
  EXPECT_NEAR(of_first, 0.3, 4 * std::sqrt(0.3 * 0.7 / seeds));
}

TEST(epoch_uses, differ_from_epoch_to_epoch_and_not_from_process_to_process) {
  const manifest set = long_tailed();
  const auto one = uses_of(kind(sampling_kind::weighted), set);
  const auto other = uses_of(kind(sampling_kind::weighted), set);
  const chunk_id chunk{1};
  EXPECT_EQ(one->order(epoch_number{2}, chunk),
            other->order(epoch_number{2}, chunk));
  EXPECT_NE(one->order(epoch_number{2}, chunk),
            one->order(epoch_number{3}, chunk));
  EXPECT_NE(one->order(epoch_number{2}, chunk),
            uses_of(kind(sampling_kind::weighted), set, 2)
                ->order(epoch_number{2}, chunk));
}

TEST(epoch_uses, are_as_many_as_the_job_says) {
  sampling_spec how = kind(sampling_kind::weighted);
  how.rows = 99;
  EXPECT_EQ(uses_of(how, long_tailed())->in_epoch(), 99U);
  // Of sources that are repeated or chosen from, weights are uses.
  sampling_spec repeated = kind(sampling_kind::sources);
  repeated.repeat = {2, 0.5};
  const manifest set = set_of({chunk_with(0, {{10, 2}, {40, 0.5}})});
  EXPECT_EQ(uses_of(repeated, set)->in_epoch(), 40U);
}

TEST(epoch_uses, stratified_give_every_stretch_the_classes_of_its_chunk) {
  manifest set = set_of({chunk_with(0, {{60, 1}, {30, 1}, {10, 1}})});
  set.train[0].weights.clear();
  const auto uses = uses_of(kind(sampling_kind::stratified), set);
  const auto order = uses->order(epoch_number{1}, chunk_id{0});
  EXPECT_EQ(times(*uses, 1, 0, 100), std::vector<uint32_t>(100, 1));
  for (size_t begin = 0; begin < 100; begin += 20) {
    std::vector<int> met(3);
    for (size_t i = begin; i < begin + 20; ++i)
      ++met[order[i] < 60 ? 0 : order[i] < 90 ? 1 : 2];
    EXPECT_NEAR(met[0], 12, 1);
    EXPECT_NEAR(met[1], 6, 1);
    EXPECT_NEAR(met[2], 2, 1);
  }
}

TEST(epoch_uses, of_a_curriculum_begin_with_the_first_rows_of_a_chunk) {
  manifest set = set_of({chunk_with(0, {{100, 1}})});
  set.train[0].weights.clear();
  set.order = row_layout::by_score;
  sampling_spec how = kind(sampling_kind::curriculum);
  how.begin = 0.2;
  how.full = 5;
  const auto uses = uses_of(how, set, 1, 8);
  EXPECT_EQ(uses->in_epoch(), 100U);
  for (uint64_t epoch = 1; epoch <= 8; ++epoch) {
    SCOPED_TRACE("epoch " + std::to_string(epoch));
    const auto made = times(*uses, epoch, 0, 100);
    const uint32_t in = uint32_t(20 * std::min<uint64_t>(epoch, 5));
    for (uint32_t row = 0; row < 100; ++row)
      EXPECT_TRUE(row < in ? made[row] == 100 / in || made[row] == 100 / in + 1
                           : made[row] == 0)
          << row << " is used " << made[row] << " times";
  }
}

TEST(curriculum_share, grows_to_all_rows_by_the_last_epoch) {
  sampling_spec how = kind(sampling_kind::curriculum);
  how.begin = 0.5;
  EXPECT_EQ(curriculum_share(how, 3, epoch_number{1}), 0.5);
  EXPECT_EQ(curriculum_share(how, 3, epoch_number{2}), 0.75);
  EXPECT_EQ(curriculum_share(how, 3, epoch_number{3}), 1);
  EXPECT_EQ(curriculum_share(how, 1, epoch_number{1}), 1);
  how.pace = curriculum_pace::root;
  EXPECT_DOUBLE_EQ(curriculum_share(how, 3, epoch_number{2}),
                   std::sqrt(0.25 + 0.75 / 2));
}

TEST(epoch_uses, are_counted_by_class_as_balancing_counts_rows) {
  const manifest set = long_tailed();
  const auto uses = uses_of(kind(sampling_kind::weighted), set);
  const manifest counted = uses->counted(set);
  EXPECT_EQ(counted.train_rows, 1010U);
  for (size_t c = 0; c < 4; ++c) {
    const chunk_info& one = counted.train[c];
    EXPECT_EQ(one.rows, uses->of_chunks()[c]);
    EXPECT_EQ(one.label_histogram[0] + one.label_histogram[1], one.rows);
  }
  EXPECT_EQ(counted.train[0].label_histogram[1], 0U);
  EXPECT_NEAR(double(counted.train[1].label_histogram[1]), 202, 2);
  EXPECT_EQ(counted.train[2].label_histogram[0], 0U);
}

TEST(epoch_uses, refuse_a_set_without_what_they_need) {
  manifest set = long_tailed();
  EXPECT_NE(epoch_uses::mistake(kind(sampling_kind::curriculum), set)
                .message.find("prepared without it"),
            std::string::npos);
  EXPECT_FALSE(epoch_uses::mistake(kind(sampling_kind::once), set));
  set.train[2].weights.clear();
  EXPECT_NE(epoch_uses::mistake(kind(sampling_kind::class_balanced), set)
                .message.find("does not say what its rows weigh"),
            std::string::npos);
  set = set_of({chunk_with(0, {{10, 0}})});
  EXPECT_NE(epoch_uses::mistake(kind(sampling_kind::weighted), set)
                .message.find("add up to 0"),
            std::string::npos);
  set = set_of({chunk_with(0, {{10, 1e308}, {10, 1e308}})});
  EXPECT_TRUE(epoch_uses::mistake(kind(sampling_kind::weighted), set));
  set = long_tailed();
  sampling_spec how = kind(sampling_kind::weighted);
  how.rows = uint64_t{1} << 40;
  EXPECT_NE(epoch_uses::mistake(how, set).message.find("expected fewer uses"),
            std::string::npos);
  set.train[0].label_histogram.clear();
  EXPECT_TRUE(epoch_uses::mistake(kind(sampling_kind::stratified), set));
}

} // namespace
} // namespace ballast::ledger
