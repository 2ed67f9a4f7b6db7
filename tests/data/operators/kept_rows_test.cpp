// Goal: rows that several read are computed once and come to each reader as
// they are, however far apart they read, and whatever the memory. Method: a
// stream that counts how far it was read.
#include "data/operators/kept_rows.hpp"

#include "tests/data/operators/little_memory.hpp"
#include "tests/data/operators/made_up_rows.hpp"

namespace ballast::data {
namespace {

class kept_rows_test : public testing::Test {
protected:
  kept_rows_test() {
    dice random(3);
    constexpr int64_t rows = 60'000;
    rows_ = with_origin(arrow::RecordBatch::Make(
        arrow::schema({arrow::field("n", arrow::int64()),
                       arrow::field("t", arrow::utf8())}),
        rows,
        {some_values(arrow::int64(), rows, 5000, random),
         some_values(arrow::utf8(), rows, 5000, random)}));
  }

  std::shared_ptr<kept_rows> kept(uint64_t memory,
                                  late_readers later = late_readers::none) {
    auto from = std::make_unique<batches_stream>(rows_, 4096);
    from->before_next = [this](int64_t at) { read_ = at; };
    return std::make_shared<kept_rows>(std::move(from), folder_.context(memory),
                                       later);
  }
  void expect_all(record_stream& from) const {
    int64_t at = 0;
    while (const auto batch = from.next()) {
      ASSERT_TRUE(same_rows(*batch, *rows_->Slice(at, batch->num_rows())));
      at += batch->num_rows();
    }
    EXPECT_EQ(at, rows_->num_rows());
  }

  const spill_folder folder_;
  std::shared_ptr<arrow::RecordBatch> rows_;
  int64_t read_ = 0;
};

TEST_F(kept_rows_test, come_to_each_reader_in_turn_from_memory_or_disk) {
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {
    auto store = kept(memory);
    const auto first = kept_rows::reader(store);
    const auto second = kept_rows::reader(store);
    store = nullptr;
    expect_all(*first);
    EXPECT_EQ(folder_.files(), memory == 1 ? 1 : 0);
    read_ = 0;
    expect_all(*second);
    EXPECT_EQ(read_, 0) << "read again";
  }
}

TEST_F(kept_rows_test, are_dropped_once_all_have_had_them) {
  const auto store = kept(1 << 20);
  const auto first = kept_rows::reader(store);
  const auto second = kept_rows::reader(store);
  while (const auto rows = first->next())
    ASSERT_TRUE(same_rows(*rows, *second->next()));
  EXPECT_EQ(second->next(), nullptr);
  EXPECT_EQ(folder_.files(), 0) << "side by side nothing is kept";
}

TEST_F(kept_rows_test, may_be_read_at_any_speed) {
  const auto store = kept(1);
  const auto first = kept_rows::reader(store);
  const auto second = kept_rows::reader(store);
  dice random(5);
  int64_t at[2] = {};
  for (bool ended[2] = {}; !ended[0] || !ended[1];) {
    const auto which = size_t(random.below(2));
    if (ended[which])
      continue;
    const auto rows = (which == 0 ? first : second)->next();
    ended[which] = rows == nullptr;
    if (rows == nullptr)
      continue;
    ASSERT_TRUE(same_rows(*rows, *rows_->Slice(at[which], rows->num_rows())));
    at[which] += rows->num_rows();
  }
  EXPECT_EQ(at[0], rows_->num_rows());
  EXPECT_EQ(at[1], rows_->num_rows());
}

TEST_F(kept_rows_test, of_a_repeat_are_there_for_readers_that_come_later) {
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {
    const auto store = kept(memory, late_readers::same_columns);
    expect_all(*kept_rows::reader(store));
    expect_all(*kept_rows::reader(store));
  }
}

TEST_F(kept_rows_test, are_read_no_further_than_somebody_wants) {
  const auto store = kept(1);
  const auto first = kept_rows::reader(store);
  const auto second = kept_rows::reader(store);
  EXPECT_NE(first->next(), nullptr);
  EXPECT_LT(read_, 20'000);
}

TEST_F(kept_rows_test, have_the_columns_that_each_reader_chose) {
  const auto store = kept(1);
  const auto first = kept_rows::reader(store);
  const auto second = kept_rows::reader(store);
  first->choose({1});
  second->choose({2, 0});
  EXPECT_EQ(all_of(first)->num_columns(), 1);
  const auto rows = all_of(second);
  EXPECT_TRUE(rows->column(0)->Equals(rows_->column(2)));
  EXPECT_TRUE(rows->column(1)->Equals(rows_->column(0)));
}

} // namespace
} // namespace ballast::data
