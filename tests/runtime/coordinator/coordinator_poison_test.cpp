// Goal: a sample that kills whoever takes it is found, and no other is accused.
// Method: the driver; who owns a chunk dies, again and again.
#include "coordinator_driver.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace ballast::coordinator {
namespace {

const process_end crash = killed_by(11);
const process_end killed = killed_by(9);

class poison : public ::testing::Test {
protected:
  /// Ten steps an epoch: nobody's rows come to an end soon.
  poison() : d(true) { d.batch = 10; }

  const ledger::plan& current() { return d.core.generation()->current; }

  worker_id owner_of(chunk_id chunk) {
    for (const ledger::share& one : current().shares)
      for (const ledger::interval& piece : one.intervals)
        if (piece.chunk == chunk)
          return one.worker;
    return {};
  }

  /// What this worker takes of a step.
  std::set<ledger::row_ref> take(worker_id who, step_number step) {
    ledger::ledger book(
        {d.core.run().spec.job.seed, d.batch, d.set().chunk_rows},
        d.core.generation()->current);
    while (book.next().step < step)
      book.advance();
    std::vector<ledger::row_ref> out;
    for (size_t rank = 0; rank < book.takes().size(); ++rank)
      if (book.current().shares[rank].worker == who)
        book.sequence_of(rank).draw(book.takes()[rank], out);
    return {out.begin(), out.end()};
  }

  /// It dies; the others, who hold `records`, go on without it.
  std::vector<give_up> die(worker_id who, const process_end& how,
                           std::vector<ledger::step_record> records = {}) {
    actions then = d.core.take(process_ended{d.core.name_of(who), how}, d.now);
    step_number holds =
        records.empty() ? d.core.last().step : records.back().step;
    actions decided = d.recover(holds, std::move(records));
    then.insert(then.end(), decided.begin(), decided.end());
    d.place(pick<balance::place_shares>(decided).at(0));
    return pick<give_up>(then);
  }

  ledger::step_record record(uint64_t step) {
    return {step_number{step}, epoch_number{1}, plan_number{1}, d.batch, 2, 9};
  }

  driver d;
};

TEST_F(poison, is_looked_for_behind_what_the_survivors_hold) {
  d.train({"w1", "w2", "w3", "w4"});
  worker_id victim = d.workers[3];
  std::set<ledger::row_ref> at = take(victim, step_number{3});
  // Its last report was two steps old.
  die(victim, crash, {record(1), record(2)});
  std::set<ledger::row_ref> suspects;
  for (const auto& [row, deaths] : d.core.run().suspects.suspects())
    suspects.insert(row);
  EXPECT_FALSE(at.empty());
  EXPECT_EQ(suspects, at);
}

TEST_F(poison, is_found_at_the_third_death) {
  d.batch = 50; // the second step is the last one, and takes all that is left
  d.train({"w1", "w2", "w3", "w4"});
  ledger::row_ref deadly = *take(d.workers[3], step_number{2}).begin();
  EXPECT_TRUE(die(owner_of(deadly.chunk), crash, {record(1)}).empty());
  EXPECT_TRUE(die(owner_of(deadly.chunk), crash).empty());
  auto over = die(owner_of(deadly.chunk), crash);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].why.code, errc::poison_sample);
  EXPECT_EQ(std::count(over[0].rows.begin(), over[0].rows.end(), deadly), 1);
  d.core.take(outside_trouble{over[0].why});
  EXPECT_EQ(d.core.phase(), run_phase::failed);
}

TEST_F(poison, is_not_what_others_kill) {
  d.train({"w1", "w2", "w3", "w4"});
  for (int deaths = 0; deaths < 3; ++deaths)
    EXPECT_TRUE(die(owner_of(chunk_id{3}), killed).empty());
  EXPECT_TRUE(d.core.run().suspects.suspects().empty());
}

TEST_F(poison, is_no_sample_of_a_step_that_is_committed) {
  d.train({"w1", "w2", "w3"});
  die(d.workers[2], crash);
  ASSERT_FALSE(d.core.run().suspects.suspects().empty());
  std::set<ledger::row_ref> fine = take(d.workers[0], step_number{1});
  for (const ledger::row_ref& row : take(d.workers[1], step_number{1}))
    fine.insert(row);
  progress_report report;
  report.generation = d.core.generation()->number;
  report.steps = {record(1)};
  report.steps[0].plan = current().number;
  for (worker_id who : {d.workers[0], d.workers[1]}) {
    report.worker = who;
    d.core.take(report, d.now);
  }
  ASSERT_EQ(d.core.last().step, step_number{1});
  for (const ledger::row_ref& row : fine)
    EXPECT_FALSE(d.core.run().suspects.suspects().contains(row));
}

TEST_F(poison, of_a_loading_worker_is_none) {
  d.train({"w1", "w2", "w3"});
  d.core.take(process_ended{"w3", killed}, d.now);
  actions decided = d.recover(step_number{0});
  d.core.take(shares_placed{d.first(pick<balance::place_shares>(decided).at(0)),
                            {{}, {}}},
              d.now);
  d.core.take(process_ended{"w2", crash}, d.now);
  d.recover(step_number{0});
  EXPECT_TRUE(d.core.run().suspects.suspects().empty());
}

TEST_F(poison, may_be_why_the_last_worker_dies_again_and_again) {
  d.train({"w1"});
  std::vector<give_up> over;
  for (int deaths = 1; deaths <= 3; ++deaths) {
    ASSERT_TRUE(over.empty());
    std::string name = "w" + std::to_string(deaths);
    actions then = d.core.take(process_ended{name, crash}, d.now);
    over = pick<give_up>(then);
    auto joined = d.join("w" + std::to_string(deaths + 1)).then;
    d.place(pick<balance::place_shares>(joined).at(0));
  }
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].why.code, errc::worker_lost);
  EXPECT_TRUE(over[0].rows.empty()) << "nobody knows what it was at";
}

TEST_F(poison, is_not_why_a_last_worker_dies_that_was_killed) {
  d.train({"w1"});
  for (int deaths = 1; deaths <= 4; ++deaths) {
    std::string name = "w" + std::to_string(deaths);
    EXPECT_TRUE(
        pick<give_up>(d.core.take(process_ended{name, killed}, d.now)).empty());
    auto joined = d.join("w" + std::to_string(deaths + 1)).then;
    d.place(pick<balance::place_shares>(joined).at(0));
  }
}

// One refuses the step, another one dies; the others part it anew, and refuse
// it again.
TEST(refused_step, tells_the_samples_of_those_who_did_it_last) {
  driver d;
  d.train({"w1", "w2", "w3", "w4"});
  auto refuse = [&](size_t worker, std::vector<uint64_t> samples) {
    worker_failed bad;
    bad.worker = d.workers[worker];
    bad.generation = d.core.generation()->number;
    bad.code = errc::non_finite_loss;
    bad.step = step_number{1};
    bad.sample_ids = std::move(samples);
    return d.core.take(bad, d.now);
  };
  refuse(0, {1, 2});
  d.core.take(connection_lost{d.workers[3], closed}, d.now);
  d.place(pick<balance::place_shares>(d.recover(step_number{0})).at(0));
  EXPECT_TRUE(pick<end_run>(refuse(1, {3, 4})).empty());
  EXPECT_TRUE(pick<end_run>(refuse(2, {5, 6})).empty());
  actions last = refuse(0, {1, 2, 7});
  EXPECT_EQ(pick<end_run>(last).size(), 1u);
  auto refused = told<events::step_refused>(last);
  ASSERT_EQ(refused.size(), 1u);
  const decltype(events::step_refused::samples) samples{
      {"w1", {1, 2, 7}}, {"w2", {3, 4}}, {"w3", {5, 6}}};
  EXPECT_EQ(refused[0].samples, samples);
}

} // namespace
} // namespace ballast::coordinator
