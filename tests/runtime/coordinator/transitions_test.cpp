// Goal: every event and every request in every state of a run does what the
// table says, and nothing is left open. Method: a coordinator is brought into
// each state, and one fitting instance of each event is played; the table is
// the expectation, and the diagram in docs/architecture.md is drawn from it.
#include "coordinator_driver.hpp"
#include "tests/source_root.hpp"
#include "transitions_table.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;

// -- a coordinator in each state ----------------------------------------------

using stage = std::unique_ptr<driver>;

stage nodes_are_here(std::vector<std::string> names) {
  auto out = std::make_unique<driver>();
  for (const std::string& name : names)
    out->join(name);
  return out;
}

stage submitted(uint32_t workers) {
  stage out = nodes_are_here({"w1", "w2"});
  job what = small_job(workers);
  what.train.epochs = 100;
  what.faults = true;
  out->core.submit(what, "test-1", term{1});
  return out;
}

stage in_opening() {
  stage out = submitted(2);
  auto place = pick<balance::place_shares>(
      out->core.take(data_prepared{out->set()}, out->now));
  out->workers = place.at(0).workers;
  std::vector<share_summary> counts;
  for (worker_id who : out->workers)
    counts.push_back({who, 0, 0});
  out->core.take(shares_placed{out->first(place[0]), counts}, out->now);
  return out;
}

stage in_training() {
  stage out = in_opening();
  out->join_ranks();
  out->apply_steps(2);
  return out;
}

stage in_fence() {
  stage out = in_training();
  out->core.take(connection_lost{out->workers[1], closed}, out->now);
  return out;
}

/// Behind a fence.
stage in_opening_again() {
  stage out = in_fence();
  auto place = pick<balance::place_shares>(out->recover(step_number{2}));
  placed_shares placed = balance::place(out->chunks(), 0.1, place.at(0));
  out->core.take(shares_placed{placed.what, placed.shares}, out->now);
  return out;
}

stage in_change() {
  stage out = in_training();
  out->join("w3");
  auto place =
      pick<balance::place_shares>(out->core.take(clock_tick{}, out->now));
  placed_shares placed = balance::place(out->chunks(), 0.1, place.at(0));
  out->core.take(shares_placed{placed.what, placed.shares}, out->now);
  return out;
}

stage in_pause() {
  stage out = in_training();
  out->core.ask(pause_request{});
  for (worker_id who : out->workers)
    out->core.take(worker_paused{who, generation{1}, step_number{2}}, out->now);
  return out;
}

stage in_finish() {
  stage out = in_training();
  out->core.ask(stop_run{});
  for (worker_id who : out->workers)
    out->core.take(
        worker_finished{who, generation{1}, step_number{2}, true, "sha"});
  return out;
}

stage in_publishing() {
  stage out = in_training();
  out->core.take(state_copied{out->workers[0], generation{1}, step_number{2}});
  out->core.take(
      checkpoint_written{*out->core.run().copies.on_its_way(), "step-2", {}},
      out->now);
  for (worker_id who : out->workers)
    out->core.take(connection_lost{who, closed}, out->now);
  out->core.ask(stop_run{});
  return out;
}

stage in_end() {
  stage out = in_training();
  out->core.take(outside_trouble{{errc::internal, "trouble", {}}});
  return out;
}

const std::map<std::string, std::function<stage()>> stages{
    {"idle",
     [] {
       return nodes_are_here({"w1", "w2"});
     }},
    {"preparing", [] { return submitted(2); }},
    {"waiting",
     [] {
       stage out = submitted(3);
       out->core.take(data_prepared{out->set()}, out->now);
       return out;
     }},
    {"opening", in_opening},
    {"reopening", in_opening_again},
    {"training", in_training},
    {"changing", in_change},
    {"paused", in_pause},
    {"fenced", in_fence},
    {"finishing", in_finish},
    {"publishing", in_publishing},
    {"ended", in_end},
};

// -- one fitting instance of each event ---------------------------------------

/// What an event may name.
struct scene {
  driver& d;
  worker_id who{1};     // the first member, or the first node
  generation gen{1};    // the one in force
  ledger::plan current; // likewise
  uint32_t ranks = 1;

  explicit scene(driver& of) : d(of) {
    if (const generation_state* members = d.core.generation()) {
      who = members->workers.at(0);
      gen = members->number;
      current = members->current;
      ranks = uint32_t(members->workers.size());
    }
    for (const auto& [id, node] : d.core.nodes().all())
      if (node.connected && !d.core.generation())
        who = id;
  }
  /// Of the change, if one is under way.
  generation next() const {
    return d.core.change() ? d.core.change()->number : gen;
  }
  ledger::step_record step() const {
    return {step_number{3}, epoch_number{2}, current.number, 50, 2, 30};
  }
};

struct played {
  failure refused;
  actions then;
};

template <class Event>
played take(scene& in, Event what) {
  return {{}, in.d.core.take(std::move(what), in.d.now)};
}

template <class Request>
played ask(scene& in, Request what) {
  auto answer = in.d.core.ask(what, in.d.now);
  return {answer.refused, answer.then};
}

/// The same from every member.
template <class Report>
played take_all(scene& in, Report what) {
  played out;
  const generation_state* members = in.d.core.generation();
  const auto workers = members ? members->workers : std::vector{in.who};
  for (worker_id who : workers) {
    what.worker = who;
    for (action& one : in.d.core.take(what, in.d.now))
      out.then.push_back(std::move(one));
  }
  return out;
}

shares_placed placement(scene& in) {
  const membership_change* change = in.d.core.change();
  ledger::plan what = change ? change->offered : in.current;
  what.generation = in.next();
  std::vector<share_summary> shares;
  for (const ledger::share& one : what.shares)
    shares.push_back({one.worker, 0, 0});
  return {what, shares};
}

const std::map<std::string, std::function<played(scene&)>> events_played{
    {"hello",
     [](scene& in) {
       auto answer = in.d.join("w9");
       return played{answer.refused, answer.then};
     }},
    {"submit",
     [](scene& in) {
       auto answer = in.d.core.submit(small_job(2), "other", term{1});
       return played{answer.refused, answer.then};
     }},
    {"heartbeat",
     [](scene& in) {
       return take(in, heartbeat{in.who, in.gen});
     }},
    {"connection_lost",
     [](scene& in) {
       return take(in, connection_lost{in.who, closed});
     }},
    {"process_ended",
     [](scene& in) {
       return take(in, process_ended{in.d.core.name_of(in.who), killed_by(9)});
     }},
    {"leave_announced",
     [](scene& in) { return take(in, leave_announced{in.who}); }},
    {"data_prepared",
     [](scene& in) { return take(in, data_prepared{in.d.set()}); }},
    {"prepare_failed",
     [](scene& in) {
       return take(in, prepare_failed{{errc::internal, "no data", {}}});
     }},
    {"shares_placed", [](scene& in) { return take(in, placement(in)); }},
    {"no_room_found",
     [](scene& in) {
       return take(in, no_room_found{in.next(), {100, 50}});
     }},
    {"worker_loaded",
     [](scene& in) {
       return take_all(in, worker_loaded{in.who, in.gen, "c", "d"});
     }},
    {"worker_ready",
     [](scene& in) {
       return take_all(in, worker_ready{in.who, in.next(), step_number{2}});
     }},
    {"progress_report",
     [](scene& in) {
       progress_report report;
       report.generation = in.gen;
       report.steps = {in.step()};
       return take_all(in, report);
     }},
    {"evaluation_report",
     [](scene& in) {
       return take(in, evaluation_report{in.who, in.gen, step_number{2},
                                         epoch_number{1}});
     }},
    {"state_arrived",
     [](scene& in) {
       return take(in, state_arrived{in.who, in.gen, 4096, 1000});
     }},
    {"worker_paused",
     [](scene& in) {
       return take_all(in, worker_paused{in.who, in.gen, step_number{2}});
     }},
    {"worker_finished",
     [](scene& in) {
       return take_all(
           in, worker_finished{in.who, in.gen, step_number{2}, true, ""});
     }},
    {"collective_failed",
     [](scene& in) {
       return take(
           in, worker_failed{
                   in.who, in.gen, errc::collective_failed, "broken", {}, {}});
     }},
    {"worker_failed",
     [](scene& in) {
       return take(in,
                   worker_failed{
                       in.who, in.gen, errc::device_failed, "broken", {}, {}});
     }},
    {"final_ack",
     [](scene& in) {
       return take(in, final_ack{in.who, in.gen, true, step_number{2}, {}, {}});
     }},
    {"state_copied",
     [](scene& in) {
       return take(in, state_copied{in.who, in.gen, step_number{2}});
     }},
    {"digested",
     [](scene& in) {
       return take(in, parameters_digested{
                           in.who, in.gen, step_number{50}, {"weight"}, {7}});
     }},
    {"contradicted",
     [](scene& in) {
       return take(in, leaves_contradicted{in.who,
                                           in.gen,
                                           step_number{2},
                                           {{.leaf = 1,
                                             .owner = 0,
                                             .checker = in.ranks > 1 ? 1U : 0U,
                                             .of_owner = 7,
                                             .of_checker = 8,
                                             .owner_again = 8,
                                             .checker_again = 8}}});
     }},
    {"checkpoint_written",
     [](scene& in) {
       return take(in, checkpoint_written{{}, "file", {}});
     }},
    {"memory_opened", [](scene& in) { return take(in, memory_opened{}); }},
    {"memory_gone", [](scene& in) { return take(in, memory_gone{}); }},
    {"chunks_fetched",
     [](scene& in) {
       chunks_fetched done;
       done.worker = in.who;
       done.generation = in.gen;
       return take(in, done);
     }},
    {"balance_answer",
     [](scene& in) { return take(in, balance::balance_answer{}); }},
    {"saved_model", [](scene& in) { return take(in, saved_model{}); }},
    {"outside_trouble",
     [](scene& in) {
       return take(in, outside_trouble{{errc::disk_full, "full", {}}});
     }},
    {"clock_tick", [](scene& in) { return take(in, clock_tick{}); }},
    {"ask pause", [](scene& in) { return ask(in, pause_request{}); }},
    {"ask resume", [](scene& in) { return ask(in, resume_request{}); }},
    {"ask checkpoint", [](scene& in) { return ask(in, checkpoint_request{}); }},
    {"ask stop", [](scene& in) { return ask(in, stop_run{}); }},
    {"ask scale", [](scene& in) { return ask(in, scale_request{3}); }},
    {"ask drain",
     [](scene& in) {
       return ask(in, drain_request{in.d.core.name_of(in.who)});
     }},
    {"ask evict",
     [](scene& in) {
       return ask(in, evict_request{in.d.core.name_of(in.who)});
     }},
    {"ask balance",
     [](scene& in) {
       return ask(in, balance_request{true, {}});
     }},
    {"ask note", [](scene& in) { return ask(in, note_request{"a note"}); }},
    {"ask fault",
     [](scene& in) {
       return ask(in, injected_fault{in.d.core.name_of(in.who),
                                     command_kind::kill, 0});
     }},
};

/// As the table says it.
std::string outcome_of(const std::string& state, const std::string& event) {
  stage d = stages.at(state)();
  const std::string before(name_of(d->core.members().now()));
  const run_phase phase = d->core.phase();
  scene in(*d);
  const played got = events_played.at(event)(in);
  std::string after(name_of(d->core.members().now()));
  if (got.refused)
    return "refused";
  if (after != before)
    return after;
  if (d->core.phase() != phase)
    return ballast::to_string(d->core.phase());
  return got.then.empty() ? "-" : "acts";
}

/// A cell says where the event leads, "acts", "notes", or a reason why not.
bool agrees(const std::string& cell, const std::string& got) {
  if (reasons.contains(cell) || cell == "notes")
    return got == "-";
  return cell == got;
}

TEST(transitions, every_event_in_every_state_does_what_the_table_says) {
  size_t wrong = 0;
  for (const auto& [event, play] : events_played) {
    const auto row = rows().find(event);
    ASSERT_NE(row, rows().end()) << event << " has no row";
    for (const std::string& state : states()) {
      const std::string got = outcome_of(state, event);
      const std::string cell = row->second.at(state);
      if (!agrees(cell, got)) {
        ++wrong;
        ADD_FAILURE() << event << " in " << state << ": " << got
                      << ", the table says " << cell;
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(rows().size(), events_played.size());
}

TEST(transitions, table_names_every_state_and_every_event) {
  // A state or an event that is added has to be added here, too.
  EXPECT_EQ(std::variant_size_v<membership_state>, 9u);
  EXPECT_EQ(std::variant_size_v<coordinator_event>, 28u);
  // Two ways to open, three to train; failures of two kinds, hello and submit.
  EXPECT_EQ(states().size(), 9u + 1 + 2);
  EXPECT_EQ(rows().size(), 28u + 10 + 1 + 2);
}

TEST(transitions, diagram_in_the_documentation_is_that_of_the_table) {
  std::ifstream file(source_root() / "docs/architecture.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(diagram()), std::string::npos)
      << "docs/architecture.md should contain:\n"
      << diagram();
}

} // namespace
} // namespace ballast::coordinator
