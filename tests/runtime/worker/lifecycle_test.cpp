// Goal: what a worker does about every order and every piece of news, in every
// state. Method: one table; what it does not list does nothing.
#include "runtime/worker/lifecycle.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ballast::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr generation now_gen{3};
constexpr generation next_gen{4};

assignment order_of(generation of, bool beside = false) {
  assignment out;
  out.run = "run-1";
  out.worker = worker_id{7};
  out.generation = of;
  out.beside = beside;
  return out;
}

connect_order connect_to(generation of) {
  connect_order out;
  out.generation = of;
  return out;
}

fence_order fence_up_to(generation level) {
  fence_order out;
  out.level = level;
  out.reason = "a peer is gone";
  return out;
}

command tell(command_kind kind, generation of = now_gen) {
  command out;
  out.kind = kind;
  out.generation = of;
  return out;
}

plan_offer offer_of(generation of) {
  plan_offer out;
  out.what.number = plan_number{9};
  out.what.generation = of;
  return out;
}

fetch_order fetch_for(generation of) {
  fetch_order out;
  out.number = plan_number{9};
  out.generation = of;
  return out;
}

worker_failed failure_of(errc code) {
  worker_failed out;
  out.code = code;
  return out;
}

chunks_fetched fetched(plan_number number) {
  chunks_fetched out;
  out.number = number;
  return out;
}

/// An action as the table writes it.
struct words {
  std::string operator()(const load_share& a) {
    return "load " + to_string(a.order.generation);
  }
  std::string operator()(const load_beside& a) {
    return "load beside " + to_string(a.order.generation);
  }
  std::string operator()(const join_ranks& a) {
    return "join " + to_string(a.order.generation);
  }
  std::string operator()(const join_beside& a) {
    return "join beside " + to_string(a.order.generation);
  }
  std::string operator()(const stop_generations&) { return "stop"; }
  std::string operator()(const drop_run&) { return "drop"; }
  std::string operator()(const answer_leave&) { return "answer"; }
  std::string operator()(const post_command& a) {
    return "post " + to_string(a.order.kind);
  }
  std::string operator()(const post_plan& a) {
    return "post plan " + to_string(a.pending.number);
  }
  std::string operator()(const inject_fault& a) {
    return "inject " + to_string(a.order.kind);
  }
  std::string operator()(const forget_steps&) { return "forget steps"; }
  std::string operator()(const copy_chunks&) { return "copy"; }
  std::string operator()(const end_process&) { return "end"; }
  std::string operator()(const send_report& a) {
    return std::visit(
        [](const auto& what) {
          std::string of;
          if constexpr (requires { what.generation; })
            of = to_string(what.generation);
          return "report " + kind(what) + " of " + of;
        },
        a.what);
  }

private:
  static std::string kind(const worker_loaded&) { return "loaded"; }
  static std::string kind(const state_arrived&) { return "received"; }
  static std::string kind(const worker_ready&) { return "ready"; }
  static std::string kind(const final_ack&) { return "ack"; }
  static std::string kind(const progress_report&) { return "progress"; }
  static std::string kind(const evaluation_report&) { return "evaluated"; }
  static std::string kind(const worker_paused&) { return "paused"; }
  static std::string kind(const worker_finished&) { return "finished"; }
  static std::string kind(const worker_failed&) { return "failed"; }
  static std::string kind(const state_copied&) { return "copied"; }
  static std::string kind(const chunks_fetched&) { return "fetched"; }
  static std::string kind(const parameters_digested&) { return "digested"; }
  static std::string kind(const leaves_contradicted&) { return "contradicted"; }
};

std::vector<std::string> in_words(const worker_actions& list) {
  std::vector<std::string> out;
  for (const worker_action& one : list)
    out.push_back(std::visit(words(), one));
  return out;
}

using event = std::function<worker_actions(worker_lifecycle&)>;

/// On a device that is lost with its process.
worker_lifecycle after(const std::vector<event>& events) {
  worker_lifecycle out(true);
  for (const event& one : events)
    (void)one(out);
  return out;
}

// -- the rows and columns of the table

event assign(assignment order) {
  return [order](worker_lifecycle& in) { return in.on_assignment(order); };
}
event connect(generation of) {
  return [of](worker_lifecycle& in) { return in.on_connect(connect_to(of)); };
}
event fence(generation level) {
  return
      [level](worker_lifecycle& in) { return in.on_fence(fence_up_to(level)); };
}
event loaded(generation of) {
  return [of](worker_lifecycle& in) { return in.on_loaded(of, "c", "d"); };
}
event report(worker_report what) {
  return [what](worker_lifecycle& in) { return in.on_report(what); };
}
event leave() {
  return [](worker_lifecycle& in) { return in.leave("released"); };
}
event command_of(command what) {
  return [what](worker_lifecycle& in) { return in.on_command(what); };
}
event switched() {
  return [](worker_lifecycle& in) {
    (void)in.on_switched();
    return worker_actions{};
  };
}

std::vector<event> operator+(std::vector<event> all, event one) {
  all.push_back(std::move(one));
  return all;
}

std::vector<std::pair<std::string, std::vector<event>>> states() {
  const std::vector<event> idle;
  const auto loading = idle + assign(order_of(now_gen));
  const auto listening = loading + loaded(now_gen);
  const auto joining = listening + connect(now_gen);
  const auto stepping = joining + report(worker_ready{});
  const auto beside_loading = stepping + assign(order_of(next_gen, true));
  const auto beside_listening = beside_loading + loaded(next_gen);
  const auto beside_joining = beside_listening + connect(next_gen);
  return {{"idle", idle},
          {"loading", loading},
          {"listening", listening},
          {"joining", joining},
          {"stepping", stepping},
          {"stepping, next loading", beside_loading},
          {"stepping, next listening", beside_listening},
          {"stepping, next joining", beside_joining},
          {"fenced", stepping + fence(now_gen)},
          {"fenced as of the past", stepping + fence(generation{2})},
          {"leaving", stepping + leave()},
          {"leaving, then loading",
           stepping + leave() + assign(order_of(next_gen))},
          {"lost", stepping + report(failure_of(errc::device_failed))}};
}

std::vector<std::pair<std::string, event>> events() {
  assignment seed = order_of(next_gen);
  seed.from_seed = true;
  assignment other = order_of(next_gen);
  other.run = "run-2";
  return {
      {"assignment of the past", assign(order_of(generation{2}))},
      {"assignment again", assign(order_of(now_gen))},
      {"assignment", assign(order_of(next_gen))},
      {"assignment beside", assign(order_of(next_gen, true))},
      {"assignment from the seed", assign(seed)},
      {"assignment of another run", assign(other)},
      {"connect", connect(now_gen)},
      {"connect the next", connect(next_gen)},
      {"fence", fence(now_gen)},
      {"fence all", fence(generation{9})},
      {"fence of the past", fence(generation{2})},
      {"pause", command_of(tell(command_kind::pause))},
      {"pause another", command_of(tell(command_kind::pause, next_gen))},
      {"slow", command_of(tell(command_kind::slow))},
      {"recorded", command_of(tell(command_kind::recorded))},
      {"plan",
       [](worker_lifecycle& in) { return in.on_plan(offer_of(now_gen)); }},
      {"plan of the next",
       [](worker_lifecycle& in) { return in.on_plan(offer_of(next_gen)); }},
      {"plan of the past",
       [](worker_lifecycle& in) {
         return in.on_plan(offer_of(generation{2}));
       }},
      {"fetch",
       [](worker_lifecycle& in) { return in.on_fetch(fetch_for(now_gen)); }},
      {"fetch another",
       [](worker_lifecycle& in) { return in.on_fetch(fetch_for(next_gen)); }},
      {"leave", leave()},
      {"loaded", loaded(now_gen)},
      {"loaded the next", loaded(next_gen)},
      {"load failed",
       [](worker_lifecycle& in) {
         return in.on_load_failed(now_gen, failure_of(errc::unreachable));
       }},
      {"load of the next failed",
       [](worker_lifecycle& in) {
         return in.on_load_failed(next_gen, failure_of(errc::unreachable));
       }},
      {"ready", report(worker_ready{})},
      {"switched", switched()},
      {"paused", report(worker_paused{})},
      {"evaluated", report(evaluation_report{})},
      {"finished", report(worker_finished{})},
      {"copied", report(state_copied{})},
      {"failed", report(failure_of(errc::collective_failed))},
      {"device failed", report(failure_of(errc::device_failed))},
      {"fetched",
       [](worker_lifecycle& in) { return in.on_fetched(fetched({})); }},
      {"dropped", [](worker_lifecycle& in) { return in.on_dropped(); }},
  };
}

std::string state_of(const worker_lifecycle& what) {
  std::string out = what.state();
  if (const assignment* here = what.present())
    out += " " + to_string(here->generation);
  if (const assignment* next = what.next())
    out += " beside " + to_string(next->generation);
  return out;
}

/// "STATE | EVENT: actions -> state", of all pairs that do anything.
std::vector<std::string> table() {
  std::vector<std::string> out;
  for (const auto& [name, before] : states())
    for (const auto& [what, happens] : events()) {
      worker_lifecycle one = after(before);
      const std::string was = state_of(one);
      std::string line;
      for (const std::string& action : in_words(happens(one)))
        line += (line.empty() ? " " : ", ") + action;
      if (state_of(one) != was)
        line += " -> " + state_of(one);
      if (!line.empty())
        out.push_back(name + " | " + what + ":" + line);
    }
  return out;
}

TEST(worker_lifecycle, does_this_about_every_event_in_every_state) {
  const std::vector<std::string> expected = {
      "idle | assignment of the past: load 2 -> loading 2",
      "idle | assignment again: load 3 -> loading 3",
      "idle | assignment: load 4 -> loading 4",
      "idle | assignment beside: load 4 -> loading 4",
      "idle | assignment from the seed: load 4 -> loading 4",
      "idle | assignment of another run: load 4 -> loading 4",
      "idle | leave: answer",
      "loading | assignment: stop, load 4 -> loading 4",
      "loading | assignment beside: stop, load 4 -> loading 4",
      "loading | assignment from the seed: drop -> leaving",
      "loading | assignment of another run: drop -> leaving",
      "loading | fence: stop -> fenced 3",
      "loading | fence all: stop -> fenced 3",
      "loading | fence of the past: stop -> fenced 3",
      "loading | slow: inject slow",
      "loading | recorded: forget steps",
      "loading | leave: drop -> leaving",
      "loading | loaded: report loaded of 3 -> listening 3",
      "loading | load failed: report failed of 3",
      "listening | assignment: stop, load 4 -> loading 4",
      "listening | assignment beside: stop, load 4 -> loading 4",
      "listening | assignment from the seed: drop -> leaving",
      "listening | assignment of another run: drop -> leaving",
      "listening | connect: join 3 -> joining 3",
      "listening | fence: stop -> fenced 3",
      "listening | fence all: stop -> fenced 3",
      "listening | fence of the past: stop -> fenced 3",
      "listening | pause: post pause",
      "listening | slow: inject slow",
      "listening | recorded: forget steps",
      "listening | plan: post plan 9",
      "listening | plan of the next: post plan 9",
      "listening | fetch: copy",
      "listening | leave: drop -> leaving",
      "listening | load failed: report failed of 3",
      "joining | assignment: stop, load 4 -> loading 4",
      "joining | assignment beside: stop, load 4 -> loading 4",
      "joining | assignment from the seed: drop -> leaving",
      "joining | assignment of another run: drop -> leaving",
      "joining | fence: stop -> fenced 3",
      "joining | fence all: stop -> fenced 3",
      "joining | fence of the past: stop -> fenced 3",
      "joining | pause: post pause",
      "joining | slow: inject slow",
      "joining | recorded: forget steps",
      "joining | plan: post plan 9",
      "joining | plan of the next: post plan 9",
      "joining | fetch: copy",
      "joining | leave: drop -> leaving",
      "joining | load failed: report failed of 3",
      "joining | ready: report ready of 3 -> stepping 3",
      "joining | paused: report paused of 3",
      "joining | evaluated: report evaluated of 3",
      "joining | finished: report finished of 3",
      "joining | copied: report copied of 3",
      "joining | failed: report failed of 3",
      "joining | device failed: end -> lost",
      "stepping | assignment: stop, load 4 -> loading 4",
      "stepping | assignment beside: load beside 4 -> stepping 3 beside 4",
      "stepping | assignment from the seed: drop -> leaving",
      "stepping | assignment of another run: drop -> leaving",
      "stepping | fence: stop -> fenced 3",
      "stepping | fence all: stop -> fenced 3",
      "stepping | fence of the past: stop -> fenced 3",
      "stepping | pause: post pause",
      "stepping | slow: inject slow",
      "stepping | recorded: forget steps",
      "stepping | plan: post plan 9",
      "stepping | plan of the next: post plan 9",
      "stepping | fetch: copy",
      "stepping | leave: drop -> leaving",
      "stepping | load failed: report failed of 3",
      "stepping | ready: report ready of 3",
      "stepping | paused: report paused of 3",
      "stepping | evaluated: report evaluated of 3",
      "stepping | finished: report finished of 3",
      "stepping | copied: report copied of 3",
      "stepping | failed: report failed of 3",
      "stepping | device failed: end -> lost",
      "stepping, next loading | assignment: stop, load 4 -> loading 4",
      "stepping, next loading | assignment from the seed: drop -> leaving",
      "stepping, next loading | assignment of another run: drop -> leaving",
      "stepping, next loading | fence: stop -> fenced 3",
      "stepping, next loading | fence all: stop -> fenced 3",
      "stepping, next loading | fence of the past: stop -> fenced 3",
      "stepping, next loading | pause: post pause",
      "stepping, next loading | slow: inject slow",
      "stepping, next loading | recorded: forget steps",
      "stepping, next loading | plan: post plan 9",
      "stepping, next loading | plan of the next: post plan 9",
      "stepping, next loading | fetch: copy",
      "stepping, next loading | leave: drop -> leaving",
      "stepping, next loading | loaded the next: report loaded of 4",
      "stepping, next loading | load failed: report failed of 3",
      "stepping, next loading | load of the next failed: report failed of 4",
      "stepping, next loading | ready: report ready of 3",
      "stepping, next loading | paused: report paused of 3",
      "stepping, next loading | evaluated: report evaluated of 3",
      "stepping, next loading | finished: report finished of 3",
      "stepping, next loading | copied: report copied of 3",
      "stepping, next loading | failed: report failed of 3",
      "stepping, next loading | device failed: end -> lost",
      "stepping, next listening | assignment: stop, load 4 -> loading 4",
      "stepping, next listening | assignment from the seed: drop -> leaving",
      "stepping, next listening | assignment of another run: drop -> leaving",
      "stepping, next listening | connect the next: join beside 4",
      "stepping, next listening | fence: stop -> fenced 3",
      "stepping, next listening | fence all: stop -> fenced 3",
      "stepping, next listening | fence of the past: stop -> fenced 3",
      "stepping, next listening | pause: post pause",
      "stepping, next listening | slow: inject slow",
      "stepping, next listening | recorded: forget steps",
      "stepping, next listening | plan: post plan 9",
      "stepping, next listening | plan of the next: post plan 9",
      "stepping, next listening | fetch: copy",
      "stepping, next listening | leave: drop -> leaving",
      "stepping, next listening | load failed: report failed of 3",
      "stepping, next listening | load of the next failed: report failed of 4",
      "stepping, next listening | ready: report ready of 3",
      "stepping, next listening | paused: report paused of 3",
      "stepping, next listening | evaluated: report evaluated of 3",
      "stepping, next listening | finished: report finished of 3",
      "stepping, next listening | copied: report copied of 3",
      "stepping, next listening | failed: report failed of 3",
      "stepping, next listening | device failed: end -> lost",
      "stepping, next joining | assignment: stop, load 4 -> loading 4",
      "stepping, next joining | assignment from the seed: drop -> leaving",
      "stepping, next joining | assignment of another run: drop -> leaving",
      "stepping, next joining | fence: stop -> fenced 3",
      "stepping, next joining | fence all: stop -> fenced 3",
      "stepping, next joining | fence of the past: stop -> fenced 3",
      "stepping, next joining | pause: post pause",
      "stepping, next joining | slow: inject slow",
      "stepping, next joining | recorded: forget steps",
      "stepping, next joining | plan: post plan 9",
      "stepping, next joining | plan of the next: post plan 9",
      "stepping, next joining | fetch: copy",
      "stepping, next joining | leave: drop -> leaving",
      "stepping, next joining | load failed: report failed of 3",
      "stepping, next joining | load of the next failed: report failed of 4",
      "stepping, next joining | ready: report ready of 3",
      "stepping, next joining | switched: -> joining 4",
      "stepping, next joining | paused: report paused of 3",
      "stepping, next joining | evaluated: report evaluated of 3",
      "stepping, next joining | finished: report finished of 3",
      "stepping, next joining | copied: report copied of 3",
      "stepping, next joining | failed: report failed of 3",
      "stepping, next joining | device failed: end -> lost",
      "fenced | assignment: load 4 -> loading 4",
      "fenced | assignment beside: load 4 -> loading 4",
      "fenced | assignment from the seed: drop -> leaving",
      "fenced | assignment of another run: drop -> leaving",
      "fenced | slow: inject slow",
      "fenced | recorded: forget steps",
      "fenced | leave: drop -> leaving",
      "fenced as of the past | assignment again: load 3 -> loading 3",
      "fenced as of the past | assignment: load 4 -> loading 4",
      "fenced as of the past | assignment beside: load 4 -> loading 4",
      "fenced as of the past | assignment from the seed: drop -> leaving",
      "fenced as of the past | assignment of another run: drop -> leaving",
      "fenced as of the past | slow: inject slow",
      "fenced as of the past | recorded: forget steps",
      "fenced as of the past | leave: drop -> leaving",
      "leaving | dropped: answer -> idle",
      "leaving, then loading | dropped: answer, load 4 -> loading 4",
      "lost | leave: answer",
  };
  EXPECT_EQ(table(), expected);
}

// -- what takes more than one event -------------------------------------------

TEST(worker_lifecycle, frees_the_memory_of_one_run_before_it_loads_another) {
  worker_lifecycle one = after({assign(order_of(now_gen))});
  assignment other = order_of(next_gen);
  other.run = "run-2";
  EXPECT_THAT(in_words(one.on_assignment(other)), ElementsAre("drop"));
  EXPECT_FALSE(one.wants(now_gen));
  EXPECT_EQ(one.newest(), next_gen);
  EXPECT_THAT(in_words(one.on_dropped()), ElementsAre("load 4"));
  EXPECT_TRUE(one.wants(next_gen));
}

TEST(worker_lifecycle, answers_a_leave_before_it_loads_what_came_meanwhile) {
  worker_lifecycle one = after({assign(order_of(now_gen))});
  EXPECT_THAT(in_words(one.leave("released")), ElementsAre("drop"));
  EXPECT_THAT(one.on_assignment(order_of(next_gen)), IsEmpty());
  EXPECT_THAT(in_words(one.on_dropped()), ElementsAre("answer", "load 4"));
}

TEST(worker_lifecycle, forgets_what_came_meanwhile_if_that_is_fenced) {
  worker_lifecycle one = after({assign(order_of(now_gen)), leave(),
                                assign(order_of(next_gen)), fence(next_gen)});
  EXPECT_THAT(in_words(one.on_dropped()), ElementsAre("answer"));
  EXPECT_STREQ(one.state(), "idle");
}

TEST(worker_lifecycle, answers_two_leaves_once) {
  worker_lifecycle one = after({assign(order_of(now_gen)), leave(), leave()});
  EXPECT_THAT(in_words(one.on_dropped()), ElementsAre("answer"));
}

TEST(worker_lifecycle, takes_no_news_of_a_generation_that_was_fenced) {
  worker_lifecycle one = after(
      {assign(order_of(now_gen)), fence(now_gen), assign(order_of(next_gen))});
  EXPECT_THAT(one.on_loaded(now_gen, "c", "d"), IsEmpty());
  EXPECT_THAT(one.on_load_failed(now_gen, failure_of(errc::unreachable)),
              IsEmpty());
  EXPECT_THAT(in_words(one.on_loaded(next_gen, "c", "d")),
              ElementsAre("report loaded of 4"));
}

// Whoever waits for a state in a generation beside others trains nowhere yet:
// another attempt is not beside anything of its own.
TEST(worker_lifecycle, begins_anew_after_an_attempt_to_join_that_led_nowhere) {
  worker_lifecycle one = after(
      {assign(order_of(now_gen, true)), loaded(now_gen), connect(now_gen)});
  EXPECT_THAT(in_words(one.on_assignment(order_of(next_gen, true))),
              ElementsAre("stop", "load 4"));
  EXPECT_THAT(one.on_report(failure_of(errc::collective_failed)), IsEmpty());
}

TEST(worker_lifecycle, is_in_the_next_generation_after_the_switch) {
  worker_lifecycle one = after(states()[7].second);
  EXPECT_TRUE(one.on_switched());
  EXPECT_FALSE(one.on_switched());
  EXPECT_FALSE(one.wants(now_gen));
  EXPECT_THAT(in_words(one.on_report(worker_ready{})),
              ElementsAre("report ready of 4"));
  EXPECT_EQ(state_of(one), "stepping 4");
}

TEST(worker_lifecycle, fills_in_who_reports_and_of_what) {
  worker_lifecycle one = after(states()[4].second);
  const worker_actions list =
      one.on_report(worker_paused{{}, {}, step_number{5}});
  ASSERT_EQ(list.size(), 1u);
  const auto& said =
      std::get<worker_paused>(std::get<send_report>(list[0]).what);
  EXPECT_EQ(said.worker, worker_id{7});
  EXPECT_EQ(said.generation, now_gen);
  EXPECT_EQ(said.step, step_number{5});
}

TEST(worker_lifecycle, reports_only_the_copy_that_is_still_wanted) {
  worker_lifecycle one = after(states()[4].second);
  EXPECT_THAT(in_words(one.on_fetch(fetch_for(now_gen))), ElementsAre("copy"));
  fetch_order later = fetch_for(now_gen);
  later.number = plan_number{10};
  EXPECT_THAT(in_words(one.on_fetch(later)), ElementsAre("copy"));
  EXPECT_FALSE(one.wants_copy(plan_number{9}));
  EXPECT_THAT(one.on_fetched(fetched(plan_number{9})), IsEmpty());
  EXPECT_THAT(in_words(one.on_fetched(fetched(plan_number{10}))),
              ElementsAre("report fetched of 0"));
  EXPECT_THAT(in_words(one.on_fetch(later)), ElementsAre("copy"));
  (void)one.on_fence(fence_up_to(now_gen));
  EXPECT_FALSE(one.wants_copy(plan_number{10}));
  EXPECT_THAT(one.on_fetched(fetched(plan_number{10})), IsEmpty());
}

TEST(worker_lifecycle, reports_a_device_that_others_may_still_use) {
  worker_lifecycle one; // as the CPU is
  const std::vector<event> stepping = states()[4].second;
  for (const event& happens : stepping)
    (void)happens(one);
  EXPECT_THAT(in_words(one.on_report(failure_of(errc::device_failed))),
              ElementsAre("report failed of 3"));
}

TEST(worker_lifecycle, vouches_for_nothing_that_is_on_its_way_out) {
  std::map<std::string, bool> may;
  for (const auto& [name, before] : states())
    may[name] = after(before).may_hold_state();
  EXPECT_TRUE(may["loading"] && may["stepping"] && may["fenced"]);
  EXPECT_FALSE(may["idle"] || may["leaving"] || may["lost"] ||
               may["leaving, then loading"]);
}

TEST(worker_lifecycle, knows_the_newest_generation_it_heard_of) {
  EXPECT_EQ(after(states()[5].second).newest(), next_gen);
  EXPECT_EQ(after({fence(generation{9})}).newest(), generation{9});
  EXPECT_EQ(after(states()[11].second).newest(), next_gen);
}

} // namespace
} // namespace ballast::worker
