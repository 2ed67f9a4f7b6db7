// Goal: what is packed comes out as it was, small, and bytes that are none of
// it are refused. Method: round trips, and every cut of one of them.
#include "runtime/base/random.hpp"
#include "runtime/messages/packed_orders.hpp"
#include "tests/runtime/coordinator/plain_set.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

std::vector<worker_id> workers_up_to(uint32_t count) {
  std::vector<worker_id> out;
  for (uint32_t i = 1; i <= count; ++i)
    out.push_back(worker_id{i});
  return out;
}

ledger::plan some_plan(uint32_t workers) {
  return first_plan(testing::plain_set(std::vector<uint32_t>(8 * workers, 256)),
                    workers_up_to(workers), generation{7}, plan_number{9});
}

TEST(packed_orders, gives_plans_back_as_they_were) {
  ledger::plan whole = some_plan(5);
  ledger::plan cut = whole;
  cut.shares[1].intervals = {
      {chunk_id{70'000}, 3, 200}, {chunk_id{2}, 5, 6}, {chunk_id{3}, 5, 6}};
  cut.shares[2].intervals.clear();
  cut.shares[3].since = plan_number{UINT64_MAX};
  cut.shares[3].batch_weight = UINT64_MAX;
  cut.kept = {step_number{300}, {{{0, 1}, {7, 8}}, {}, {{1, 7}}}};
  for (const ledger::plan& one : {whole, cut, ledger::plan{}}) {
    ledger::plan out;
    ASSERT_TRUE(unpack(pack(one), out));
    EXPECT_EQ(out, one);
  }
}

TEST(packed_orders, gives_cursors_and_addresses_back_as_they_were) {
  std::vector<ledger::worker_cursor> cursors{
      {worker_id{3}, 7, {1, 0, 600}, ~0ull}, {worker_id{5}, 0, {}, 1}};
  std::vector<ledger::worker_cursor> out;
  ASSERT_TRUE(unpack(pack(cursors), out));
  EXPECT_EQ(out, cursors);
  std::vector<std::string> addresses{"10.0.0.1:4711", "", "[::1]:1"};
  std::vector<std::string> back;
  ASSERT_TRUE(unpack(pack(addresses), back));
  EXPECT_EQ(back, addresses);
}

TEST(packed_orders, take_a_few_bytes_a_worker) {
  EXPECT_LT(pack(some_plan(1024)).size(), 1024u * 16);
}

TEST(packed_orders, refuse_what_is_cut_or_goes_on) {
  std::string bytes = pack(some_plan(4));
  ledger::plan out;
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(unpack(bytes.substr(0, length), out)) << length;
  EXPECT_FALSE(unpack(bytes + '\0', out));
}

// Method: flipped bits must neither crash nor allocate without end.
TEST(packed_orders, survive_any_damage) {
  const std::string bytes = pack(some_plan(4));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
    ledger::plan out;
    (void)unpack(damaged, out);
  }
}

} // namespace
} // namespace ballast
