// Goal: a generation that cannot open is not tried again for ever, and the
// worker that cannot be reached is named and left out. Method: tables, and the
// coordinator's core with played workers.
#include "runtime/coordinator_status.hpp"
#include "runtime/restart_limit.hpp"
#include "tests/runtime/coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(opening_attempts, wait_a_tenth_of_a_second_and_double_up_to_five) {
  opening_attempts tries;
  std::vector<int64_t> waits;
  for (int i = 0; i < 8; ++i) {
    tries.suspect("broken");
    EXPECT_TRUE(tries.judge(true, 0s));
    waits.push_back(tries.wait().count());
  }
  EXPECT_THAT(waits, ElementsAre(100, 200, 400, 800, 1600, 3200, 5000, 5000));
  tries.reset();
  EXPECT_FALSE(tries.held());
  EXPECT_EQ(tries.failures(), 0u);
}

TEST(opening_attempts, do_not_count_where_somebody_turned_out_to_be_dead) {
  opening_attempts tries;
  tries.suspect("peer lost");
  EXPECT_FALSE(tries.judge(false, 0s));
  EXPECT_FALSE(tries.judge(true, 0s)) << "of an earlier fence";
  EXPECT_FALSE(tries.held());
}

TEST(opening_attempts, are_told_of_after_the_third_and_then_every_minute) {
  opening_attempts tries;
  std::vector<uint32_t> told;
  for (int i = 0; i < 30; ++i) {
    tries.failed("broken", 0s);
    if (tries.to_tell())
      told.push_back(tries.failures());
  }
  EXPECT_THAT(told, ElementsAre(3, 15, 27));
}

TEST(opening_attempts, blame_the_rank_that_most_who_dial_it_cannot_reach) {
  constexpr worker_id a{1}, b{2}, c{3};
  auto blamed = [&](std::vector<unreachable_address> said) {
    opening_attempts tries;
    for (int i = 0; i < 2; ++i) {
      for (const auto& one : said)
        tries.complain(one);
      tries.failed("broken", 0s);
    }
    std::vector<worker_id> out;
    for (const auto& one : tries.unreachable({a, b, c}))
      out.push_back(one.about);
    return out;
  };
  EXPECT_THAT(blamed({{b, a, "x"}, {c, a, "x"}}), ElementsAre(a, a));
  EXPECT_THAT(blamed({{c, b, "x"}}), ElementsAre(b));
  EXPECT_THAT(blamed({{c, a, "x"}}), IsEmpty()) << "b reaches it";
  opening_attempts once;
  once.complain({c, b, "x"});
  EXPECT_THAT(once.unreachable({a, b, c}), IsEmpty()) << "may be chance";
}

class opening : public ::testing::Test {
protected:
  void begin(uint32_t min_workers = 1) { d.train({"w1", "w2"}, min_workers); }
  /// The second rank cannot reach the first one; all answer the fence.
  actions attempt_fails() {
    worker_failed word;
    word.worker = d.core.current()->members->workers.at(1);
    word.generation = d.core.current()->members->number;
    word.code = errc::collective_failed;
    word.message = "rank 0 cannot be reached";
    word.unreachable_rank = 0;
    word.unreachable_address = "127.0.0.1:4711";
    d.core.on_failed(word, d.now);
    return d.recover(step_number{0});
  }
  /// The worker of this rank lacks something; all answer the fence.
  actions attempt_lacks(size_t rank) {
    worker_failed word;
    word.worker = d.core.current()->members->workers.at(rank);
    word.generation = d.core.current()->members->number;
    word.code = errc::collective_failed;
    word.message = "cannot make shared memory: File too large";
    word.own_trouble = true;
    d.core.on_failed(word, d.now);
    return d.recover(step_number{0});
  }
  /// Ticks until the next attempt is placed; how long that took.
  std::chrono::milliseconds wait_for_placement() {
    instant begun = d.now;
    while (d.now - begun < 60s) {
      d.now += 10ms;
      for (const auto& [id, who] : d.core.nodes())
        d.core.on_heartbeat({id, {}, {}, {}, 0}, d.now);
      auto place = pick<place_shares>(d.core.on_tick(d.now));
      if (!place.empty()) {
        d.place(place[0]);
        break;
      }
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(d.now - begun);
  }
  static std::vector<nlohmann::ordered_json> events(const actions& of,
                                                    const std::string& kind) {
    std::vector<nlohmann::ordered_json> out;
    for (const write_event& one : pick<write_event>(of))
      if (one.kind == kind)
        out.push_back(one.fields);
    return out;
  }
  driver d;
};

TEST_F(opening, that_fails_again_and_again_waits_longer_each_time) {
  begin(2);
  std::vector<int64_t> waits;
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(pick<place_shares>(attempt_fails()), IsEmpty());
    waits.push_back(wait_for_placement().count());
  }
  EXPECT_THAT(waits, ElementsAre(100, 200, 400, 800, 1600, 3200, 5000, 5000));
  EXPECT_EQ(d.core.current()->members->number, generation{9});
}

TEST_F(opening, that_fails_three_times_is_told_with_what_to_set) {
  begin(2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(events(attempt_fails(), "cannot_open"), IsEmpty());
    wait_for_placement();
  }
  EXPECT_FALSE(status_json(d.core, d.now).contains("cannot_open"));
  auto told = events(attempt_fails(), "cannot_open");
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0]["worker"], "w2");
  EXPECT_EQ(told[0]["cannot_reach"], "w1");
  EXPECT_EQ(told[0]["address"], "127.0.0.1:4711");
  EXPECT_THAT(std::string(told[0]["message"]),
              HasSubstr("start w1 with --host"));
  EXPECT_THAT(std::string(status_json(d.core, d.now)["cannot_open"]),
              HasSubstr("127.0.0.1:4711"));
  // With min_workers 2 nobody can be left out.
  EXPECT_TRUE(d.core.nodes().at(d.workers[0]).connected);
}

TEST_F(opening, leaves_out_who_is_unreachable_if_enough_remain) {
  begin();
  for (int i = 0; i < 2; ++i) {
    attempt_fails();
    wait_for_placement();
  }
  actions then = attempt_fails();
  auto out = pick<expel>(then);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].who, d.workers[0]);
  EXPECT_THAT(out[0].dismissed, HasSubstr("--host"));
  auto place = pick<place_shares>(then);
  ASSERT_THAT(place, SizeIs(1)) << "at once";
  EXPECT_EQ(place[0].workers, std::vector<worker_id>{d.workers[1]});
}

TEST_F(opening, leaves_out_who_lacks_something_if_the_others_do_not) {
  begin();
  actions then;
  for (int i = 0; i < 3; ++i) {
    then = attempt_lacks(1);
    if (i < 2)
      wait_for_placement();
  }
  auto out = pick<expel>(then);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].who, d.workers[1]);
  EXPECT_THAT(out[0].dismissed, HasSubstr("File too large"));
}

TEST_F(opening, ends_within_grace_s_with_what_every_worker_lacks) {
  begin();
  instant begun = d.now;
  actions then;
  for (size_t i = 0; pick<end_run>(then).empty() && i < 20; ++i) {
    if (i > 0)
      wait_for_placement();
    then = attempt_lacks(i % 2);
    EXPECT_THAT(pick<expel>(then), IsEmpty());
    if (auto told = events(then, "cannot_open"); i == 2) {
      ASSERT_THAT(told, SizeIs(1));
      EXPECT_THAT(std::string(told[0]["message"]),
                  HasSubstr("cannot make shared memory: File too large"));
      EXPECT_THAT(std::string(told[0]["message"]),
                  Not(HasSubstr("connect to each other")));
    }
  }
  auto ended = pick<end_run>(then);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_THAT(ended[0].reason, HasSubstr("File too large; tried 11 times"));
  EXPECT_TRUE(ended[0].goes_on);
  EXPECT_LE(d.now - begun, 30s);
}

TEST_F(opening, waits_for_nothing_where_a_worker_died) {
  begin();
  worker_failed echo;
  echo.worker = d.workers[1];
  echo.generation = generation{1};
  echo.code = errc::collective_failed;
  echo.message = "peer lost";
  d.core.on_failed(echo, d.now);
  d.core.on_node_down(d.workers[0], "killed by signal 9", d.now);
  EXPECT_THAT(pick<place_shares>(d.recover(step_number{0})), SizeIs(1));
}

TEST_F(opening, does_not_keep_a_stop_waiting) {
  begin();
  attempt_fails();
  d.core.stop(false);
  EXPECT_THAT(pick<place_shares>(d.core.on_tick(d.now + 10ms)), SizeIs(1));
}

TEST_F(opening, that_fails_does_not_keep_a_stop_from_its_end) {
  begin(2);
  for (int i = 0; i < 2; ++i) {
    attempt_fails();
    wait_for_placement();
  }
  d.core.stop(false);
  auto place = pick<place_shares>(attempt_fails());
  ASSERT_THAT(place, SizeIs(1));
  EXPECT_EQ(place[0].workers, std::vector<worker_id>{d.workers[1]})
      << "the one that the others reach";
  d.place(place[0]);
  auto told = pick<send_command>(d.begun);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what.kind, command_kind::stop);
}

TEST_F(opening, for_no_known_reason_does_not_either) {
  begin(2);
  d.core.stop(false);
  actions then;
  for (int i = 0; i < 3; ++i) {
    worker_failed word;
    word.worker = d.core.current()->members->workers.at(0);
    word.generation = d.core.current()->members->number;
    word.code = errc::collective_failed;
    word.message = "the deadline passed";
    d.core.on_failed(word, d.now);
    then = d.recover(step_number{0});
    d.place(pick<place_shares>(then).at(0));
  }
  EXPECT_EQ(pick<place_shares>(then).at(0).workers.size(), 1u);
  EXPECT_THAT(pick<expel>(then), SizeIs(1));
}

TEST(restart_limit, doubles_the_wait_within_a_minute) {
  restart_limit limit;
  std::vector<int64_t> waits;
  for (int i = 0; i < 9; ++i) {
    limit.ready();
    limit.died(std::chrono::seconds(i));
    waits.push_back(limit.wait().count());
  }
  EXPECT_THAT(waits,
              ElementsAre(0, 100, 200, 400, 800, 1600, 3200, 5000, 5000));
  limit.died(200s);
  EXPECT_EQ(limit.wait().count(), 0) << "it was calm for more than a minute";
}

TEST(restart_limit, ends_with_twenty_deaths_within_ten_minutes) {
  restart_limit limit;
  for (int i = 0; i < 19; ++i) {
    limit.ready();
    limit.died(std::chrono::seconds(30 * i));
  }
  EXPECT_EQ(limit.exceeded(), "");
  limit.ready();
  limit.died(595s);
  EXPECT_THAT(limit.exceeded(), HasSubstr("20 times within 10 minutes"));
  restart_limit calm;
  for (int i = 0; i < 100; ++i) {
    calm.ready();
    calm.died(std::chrono::seconds(40 * i));
  }
  EXPECT_EQ(calm.exceeded(), "");
}

TEST(restart_limit, ends_at_once_with_those_that_never_get_ready) {
  restart_limit limit;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(limit.exceeded(), "");
    limit.died(std::chrono::milliseconds(i));
  }
  EXPECT_THAT(limit.exceeded(), HasSubstr("before they were ready"));
}

} // namespace
} // namespace ballast
