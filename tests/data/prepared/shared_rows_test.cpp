// Goal: a set whose chunks are other ranges of the same rows shares their file
// with the set before it, and neither depends on the other. Method: sets of one
// table; the names of their files are counted, files are damaged and removed.
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/prepared/some_tables.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <numeric>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class shared_rows_of_sets : public ::testing::Test {
protected:
  std::shared_ptr<prepared_set> made(const job& what) {
    return made_in(what, cache_);
  }
  std::shared_ptr<prepared_set> made_in(const job& what,
                                        const fs::path& cache) {
    prepare_options options;
    options.warn = [this](const std::string& text) { told_.push_back(text); };
    return prepare(what, cache, options);
  }
  static uintmax_t names_of(const prepared_set& set,
                            const char* part = "train.arrow") {
    return fs::hard_link_count(set.folder() / part);
  }
  static void damage(const fs::path& file) {
    std::fstream out(file, std::ios::in | std::ios::out);
    out.seekp(std::streamoff(fs::file_size(file)) / 2);
    out << std::string(1000, '?'); // more than Arrow writes between columns
  }
  uint64_t bytes_listed() const {
    uint64_t out = 0;
    for (const prepare_cache::entry& one : prepare_cache(cache_).entries())
      out += one.bytes;
    return out;
  }

  temporary_folder folder_;
  const fs::path cache_ = folder_ / "cache";
  const job first_ =
      job_with(folder_, "numbers", placement_kind::contiguous, 0.2);
  std::vector<std::string> told_;
};

TEST_F(shared_rows_of_sets, are_one_file_where_only_chunks_are_others) {
  const auto first = made(first_);
  EXPECT_EQ(names_of(*first), 1u);
  job workers = first_;
  workers.elastic.workers = 2;
  job rows = first_;
  rows.data.chunk_rows = 31;
  job sizes = first_;
  sizes.data.placement.kind = placement_kind::sizes;
  uintmax_t names = 1;
  for (const job& later : {workers, rows, sizes}) {
    const auto set = made(later);
    EXPECT_EQ(names_of(*set), ++names);
    EXPECT_EQ(names_of(*set, "test.arrow"), names);
    EXPECT_EQ(description_of(*set),
              description_of(*made_in(later, folder_ / "another")));
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(shared_rows_of_sets, are_those_of_any_placement_cut_anew) {
  job first = first_;
  first.data.placement.kind = placement_kind::iid;
  made(first);
  job later = first;
  later.data.chunk_rows = 50;
  const auto set = made(later);
  EXPECT_EQ(names_of(*set), 2u);
  EXPECT_EQ(description_of(*set),
            description_of(*made_in(later, folder_ / "another")));
}

TEST_F(shared_rows_of_sets,
       are_copied_where_their_order_or_numbers_are_others) {
  made(first_);
  job order = first_;
  order.data.placement.kind = placement_kind::iid;
  job numbers = first_;
  numbers.data.test_fraction = 0.3;
  for (const job& later : {order, numbers}) {
    const auto set = made(later);
    EXPECT_EQ(names_of(*set), 1u);
    EXPECT_EQ(description_of(*set),
              description_of(*made_in(later, folder_ / "another")));
  }
}

TEST_F(shared_rows_of_sets, are_copied_on_a_disk_without_such_names) {
  made(first_);
  job later = first_;
  later.data.chunk_rows = 31;
  ASSERT_STREQ(arm_fault_points("cache.link=eio"), "");
  const auto set = made(later);
  arm_fault_points("");
  EXPECT_EQ(names_of(*set), 1u);
  EXPECT_EQ(description_of(*set),
            description_of(*made_in(later, folder_ / "another")));
}

TEST_F(shared_rows_of_sets, stay_when_the_first_set_goes_and_count_once) {
  auto first = made(first_);
  const uint64_t file = fs::file_size(first->folder() / "train.arrow") +
                        fs::file_size(first->folder() / "test.arrow");
  const uint64_t before = bytes_listed();
  job later = first_;
  later.data.chunk_rows = 31;
  const auto set = made(later);
  EXPECT_LT(bytes_listed(), before + file);
  const std::string first_key = first->about().content_id;
  first.reset();
  const auto kept = prepare_cache(cache_).clear();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_GE(kept[0].bytes, file);
  EXPECT_FALSE(fs::exists(cache_ / first_key));
  EXPECT_EQ(names_of(*set), 1u);
  EXPECT_EQ(description_of(*set),
            description_of(*made_in(later, folder_ / "another")));
}

TEST_F(shared_rows_of_sets, are_read_from_the_sources_again_once_damaged) {
  auto first = made(first_);
  job later = first_;
  later.data.chunk_rows = 31;
  auto set = made(later);
  const std::string first_right =
      description_of(*made_in(first_, folder_ / "another"));
  const std::string right =
      description_of(*made_in(later, folder_ / "another"));
  damage(set->folder() / "train.arrow");
  EXPECT_EQ(description_of(*set), right);
  EXPECT_EQ(description_of(*first), first_right);
  EXPECT_THAT(told_, ::testing::Contains(HasSubstr("is damaged")));
  EXPECT_EQ(description_of(*made(first_)), first_right);
  EXPECT_EQ(description_of(*made(later)), right);
}

} // namespace
} // namespace ballast::data
