// Goal: most copies go to memory, the disk gets one as seldom as the job says
// and whatever somebody asks for, and a run goes back to the newest, wherever
// that is. Method: a driven core with a clock; no file is written.
#include "coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class memory_checkpoints : public ::testing::Test {
protected:
  /// One worker trains; whether memory has room is not answered yet.
  actions trains(std::optional<uint64_t> memory_every_s = 2) {
    d.batch = 10;
    d.checkpoint.every_s = 10;
    d.checkpoint.memory_every_s = memory_every_s;
    return d.train({"w1"});
  }
  void begin() {
    ASSERT_THAT(pick<open_memory>(trains()), SizeIs(1));
    d.core.take(memory_opened{}, d.now);
  }

  /// Nobody is silent meanwhile.
  actions pass(std::chrono::milliseconds time) {
    actions out;
    for (const instant until = d.now + time; d.now < until;) {
      d.now += 100ms;
      for (const auto& [id, who] : d.core.nodes().all())
        if (who.connected)
          d.core.take(heartbeat{id, d.core.members().newest_generation()},
                      d.now);
      for (action& one : d.core.take(clock_tick{}, d.now))
        out.push_back(std::move(one));
    }
    return out;
  }

  void apply(uint64_t step) {
    const generation_state& members = *d.core.generation();
    progress_report report;
    report.generation = members.number;
    report.worker = members.workers[0];
    report.steps.push_back({step_number{step}, epoch_number{1},
                            members.current.number, 10, 2, 9 * step});
    d.core.take(report, d.now);
  }

  /// The next step is committed, and copied; what is fetched.
  std::vector<fetch_checkpoint> copy() {
    apply(value(d.core.last().step) + 1);
    return copied();
  }
  std::vector<fetch_checkpoint> copied() {
    const generation_state& members = *d.core.generation();
    return pick<fetch_checkpoint>(d.core.take(
        state_copied{members.workers[0], members.number, d.core.last().step},
        d.now));
  }
  actions written(const std::string& file, failure problem = {}) {
    return d.core.take(checkpoint_written{*d.core.run().copies.on_its_way(),
                                          file, std::move(problem)},
                       d.now);
  }
  /// One copy, and where it went.
  std::string kept(const std::string& file) {
    const auto fetch = copy();
    if (fetch.size() != 1)
      return std::to_string(fetch.size());
    written(file);
    return fetch[0].in_memory ? "memory" : "disk";
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const restart_point& one : d.core.run().copies.points())
      out.push_back(one.checkpoint);
    return out;
  }
  using list = std::vector<std::string>;

  driver d;
};

TEST_F(memory_checkpoints, take_the_copies_between_two_of_the_disk) {
  begin();
  EXPECT_EQ(kept("1"), "disk") << "the first one";
  for (const char* file : {"2", "3", "4"}) {
    pass(2s);
    EXPECT_EQ(kept(file), "memory");
  }
  pass(2s); // 8 s: nearer to 10 than the next one
  EXPECT_EQ(kept("5"), "memory");
  pass(1s);
  EXPECT_EQ(kept("6"), "disk");
  pass(2s);
  EXPECT_EQ(kept("7"), "memory");
}

TEST_F(memory_checkpoints, are_one_at_a_time) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  EXPECT_EQ(files(), (list{"", "disk 1", "memory 2"}));
  pass(2s);
  kept("memory 3");
  EXPECT_EQ(files(), (list{"", "disk 1", "memory 3"}));
  pass(6s);
  EXPECT_EQ(kept("disk 4"), "disk");
  EXPECT_EQ(files(), (list{"", "disk 1", "memory 3", "disk 4"}));
  pass(2s);
  kept("memory 5");
  EXPECT_EQ(files(), (list{"", "disk 1", "disk 4", "memory 5"}));
}

TEST_F(memory_checkpoints, are_what_a_run_goes_back_to) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  apply(3);
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  const actions out = d.join("w2").then;
  EXPECT_EQ(pick<serve_checkpoint>(out).at(0).file, "memory 2");
  EXPECT_EQ(d.core.last().step, step_number{2});
}

TEST_F(memory_checkpoints, that_are_damaged_give_way_to_the_disk) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  auto placing = pick<balance::place_shares>(d.join("w2").then);
  placed_shares placed = balance::place(d.chunks(), 0.1, placing.at(0));
  d.core.take(shares_placed{placed.what, placed.shares}, d.now);
  worker_failed why;
  why.worker = d.core.generation()->workers[0];
  why.generation = d.core.generation()->number;
  why.code = errc::invalid_data;
  why.step = step_number{2};
  const actions out = d.core.take(why, d.now);
  EXPECT_EQ(pick<refuse_checkpoint>(out).at(0).file, "memory 2");
  EXPECT_EQ(pick<serve_checkpoint>(out).at(0).file, "disk 1");
}

TEST_F(memory_checkpoints, that_somebody_asks_for_go_to_the_disk) {
  begin();
  kept("disk 1");
  pass(2s);
  apply(2);
  d.core.ask(checkpoint_request{}, d.now);
  EXPECT_EQ(kept("disk 3"), "disk");
  pass(2s);
  EXPECT_EQ(kept("memory 4"), "memory") << "nothing is owed any more";
}

// A worker copies no state twice, and who stands still makes no other one.
TEST_F(memory_checkpoints, that_are_asked_for_come_from_memory) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  const auto fetch =
      pick<fetch_checkpoint>(d.core.ask(checkpoint_request{}, d.now).then);
  ASSERT_THAT(fetch, SizeIs(1));
  EXPECT_EQ(fetch[0].file, "memory 2");
  EXPECT_EQ(fetch[0].after.step, step_number{2});
  EXPECT_FALSE(fetch[0].in_memory);
  written("disk 2");
  EXPECT_EQ(files(), (list{"", "disk 1", "disk 2", "memory 2"}));
  EXPECT_THAT(pick<fetch_checkpoint>(pass(2s)), IsEmpty());
}

TEST_F(memory_checkpoints,
       that_cannot_be_saved_are_tried_again_and_not_at_once) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  d.core.ask(checkpoint_request{}, d.now);
  EXPECT_THAT(pick<fetch_checkpoint>(
                  written("", {errc::run_dir_unusable, "read only", {}})),
              IsEmpty());
  EXPECT_THAT(pick<fetch_checkpoint>(pass(900ms)), IsEmpty());
  EXPECT_THAT(pick<fetch_checkpoint>(pass(200ms)), SizeIs(1));
}

TEST_F(memory_checkpoints, of_the_last_step_of_a_stopped_run_go_to_the_disk) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  d.core.ask(stop_run{false}, d.now);
  const auto fetch = pick<fetch_checkpoint>(d.core.take(
      worker_finished{d.workers[0], generation{1}, step_number{2}, true, "sha"},
      d.now));
  ASSERT_THAT(fetch, SizeIs(1));
  EXPECT_EQ(fetch[0].file, "memory 2");
  EXPECT_THAT(pick<fetch_model>(written("disk 2")), SizeIs(1));
}

TEST_F(memory_checkpoints,
       are_not_asked_for_where_the_disk_gets_them_as_often) {
  d.checkpoint.memory_every_s = 10;
  EXPECT_THAT(pick<open_memory>(trains(10)), IsEmpty());
  EXPECT_EQ(kept("1"), "disk");
  EXPECT_EQ(kept("2"), "disk");
}

TEST_F(memory_checkpoints, that_do_not_fit_end_a_run_that_asked_for_them) {
  trains();
  const actions out = d.core.take(
      memory_opened{{errc::invalid_job, "two of them need 2 kB", {}}}, d.now);
  ASSERT_THAT(pick<end_run>(out), SizeIs(1));
  EXPECT_EQ(pick<end_run>(out)[0].exit_code, 2);
  EXPECT_THAT(pick<end_run>(out)[0].reason, HasSubstr("need 2 kB"));
}

TEST_F(memory_checkpoints, that_do_not_fit_are_not_made_where_nobody_asked) {
  d.checkpoint.every_s = 60;
  d.batch = 10;
  ASSERT_THAT(pick<open_memory>(d.train({"w1"})), SizeIs(1));
  const actions out = d.core.take(
      memory_opened{{errc::invalid_job, "two of them need 2 kB", {}}}, d.now);
  EXPECT_THAT(told<events::no_memory_checkpoints>(out), SizeIs(1));
  EXPECT_EQ(kept("1"), "disk");
  pass(30s);
  EXPECT_THAT(copy(), IsEmpty()) << "workers copy as often as memory wants it";
  pass(20s);
  EXPECT_EQ(kept("3"), "disk");
}

TEST_F(memory_checkpoints, are_given_up_once_memory_is_full) {
  begin();
  kept("disk 1");
  pass(2s);
  copy();
  const actions out = written("", {errc::disk_full, "no space left", {}});
  EXPECT_THAT(told<events::no_memory_checkpoints>(out), SizeIs(1));
  EXPECT_EQ(d.core.phase(), run_phase::training);
  pass(2s);
  EXPECT_THAT(copy(), IsEmpty());
  pass(6s);
  EXPECT_EQ(kept("disk"), "disk");
}

TEST_F(memory_checkpoints, are_tried_again_some_minutes_after_it_was_full) {
  begin();
  kept("disk 1");
  pass(2s);
  copy();
  written("", {errc::disk_full, "no space left", {}});
  EXPECT_THAT(pick<open_memory>(pass(119s)), IsEmpty());
  ASSERT_THAT(pick<open_memory>(pass(2s)), SizeIs(1));
  const actions still = d.core.take(
      memory_opened{{errc::invalid_job, "two of them need 2 kB", {}}}, d.now);
  EXPECT_THAT(told<events::no_memory_checkpoints>(still), IsEmpty())
      << "no news";
  ASSERT_THAT(pick<open_memory>(pass(121s)), SizeIs(1));
  d.core.take(memory_opened{}, d.now);
  EXPECT_EQ(kept("disk 3"), "disk");
  pass(2s);
  EXPECT_EQ(kept("memory 4"), "memory");
  EXPECT_EQ(d.core.run().spec.job.checkpoint.memory_every_s, 2u)
      << "workers of the next generation copy as often";
}

TEST_F(memory_checkpoints, are_given_up_where_their_folder_cannot_be_made) {
  begin();
  kept("disk 1");
  pass(2s);
  copy();
  const actions out = written("", {errc::run_dir_unusable, "read only", {}});
  EXPECT_THAT(told<events::no_memory_checkpoints>(out), SizeIs(1));
  EXPECT_THAT(told<events::checkpoint_failed>(pass(5s)), IsEmpty());
  EXPECT_THAT(copy(), IsEmpty());
}

TEST_F(memory_checkpoints, that_are_removed_are_nothing_to_go_back_to) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  const auto refused = pick<refuse_checkpoint>(d.core.take(memory_gone{}));
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].file, "memory 2");
  EXPECT_EQ(files(), (list{"", "disk 1"}));
  EXPECT_EQ(d.core.run().copies.newest_in_memory(), step_number{0});
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  EXPECT_EQ(pick<serve_checkpoint>(d.join("w2").then).at(0).file, "disk 1");
}

TEST_F(memory_checkpoints,
       that_a_stopped_run_cannot_read_give_way_to_the_disk) {
  begin();
  kept("disk 1");
  pass(2s);
  kept("memory 2");
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  EXPECT_EQ(pick<publish_model>(d.core.ask(stop_run{true}, d.now).then)
                .at(0)
                .checkpoint,
            "memory 2");
  saved_model damaged;
  damaged.problem = {errc::invalid_data, "it does not match", {}};
  const actions out = d.core.take(damaged, d.now);
  EXPECT_EQ(pick<refuse_checkpoint>(out).at(0).file, "memory 2");
  EXPECT_EQ(pick<undo_steps>(out).at(0).to, step_number{1});
  EXPECT_EQ(pick<publish_model>(out).at(0).checkpoint, "disk 1");
  const auto ended = pick<end_run>(d.core.take(saved_model{}, d.now));
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].state, "stopped");
  EXPECT_EQ(ended[0].exit_code, 130);
  EXPECT_THAT(ended[0].reason, HasSubstr("the model is that of step 1"));
}

} // namespace
} // namespace ballast::coordinator
