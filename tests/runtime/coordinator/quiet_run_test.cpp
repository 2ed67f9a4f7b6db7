// Goal: a run in which nothing happens does not fill events.jsonl, however
// quick its epochs are: at most 200 lines an hour. Method: an hour of virtual
// time with ten epochs and their evaluations a second, and a checkpoint every
// ten seconds; the actions that are lines are counted by kind.
#include "runtime/base/event_budget.hpp"
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Le;

constexpr auto epoch_takes = 100ms;
constexpr uint64_t epochs = 1h / epoch_takes;

class quiet_run : public ::testing::Test {
protected:
  quiet_run() {
    job what = small_job(2);
    what.train.epochs = epochs + 1; // it goes on behind that hour
    d_.join("w1");
    d_.join("w2");
    count(d_.core.submit(what, "test-1", term{1}).then);
    actions placing = d_.core.take(data_prepared{d_.set()}, d_.now);
    count(placing);
    d_.place(pick<balance::place_shares>(placing).at(0));
    count(d_.assigned);
  }

  void count(const actions& list) {
    for (const write_event& one : pick<write_event>(list))
      ++lines_[one.what.index()];
  }
  template <class Event>
  static size_t place_of() {
    return run_event(Event{}).index();
  }

  /// Two steps and an evaluation.
  void epoch(epoch_number number) {
    const generation_state& members = *d_.core.generation();
    progress_report report;
    report.generation = members.number;
    for (uint64_t step = 2 * value(number) - 1; step <= 2 * value(number);
         ++step)
      report.steps.push_back({step_number{step}, number, members.current.number,
                              50, 2, step * 50'000'000});
    for (worker_id who : members.workers) {
      d_.core.take(heartbeat{who, members.number}, d_.now);
      report.worker = who;
      count(d_.core.take(report, d_.now));
    }
    for (worker_id who : members.workers)
      count(d_.core.take(evaluation_report{who, members.number,
                                           step_number{2 * value(number)},
                                           number, 0.5, 0.9, 20, 1'000'000}));
    count(d_.core.take(clock_tick{}, d_.now));
  }

  driver d_;
  std::map<size_t, int> lines_; // by kind: its place in run_event
};

TEST_F(quiet_run, writes_at_most_200_lines_an_hour) {
  event_budget of_checkpoints(40); // as run_record has it
  for (uint64_t number = 1; number <= epochs; ++number) {
    d_.now += epoch_takes;
    epoch(epoch_number{number});
    if (number % (10s / epoch_takes) == 0 && of_checkpoints.take(d_.now))
      ++lines_[place_of<events::checkpoint>()];
  }
  ASSERT_EQ(value(d_.core.last().step), 2 * epochs);
  int all = 0;
  std::string told;
  for (auto [kind, lines] : lines_) {
    all += lines;
    told += std::to_string(kind) + ": " + std::to_string(lines) + ", ";
  }
  RecordProperty("lines", told);
  EXPECT_THAT(lines_,
              Contains(::testing::Key(place_of<events::epoch_ended>())));
  EXPECT_THAT(lines_, Contains(::testing::Key(place_of<events::evaluated>())));
  EXPECT_THAT(all, Le(200)) << told;
}

} // namespace
} // namespace ballast::coordinator
