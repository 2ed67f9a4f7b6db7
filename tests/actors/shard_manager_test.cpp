// Goal: the shard manager prepares one set at a time, places it, and forgets
// it when told, also in the midst. Method: the real actor and its real thread
// on small synthetic sets.
#include "actors/shard_manager.hpp"

#include "actors/types.hpp"
#include "tests/store/temp_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ballast::actors {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s; // a deadlock, not slowness

job job_of(uint64_t rows) {
  const std::string text =
      R"({"data": {"train": {"format": "synthetic", "classes": 2,
             "rows": )" +
      std::to_string(rows) + R"(}, "test_fraction": 0, "chunk_rows": 10},
             "model": {"kind": "emulated"}})";
  return parse_job(text, {}, "/").value.value();
}

/// Of so many classes that a search for moves takes much longer than anything
/// else here.
job sorted_job() {
  return parse_job(R"({"data": {"train": {"format": "synthetic",
                                          "classes": 1000, "rows": 20000},
                       "placement": {"kind": "sorted"}, "test_fraction": 0,
                       "chunk_rows": 256},
                       "balance": {"skew_tv": 0},
                       "model": {"kind": "emulated"}})",
                   {}, "/")
      .value.value();
}

class shard_manager_test : public testing::Test {
protected:
  ~shard_manager_test() override {
    caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  }

  shard_manager_config config_of(std::chrono::milliseconds patience_of_it) {
    shard_manager_config out;
    out.cache_folder = folder_ / "cache";
    out.preparing_patience = patience_of_it;
    return out;
  }

  set_summary prepare(uint64_t rows) { return prepare(job_of(rows)); }
  set_summary prepare(const job& what) {
    self_->request(actor_, patience, prepare_set{what, "token"})
        .receive([&](const set_prepared& got) { prepared_ = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return prepared_.set;
  }

  /// Why there is no plan, or nothing.
  std::string lacks_set() {
    std::string out;
    self_
        ->request(actor_, patience,
                  balance::place_shares{generation{1},
                                        plan_number{1},
                                        {worker_id{1}},
                                        ledger::plan{},
                                        {}})
        .receive([&](const placed_shares&) {},
                 [&](const caf::error& why) { out = to_failure(why).message; });
    return out;
  }

  placed_shares place_within(const std::vector<worker_id>& workers,
                             const std::vector<uint64_t>& limits) {
    placed_shares out;
    self_
        ->request(actor_, patience,
                  balance::place_shares{generation{1}, plan_number{1}, workers,
                                        ledger::plan{}, limits})
        .receive([&](const placed_shares& got) { out = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return out;
  }
  ledger::plan place(const std::vector<worker_id>& workers) {
    return place_within(workers, {}).what;
  }

  /// The answer to a question of a user.
  template <class Request>
  control_reply ask(const Request& request) {
    control_reply out;
    self_->request(actor_, patience, request)
        .receive([&](const control_reply& got) { out = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return out;
  }
  template <class Request>
  std::string refusal_of(const Request& request) {
    return ask(request).refused.message;
  }
  template <class Request>
  nlohmann::json fields_of(const Request& request) {
    return std::get<balance_explained>(ask(request).answer).fields;
  }

  balance::balance_answer observe(const balance::load_view& view) {
    balance::balance_answer out;
    self_->request(actor_, patience, view)
        .receive([&](const balance::balance_answer& got) { out = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return out;
  }

  /// A run under this plan, in which nothing was measured yet.
  static balance::load_view first_view(const ledger::plan& now) {
    balance::load_view out;
    out.number = now.number;
    out.generation = now.generation;
    out.changed = now;
    out.steps_per_epoch = out.steps_left_in_epoch = out.steps_left = 100;
    for (const ledger::share& one : now.shares) {
      out.workers.emplace_back();
      out.workers.back().worker = one.worker;
      out.workers.back().name = "w" + to_string(one.worker);
      out.workers.back().rows_left = rows(one);
    }
    return out;
  }

  store::temp_folder folder_;
  system_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};
  shard_manager_actor actor_ = system_.spawn<shard_manager, caf::detached>(
      config_of(std::chrono::minutes(10)));
  set_prepared prepared_; // the newest
};

TEST_F(shard_manager_test, prepares_places_and_forgets_a_set) {
  EXPECT_EQ(lacks_set(), "no data set is prepared");
  set_summary set = prepare(105);
  EXPECT_EQ(set.train_rows, 105u);
  EXPECT_EQ(std::accumulate(set.chunk_rows.begin(), set.chunk_rows.end(), 0u),
            105u);
  EXPECT_EQ(nlohmann::json::parse(prepared_.manifest)["content_id"],
            set.content_id);
  ledger::plan placed = place({worker_id{1}, worker_id{2}});
  ASSERT_EQ(placed.shares.size(), 2u);
  EXPECT_EQ(rows(placed.shares[0]) + rows(placed.shares[1]), 105u);
  self_->send(actor_, drop_set{});
  EXPECT_EQ(lacks_set(), "no data set is prepared");
}

TEST_F(shard_manager_test, says_what_the_workers_have_no_room_for) {
  prepare(105);
  const std::vector<worker_id> two{worker_id{1}, worker_id{2}};
  EXPECT_FALSE(place_within(two, {uint64_t{1} << 30, 0}).lacks);
  const memory_need lacks = place_within(two, {100, 100}).lacks;
  EXPECT_GT(lacks.lacking_bytes, 105u * 4);
  EXPECT_LE(lacks.free_bytes, 200u);
}

TEST_F(shard_manager_test, takes_the_next_job_while_a_set_is_prepared) {
  for (int round = 0; round < 3; ++round) {
    // Dropped before its thread can be done; nobody waits for the answer.
    self_->send(actor_, prepare_set{job_of(200'000), "token"});
    self_->send(actor_, drop_set{});
    EXPECT_EQ(lacks_set(), "no data set is prepared");
    self_->send(actor_, prepare_set{job_of(200'001), "token"});
    EXPECT_EQ(prepare(70).train_rows, 70u);
    EXPECT_EQ(place({worker_id{7}}).shares.at(0).batch_weight, 70u);
  }
}

TEST_F(shard_manager_test, says_when_there_is_nothing_to_explain_yet) {
  const explain_request of_w1{"w1", {}};
  EXPECT_EQ(refusal_of(plan_request{}), "no run trains here");
  EXPECT_EQ(refusal_of(explain_request{}), "no run trains here");
  prepare(105);
  EXPECT_EQ(refusal_of(plan_request{}), "no run trains here yet");
  EXPECT_EQ(refusal_of(of_w1), "no run trains here yet");
}

TEST_F(shard_manager_test, balances_as_it_is_told) {
  self_->send(actor_, set_balance{false, 0.5}); // nothing to tell yet
  prepare(105);
  balance::load_view view = first_view(place({worker_id{1}, worker_id{2}}));
  EXPECT_NE(observe(view).state.code, balance::balance_code::disabled);
  self_->send(actor_, set_balance{false, 0.25});
  EXPECT_EQ(observe(view).state.code, balance::balance_code::disabled);
  self_->send(actor_, set_balance{true, 0.25});
  EXPECT_NE(observe(view).state.code, balance::balance_code::disabled);
}

TEST_F(shard_manager_test, places_shares_without_waiting_for_a_search) {
  prepare(sorted_job());
  std::vector<worker_id> all;
  for (uint32_t id = 1; id <= 8; ++id)
    all.push_back(worker_id{id});
  balance::load_view view = first_view(place(all));
  view.steps_per_epoch = view.steps_left_in_epoch = view.steps_left = 100'000;
  view.now_ms = 1000;
  view.step_us = {50'000, 50'000, 50'000};
  for (balance::worker_load& one : view.workers)
    one.costs.assign(3, {64, 6'400'000});
  balance::balance_answer looked;
  auto look = self_->request(actor_, patience, view);
  EXPECT_EQ(place({worker_id{1}, worker_id{2}}).shares.size(), 2U);
  look.receive(
      [&](const balance::balance_answer& got) { looked = got; },
      [](const caf::error& why) { ADD_FAILURE() << to_failure(why).message; });
  EXPECT_EQ(looked.state.code, balance::balance_code::undecided)
      << "it is for workers that have changed";
  EXPECT_EQ(observe(view).state.code, balance::balance_code::planned);
}

TEST_F(shard_manager_test, explains_a_run_of_one_worker) {
  prepare(105);
  balance::load_view view = first_view(place({worker_id{1}}));
  EXPECT_EQ(observe(view).state.code, balance::balance_code::at_optimum);
  nlohmann::json plan = fields_of(plan_request{});
  EXPECT_EQ(plan["moved_rows"], 0);
  EXPECT_TRUE(plan["moves"].empty());
  nlohmann::json worker = fields_of(explain_request{"w1", {}});
  EXPECT_EQ(worker["rows"], 105);
  EXPECT_EQ(refusal_of(explain_request{"w2", {}}),
            "no worker named w2 trains here; there are: w1");
  EXPECT_EQ(refusal_of(explain_request{{}, 12}), "/chunk: expected 0 to 11");
  EXPECT_EQ(refusal_of(explain_request{}),
            "explain: give \"worker\" or \"chunk\", one of them");
  EXPECT_EQ(refusal_of(explain_request{"w1", 1}),
            "explain: give \"worker\" or \"chunk\", one of them");
}

TEST_F(shard_manager_test, answers_when_a_set_is_dropped_or_gets_no_further) {
  std::string why;
  auto refused = [&](const shard_manager_actor& by, const prepare_set& order,
                     bool drop) {
    auto pending = self_->request(by, patience, order);
    if (drop)
      self_->send(by, drop_set{});
    pending.receive(
        [](const set_prepared&) { ADD_FAILURE() << "was prepared"; },
        [&](const caf::error& error) { why = to_failure(error).message; });
    return why;
  };
  EXPECT_EQ(refused(actor_, {job_of(200'002), "token"}, true),
            "the run ended while its data were prepared");
  // No patience at all: already the first look finds that nothing came since.
  auto other = system_.spawn<shard_manager, caf::detached>(config_of(0ms));
  EXPECT_THAT(refused(other, {job_of(2'000'003), "token"}, false),
              testing::HasSubstr("makes no progress"));
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace ballast::actors
