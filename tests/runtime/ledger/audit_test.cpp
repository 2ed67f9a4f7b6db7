#include "runtime/ledger/audit.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

namespace ballast::ledger {
namespace {

using namespace ballast::testing;

/// A run with all its records, as real processes would have left them: made by
/// a simulation of the workers, not by the audit's own replay.
struct recorded {
  manifest set;
  audit_input input;
  std::vector<step_line> steps;
  struct owned_trace {
    trace_line line;
    std::vector<uint64_t> ids;
  };
  std::vector<owned_trace> traces;

  audit_report check() {
    input.set = &set;
    audit all(input);
    for (const step_line& line : steps)
      all.step(line);
    for (owned_trace& one : traces) {
      one.line.ids = one.ids;
      one.line.where = "trace/w1.1.jsonl line 1";
      all.trace(one.line);
    }
    return all.report();
  }
};

/// The second half of each chunk's rows weighs more.
void weigh(recorded& run, const sampling_spec& how, uint64_t seed) {
  run.set.order = row_layout::by_class;
  for (chunk_info& chunk : run.set.train)
    chunk.weights = {{chunk.rows / 2, 1}, {chunk.rows - chunk.rows / 2, 3.5}};
  ledger_config& config = run.input.run.config;
  config.uses = epoch_uses::of(how, 3, seed, run.set);
  config.chunk_rows = config.uses->of_chunks();
}

/// 3 workers, rows in random order over chunks of 50, a plan switch in the
/// middle of epoch 1 and another where epoch 2 begins.
recorded make_run(uint64_t seed, uint64_t rows, uint64_t batch,
                  uint64_t steps_done, bool traced = true,
                  const sampling_spec& how = {}, uint32_t leaves = 0) {
  test_random random(seed);
  recorded out;
  std::vector<uint64_t> ids(rows);
  std::iota(ids.begin(), ids.end(), 0U);
  shuffle(ids, counter_random(seed, 1));
  uint64_t next_id = 0;
  for (uint32_t chunk_rows : chunks_of(rows, 50)) {
    chunk_info chunk;
    chunk.id = chunk_id(uint32_t(out.set.train.size()));
    chunk.rows = chunk_rows;
    for (uint32_t row = 0; row < chunk_rows; ++row)
      chunk.samples.push_back({ids[next_id++], 1});
    out.set.train.push_back(chunk);
    out.input.run.config.chunk_rows.push_back(chunk_rows);
  }
  out.set.train_rows = rows;
  if (how.is_weighted())
    weigh(out, how, seed);
  out.input.run.config.seed = seed;
  out.input.run.config.global_batch = batch;
  out.input.run.config.leaves = leaves;
  out.input.epochs = 3;
  out.input.traced = traced;

  auto pieces = cut_chunks(out.input.run.config.chunk_rows, 3, random);
  auto make_plan = [&](uint64_t number) {
    plan p = deal_pieces(pieces, workers_named(3), {3, 2, 1},
                         plan_number{number}, random);
    p.generation = generation{number};
    return p;
  };
  plan first = make_plan(1);
  out.input.run.plans.push_back({first, position{}});
  simulated_ranks all(out.input.run.config, first);
  uint64_t steps = all.book().steps_per_epoch();
  for (uint64_t step = 1; step <= steps_done; ++step) {
    if (step == steps / 2 + 1 || step == steps + 1) {
      plan p = make_plan(out.input.run.plans.size() + 1);
      out.input.run.plans.push_back({p, all.book().next()});
      EXPECT_EQ(all.switch_to(p), std::nullopt);
    }
    step_line line;
    line.at = all.book().next();
    const plan now = all.book().current();
    line.generation = now.generation;
    line.plan = now.number;
    line.world = now.shares.size();
    all.step();
    for (size_t rank = 0; rank < now.shares.size(); ++rank) {
      recorded::owned_trace one;
      one.line.worker = now.shares[rank].worker;
      one.line.generation = now.generation;
      one.line.plan = now.number;
      one.line.at = line.at;
      for (const row_ref& row : all.last_rows()[rank])
        one.ids.push_back(
            value(sample_at(out.set.train[value(row.chunk)], row.row)));
      line.samples += one.ids.size();
      if (traced)
        out.traces.push_back(one);
    }
    out.steps.push_back(line);
  }
  return out;
}

std::string text(const audit_report& report) {
  std::string out = std::to_string(report.problems) + " problems";
  for (const std::string& one : report.first_problems)
    out += "\n" + one;
  return out;
}

TEST(audit, finds_every_sample_once_in_a_whole_run) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    recorded run = make_run(seed, 407, 30, 3 * 14);
    audit_report report = run.check();
    EXPECT_TRUE(report.fine()) << text(report);
    sample_counts whole{3 * 407, 3 * 407, 0, 0};
    EXPECT_EQ(report.ledger, whole);
    EXPECT_EQ(report.traces, whole);
    EXPECT_EQ(report.counts(), whole);
    EXPECT_EQ(report.epochs_finished, 3U);
    EXPECT_EQ(report.steps_committed, 42U);
    EXPECT_EQ(report.trace_lines, 3U * 42);
  }
}

sampling_spec weighted() {
  sampling_spec out;
  out.kind = sampling_kind::weighted;
  return out;
}

TEST(audit, finds_every_use_of_a_weighted_run_once) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    recorded run = make_run(seed, 407, 30, 3 * 14, true, weighted());
    audit_report report = run.check();
    EXPECT_TRUE(report.fine()) << text(report);
    sample_counts whole{3 * 407, 3 * 407, 0, 0};
    EXPECT_EQ(report.ledger, whole);
    EXPECT_EQ(report.traces, whole);
  }
}

TEST(audit, finds_every_sample_of_order_global_once) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto how = seed % 2 == 0 ? weighted() : sampling_spec{};
    // Of one leaf two of the three workers are spares.
    recorded run = make_run(seed, 407, 30, 3 * 14, true, how, 1u << seed % 4);
    audit_report report = run.check();
    EXPECT_TRUE(report.fine()) << text(report);
    sample_counts whole{3 * 407, 3 * 407, 0, 0};
    EXPECT_EQ(report.ledger, whole);
    EXPECT_EQ(report.traces, whole);
  }
}

TEST(audit, names_a_worker_of_order_global_that_took_the_leaf_of_another) {
  recorded run = make_run(1, 407, 30, 42, true, {}, 8);
  std::swap(run.traces[0].ids, run.traces[1].ids);
  audit_report report = run.check();
  EXPECT_FALSE(report.fine());
  EXPECT_EQ(report.traces.once, 3U * 407);
  EXPECT_EQ(report.problems, 2U) << text(report);
}

TEST(audit, of_the_open_epoch_of_a_weighted_run_expects_what_was_used) {
  audit_report report = make_run(1, 407, 30, 20, true, weighted()).check();
  EXPECT_TRUE(report.fine()) << text(report);
  EXPECT_EQ(report.ledger, (sample_counts{407 + 180, 407 + 180, 0, 0}));
  EXPECT_EQ(report.traces, report.ledger);
}

TEST(audit, finds_a_use_too_many_and_one_too_few_of_a_weighted_run) {
  recorded run = make_run(1, 407, 30, 42, true, weighted());
  // Another sample than the ledger's, in a step of epoch 2.
  std::vector<uint64_t>& ids = run.traces[3 * 20].ids;
  ids.at(0) = ids.at(0) == 0 ? 1 : 0;
  audit_report report = run.check();
  EXPECT_FALSE(report.fine());
  EXPECT_EQ(report.ledger.once, 3U * 407);
  EXPECT_EQ(report.traces.lost, 1U);
  EXPECT_EQ(report.traces.repeated, 1U);
}

TEST(audit, does_without_traces_where_the_job_wrote_none) {
  audit_report report = make_run(1, 407, 30, 42, false).check();
  EXPECT_TRUE(report.fine()) << text(report);
  EXPECT_EQ(report.ledger, (sample_counts{3 * 407, 3 * 407, 0, 0}));
  EXPECT_EQ(report.counts(), report.ledger);
  EXPECT_FALSE(report.traced);
}

TEST(audit, checks_the_open_epoch_of_a_stopped_run_for_repeats_only) {
  audit_report report = make_run(1, 407, 30, 20).check();
  EXPECT_TRUE(report.fine()) << text(report);
  EXPECT_EQ(report.ledger, (sample_counts{407 + 180, 407 + 180, 0, 0}));
  EXPECT_EQ(report.traces, report.ledger);
  EXPECT_EQ(report.epochs_finished, 1U);
}

TEST(audit, ignores_attempts_that_did_not_commit) {
  recorded run = make_run(1, 407, 30, 20);
  // The step in flight at the end, and one tried under an earlier plan.
  recorded::owned_trace late = run.traces.back();
  late.line.at.step = step_number{21};
  recorded::owned_trace early = run.traces.back();
  early.line.plan = plan_number{1};
  run.traces.push_back(late);
  run.traces.push_back(early);
  audit_report report = run.check();
  EXPECT_TRUE(report.fine()) << text(report);
  EXPECT_EQ(report.attempt_lines, 2U);
}

/// Every change to one of the records is found, and `expected` is in the first
/// problem that is named.
void expect_found(const std::function<void(recorded&)>& tamper,
                  const std::string& expected, bool traced = true) {
  recorded run = make_run(3, 407, 30, 42, traced);
  ASSERT_TRUE(run.check().fine());
  tamper(run);
  audit_report report = run.check();
  EXPECT_FALSE(report.fine()) << expected;
  EXPECT_NE(text(report).find(expected), std::string::npos) << text(report);
}

TEST(audit, finds_a_changed_trace) {
  recorded plain = make_run(3, 407, 30, 42);
  uint64_t victim = plain.traces[10].ids[0];
  expect_found([](recorded& r) { r.traces[10].ids[0] = r.traces[9].ids[0]; },
               "missing, the first is sample " + std::to_string(victim));
  expect_found([](recorded& r) { r.traces[10].ids.pop_back(); },
               "samples, by the ledger");
  expect_found([](recorded& r) { r.traces[10].ids.push_back(406); },
               "1 others, the first is sample 406");
  expect_found([](recorded& r) { r.traces[10].ids[0] = UINT64_MAX; },
               "1 others, the first is sample 18446744073709551615");
  expect_found([](recorded& r) { r.traces.erase(r.traces.begin() + 10); },
               "traces: none of worker 2 for step 4");
  expect_found([](recorded& r) { r.traces.push_back(r.traces[10]); },
               "step 4 a second time");
  expect_found([](recorded& r) { r.traces[10].line.plan = plan_number{9}; },
               "traces: none of worker 2 for step 4");
  expect_found([](recorded& r) { r.traces[10].line.worker = worker_id{7}; },
               "worker 7 had no part in step 4");
  expect_found(
      [](recorded& r) { r.traces[10].line.at.epoch = epoch_number{2}; },
      "step 4 is of epoch 1, not 2");
  // Rows of the same worker swapped between two steps of an epoch.
  expect_found(
      [](recorded& r) { std::swap(r.traces[0].ids[0], r.traces[3].ids[0]); },
      "1 others");
}

TEST(audit, counts_what_traces_lost_and_repeated) {
  recorded run = make_run(3, 407, 30, 42);
  run.traces[10].ids[0] = run.traces[9].ids[0];
  audit_report report = run.check();
  EXPECT_EQ(report.ledger, (sample_counts{3 * 407, 3 * 407, 0, 0}));
  EXPECT_EQ(report.traces, (sample_counts{3 * 407, 3 * 407 - 2, 1, 1}));
  EXPECT_EQ(report.counts(), report.traces);
}

TEST(audit, finds_changed_steps) {
  for (bool traced : {false, true}) {
    auto found = [traced](const std::function<void(recorded&)>& tamper,
                          const std::string& expected) {
      expect_found(tamper, expected, traced);
    };
    found([](recorded& r) { r.steps.erase(r.steps.begin() + 10); },
          "steps.jsonl: after step 10 comes step 12");
    found([](recorded& r) { r.steps.erase(r.steps.begin() + 10); },
          "30 samples lost");
    found([](recorded& r) { r.steps.push_back(r.steps.back()); },
          "steps.jsonl: after step 42 comes step 42");
    found([](recorded& r) { std::swap(r.steps[4], r.steps[5]); },
          "steps.jsonl: after step 4 comes step 6");
    found([](recorded& r) { r.steps[4].samples = 31; },
          "step 5 has samples 31, by the ledger it is 30");
    found([](recorded& r) { r.steps[4].plan = plan_number{2}; },
          "step 5 has plan 2, by the ledger it is 1");
    found([](recorded& r) { r.steps[4].generation = generation{2}; },
          "step 5 has generation 2, by the ledger it is 1");
    found([](recorded& r) { r.steps[4].world = 2; },
          "step 5 has world 2, by the ledger it is 3");
    found([](recorded& r) { r.steps[4].at.epoch = epoch_number{3}; },
          "step 5 has epoch 3, by the ledger it is 1");
    found(
        [](recorded& r) {
          r.steps.push_back(r.steps.back());
          r.steps.back().at.step = step_number{43};
        },
        "step 43 is past the 3 epochs of the job");
    found([](recorded& r) { r.steps[4].at.step = step_number{UINT64_MAX}; },
          "after step 4 comes step 18446744073709551615");
  }
}

TEST(audit, finds_a_changed_ledger) {
  auto plans = [](recorded & r) -> auto& {
    return r.input.run.plans;
  };
  auto without_traces = [](const std::function<void(recorded&)>& tamper,
                           const std::string& expected) {
    expect_found(tamper, expected, false);
  };
  without_traces([&](recorded& r) { plans(r).erase(plans(r).begin() + 1); },
                 "step 8 has plan 2, by the ledger it is 1");
  without_traces(
      [&](recorded& r) {
        plans(r)[1].effective.step = next(plans(r)[1].effective.step);
      },
      "step 8 has plan 2, by the ledger it is 1");
  without_traces(
      [&](recorded& r) { plans(r)[1].effective.epoch = epoch_number{2}; },
      "plan 2 is said to begin at step 8 of epoch 2");
  without_traces(
      [&](recorded& r) { plans(r)[0].effective.step = step_number{2}; },
      "the first plan, 1, begins at step 2");
  without_traces([&](recorded& r) { plans(r).clear(); },
                 "no plan ever took effect");
  without_traces(
      [&](recorded& r) { plans(r)[1].body.shares[0].intervals.pop_back(); },
      "plan 2 cannot begin at step 8: nobody owns");
  // What only the workers' own records can tell.
  expect_found([&](recorded& r) { r.input.run.config.seed = 4; },
               "missing, the first is sample");
  expect_found(
      [&](recorded& r) { plans(r)[0].body.shares[0].batch_weight *= 2; },
      "samples, by the ledger");
  expect_found(
      [&](recorded& r) {
        auto& shares = plans(r)[0].body.shares;
        std::swap(shares[0].intervals.own().back(),
                  shares[1].intervals.own().back());
        for (share& part : shares)
          sort_intervals(part);
      },
      "missing, the first is sample");
}

TEST(audit, finds_a_changed_manifest) {
  expect_found(
      [](recorded& r) {
        r.set.train[1].samples[0] = r.set.train[0].samples[0];
      },
      "manifest: 407 rows hold only 406 of the sample ids 0 to 406", false);
  expect_found([](recorded& r) { r.set.train_rows = 400; },
               "manifest: 400 training rows, but the chunks have 407", false);
  expect_found(
      [](recorded& r) {
        std::swap(r.set.train[0].samples[0], r.set.train[1].samples[0]);
      },
      "missing, the first is sample");
}

TEST(audit, names_the_first_problems_and_counts_all) {
  recorded run = make_run(3, 407, 30, 42);
  uint64_t changed = 0;
  for (auto& trace : run.traces)
    if (!trace.ids.empty()) {
      trace.ids.pop_back();
      ++changed;
    }
  audit_report report = run.check();
  ASSERT_EQ(report.first_problems.size(), 7U) << text(report);
  EXPECT_EQ(report.first_problems[5],
            "traces: " + std::to_string(changed - 5) +
                " more lines with other samples than by the ledger");
  EXPECT_EQ(report.problems, changed + 1); // and the samples lost
  EXPECT_EQ(report.traces.lost, changed);
}

} // namespace
} // namespace ballast::ledger
