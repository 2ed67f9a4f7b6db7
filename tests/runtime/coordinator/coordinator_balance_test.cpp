// Goal: the coordinator carries out what the shard manager wants, drops it when
// something else comes first, and tells of every chunk that arrived damaged.
// Method: a driver that plays shard manager and workers.
#include "coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::HasSubstr;

class moving : public ::testing::Test {
protected:
  void begin(bool faults = true) {
    d_.join("w1");
    d_.join("w2");
    job what = small_job(2);
    what.train.global_batch = 10;
    what.train.epochs = 100;
    what.faults = faults;
    d_.core.submit(what, "test-1", term{1});
    auto place = pick<balance::place_shares>(
        d_.core.take(data_prepared{d_.set()}, d_.now));
    ASSERT_EQ(place.size(), 1u);
    d_.workers = place[0].workers;
    d_.place(place[0]);
  }

  /// A proposal to give chunk 0 of w1 to w2.
  actions propose() {
    d_.now += std::chrono::milliseconds(50);
    auto views = pick<observe_load>(d_.core.take(clock_tick{}, d_.now));
    EXPECT_EQ(views.size(), 1u);
    balance::balance_answer answer;
    answer.state.code = balance::balance_code::planned;
    balance::balance_proposal& what = answer.proposal;
    what.generation = generation{1};
    what.base = plan_number{1};
    what.moves = {{{chunk_id{0}, 0, 10}, 0, 1, 100, 1}};
    what.moved_rows = 10;
    what.weights = {40, 60};
    what.after = {{d_.workers[0], 40, 0}, {d_.workers[1], 60, 0}};
    return d_.core.take(answer, d_.now);
  }

  /// To give half of chunk 0 of w1 to w2, and half of chunk 7 back.
  balance::balance_answer swap() const {
    balance::balance_answer answer;
    answer.state.code = balance::balance_code::planned;
    balance::balance_proposal& what = answer.proposal;
    what.generation = generation{1};
    what.base = plan_number{1};
    what.moves = {{{chunk_id{0}, 0, 5}, 0, 1, 3000, 1},
                  {{chunk_id{7}, 0, 5}, 1, 0, 1000, 1}};
    what.rate_bytes_per_s = 64'000'000;
    what.moved_rows = 10;
    what.weights = {50, 50};
    what.after = {{d_.workers[0], 50, 0}, {d_.workers[1], 50, 0}};
    return answer;
  }

  chunks_fetched fetched(const fetch_order& order) {
    chunks_fetched out;
    out.worker = d_.workers[1];
    out.generation = order.generation;
    out.number = order.number;
    return out;
  }

  driver d_;
};

TEST_F(moving, tells_of_every_chunk_that_arrived_damaged_and_from_whom) {
  begin();
  auto orders = pick<send_fetch>(propose());
  ASSERT_EQ(orders.size(), 1u);
  ASSERT_EQ(orders[0].what.sources.size(), 1u);
  EXPECT_EQ(orders[0].what.sources[0].name, "w1");
  chunks_fetched message = fetched(orders[0].what);
  message.refetched = 2;
  message.damaged = {{"w1", chunk_id{0}}, {"origin", chunk_id{0}}};
  actions then = d_.core.take(message, d_.now);
  auto damaged = told<events::chunk_damaged>(then);
  ASSERT_EQ(damaged.size(), 2u);
  EXPECT_EQ(damaged[0].source, "w1");
  EXPECT_EQ(damaged[0].chunk, chunk_id{0});
  EXPECT_EQ(damaged[0].worker, "w2");
  EXPECT_EQ(damaged[1].source, "origin");
  EXPECT_EQ(told<events::moved>(then).at(0).refetched, 2u);
  EXPECT_EQ(pick<send_plan>(then).size(), 2u) << "offered to everybody";
}

TEST_F(moving, tells_of_damage_also_where_the_plan_is_dropped_for_it) {
  begin();
  auto orders = pick<send_fetch>(propose());
  chunks_fetched message = fetched(orders.at(0).what);
  message.damaged = {{"w1", chunk_id{0}}, {"origin", chunk_id{0}}};
  message.problem = {errc::invalid_data, "chunk 0 arrived damaged", {}};
  actions then = d_.core.take(message, d_.now);
  EXPECT_EQ(told<events::chunk_damaged>(then).size(), 2u);
  auto dropped = told<events::plan_dropped>(then);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_THAT(dropped[0].reason,
              HasSubstr("w2 could not copy its chunks: chunk 0"));
  EXPECT_TRUE(pick<send_plan>(then).empty());
  EXPECT_TRUE(pick<journal_offer>(then).empty());
}

TEST_F(moving, drops_a_plan_whose_membership_is_lost_before_it_is_offered) {
  begin();
  auto orders = pick<send_fetch>(propose());
  d_.core.take(connection_lost{d_.workers[0], closed}, d_.now);
  actions late = d_.core.take(fetched(orders.at(0).what), d_.now);
  EXPECT_TRUE(pick<journal_offer>(late).empty());
  actions decided = d_.recover(step_number{0});
  auto dropped = told<events::plan_dropped>(decided);
  ASSERT_GE(dropped.size(), 1u);
  EXPECT_FALSE(d_.core.members().transfer());
}

TEST_F(moving, shares_the_rate_out_so_that_all_copies_end_together) {
  begin();
  d_.now += std::chrono::milliseconds(50);
  ASSERT_EQ(pick<observe_load>(d_.core.take(clock_tick{}, d_.now)).size(), 1u);
  auto orders = pick<send_fetch>(d_.core.take(swap(), d_.now));
  ASSERT_EQ(orders.size(), 2u);
  for (const send_fetch& one : orders)
    EXPECT_NEAR(double(one.what.bytes_per_s),
                one.to == d_.workers[1] ? 48e6 : 16e6, 64e6 / 1000);
}

TEST_F(moving, plans_an_owner_whose_rows_come_fast_before_their_bytes) {
  begin();
  d_.now += std::chrono::milliseconds(50);
  ASSERT_EQ(pick<observe_load>(d_.core.take(clock_tick{}, d_.now)).size(), 1u);
  balance::balance_answer answer = swap();
  answer.proposal.receivers = {{0, 1000, 10, 100, true},
                               {1, 3000, 10, 100, true}};
  actions then = d_.core.take(answer, d_.now);
  EXPECT_TRUE(pick<send_fetch>(then).empty());
  EXPECT_EQ(pick<send_plan>(then).size(), 2u) << "offered at once";
  const auto offers = pick<journal_offer>(then);
  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0].note.balance->moved_bytes, 4000u) << "they come later";
  const auto told_of = told<events::moved>(then);
  ASSERT_EQ(told_of.size(), 1u);
  EXPECT_EQ(told_of[0].bytes, 0u);
  ASSERT_EQ(told_of[0].ahead.size(), 2u);
  EXPECT_EQ(told_of[0].ahead[0].first, "w1");
  EXPECT_EQ(told_of[0].ahead[1].second.bytes, 3000u);
}

TEST_F(moving, waits_for_the_bytes_of_the_owners_that_cannot_be_ahead) {
  begin();
  d_.now += std::chrono::milliseconds(50);
  ASSERT_EQ(pick<observe_load>(d_.core.take(clock_tick{}, d_.now)).size(), 1u);
  balance::balance_answer answer = swap();
  answer.proposal.receivers = {{0, 1000, 10, 100, true},
                               {1, 3000, 90, 100, false}};
  actions then = d_.core.take(answer, d_.now);
  EXPECT_TRUE(pick<send_plan>(then).empty());
  auto orders = pick<send_fetch>(then);
  ASSERT_EQ(orders.size(), 1u) << "the other one brings its rows by itself";
  EXPECT_EQ(orders[0].to, d_.workers[1]);
  EXPECT_NEAR(double(orders[0].what.bytes_per_s), 64e6, 64e6 / 1000)
      << "it has all of the rate";
  chunks_fetched done = fetched(orders[0].what);
  done.bytes = 3000;
  then = d_.core.take(done, d_.now);
  EXPECT_EQ(pick<send_plan>(then).size(), 2u);
  const auto told_of = told<events::moved>(then);
  ASSERT_EQ(told_of.size(), 1u);
  EXPECT_EQ(told_of[0].bytes, 3000u) << "copied";
  ASSERT_EQ(told_of[0].ahead.size(), 1u);
  EXPECT_EQ(told_of[0].ahead[0].first, "w1");
}

TEST_F(moving, passes_on_how_fast_rows_came_that_were_not_in_memory) {
  begin();
  progress_report report;
  report.worker = d_.workers[1];
  report.generation = generation{1};
  report.steps = {{step_number{1}, epoch_number{1}, plan_number{1}, 10}};
  report.read_bytes = 1000;
  report.read_ns = 7;
  d_.core.take(report, d_.now);
  report.read_bytes = 0; // nothing since
  d_.core.take(report, d_.now);
  d_.now += std::chrono::milliseconds(50);
  auto views = pick<observe_load>(d_.core.take(clock_tick{}, d_.now));
  ASSERT_EQ(views.size(), 1u);
  EXPECT_TRUE(views[0].what.workers.at(0).reads.empty());
  ASSERT_EQ(views[0].what.workers.at(1).reads.size(), 1u);
  EXPECT_EQ(views[0].what.workers[1].reads[0].bytes, 1000u);
  EXPECT_EQ(views[0].what.workers[1].reads[0].ns, 7u);
  d_.core.take(balance::balance_answer{}, d_.now);
  views = pick<observe_load>(d_.core.take(clock_tick{}, d_.now));
  EXPECT_TRUE(views.at(0).what.workers.at(1).reads.empty()) << "told once";
}

TEST_F(moving, passes_on_how_fast_chunks_came_from_whom) {
  begin();
  auto orders = pick<send_fetch>(propose());
  chunks_fetched message = fetched(orders.at(0).what);
  message.requests = {{"w1", 1000, 7}, {"origin", 50, 3}, {"w9", 1, 1}};
  d_.core.take(message, d_.now);
  // The plan was offered; the next look is at the same one until it is in
  // force.
  d_.core.take(balance::balance_answer{}, d_.now);
  auto views = pick<observe_load>(d_.core.take(clock_tick{}, d_.now));
  ASSERT_EQ(views.size(), 1u);
  const auto& copies = views[0].what.copies;
  ASSERT_EQ(copies.size(), 2u) << "of somebody unknown nothing is known";
  EXPECT_EQ(copies[0].from, d_.workers[0]);
  EXPECT_EQ(copies[0].to, d_.workers[1]);
  EXPECT_EQ(copies[0].bytes, 1000u);
  EXPECT_EQ(copies[0].ns, 7u);
  EXPECT_EQ(copies[1].from, worker_id{}) << "the origin";
  d_.core.take(balance::balance_answer{}, d_.now);
  views = pick<observe_load>(d_.core.take(clock_tick{}, d_.now));
  EXPECT_TRUE(views.at(0).what.copies.empty()) << "told once";
}

TEST_F(moving, faults_need_a_job_that_allows_them) {
  begin(false);
  EXPECT_THAT(d_.core.ask(injected_fault{"w1", command_kind::damage, 1})
                  .refused.message,
              HasSubstr("\"faults\": true"));
}

TEST_F(moving, the_amount_of_a_fault_goes_where_it_belongs) {
  begin();
  auto told = [&](command_kind how, double amount) {
    auto sent =
        pick<send_command>(d_.core.ask(injected_fault{"w1", how, amount}).then);
    EXPECT_EQ(sent.size(), 1u);
    return sent.empty() ? command{} : sent[0].what;
  };
  command damage = told(command_kind::damage, 7);
  EXPECT_EQ(damage.chunks, 7u);
  EXPECT_EQ(damage.factor, 1);
  EXPECT_EQ(damage.seconds, 0);
  EXPECT_EQ(told(command_kind::flip, 3).leaves, 3u);
  command slow = told(command_kind::slow, 4.5);
  EXPECT_EQ(slow.factor, 4.5);
  EXPECT_EQ(slow.seconds, 0);
  EXPECT_EQ(slow.chunks, 0u);
  command stall = told(command_kind::stall, 0.5);
  EXPECT_EQ(stall.seconds, 0.5);
  EXPECT_EQ(stall.factor, 1);
}

TEST_F(moving, amounts_of_faults_have_a_range) {
  begin();
  struct row {
    command_kind how;
    double amount;
    const char* says; // empty: accepted
  };
  for (const row& one : std::initializer_list<row>{
           {command_kind::slow, 0, "/factor: expected 1 to 1000"},
           {command_kind::slow, 1001, "/factor: expected 1 to 1000"},
           {command_kind::slow, 4, ""},
           {command_kind::stall, -1, "/seconds: expected 0 to 600"},
           {command_kind::stall, 1e9, "/seconds: expected 0 to 600"},
           {command_kind::damage, 2e6, "/chunks: expected 0 to 1000000"},
           {command_kind::damage, 0, ""},
           {command_kind::flip, 2e6, "/leaves: expected 0 to 1000000"},
           {command_kind::damage, 3, ""}}) {
    auto answer = d_.core.ask(injected_fault{"w1", one.how, one.amount});
    EXPECT_EQ(answer.refused.message, one.says);
    EXPECT_EQ(pick<send_command>(answer.then).size(), *one.says ? 0u : 1u);
  }
  EXPECT_EQ(
      d_.core.ask(injected_fault{"w9", command_kind::damage, 1}).refused.code,
      errc::unknown_worker);
}

} // namespace
} // namespace ballast::coordinator
