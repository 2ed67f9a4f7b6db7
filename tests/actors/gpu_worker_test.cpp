// Goal: the worker's actor passes orders on, reports in order, keeps the heart
// beating and leaves when told. Method: a played engine and coordinator.
#include "actors/gpu_worker.hpp"

#include "tests/actors/actor_fixture.hpp"

#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <latch>

namespace ballast::actors {
namespace {

using namespace std::chrono_literals;

/// Remembers what it was told; says what the test wants.
struct played_engine final : worker_engine {
  struct memory {
    engine_listener listener;
    std::vector<std::string> calls;
    gpu::step_progress progress;
    heartbeat now;
    /// What takes long in a fence.
    std::function<void()> in_fence = [] {};
  };
  explicit played_engine(std::shared_ptr<memory> m) : seen(std::move(m)) {}
  void load(const assignment& what) override {
    seen->calls.push_back("load " + to_string(what.generation));
    seen->now.worker = what.worker;
    seen->now.generation = what.generation;
  }
  void connect(const connect_order&) override {
    seen->calls.push_back("connect");
  }
  final_ack fence(const fence_order& what) override {
    seen->calls.push_back("fence " + to_string(what.level));
    seen->in_fence();
    final_ack out;
    out.level = what.level;
    out.holds_state = true;
    return out;
  }
  void freeze(const std::string&) override { seen->calls.push_back("freeze"); }
  generation newest() const override { return seen->now.generation; }
  void tell(const command& what) override {
    seen->calls.push_back(to_string(what.kind));
  }
  void offer(const plan_offer&) override { seen->calls.push_back("offer"); }
  void fetch(const fetch_order&) override { seen->calls.push_back("fetch"); }
  gpu::step_progress drain() override {
    gpu::step_progress out = std::move(seen->progress);
    seen->progress = {};
    return out;
  }
  heartbeat now() const override { return seen->now; }
  void leave(const std::string& reason) override {
    seen->calls.push_back("leave " + reason);
  }
  /// It is done with what it left.
  static void left(const memory& of) { of.listener.left(); }
  std::shared_ptr<memory> seen;
};

/// A report as a test expects it.
struct words {
  std::string operator()(const worker_loaded&) { return "loaded"; }
  std::string operator()(const state_arrived&) { return "received"; }
  std::string operator()(const worker_ready&) { return "ready"; }
  std::string operator()(const final_ack& m) {
    return "ack " + to_string(m.level);
  }
  std::string operator()(const progress_report& m) {
    return "progress " + std::to_string(m.steps.size());
  }
  std::string operator()(const evaluation_report&) { return "evaluated"; }
  std::string operator()(const worker_paused&) { return "paused"; }
  std::string operator()(const worker_finished&) { return "finished"; }
  std::string operator()(const worker_failed& m) {
    return "failed " + m.message;
  }
  std::string operator()(const state_copied&) { return "copied"; }
  std::string operator()(const chunks_fetched&) { return "fetched"; }
  std::string operator()(const parameters_digested&) { return "digested"; }
  std::string operator()(const leaves_contradicted&) { return "contradicted"; }
};

/// A coordinator that writes down what it hears.
struct heard {
  std::vector<std::string> lines;
  errc refuse = errc::none;
  uint32_t heartbeat_ms = 200;
  std::function<void()> on_beat = [] {};
  std::function<void()> on_ack = [] {};
};

coordinator_actor::behavior_type
played_coordinator(coordinator_actor::pointer self,
                   std::shared_ptr<heard> notes) {
  (void)self;
  auto note = [notes](std::string line) { notes->lines.push_back(line); };
  return {
      [=](hello_atom, const worker_hello& hello,
          const gpu_worker_actor&) -> caf::result<welcome> {
        if (notes->refuse != errc::none)
          return to_error({notes->refuse, "go away", ""});
        note("hello " + hello.name);
        return welcome{worker_id{4}, 1, term{2}, notes->heartbeat_ms};
      },
      [=](const heartbeat& m) {
        const std::string trouble = describe(m.trouble);
        note("alive " + to_string(m.worker) +
             (trouble.empty() ? "" : ", " + trouble));
        notes->on_beat();
      },
      [=](const worker_report& m) {
        note(std::visit(words(), m));
        if (std::holds_alternative<final_ack>(m))
          notes->on_ack();
      },
      [=](const fragment_ready& m) {
        note(to_string(m.worker) + " has not " + m.key + ": " + m.why);
      },
      [=](drain_atom, worker_id) { note("drain"); },
  };
}

class gpu_worker_test : public ::testing::Test, public actor_fixture {
protected:
  void start(bool once = false) {
    boss = keep(system.spawn(played_coordinator, notes));
    gpu_worker_config config;
    config.hello.name = "w1";
    config.once = once;
    config.make_engine = [this](engine_listener listener) {
      engine->listener = std::move(listener);
      return std::make_unique<played_engine>(engine);
    };
    config.device_trouble = [this] { return trouble; };
    config.heart_has_thread = false; // but virtual time
    config.probes = probes;
    config.on_exit = [this](int code, std::string reason) {
      exits.push_back(std::to_string(code) + " " + reason);
    };
    worker = keep(system.spawn<gpu_worker>(boss, config));
    caf::anon_send(worker, join_atom::value);
    run();
  }
  void assign(uint64_t gen = 1, uint64_t life = 2) {
    assignment order;
    order.term = term{life};
    order.generation = generation{gen};
    order.worker = worker_id{4};
    order.heartbeat_ms = 200;
    caf::anon_send(worker, order);
    run();
  }
  void tell(command_kind kind, uint64_t gen = 1, uint64_t life = 2) {
    caf::anon_send(worker,
                   command{term{life}, generation{gen}, kind, "because"});
    run();
  }

  std::shared_ptr<heard> notes = std::make_shared<heard>();
  std::shared_ptr<played_engine::memory> engine =
      std::make_shared<played_engine::memory>();
  std::shared_ptr<probe_slot> probes = std::make_shared<probe_slot>();
  device_trouble trouble;
  std::vector<std::string> exits;
  coordinator_actor boss;
  local_worker_actor worker;
};

using lines = std::vector<std::string>;

TEST_F(gpu_worker_test, says_hello_and_then_beats) {
  start();
  EXPECT_EQ(notes->lines, lines{"hello w1"});
  advance(400ms);
  EXPECT_EQ(notes->lines, (lines{"hello w1", "alive 4", "alive 4"}));
}

TEST_F(gpu_worker_test, says_in_every_beat_what_its_device_suffers_from) {
  start();
  trouble.add(device_cause::heat);
  trouble.celsius = 91;
  advance(200ms);
  trouble = {};
  advance(200ms);
  EXPECT_EQ(notes->lines,
            (lines{"hello w1", "alive 4, slowed down by heat (91 degrees)",
                   "alive 4"}));
}

TEST_F(gpu_worker_test, says_that_it_reads_no_files) {
  start();
  prepare_fragment order;
  order.term = term{2};
  order.key = "these";
  caf::anon_send(worker, order);
  run();
  EXPECT_EQ(notes->lines,
            (lines{"hello w1", "4 has not these: it reads no files"}));
  order.term = term{1};
  caf::anon_send(worker, order);
  run();
  EXPECT_EQ(notes->lines.size(), 2u) << "of an earlier coordinator";
}

TEST_F(gpu_worker_test, ends_with_the_reason_when_it_is_refused) {
  notes->refuse = errc::name_taken;
  start();
  EXPECT_EQ(exits, lines{"1 go away"});
}

TEST_F(gpu_worker_test, ends_when_the_coordinator_is_gone) {
  start();
  caf::anon_send_exit(boss, caf::exit_reason::kill);
  run();
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].substr(0, 25), "1 the coordinator is gone");
}

TEST_F(gpu_worker_test, reports_applied_steps_before_what_follows_them) {
  start();
  assign();
  engine->progress.steps.resize(3);
  engine->progress.timings.resize(3);
  engine->listener.report(worker_finished{});
  run();
  EXPECT_EQ(notes->lines, (lines{"hello w1", "progress 3", "finished"}));
}

TEST_F(gpu_worker_test, reports_applied_steps_within_a_tick) {
  start();
  assign();
  engine->progress.steps.resize(2);
  engine->progress.timings.resize(2);
  advance(25ms);
  EXPECT_EQ(notes->lines, (lines{"hello w1", "progress 2"}));
}

TEST_F(gpu_worker_test, counts_what_the_collective_sent) {
  start();
  assign();
  engine->progress.bytes_sent = 1234;
  advance(25ms);
  EXPECT_NE(probes->get()->text().find(" 1234"), std::string::npos);
}

TEST_F(gpu_worker_test, drops_orders_of_an_earlier_coordinator_or_generation) {
  start();
  assign(3, 5);
  tell(command_kind::pause, 3, 4);
  tell(command_kind::pause, 2, 5);
  EXPECT_EQ(engine->calls, lines{"load 3"});
  tell(command_kind::pause, 3, 5);
  EXPECT_EQ(engine->calls, (lines{"load 3", "pause"}));
}

TEST_F(gpu_worker_test, waits_for_the_next_job_after_a_release) {
  start();
  assign();
  tell(command_kind::release);
  EXPECT_EQ(engine->calls, (lines{"load 1", "leave because"}));
  EXPECT_TRUE(exits.empty());
  assign(2);
  EXPECT_EQ(engine->calls.back(), "load 2");
}

TEST_F(gpu_worker_test, leaves_after_one_job_when_asked_to) {
  start(true);
  assign();
  tell(command_kind::release);
  EXPECT_EQ(exits, lines{"0 because"});
}

TEST_F(gpu_worker_test, leaves_with_an_error_when_the_run_is_abandoned) {
  start(true);
  assign();
  tell(command_kind::abandon);
  EXPECT_EQ(exits, lines{"1 because"});
}

TEST_F(gpu_worker_test, says_hello_as_a_new_worker_once_its_state_is_gone) {
  start();
  assign();
  tell(command_kind::expel);
  EXPECT_EQ(engine->calls.back(), "leave because");
  EXPECT_EQ(notes->lines, lines{"hello w1"});
  played_engine::left(*engine);
  run();
  EXPECT_EQ(notes->lines, (lines{"hello w1", "hello w1"}));
}

TEST_F(gpu_worker_test, sends_no_heartbeat_while_nobody_listens) {
  start();
  assign();
  advance(200ms);
  EXPECT_EQ(notes->lines.back(), "alive 4");
  const size_t heard = notes->lines.size();
  notes->refuse = errc::unreachable;
  caf::anon_send_exit(boss, caf::exit_reason::kill);
  advance(600ms);
  EXPECT_EQ(notes->lines.size(), heard);
}

// Method: a fence that ends only after heartbeats that were sent meanwhile.
TEST(gpu_worker_threads, beats_while_an_order_takes_its_time) {
  auto notes = std::make_shared<heard>();
  auto engine = std::make_shared<played_engine::memory>();
  std::latch beats(3);
  std::promise<void> joined;
  std::promise<void> answered;
  notes->heartbeat_ms = 5;
  notes->on_beat = [&, left = 4]() mutable {
    if (left == 4)
      joined.set_value();
    else if (left > 0)
      beats.count_down();
    --left;
  };
  notes->on_ack = [&] { answered.set_value(); };
  engine->in_fence = [&] { beats.wait(); };
  // It ends before what its actors call.
  system_config about;
  caf::actor_system system(about);
  auto boss = system.spawn(played_coordinator, notes);
  gpu_worker_config config;
  config.hello.name = "w1";
  config.make_engine = [&](engine_listener) {
    return std::make_unique<played_engine>(engine);
  };
  config.on_exit = [](int, const std::string&) {};
  auto worker = system.spawn<gpu_worker, caf::detached>(boss, config);
  caf::anon_send(worker, join_atom::value);
  joined.get_future().wait();
  fence_order order;
  order.term = term{2};
  caf::anon_send(worker, order);
  answered.get_future().wait();
  caf::anon_send_exit(worker, caf::exit_reason::kill);
  caf::anon_send_exit(boss, caf::exit_reason::kill);
}

} // namespace
} // namespace ballast::actors
