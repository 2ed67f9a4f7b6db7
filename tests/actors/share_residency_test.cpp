// Goal: a step gets its rows as soon as their bytes can be here, whatever else
// is on its way, and waits for nothing else. Method: real chunk services, one
// of which keeps single chunks back until it is told.
#include "actors/share_residency.hpp"

#include "data/transfer/chunk_service.hpp"
#include "tests/data/some_chunks.hpp"

#include <future>
#include <gtest/gtest.h>
#include <set>

namespace ballast::actors {
namespace {

using namespace std::chrono_literals;

const std::string token = "secret";
const ledger::row_shape row = data::shape_of(ledger::stored_type::uint8, 50, 3);
constexpr worker_id self{7};
constexpr uint32_t chunk_rows = 20;

/// An origin that keeps some chunks back.
class slow_origin {
public:
  slow_origin() {
    service_ = data::chunk_service::start(
        "127.0.0.1", 0, token,
        [this](data::data_part, chunk_id id) {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return !kept_.contains(value(id)); });
          return data::some_chunk<uint8_t>(value(id), chunk_rows, row);
        },
        {});
  }
  ~slow_origin() { let_go(); }

  void keep_back(uint32_t id) {
    const std::lock_guard lock(mutex_);
    kept_.insert(id);
  }
  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      kept_.clear();
    }
    changed_.notify_all();
  }
  std::string address() const { return service_->address(); }
  void shut_down() { service_->shutdown(0ms); }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint32_t> kept_;
  std::unique_ptr<data::chunk_service> service_;
};

class residency : public testing::Test {
protected:
  static constexpr uint32_t count = 4;

  void SetUp() override {
    if (data::under_thread_sanitizer)
      GTEST_SKIP() << "gRPC is not built for the thread sanitizer";
    set_.row = row;
    ledger::share own{self, plan_number{1}, chunk_rows, {}, 0};
    for (uint32_t id = 0; id < count; ++id) {
      const data::chunk_ptr one =
          data::some_chunk<uint8_t>(id, chunk_rows, row);
      ledger::chunk_info about;
      about.id = chunk_id(id);
      about.rows = chunk_rows;
      about.bytes = one->bytes;
      about.checksum = checksum(*one, row);
      bytes_ += about.bytes;
      set_.train.push_back(about);
      own.intervals.push_back({about.id, 0, chunk_rows});
    }
    plan_ = ledger::plan{plan_number{1}, {}, {own}};
  }

  share_residency of(const slow_origin& origin, uint64_t limit = 1 << 24,
                     bool streams = false) {
    return {chunk_fetcher(token, origin.address()), set_, limit, streams};
  }
  /// Training chunks that are here.
  static std::vector<uint32_t> held(share_residency& here) {
    std::vector<uint32_t> out;
    for (uint32_t id = 0; id < count; ++id)
      if (here.store().find(data::data_part::train, chunk_id{id}))
        out.push_back(id);
    return out;
  }
  static std::vector<ledger::row_ref> some_rows(std::vector<uint32_t> chunks) {
    std::vector<ledger::row_ref> out;
    for (uint32_t id : chunks)
      out.push_back({chunk_id(id), id + 3});
    return out;
  }
  static void expect_rows(const data::batch& got,
                          std::vector<uint32_t> chunks) {
    ASSERT_EQ(got.rows, chunks.size());
    for (size_t i = 0; i < chunks.size(); ++i)
      EXPECT_EQ(got.sample_ids[i], 1000 * chunks[i] + chunks[i] + 3);
  }

  ledger::manifest set_;
  ledger::plan plan_;
  uint64_t bytes_ = 0;
};

TEST_F(residency, gathers_rows_that_nobody_has_brought) {
  slow_origin origin;
  share_residency here = of(origin);
  data::batch got;
  here.gather(data::data_part::train, some_rows({2, 0, 2}), {}, got);
  expect_rows(got, {2, 0, 2});
  EXPECT_EQ(here.store().count(data::data_part::train), 2u)
      << "and nothing else";
}

TEST_F(residency, tells_how_fast_its_rows_came) {
  slow_origin origin;
  share_residency here = of(origin);
  EXPECT_EQ(here.read_so_far().timed, 0u);
  EXPECT_EQ(here.read_so_far().timed_ns, 0u);
  data::batch got;
  here.gather(data::data_part::train, some_rows({2, 0}), {}, got);
  const data::bytes_read once = here.read_so_far();
  EXPECT_EQ(once.timed, 2 * bytes_ / count);
  EXPECT_GT(once.timed_ns, 0u);
  here.gather(data::data_part::train, some_rows({2, 0}), {}, got);
  EXPECT_EQ(here.read_so_far().timed, once.timed) << "they are here";
}

TEST_F(residency, brings_the_whole_share_beside_the_steps) {
  slow_origin origin;
  share_residency here = of(origin);
  origin.keep_back(3);
  here.bring(plan_, self, 0);
  data::batch got;
  here.gather(data::data_part::train, some_rows({0, 1, 2}), {}, got);
  expect_rows(got, {0, 1, 2}); // though the rest of the share is on its way
  EXPECT_FALSE(here.store().find(data::data_part::train, chunk_id{3}));
  origin.let_go();
  here.gather(data::data_part::train, some_rows({3}), {}, got);
  expect_rows(got, {3});
}

TEST_F(residency, leaves_the_way_to_the_first_step_free) {
  slow_origin origin;
  share_residency here = of(origin);
  here.hold();
  here.bring(plan_, self, 0);
  data::batch got;
  here.gather(data::data_part::train, some_rows({0}), {}, got);
  EXPECT_EQ(here.store().count(data::data_part::train), 1u)
      << "and nothing else";
  here.gather(data::data_part::train, some_rows({1}), {}, got);
  here.gather(data::data_part::train, some_rows({2}), {}, got);
  while (here.store().count(data::data_part::train) < count)
    std::this_thread::yield(); // the last one comes by itself
}

TEST_F(residency, brings_what_is_used_next_of_a_share_larger_than_the_store) {
  slow_origin origin;
  share_residency here = of(origin, bytes_ / 2, true);
  here.bring(plan_, self, bytes_ / 2);
  const std::vector<chunk_id> order{chunk_id{3}, chunk_id{1}, chunk_id{0},
                                    chunk_id{2}};
  here.expect(order);
  while (held(here) != std::vector<uint32_t>{1, 3})
    std::this_thread::yield();
  const std::vector<chunk_id> later{chunk_id{0}, chunk_id{1}, chunk_id{2},
                                    chunk_id{3}};
  here.expect(later); // 3 has ended
  while (held(here) != std::vector<uint32_t>{0, 1})
    std::this_thread::yield();
}

TEST_F(residency, gathers_a_batch_of_more_chunks_than_the_store_holds) {
  slow_origin origin;
  for (uint64_t limit : {bytes_ / 2, uint64_t{1}}) {
    SCOPED_TRACE(limit);
    share_residency here = of(origin, limit, true);
    const std::vector<chunk_id> order{chunk_id{0}, chunk_id{1}, chunk_id{2},
                                      chunk_id{3}};
    here.expect(order);
    data::batch got;
    here.gather(data::data_part::train, some_rows({2, 0, 3, 1}), {}, got);
    expect_rows(got, {2, 0, 3, 1});
    EXPECT_LE(here.store().bytes(), limit);
  }
}

TEST_F(residency, says_how_much_a_step_waits_for) {
  slow_origin origin;
  share_residency here = of(origin);
  EXPECT_EQ(here.coming().first, 0u);
  origin.keep_back(1);
  std::atomic<bool> awaited{false};
  const data::row_source::question waits = [&] {
    awaited = awaited || here.coming().first > 0;
    awaited.notify_all();
    return false;
  };
  data::batch got;
  auto step = std::async(std::launch::async, [&] {
    here.gather(data::data_part::train, some_rows({1}), waits, got);
  });
  awaited.wait(false);
  EXPECT_EQ(here.coming().first, set_.train[1].bytes);
  EXPECT_LT(here.coming().second, here.coming().first);
  origin.let_go();
  step.get();
  EXPECT_EQ(here.coming().first, 0u);
}

TEST_F(residency, leaves_a_wait_that_is_given_up) {
  slow_origin origin;
  share_residency here = of(origin);
  origin.keep_back(1);
  std::atomic<bool> unwanted{false};
  data::batch got;
  auto step = std::async(std::launch::async, [&] {
    here.gather(
        data::data_part::train, some_rows({1}), [&] { return unwanted.load(); },
        got);
  });
  unwanted = true;
  EXPECT_THROW(step.get(), ballast_error);
}

TEST_F(residency, waits_for_an_origin_that_comes_back_elsewhere) {
  auto origin = std::make_unique<slow_origin>();
  share_residency here = of(*origin);
  data::batch got;
  here.gather(data::data_part::train, some_rows({0}), {}, got);
  origin->shut_down();
  std::atomic<int> looks{0}; // some of them after the first refusal
  const data::row_source::question waits = [&] {
    ++looks;
    looks.notify_all();
    return false;
  };
  auto step = std::async(std::launch::async, [&] {
    here.gather(data::data_part::train, some_rows({1}), waits, got);
  });
  for (int seen = 0; seen < 10; seen = looks)
    looks.wait(seen);
  slow_origin elsewhere;
  here.set_origin(elsewhere.address());
  step.get();
  expect_rows(got, {1});
}

TEST_F(residency, names_the_limit_that_a_chunk_does_not_fit_into) {
  slow_origin origin;
  share_residency here = of(origin, bytes_ / count);
  data::batch got;
  here.gather(data::data_part::train, some_rows({0}), {}, got);
  try {
    here.gather(data::data_part::train, some_rows({1}), {}, got);
    FAIL() << "it does not fit";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::device_failed) << e.what();
  }
}

TEST_F(residency, makes_room_for_a_share_that_is_to_come) {
  slow_origin origin;
  share_residency here = of(origin, bytes_ / count);
  here.bring(plan_, self, 1);
  data::batch got;
  here.gather(data::data_part::train, some_rows({0, 1, 2, 3}), {}, got);
  expect_rows(got, {0, 1, 2, 3});
}

TEST_F(residency, has_the_test_chunks_of_its_rank) {
  slow_origin origin;
  set_.test = set_.train;
  share_residency here = of(origin);
  EXPECT_EQ(here.chunk_of(data::data_part::test, chunk_id{2}, {})->id,
            chunk_id{2});
  EXPECT_FALSE(here.store().find(data::data_part::train, chunk_id{2}));
}

TEST_F(residency, hands_out_a_chunk_that_is_larger_than_its_memory) {
  slow_origin origin;
  share_residency here = of(origin, bytes_ / count / 2, true);
  const data::chunk_ptr got =
      here.chunk_of(data::data_part::train, chunk_id{2}, {});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->sample_ids[3], 2003u);
  EXPECT_EQ(here.store().bytes(), 0u);
}

TEST_F(residency, keeps_on_its_disk_what_its_memory_drops) {
  data::temporary_folder folder;
  slow_origin origin;
  share_residency here(
      chunk_fetcher(token, origin.address()), set_, bytes_ / count, true, {},
      std::make_unique<data::chunk_disk>(folder.path(), 1 << 20, set_,
                                         [](const std::string&) {}));
  data::batch got;
  const std::vector<chunk_id> order{chunk_id{0}, chunk_id{1}, chunk_id{2},
                                    chunk_id{3}};
  for (uint32_t id = 0; id < count; ++id) {
    here.expect(std::span(order).subspan(id));
    here.gather(data::data_part::train, some_rows({id}), {}, got);
  }
  // Each is on the disk once the one after it has been fetched behind the
  // steps.
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (here.read_so_far().kept == 0 &&
         std::chrono::steady_clock::now() < until) {
    here.expect(order);
    here.gather(data::data_part::train, some_rows({3, 2, 1, 0}), {}, got);
    expect_rows(got, {3, 2, 1, 0});
  }
  EXPECT_GT(here.read_so_far().kept, 0u);
  EXPECT_GT(here.read_so_far().origin, 0u);
}

} // namespace
} // namespace ballast::actors
