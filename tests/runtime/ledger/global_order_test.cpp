// Goal: an epoch's one order has every row once, whatever the chunks and the
// window, and may be asked for anywhere. Method: random sets, whole epochs and
// pieces of them.
#include "runtime/ledger/global_order.hpp"

#include "runtime/ledger/epoch_uses.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <set>

namespace ballast::ledger {
namespace {

using namespace ballast::testing;

std::vector<row_ref> all_of(const global_order& order) {
  std::vector<row_ref> out;
  dealt_uses known;
  order.draw({0, order.size()}, known, out);
  return out;
}

std::vector<row_ref> rows_of_set(const std::vector<uint32_t>& chunk_rows) {
  std::vector<row_ref> out;
  for (uint32_t chunk = 0; chunk < chunk_rows.size(); ++chunk)
    for (uint32_t row = 0; row < chunk_rows[chunk]; ++row)
      out.push_back({chunk_id{chunk}, row});
  return out;
}

std::vector<row_ref> sorted(std::vector<row_ref> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// Also chunks without rows.
std::vector<uint32_t> some_chunks(test_random& random) {
  std::vector<uint32_t> out;
  for (uint64_t i = random.between(1, 40); i > 0; --i)
    out.push_back(random.one_in(6) ? 0 : uint32_t(random.below(200)));
  out.push_back(1);
  return out;
}

TEST(global_order, has_every_row_once_in_every_epoch) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    const std::vector<uint32_t> chunks = some_chunks(random);
    const auto window = uint32_t(seed % 2 == 0 ? 0 : random.between(1, 8));
    const global_order first(seed, epoch_number{1}, chunks, window, nullptr);
    const global_order second(seed, epoch_number{2}, chunks, window, nullptr);
    const std::vector<row_ref> drawn = all_of(first);
    ASSERT_EQ(sorted(drawn), rows_of_set(chunks));
    ASSERT_EQ(sorted(all_of(second)), rows_of_set(chunks));
    if (drawn.size() > 20) {
      EXPECT_NE(drawn, all_of(second));
    }
  }
}

TEST(global_order, is_the_same_wherever_it_is_asked_for) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    test_random random(seed);
    const std::vector<uint32_t> chunks = some_chunks(random);
    const auto window = uint32_t(random.below(4));
    const global_order order(seed, epoch_number{3}, chunks, window, nullptr);
    const std::vector<row_ref> drawn = all_of(order);
    for (int i = 0; i < 50; ++i) {
      const uint64_t first = random.below(order.size() + 1);
      const uint64_t count = random.below(order.size() - first + 1);
      std::vector<row_ref> part;
      dealt_uses known;
      order.draw({first, count}, known, part);
      ASSERT_TRUE(std::equal(part.begin(), part.end(),
                             drawn.begin() + ptrdiff_t(first)));
      ASSERT_EQ(part.size(), count);
    }
  }
}

TEST(global_order, draws_from_no_more_chunks_than_its_window_has) {
  for (uint32_t window : {1, 3, 4}) {
    const std::vector<uint32_t> chunks(10, 25);
    const global_order order(9, epoch_number{1}, chunks, window, nullptr);
    const std::vector<row_ref> drawn = all_of(order);
    std::vector<chunk_id> turns = chunk_turns(9, epoch_number{1}, 10, window);
    for (size_t at = 0; at < drawn.size(); ++at) {
      const auto turn =
          size_t(std::find(turns.begin(), turns.end(), drawn[at].chunk) -
                 turns.begin());
      ASSERT_EQ(turn / window, at / (window * 25));
      ASSERT_EQ(order.window_of(at), turn / window);
    }
    EXPECT_NE(turns, chunk_turns(9, epoch_number{2}, 10, window));
    EXPECT_EQ(order.window_of(250), (10 + window - 1) / window);
  }
}

TEST(global_order, names_the_chunks_from_a_window_on) {
  const std::vector<uint32_t> chunks{5, 0, 5, 5, 5, 5};
  const global_order order(4, epoch_number{1}, chunks, 2, nullptr);
  std::vector<chunk_id> expected = chunk_turns(4, epoch_number{1}, 6, 2);
  std::erase(expected, chunk_id{1});
  std::vector<chunk_id> found;
  order.upcoming(0, found);
  EXPECT_EQ(found, expected);
  const std::vector<row_ref> drawn = all_of(order);
  for (uint64_t at = 0; at < drawn.size(); ++at) {
    found.clear();
    order.upcoming(at, found);
    for (uint64_t later = at; later < drawn.size(); ++later)
      ASSERT_NE(std::find(found.begin(), found.end(), drawn[later].chunk),
                found.end());
  }
  found.clear();
  order.upcoming(order.size(), found);
  EXPECT_TRUE(found.empty());
}

// Over many epochs each row is anywhere equally often, and neighbours of a
// chunk are not neighbours of the epoch.
TEST(global_order, mixes_the_rows_of_all_chunks) {
  const std::vector<uint32_t> chunks(6, 20);
  constexpr uint64_t epochs = 4000, places = 120;
  std::vector<uint64_t> first_rows(places), after_first(places);
  for (uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    const std::vector<row_ref> drawn =
        all_of({1, epoch_number{epoch}, chunks, 0, nullptr});
    for (uint64_t at = 0; at < places; ++at)
      if (drawn[at] == row_ref{chunk_id{2}, 7})
        ++first_rows[at];
    ++after_first[value(drawn[1].chunk) * 20 + drawn[1].row];
  }
  for (const auto& counts : {first_rows, after_first}) {
    const double expected = double(epochs) / places;
    double sum = 0;
    for (uint64_t one : counts)
      sum += (double(one) - expected) * (double(one) - expected) / expected;
    EXPECT_LT(std::abs(sum - (places - 1)), 5 * std::sqrt(2.0 * (places - 1)));
  }
}

TEST(global_order, uses_rows_as_often_as_their_weights_say) {
  manifest set;
  set.order = row_layout::by_class;
  for (uint32_t id = 0; id < 7; ++id) {
    chunk_info chunk;
    chunk.id = chunk_id{id};
    chunk.rows = 12;
    chunk.weights = {{9, 1}, {3, id % 3 == 1 ? 0 : 4.5}};
    set.train.push_back(chunk);
    set.train_rows += 12;
  }
  sampling_spec weighted;
  weighted.kind = sampling_kind::weighted;
  const auto uses = epoch_uses::of(weighted, 3, 5, set);
  for (uint32_t window : {0, 2})
    for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
      std::vector<row_ref> expected;
      for (uint32_t id = 0; id < 7; ++id)
        for (uint32_t row : uses->order(epoch_number{epoch}, chunk_id{id}))
          expected.push_back({chunk_id{id}, row});
      const global_order order(5, epoch_number{epoch}, uses->of_chunks(),
                               window, uses);
      EXPECT_EQ(sorted(all_of(order)), sorted(expected));
      // Back and forth, as one who looks ahead and begins anew.
      const std::vector<row_ref> drawn = all_of(order);
      dealt_uses known;
      for (uint64_t at : {order.size() - 1, uint64_t{0}, order.size() / 2}) {
        std::vector<row_ref> one;
        order.draw({at, 1}, known, one);
        EXPECT_EQ(one[0], drawn[at]);
      }
    }
}

} // namespace
} // namespace ballast::ledger
