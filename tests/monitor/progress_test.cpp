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
  state.world = 2;
  state.generation = 1;
  state.skew = 0.021;
  state.eta_s = 4.2;
  return state;
}

constexpr int64_t ms = 1'000'000;

TEST(progress, shows_everything_on_one_line) {
  EXPECT_EQ(render_progress(some_state()),
            "epoch 2/3  step 310/705  84,120 samples/s  loss 0.4312  world 2  "
            "generation 1  skew 0.02  ETA 0:05");
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
                "loss 0.4312  best accuracy 0.91 of epoch 1  world 2"),
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
               {1000, 3599, " 1,000 samples/s", "ETA 59:59"},
               {1'234'567, 3600, " 1,234,567 samples/s", "ETA 1:00:00"}};
  for (const auto& row : table) {
    progress_state state = some_state();
    state.samples_per_s = row.rate;
    state.eta_s = row.eta;
    std::string line = render_progress(state);
    EXPECT_NE(line.find(row.rate_text), std::string::npos) << line;
    EXPECT_NE(line.find(row.eta_text), std::string::npos) << line;
  }
}

TEST(progress, piped_is_a_line_every_five_seconds) {
  store::temp_folder folder;
  int file = open((folder / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  progress_printer printer(file);
  EXPECT_FALSE(printer.terminal());
  progress_state state;
  for (int64_t now = 0; now <= 10'000 * ms; now += 100 * ms) {
    state.state = std::to_string(now / ms);
    printer.update(state, now);
  }
  state.state = "done";
  printer.finish(state);
  close(file);
  EXPECT_EQ(store::content_of(folder / "out"), "0\n5000\n10000\ndone\n");
}

TEST(progress, prints_nothing_when_switched_off) {
  store::temp_folder folder;
  int file = open((folder / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  progress_printer printer(file, false);
  printer.update(some_state(), 0);
  printer.clear();
  printer.finish(some_state());
  close(file);
  EXPECT_EQ(store::content_of(folder / "out"), "");
}

TEST(progress, rewrites_one_line_of_a_terminal_and_cuts_it_to_the_width) {
  int controller = -1;
  int terminal = -1;
  winsize size{};
  size.ws_col = 11;
  size.ws_row = 10;
  if (openpty(&controller, &terminal, nullptr, nullptr, &size) != 0)
    GTEST_SKIP() << "no pseudo-terminals here: is /dev/pts mounted?";
  progress_printer printer(terminal);
  EXPECT_TRUE(printer.terminal());
  printer.update(some_state(), 0);
  printer.update(some_state(), 99 * ms); // too soon
  printer.update(some_state(), 100 * ms);
  printer.clear();
  progress_state last;
  last.state = "done";
  printer.finish(last);
  std::string seen;
  std::string wanted = "\r\033[Kepoch 2/3 "
                       "\r\033[Kepoch 2/3 "
                       "\r\033[K"
                       "\r\033[Kdone\r\n";
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
  EXPECT_EQ(shown.skew, 0.25);
  EXPECT_EQ(shown.samples_per_s, 100.0);
  EXPECT_EQ(shown.eta_s, 10.0);
  run.samples_per_s = 0;
  EXPECT_FALSE(progress_of(status).eta_s);
}

} // namespace
} // namespace ballast::monitor
