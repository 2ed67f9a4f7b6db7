// Goal: a worker reads a set from its own machine's cache if that is the set of
// the run, whole, and under no other name. Method: sets prepared in a folder.
#include "data/store/nearby_set.hpp"

#include "data/prepared/prepared_set.hpp"
#include "data/store/picked_rows.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/api.h>
#include <fstream>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

class nearby : public ::testing::Test {
protected:
  nearby() {
    std::string name = (fs::temp_directory_path() / "ballast-near-XXXXXX");
    cache_ = ::mkdtemp(name.data());
    set_ = prepare(job_of(synthetic_source(100, 3, 4), 10), cache_);
    name_ = set_->folder().filename();
  }
  ~nearby() override { fs::remove_all(cache_); }

  fs::path cache_;
  std::shared_ptr<prepared_set> set_;
  std::string name_;
};

TEST_F(nearby, set_of_this_cache_has_the_chunks_of_the_origin) {
  const auto here = nearby_set::find(cache_, name_, set_->about());
  ASSERT_TRUE(here);
  for (const ledger::chunk_info& one : set_->about().train)
    EXPECT_EQ(
        checksum(*here->read(data_part::train, one.id), set_->about().row),
        one.checksum);
}

TEST_F(nearby, set_is_none_that_another_cache_has_or_that_is_no_name) {
  for (const std::string& name :
       {std::string("0123456789abcdef"), std::string(), std::string("."),
        std::string(".."), "../" + name_, name_ + "/"})
    EXPECT_FALSE(nearby_set::find(cache_, name, set_->about())) << name;
  EXPECT_FALSE(nearby_set::find(cache_ / "none", name_, set_->about()));
  EXPECT_FALSE(fs::exists(cache_ / "none"));
}

TEST_F(nearby, set_of_another_content_is_never_used) {
  ledger::manifest other = set_->about();
  other.train.pop_back();
  EXPECT_FALSE(nearby_set::find(cache_, name_, other));
  other = set_->about();
  other.train[3].checksum = other.train[4].checksum;
  const auto here = nearby_set::find(cache_, name_, other);
  ASSERT_TRUE(here);
  EXPECT_NO_THROW(here->read(data_part::train, chunk_id{2}));
  EXPECT_THROW(here->read(data_part::train, chunk_id{3}), ballast_error);
}

TEST_F(nearby, set_that_is_cut_while_it_is_open_is_an_error) {
  const auto here = nearby_set::find(cache_, name_, set_->about());
  ASSERT_TRUE(here);
  fs::resize_file(cache_ / name_ / "train.arrow", 2000);
  EXPECT_THROW(here->read(data_part::train, chunk_id{9}), ballast_error);
}

TEST(picked_rows, are_rows_of_several_chunks_in_the_order_asked_for) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 50, 3);
  const chunk_ptr one = some_chunk<uint8_t>(1, 20, row);
  const chunk_ptr two = some_chunk<uint8_t>(2, 20, row);
  picked_rows rows(3);
  rows.add(*two, 7);
  rows.add(*one, 0);
  rows.add(*two, 19);
  const chunk_ptr got = make_chunk(chunk_id{}, row, rows.take());
  const auto expected =
      arrow::ConcatenateRecordBatches({batch_of(*two)->Slice(7, 1),
                                       batch_of(*one)->Slice(0, 1),
                                       batch_of(*two)->Slice(19, 1)})
          .ValueOrDie();
  EXPECT_TRUE(batch_of(*got)->Equals(*expected, true))
      << batch_of(*got)->ToString() << expected->ToString();
}

} // namespace
} // namespace ballast::data
