/// Goal: what the test part comes to has the same bits for every number of
/// ranks, and is that of all rows together. Method: ranks as threads, which add
/// the chunks that are theirs; chunks have uneven numbers of rows.
#include "gpu/evaluation_totals.hpp"

#include "gpu/reduction/reduction.hpp"

#include "gpu/collective_backends.hpp"
#include "runtime/job/asked_metrics.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <thread>

namespace ballast::gpu {
namespace {

constexpr uint32_t classes = 3;

ledger::manifest test_part(size_t chunks) {
  ledger::manifest out;
  out.row.classes = classes;
  for (uint32_t i = 0; i < chunks; ++i) {
    ledger::chunk_info& one = out.test.emplace_back();
    one.id = chunk_id(i);
    one.rows = 1 + i * 5 % 7;
    out.test_rows += one.rows;
  }
  return out;
}

/// Of a row, by its chunk and place in it.
std::vector<float> outputs_of(size_t chunk, uint32_t row) {
  std::vector<float> out;
  for (uint32_t c = 0; c < classes; ++c)
    out.push_back(std::sin(float(chunk * 31 + row * 7 + c * 3)) * 3);
  return out;
}
size_t label_of(size_t chunk, uint32_t row) {
  return (chunk * 5 + row) % classes;
}

job judged(std::vector<std::string> names) {
  job out;
  out.model.kind = model_kind::mlp;
  out.evaluate.metrics = std::move(names);
  return out;
}

void add_chunk(evaluation_totals& to, const ledger::manifest& set,
               size_t chunk) {
  // In parts, as a batch has them.
  for (uint32_t begin = 0; begin < set.test[chunk].rows; begin += 2) {
    const uint32_t end = std::min(begin + 2, set.test[chunk].rows);
    evaluation_sums sums;
    for (uint32_t row = begin; row < end; ++row) {
      if (to.tally() != nullptr)
        to.tally()->add_scores(label_of(chunk, row), outputs_of(chunk, row));
      sums.loss += std::exp(double(outputs_of(chunk, row)[0]));
      sums.rows += 1;
      sums.weight += 0.25;
    }
    to.add(chunk, begin, sums);
  }
}

std::vector<evaluation_report> reports(size_t world, const job& what,
                                       const ledger::manifest& set) {
  std::vector<std::unique_ptr<collectives::collective_backend>> backends;
  std::vector<std::unique_ptr<collectives::collective_opening>> openings;
  std::vector<std::string> addresses;
  for (size_t rank = 0; rank < world; ++rank) {
    collectives::collective_options how;
    how.generation = generation{1};
    how.rank = int(rank);
    how.size = int(world);
    how.token = "totals" + std::to_string(reinterpret_cast<uintptr_t>(&what)) +
                "-" + std::to_string(world);
    backends.push_back(make_backend("local"));
    openings.push_back(backends.back()->prepare(how));
    addresses.push_back(openings.back()->address());
  }
  std::vector<evaluation_report> out(world);
  std::vector<std::thread> ranks;
  for (size_t rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      const auto group = openings[rank]->connect(addresses, patience());
      evaluation_totals totals(evaluation_layout(what, set), set);
      for (size_t chunk = 0; chunk < set.test.size(); ++chunk)
        if (totals.is_mine(chunk, *group))
          add_chunk(totals, set, chunk);
      out[rank] = totals.sum(*group);
    });
  for (std::thread& one : ranks)
    one.join();
  return out;
}

const job of_everything =
    judged({"accuracy", "f1_per_class", "confusion_matrix", "log_loss", "brier",
            "ece", "top_2_accuracy", "roc_auc", "average_precision_per_class"});

TEST(evaluation_totals, have_the_same_bits_for_every_number_of_ranks) {
  const ledger::manifest set = test_part(17);
  const evaluation_report alone = reports(1, of_everything, set)[0];
  ASSERT_EQ(alone.values.size(), 9U);
  for (size_t world : {2, 3, 7, 20})
    for (const evaluation_report& one : reports(world, of_everything, set)) {
      EXPECT_EQ(one.values, alone.values) << world;
      EXPECT_EQ(one.loss, alone.loss) << world;
      EXPECT_EQ(one.rows, set.test_rows);
    }
}

TEST(evaluation_totals, of_all_ranks_are_those_of_all_rows) {
  const ledger::manifest set = test_part(17);
  metrics::tally tally(evaluation_layout(of_everything, set));
  for (size_t chunk = 0; chunk < set.test.size(); ++chunk)
    for (uint32_t row = 0; row < set.test[chunk].rows; ++row)
      tally.add_scores(label_of(chunk, row), outputs_of(chunk, row));
  metrics::ordered_part all = tally.take_part();
  metrics::totals of{all.reals, tally.counts(), all.ranked};
  const metrics::metric_values expected = metrics::values_of(tally.of(), of);
  const evaluation_report found = reports(3, of_everything, set)[0];
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t k = 0; k < expected[i].numbers.size(); ++k)
      EXPECT_NEAR(found.values[i].numbers[k], expected[i].numbers[k], 1e-12)
          << to_string(expected[i].what);
}

TEST(evaluation_totals, divide_the_loss_by_the_weight_of_the_rows) {
  const ledger::manifest set = test_part(5);
  double losses = 0;
  for (size_t chunk = 0; chunk < set.test.size(); ++chunk)
    for (uint32_t row = 0; row < set.test[chunk].rows; ++row)
      losses += std::exp(double(outputs_of(chunk, row)[0]));
  EXPECT_NEAR(reports(2, judged({}), set)[1].loss,
              losses / (0.25 * double(set.test_rows)), 1e-9);
}

TEST(evaluation_totals, of_a_model_that_says_nothing_are_its_loss_alone) {
  const ledger::manifest set = test_part(5);
  job emulated;
  emulated.model.kind = model_kind::emulated;
  const evaluation_report found = reports(2, emulated, set)[0];
  EXPECT_TRUE(found.values.empty());
  EXPECT_EQ(found.rows, set.test_rows);
}

} // namespace
} // namespace ballast::gpu
