/// Goal: a person sees one line, as often as they can read it.
#include "monitor/logs/progress.hpp"

#include "tests/store/temp_folder.hpp"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

namespace ballast::monitor {
namespace {

progress_state some_state() {
  progress_state state;
  state.epoch = 2;
  state.epochs = 3;
  state.step = 310;
  state.steps_total = 705;
  state.samples_per_s = 84'120.4;
  state.loss = 0.431234;
  state.test_loss = 0.43;
  state.world = 2;
  state.generation = 1;
  state.skew = 0.021;
  state.eta_s = 4.2;
  return state;
}

constexpr int64_t ms = 1'000'000;

TEST(progress, shows_everything_on_one_line) {
  EXPECT_EQ(render_progress(some_state()),
            "epoch 2/3  step 310/705  loss 0.4312  test 0.4300  84.1 k "
            "samples/s  ETA 0:05  world 2  generation 1  skew 0.02");
}

TEST(progress, says_first_why_the_same_seed_may_give_other_weights) {
  job what;
  what.seed = 7;
  what.elastic.workers = 4;
  EXPECT_EQ(first_line("mine-3", what),
            "mine-3: 4 workers, seed 7; balance follows the measured speed, so "
            "the same seed may give other weights");
  what.train.reduction = reduction_kind::canonical;
  EXPECT_EQ(first_line("mine-3", what),
            "mine-3: 4 workers, seed 7; the same weights for any number of "
            "workers");
  what.train.reduction = reduction_kind::fused;
  what.balance.enabled = false;
  what.elastic.workers = 1;
  EXPECT_EQ(first_line("mine-3", what), "mine-3: 1 worker, seed 7");
}

TEST(progress, names_the_best_evaluation_so_far) {
  progress_state state = some_state();
  state.best = "accuracy 0.91 of epoch 1";
  EXPECT_NE(render_progress(state).find(
                "ETA 0:05  best accuracy 0.91 of epoch 1  world 2"),
            std::string::npos);
}

TEST(progress, leaves_out_what_is_not_known) {
  progress_state state;
  state.state = "waiting";
  EXPECT_EQ(render_progress(state), "waiting");
  state.epoch = 1;
  state.epochs = 1;
  state.step = 1;
  state.world = 1;
  state.generation = 1;
  EXPECT_EQ(render_progress(state),
            "waiting  epoch 1/1  step 1  world 1  generation 1");
}

TEST(progress, says_when_training_begins_once_rows_are_written) {
  progress_state state;
  state.state = "preparing";
  state.prepared = 0.426;
  EXPECT_EQ(render_progress(state), "preparing  43 %");
  state.trains_in_s = 63.2;
  EXPECT_EQ(render_progress(state), "preparing  43 %  trains in 1:04");
}

TEST(progress, promises_no_end_to_a_run_that_does_not_train) {
  progress_state state = some_state();
  for (const char* other : {"paused", "done", "failed"}) {
    state.state = other;
    EXPECT_EQ(render_progress(state).find("ETA"), std::string::npos) << other;
  }
}

TEST(progress, prints_numbers_and_durations_for_people) {
  struct {
    double rate;
    double eta;
    std::string rate_text, eta_text;
  } table[] = {{0, 0, " 0 samples/s", "ETA 0:00"},
               {999, 59.1, " 999 samples/s", "ETA 1:00"},
               {1000, 3599, " 1.00 k samples/s", "ETA 59:59"},
               {1'234'567, 3600, " 1.23 M samples/s", "ETA 1:00:00"}};
  for (const auto& row : table) {
    progress_state state = some_state();
    state.samples_per_s = row.rate;
    state.eta_s = row.eta;
    std::string line = render_progress(state);
    EXPECT_NE(line.find(row.rate_text), std::string::npos) << line;
    EXPECT_NE(line.find(row.eta_text), std::string::npos) << line;
  }
}

TEST(progress, keeps_the_loss_longest_where_the_line_is_narrow) {
  const struct {
    size_t columns;
    std::string small, large;
  } table[] = {
      {20, "2/3  loss 0.4312", "13/300  loss 0.4312"},
      {40, "epoch 2/3  step 310/705  loss 0.4312",
       "epoch 13/300  loss 0.4312  test 0.4300"},
      {80,
       "epoch 2/3  step 310/705  loss 0.4312  test 0.4300  84.1 k samples/s  "
       "ETA 0:05",
       "epoch 13/300  step 2931/70500  loss 0.4312  test 0.4300  84.1 k "
       "samples/s"},
  };
  for (const auto& row : table) {
    progress_state state = some_state();
    EXPECT_EQ(render_progress(state, row.columns - 1), row.small);
    state.epoch = 13;
    state.epochs = 300;
    state.step = 2931;
    state.steps_total = 70'500;
    EXPECT_EQ(render_progress(state, row.columns - 1), row.large);
  }
}

TEST(progress, never_is_wider_than_the_terminal) {
  progress_state state = some_state();
  state.best = "average_precision 0.9100 of epoch 1";
  for (const char* name : {"training", "paused"})
    for (size_t columns = 1; columns < 160; ++columns) {
      state.state = name;
      EXPECT_LE(render_progress(state, columns).size(), columns);
    }
}

TEST(progress, piped_is_what_stays_and_no_more) {
  store::temp_folder folder;
  int file = open((folder / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  progress_printer printer(file);
  EXPECT_FALSE(printer.terminal());
  for (int64_t now = 0; now <= 10'000 * ms; now += 100 * ms)
    printer.update(some_state(), now);
  printer.keep("epoch 1/3");
  printer.update(some_state(), 20'000 * ms);
  printer.clear();
  close(file);
  EXPECT_EQ(store::content_of(folder / "out"), "epoch 1/3\n");
}

TEST(progress, prints_nothing_when_switched_off) {
  store::temp_folder folder;
  int file = open((folder / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  progress_printer printer(file, false);
  printer.update(some_state(), 0);
  printer.keep("epoch 1/3");
  printer.clear();
  close(file);
  EXPECT_EQ(store::content_of(folder / "out"), "");
}

TEST(progress, rewrites_one_line_of_a_terminal_below_those_that_stay) {
  int controller = -1;
  int terminal = -1;
  winsize size{};
  size.ws_col = 20;
  size.ws_row = 10;
  if (openpty(&controller, &terminal, nullptr, nullptr, &size) != 0)
    GTEST_SKIP() << "no pseudo-terminals here: is /dev/pts mounted?";
  progress_printer printer(terminal);
  EXPECT_TRUE(printer.terminal());
  printer.update(some_state(), 0);
  printer.update(some_state(), 99 * ms); // too soon
  printer.update(some_state(), 100 * ms);
  printer.keep("epoch 1/3");
  printer.update(some_state(), 200 * ms);
  printer.clear();
  std::string seen;
  std::string wanted = "\r\033[K2/3  loss 0.4312"
                       "\r\033[K2/3  loss 0.4312"
                       "\r\033[Kepoch 1/3\r\n"
                       "\r\033[K2/3  loss 0.4312"
                       "\r\033[K";
  while (seen.size() < wanted.size()) {
    char block[256];
    ssize_t count = read(controller, block, sizeof block);
    ASSERT_GT(count, 0);
    seen.append(block, size_t(count));
  }
  close(terminal);
  close(controller);
  EXPECT_EQ(seen, wanted);
}

TEST(progress, is_taken_from_the_status) {
  coordinator::run_status status;
  status.state = coordinator::run_phase::training;
  EXPECT_EQ(progress_of(status).state, "training");
  status.run = coordinator::run_status::numbers{};
  coordinator::run_status::numbers& run = *status.run;
  run.epochs = 3;
  run.steps_total = 30;
  run.loss = 0.5;
  EXPECT_FALSE(progress_of(status).loss) << "of no step";
  run.epoch = epoch_number{1};
  run.step = step_number{10};
  run.samples = 500;
  run.samples_per_s = 100;
  run.skew_tv_max = 0.25;
  run.members = {2, generation{4}, plan_number{5}, {"ring", ""}};
  const progress_state shown = progress_of(status);
  EXPECT_EQ(shown.epoch, 1u);
  EXPECT_EQ(shown.epochs, 3u);
  EXPECT_EQ(shown.step, 10u);
  EXPECT_EQ(shown.steps_total, 30u);
  EXPECT_EQ(shown.world, 2u);
  EXPECT_EQ(shown.generation, 4u);
  EXPECT_EQ(shown.loss, 0.5);
  EXPECT_FALSE(shown.test_loss) << "of no evaluation";
  run.test = coordinator::run_status::evaluation{.loss = 0.75};
  EXPECT_EQ(progress_of(status).test_loss, 0.75);
  EXPECT_EQ(shown.skew, 0.25);
  EXPECT_EQ(shown.samples_per_s, 100.0);
  EXPECT_EQ(shown.eta_s, 10.0);
  run.samples_per_s = 0;
  EXPECT_FALSE(progress_of(status).eta_s);
}

} // namespace
} // namespace ballast::monitor
