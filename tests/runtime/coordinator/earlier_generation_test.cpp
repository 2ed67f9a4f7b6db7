// Goal: a worker that still steps in a generation long over, which it could not
// know while it and the coordinator were away, does not get ready for the next
// one beside it: it would wait for a switch that never comes. Method: two lives
// of a coordinator; the second one has seen its generation end.
#include "coordinator_driver.hpp"

#include <algorithm>
#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::UnorderedElementsAre;

class earlier_generation : public ::testing::Test {
protected:
  earlier_generation() {
    first_.train({"w1", "w2"});
    for (const journal_change& one : pick<journal_change>(first_.assigned))
      note(one);
    past_.begun = past_.what = first_.core.run().spec.job;
    past_.name = "test-1";
    past_.rows = 100;
    past_.steps = {{.step = step_number{1},
                    .epoch = epoch_number{1},
                    .generation = generation{1},
                    .plan = plan_number{1},
                    .world = 2,
                    .samples = 50,
                    .loss = 2}};
    past_.committed = step_number{1};
    // w2 goes on alone.
    ledger::plan alone = past_.plans.back().body;
    alone.number = plan_number{2};
    alone.generation = generation{2};
    ledger::share all = alone.shares[1];
    for (const ledger::interval& one : alone.shares[0].intervals)
      all.intervals.push_back(one);
    ledger::sort_intervals(all);
    all.since = plan_number{2};
    alone.shares = {all};
    past_.memberships.push_back({generation{2}, {worker("w2")}, {"w2"}, {1}});
    past_.plans.push_back(
        {alone, ledger::position{epoch_number{1}, step_number{2}}, {}});
  }

  void note(const journal_change& one) {
    past_.memberships.push_back(
        {one.generation, one.workers, one.names, one.incarnations});
    past_.plans.push_back({one.what, one.effective, one.note});
  }

  worker_id worker(const std::string& name) const {
    return past_.memberships[0].workers[name == "w1" ? 0 : 1];
  }

  actions comes_back(const std::string& name) {
    worker_hello hello{name, 100, "host", "cpu", "b1", "m"};
    hello.was = worker(name);
    hello.run = "test-1";
    return second_.core.hello(hello, second_.now).then;
  }

  static std::vector<worker_id> fenced_in(const actions& list) {
    std::vector<worker_id> out;
    for (const send_fence& one : pick<send_fence>(list))
      out.push_back(one.to);
    return out;
  }

  driver first_;
  driver second_;
  past_run past_;
};

TEST_F(earlier_generation, ends_for_those_who_come_back_to_it) {
  second_.core.resume(past_, term{2});
  comes_back("w1");
  comes_back("w2");
  const actions then =
      second_.core.take(data_prepared{second_.set()}, second_.now);
  EXPECT_THAT(fenced_in(then), UnorderedElementsAre(worker("w1"), worker("w2")))
      << second_.core.reason();
}

} // namespace
} // namespace ballast::coordinator
