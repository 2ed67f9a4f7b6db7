// Goal: a worker takes orders of its coordinator alone, keeps what it has while
// it looks for another one, and ends when its patience does. Method: tables and
// stories of messages.
#include "runtime/worker/coordinator_link.hpp"

#include "runtime/base/run_mark.hpp"

#include <gtest/gtest.h>

namespace ballast::worker {
namespace {

using namespace std::chrono_literals;

welcome as(worker_id self, term life = term{2}) {
  return {self, 1, life, 200};
}

assignment order_of(term life = term{2}) {
  assignment out;
  out.term = life;
  out.generation = generation{3};
  out.run = "run-1";
  out.run_folder = "/runs/run-1";
  out.token = "secret";
  out.orphan_s = 5;
  out.heartbeat_ms = 100;
  return out;
}

command tell(command_kind kind, term life = term{2},
             generation of = generation{3}) {
  command out;
  out.term = life;
  out.generation = of;
  out.kind = kind;
  out.reason = "because";
  return out;
}

coordinator_link joined(link_config how = {}) {
  coordinator_link out(how);
  (void)out.on_welcome(as(worker_id{4}));
  return out;
}

coordinator_link training(link_config how = {}) {
  coordinator_link out = joined(how);
  (void)out.on_assignment(order_of());
  return out;
}

TEST(coordinator_link, drops_orders_of_an_earlier_life_of_the_coordinator) {
  coordinator_link one = training();
  EXPECT_EQ(one.on_assignment(order_of(term{1})).what, link_step::ignore);
  EXPECT_FALSE(one.takes(term{1}));
  EXPECT_EQ(one.on_assignment(order_of(term{5})).what, link_step::take);
  EXPECT_FALSE(one.takes(term{4}));
  EXPECT_TRUE(one.takes(term{5}));
  EXPECT_EQ(one.me().heartbeat_ms, 100u);
}

TEST(coordinator_link, decides_this_about_commands) {
  struct row {
    command_kind kind;
    link_step joined; // without a run
    link_step training;
    link_step once;  // training, in a process for one run
    link_step stale; // training, of an earlier term
  };
  using s = link_step;
  using k = command_kind;
  for (const row& one : {
           row{k::pause, s::ignore, s::take, s::take, s::ignore},
           row{k::stop, s::ignore, s::take, s::take, s::ignore},
           row{k::checkpoint, s::ignore, s::take, s::take, s::ignore},
           row{k::release, s::ignore, s::drop_run, s::end, s::ignore},
           row{k::abandon, s::ignore, s::drop_run, s::end, s::ignore},
           row{k::leave, s::end, s::end, s::end, s::ignore},
           row{k::expel, s::drop_run, s::drop_run, s::drop_run, s::ignore},
           row{k::dismiss, s::drop_run, s::drop_run, s::end, s::ignore},
           row{k::kill, s::kill, s::kill, s::kill, s::kill},
           row{k::stall, s::stall, s::stall, s::stall, s::stall},
           row{k::slow, s::take, s::take, s::take, s::take},
           row{k::recorded, s::take, s::take, s::take, s::take},
       }) {
    const generation present{3};
    SCOPED_TRACE(to_string(one.kind));
    EXPECT_EQ(joined().on_command(tell(one.kind), present).what, one.joined);
    EXPECT_EQ(training().on_command(tell(one.kind), present).what,
              one.training);
    EXPECT_EQ(training({.once = true}).on_command(tell(one.kind), present).what,
              one.once);
    EXPECT_EQ(training().on_command(tell(one.kind, term{1}), present).what,
              one.stale);
  }
}

TEST(coordinator_link, drops_commands_of_an_earlier_generation) {
  coordinator_link one = training();
  EXPECT_EQ(one.on_command(tell(command_kind::pause, term{2}, generation{2}),
                           generation{3})
                .what,
            link_step::ignore);
  EXPECT_TRUE(one.in_run());
}

TEST(coordinator_link, ends_a_process_for_one_run_with_how_the_run_ended) {
  EXPECT_EQ(training({.once = true})
                .on_command(tell(command_kind::release), generation{3})
                .exit_code,
            0);
  EXPECT_EQ(training({.once = true})
                .on_command(tell(command_kind::abandon), generation{3})
                .exit_code,
            1);
}

TEST(coordinator_link, says_hello_once_what_it_held_is_gone) {
  coordinator_link one = training();
  (void)one.on_command(tell(command_kind::expel), generation{3});
  EXPECT_EQ(one.on_dropped().what, link_step::say_hello);
  EXPECT_EQ(one.on_dropped().what, link_step::ignore);
  EXPECT_EQ(one.hello({}, {}).was, worker_id{});
  (void)one.on_assignment(order_of());
  (void)one.on_command(tell(command_kind::release), generation{3});
  EXPECT_EQ(one.on_dropped().what, link_step::ignore);
}

TEST(coordinator_link, tells_the_next_coordinator_who_it_was) {
  coordinator_link one = training();
  EXPECT_EQ(one.on_coordinator_lost(1s).what, link_step::look_again);
  EXPECT_TRUE(one.alone());
  const worker_hello told = one.hello({}, generation{3});
  EXPECT_EQ(told.was, worker_id{4});
  EXPECT_EQ(told.run, "run-1");
  EXPECT_EQ(told.run_mark, run_mark("secret", "run-1"));
  EXPECT_EQ(told.seen, generation{3});
  EXPECT_EQ(one.on_welcome(as(worker_id{4}, term{3})).what, link_step::ignore);
  EXPECT_FALSE(one.alone());
  EXPECT_TRUE(one.in_run());
}

TEST(coordinator_link, drops_its_run_if_it_is_taken_for_another_worker) {
  coordinator_link one = training();
  (void)one.on_coordinator_lost(1s);
  EXPECT_EQ(one.on_welcome(as(worker_id{9}, term{3})).what,
            link_step::drop_run);
  EXPECT_FALSE(one.in_run());
  // It has joined already.
  EXPECT_EQ(one.on_dropped().what, link_step::ignore);
}

TEST(coordinator_link, joins_no_run_that_it_was_dismissed_from) {
  coordinator_link one = training();
  (void)one.on_command(tell(command_kind::dismiss), generation{3});
  EXPECT_EQ(one.hello({}, {}).not_for, "run-1");
}

TEST(coordinator_link, waits_for_a_coordinator_as_long_as_steps_are_taken) {
  coordinator_link one = training();
  (void)one.on_coordinator_lost(10s);
  EXPECT_EQ(one.on_time(step_number{1}, 14s).what, link_step::ignore);
  EXPECT_EQ(one.on_time(step_number{2}, 18s).what, link_step::ignore);
  EXPECT_EQ(one.on_time(step_number{2}, 23s).what, link_step::ignore);
  const link_decision over = one.on_time(step_number{2}, 24s);
  EXPECT_EQ(over.what, link_step::end);
  EXPECT_EQ(over.exit_code, 1);
  EXPECT_EQ(over.reason, "no coordinator came back within 5 s");
}

// Also where the refused hello is the first thing that goes wrong.
TEST(coordinator_link, has_all_its_patience_after_a_refusal) {
  coordinator_link one = joined({.idle_wait_s = 60});
  const failure why{errc::unreachable, "no answer", {}};
  EXPECT_EQ(one.on_refused(why, 1000s).what, link_step::look_again);
  EXPECT_EQ(one.on_time({}, 1059s).what, link_step::ignore);
  EXPECT_EQ(one.on_time({}, 1061s).what, link_step::end);
}

TEST(coordinator_link, ends_at_once_where_nobody_comes_back) {
  EXPECT_EQ(training({.looks_again = false}).on_coordinator_lost(1s).what,
            link_step::end);
  // A child of `run` without a run is replaced.
  EXPECT_EQ(joined({.once = true}).on_coordinator_lost(1s).what,
            link_step::end);
  EXPECT_EQ(coordinator_link({}).on_coordinator_lost(1s).what, link_step::end);
}

TEST(coordinator_link, tells_once_of_a_coordinator_that_leads_other_runs) {
  coordinator_link one = training();
  (void)one.on_coordinator_lost(10s);
  const failure why{errc::other_run, "leads run-9", {}};
  EXPECT_EQ(one.on_refused(why, 11s).reason, "leads run-9");
  const link_decision again = one.on_refused(why, 12s);
  EXPECT_EQ(again.what, link_step::hello_later);
  EXPECT_EQ(again.reason, "");
  EXPECT_EQ(one.on_time({}, 16s).reason,
            "no coordinator came back within 5 s: leads run-9");
}

TEST(coordinator_link, ends_without_a_run_where_it_is_not_wanted) {
  for (errc code : {errc::name_taken, errc::other_build, errc::usage}) {
    coordinator_link one = joined();
    const link_decision got = one.on_refused({code, "go away", {}}, 1s);
    EXPECT_EQ(got.what, link_step::end);
    EXPECT_EQ(got.reason, "go away");
    EXPECT_EQ(training().on_refused({code, "go away", {}}, 1s).what,
              link_step::look_again);
  }
}

TEST(coordinator_link, leaves_its_run_before_it_ends_on_a_signal) {
  EXPECT_EQ(joined().on_asked_to_end().what, link_step::end);
  coordinator_link one = training();
  EXPECT_EQ(one.on_asked_to_end().what, link_step::ask_to_leave);
  EXPECT_TRUE(one.hello({}, {}).leaving);
  EXPECT_EQ(one.on_command(tell(command_kind::release), generation{3}).what,
            link_step::end);
  // Nobody is there to let it go.
  coordinator_link alone = training();
  (void)alone.on_coordinator_lost(1s);
  EXPECT_EQ(alone.on_asked_to_end().exit_code, 130);
}

TEST(coordinator_link, keeps_what_it_has_of_a_run_that_was_killed) {
  EXPECT_EQ(joined().on_run_killed().what, link_step::end);
  coordinator_link one = training();
  EXPECT_EQ(one.on_run_killed().what, link_step::freeze);
  (void)one.on_coordinator_lost(10s);
  // A step that was in flight is no progress.
  EXPECT_EQ(one.on_time(step_number{1}, 14s).what, link_step::ignore);
  EXPECT_EQ(one.on_time(step_number{2}, 16s).what, link_step::end);
}

} // namespace
} // namespace ballast::worker
