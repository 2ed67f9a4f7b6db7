// Goal: a generation that cannot open is not tried again for ever, and the
// worker that cannot be reached is named and left out. Method: tables, and the
// coordinator's core with played workers.
#include "runtime/coordinator/status.hpp"
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

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

TEST(opening_attempts, tell_which_links_were_broken_more_than_once) {
  constexpr worker_id a{1}, b{2}, c{3};
  opening_attempts tries;
  tries.complain({c, a, "x", "no route"});
  tries.complain({c, b, "y", "no route"});
  tries.failed("broken", 0s);
  tries.complain({a, c, "", "it did not connect"}); // the other end of it
  tries.complain({a, c, "", "it did not connect"});
  EXPECT_THAT(tries.broken({b, c}), IsEmpty()) << "once may be chance";
  auto found = tries.broken({a, b, c});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].from, c);
  EXPECT_EQ(found[0].about, a);
  EXPECT_EQ(found[0].address, "x") << "who dialled knows more";
}

TEST(opening_attempts, tell_what_was_seen_rather_than_what_came_of_it) {
  opening_attempts tries;
  tries.suspect("w3: rank 1 has closed its connection");
  tries.suspect("w2: rank 0 cannot be reached: no route", true);
  tries.suspect("w1: rank 1 has closed its connection");
  EXPECT_TRUE(tries.judge(true, 0s));
  EXPECT_EQ(tries.reason(), "w2: rank 0 cannot be reached: no route");
  tries.suspect("w3: rank 1 has closed its connection");
  EXPECT_TRUE(tries.judge(true, 0s));
  EXPECT_EQ(tries.reason(), "w3: rank 1 has closed its connection");
}

TEST(whom_to_dismiss, is_the_one_that_all_broken_links_have_in_common) {
  constexpr worker_id a{1}, b{2}, c{3}, d{4};
  const std::vector<worker_id> all{a, b, c, d};
  EXPECT_THAT(
      whom_to_dismiss({{b, a, "x"}, {c, a, "x"}, {d, a, "x"}}, all, {}, {}),
      ElementsAre(a));
  EXPECT_THAT(
      whom_to_dismiss({{b, a, "x"}, {c, b, "y"}, {d, b, "y"}}, all, {}, {}),
      ElementsAre(b));
}

TEST(whom_to_dismiss, of_a_pair_is_who_joined_last) {
  constexpr worker_id a{1}, b{2}, c{3};
  EXPECT_THAT(whom_to_dismiss({{b, a, "x"}}, {a, b, c}, {}, {}),
              ElementsAre(b));
  EXPECT_THAT(whom_to_dismiss({{a, c, "x"}}, {c, b, a}, {}, {}),
              ElementsAre(c));
  EXPECT_THAT(whom_to_dismiss({{c, b, ""}}, {a, b, c}, {}, {a, b, c}),
              ElementsAre(c));
}

TEST(whom_to_dismiss, is_who_announced_an_address_where_nobody_ever_was) {
  constexpr worker_id a{1}, b{2}, c{3};
  const std::set<worker_id> unheard_of{a, b, c};
  EXPECT_THAT(whom_to_dismiss({{c, b, "x"}}, {a, b, c}, {}, unheard_of),
              ElementsAre(b));
  EXPECT_THAT(whom_to_dismiss({{b, a, "x"}}, {a, b, c}, {}, unheard_of),
              ElementsAre(b))
      << "c reaches a";
  EXPECT_THAT(whom_to_dismiss({{c, b, "x"}}, {a, b, c}, {}, {c}),
              ElementsAre(c))
      << "b was reached before";
}

TEST(whom_to_dismiss, spares_those_who_have_trained) {
  constexpr worker_id a{1}, b{2}, c{3};
  EXPECT_THAT(
      whom_to_dismiss({{b, a, "x"}, {c, a, "x"}}, {a, b, c}, {a}, {b, c}),
      UnorderedElementsAre(b, c));
}

class opening : public ::testing::Test {
protected:
  void begin(uint32_t min_workers = 1) { d.train({"w1", "w2"}, min_workers); }
  /// The second rank cannot reach the first one; all answer the fence.
  actions attempt_fails() {
    worker_failed word;
    word.worker = d.core.generation()->workers.at(1);
    word.generation = d.core.generation()->number;
    word.code = errc::collective_failed;
    word.message = "rank 0 cannot be reached";
    word.links = {{0, "127.0.0.1:4711", "Connection refused"}};
    d.core.take(word, d.now);
    return d.recover(step_number{0});
  }
  /// The worker of this rank lacks something; all answer the fence.
  actions attempt_lacks(size_t rank) {
    worker_failed word;
    word.worker = d.core.generation()->workers.at(rank);
    word.generation = d.core.generation()->number;
    word.code = errc::collective_failed;
    word.message = "cannot make shared memory: File too large";
    word.own_trouble = true;
    d.core.take(word, d.now);
    return d.recover(step_number{0});
  }
  void all_beat() {
    for (const auto& [id, who] : d.core.nodes().all())
      d.core.take(heartbeat{id, {}}, d.now);
  }
  /// Ticks until the next attempt is placed; how long that took.
  std::chrono::milliseconds wait_for_placement() {
    instant begun = d.now;
    while (d.now - begun < 60s) {
      d.now += 10ms;
      all_beat();
      auto place =
          pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
      if (!place.empty()) {
        d.place(place[0]);
        break;
      }
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(d.now - begun);
  }
  driver d;
};

TEST_F(opening, that_fails_again_and_again_waits_longer_each_time) {
  begin(2);
  std::vector<int64_t> waits;
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(pick<balance::place_shares>(attempt_fails()), IsEmpty());
    waits.push_back(wait_for_placement().count());
  }
  EXPECT_THAT(waits, ElementsAre(100, 200, 400, 800, 1600, 3200, 5000, 5000));
  EXPECT_EQ(d.core.generation()->number, generation{9});
}

TEST_F(opening, that_fails_three_times_is_told_with_what_to_set) {
  begin(2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(told<events::cannot_open>(attempt_fails()), IsEmpty());
    wait_for_placement();
  }
  EXPECT_FALSE(status_of(d.core, d.now).run.value().cannot_open);
  auto told = coordinator::told<events::cannot_open>(attempt_fails());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].broken.value().worker, "w2");
  EXPECT_EQ(told[0].broken.value().cannot_reach, "w1");
  EXPECT_EQ(told[0].broken.value().address, "127.0.0.1:4711");
  EXPECT_THAT(told[0].message, HasSubstr("start w1 with --host"));
  EXPECT_THAT(status_of(d.core, d.now).run.value().cannot_open.value(),
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
  EXPECT_THAT(out[0].reason, HasSubstr("--host"));
  auto place = pick<balance::place_shares>(then);
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
    if (auto told = coordinator::told<events::cannot_open>(then); i == 2) {
      ASSERT_THAT(told, SizeIs(1));
      EXPECT_THAT(told[0].message,
                  HasSubstr("cannot make shared memory: File too large"));
      EXPECT_THAT(told[0].message, Not(HasSubstr("connect to each other")));
    }
  }
  auto ended = pick<end_run>(then);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_THAT(ended[0].reason, HasSubstr("File too large; tried 11 times"));
  EXPECT_TRUE(ended[0].goes_on);
  EXPECT_LE(d.now - begun, 30s);
}

/// Three workers that have done a step; then nothing goes between the first
/// two.
class broken_pair : public opening {
protected:
  void begin(uint32_t min_workers = 1) {
    d.batch = 5; // twenty steps
    d.train({"w1", "w2", "w3"}, min_workers);
    step();
  }
  void step() {
    done = next(done);
    const generation_state& members = *d.core.generation();
    progress_report report;
    report.generation = members.number;
    report.steps = {
        {done, epoch_number{1}, members.current.number, 5, 2, value(done)}};
    for (worker_id who : members.workers) {
      report.worker = who;
      d.core.take(report, d.now);
    }
  }
  /// Who looks at that very link, and who only sees the others give up.
  actions attempt_fails() {
    const generation_state& members = *d.core.generation();
    worker_failed word;
    word.generation = members.number;
    word.code = errc::collective_failed;
    word.worker = w(3);
    word.message = "rank 1 has closed its connection";
    d.core.take(word, d.now);
    word.worker = w(2);
    word.message = "rank 0 cannot be reached: no route";
    word.links = {{0, "10.0.0.1:4711", "no route"}};
    d.core.take(word, d.now);
    return d.recover(done);
  }
  worker_id w(uint32_t number) { return worker_id{number}; }
  step_number done{};
  actions third_attempt_fails() {
    worker_failed first; // in a step
    first.worker = w(1);
    first.generation = generation{1};
    first.code = errc::collective_failed;
    first.message = "silence";
    d.core.take(first, d.now);
    d.place(pick<balance::place_shares>(d.recover(done)).at(0));
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(pick<expel>(attempt_fails()), IsEmpty());
      wait_for_placement();
    }
    return attempt_fails();
  }
};

TEST_F(broken_pair, costs_one_of_the_two_and_not_the_run) {
  begin();
  actions then = third_attempt_fails();
  auto out = pick<expel>(then);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].who, w(2)) << "of the two, who joined last";
  EXPECT_THAT(out[0].reason, HasSubstr("no route"));
  EXPECT_EQ(out[0].dismissed, "") << "it may come back";
  auto place = pick<balance::place_shares>(then);
  ASSERT_THAT(place, SizeIs(1)) << "at once";
  EXPECT_THAT(place[0].workers, ElementsAre(w(1), w(3)));
}

TEST_F(broken_pair, is_told_by_who_saw_it) {
  begin(3);
  auto told = coordinator::told<events::cannot_open>(third_attempt_fails());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].broken.value().worker, "w2");
  EXPECT_EQ(told[0].broken.value().cannot_reach, "w1");
  EXPECT_THAT(told[0].message, HasSubstr("no route"));
  EXPECT_THAT(told[0].message, ::testing::Not(HasSubstr("--host")))
      << "its address was good";
}

TEST_F(broken_pair, keeps_all_where_all_are_needed) {
  begin(3);
  EXPECT_THAT(pick<expel>(third_attempt_fails()), IsEmpty());
}

TEST_F(broken_pair, lets_the_dismissed_one_come_back_later_and_ever_later) {
  begin();
  d.place(pick<balance::place_shares>(third_attempt_fails()).at(0));
  step();
  std::vector<int64_t> waits;
  for (int round = 0; round < 3; ++round) {
    const instant out = d.now;
    ASSERT_TRUE(d.join("w2").accepted);
    std::vector<balance::place_shares> place;
    while (place.empty() && d.now - out < 1000s) {
      d.now += 100ms;
      all_beat();
      place = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
    }
    waits.push_back((d.now - out) / 1s);
    ASSERT_TRUE(d.core.change());
    const worker_id back = d.core.change()->workers.back();
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(place, SizeIs(1));
      ledger::plan next = balance::repaired_plan(
          d.chunks(), 0.1, place[0].before, place[0].workers,
          place[0].generation, place[0].number);
      d.core.take(shares_placed{next, std::vector<share_summary>(
                                          place[0].workers.size())},
                  d.now);
      worker_failed word;
      word.worker = back;
      word.generation = place[0].generation;
      word.code = errc::collective_failed;
      word.message = "no route";
      word.links = {{0, "10.0.0.1:4711", "no route"}};
      d.core.take(word, d.now);
      actions then;
      const fence held = *d.core.fence();
      for (worker_id who : held.awaited())
        then = d.core.take(
            final_ack{who, held.level(), who != back, done, {}, {}}, d.now);
      d.place(pick<balance::place_shares>(then).at(0));
      step();
      EXPECT_EQ(pick<expel>(then).size(), i == 2 ? 1u : 0u);
      place.clear();
      for (int tick = 0; i < 2 && place.empty() && tick < 100; ++tick) {
        d.now += 100ms;
        all_beat();
        place = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
      }
    }
  }
  EXPECT_THAT(waits, ElementsAre(30, 60, 120));
}

TEST_F(broken_pair, calls_the_dismissed_one_back_where_nobody_else_is_left) {
  begin();
  d.place(pick<balance::place_shares>(third_attempt_fails()).at(0));
  ASSERT_TRUE(d.join("w2").accepted);
  d.core.take(clock_tick{}, d.now);
  EXPECT_FALSE(d.core.change());
  EXPECT_EQ(status_of(d.core, d.now).workers.back().state,
            worker_standing::dismissed);
  d.core.take(connection_lost{w(1), closed}, d.now);
  actions then = d.core.take(connection_lost{w(3), closed}, d.now);
  auto place = pick<balance::place_shares>(then);
  ASSERT_THAT(place, SizeIs(1));
  EXPECT_THAT(place[0].workers, ElementsAre(w(4)));
}

TEST_F(opening, waits_for_nothing_where_a_worker_died) {
  begin();
  worker_failed echo;
  echo.worker = d.workers[1];
  echo.generation = generation{1};
  echo.code = errc::collective_failed;
  echo.message = "peer lost";
  d.core.take(echo, d.now);
  d.core.take(connection_lost{d.workers[0], killed_by(9)}, d.now);
  EXPECT_THAT(pick<balance::place_shares>(d.recover(step_number{0})),
              SizeIs(1));
}

TEST_F(opening, does_not_keep_a_stop_waiting) {
  begin();
  attempt_fails();
  d.core.ask(stop_run{false});
  EXPECT_THAT(
      pick<balance::place_shares>(d.core.take(clock_tick{}, d.now + 10ms)),
      SizeIs(1));
}

TEST_F(opening, that_fails_does_not_keep_a_stop_from_its_end) {
  begin(2);
  for (int i = 0; i < 2; ++i) {
    attempt_fails();
    wait_for_placement();
  }
  d.core.ask(stop_run{false});
  auto place = pick<balance::place_shares>(attempt_fails());
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
  d.core.ask(stop_run{false});
  actions then;
  for (int i = 0; i < 3; ++i) {
    worker_failed word;
    word.worker = d.core.generation()->workers.at(0);
    word.generation = d.core.generation()->number;
    word.code = errc::collective_failed;
    word.message = "the deadline passed";
    d.core.take(word, d.now);
    then = d.recover(step_number{0});
    d.place(pick<balance::place_shares>(then).at(0));
  }
  EXPECT_EQ(pick<balance::place_shares>(then).at(0).workers.size(), 1u);
  EXPECT_THAT(pick<expel>(then), SizeIs(1));
}

} // namespace
} // namespace ballast::coordinator
