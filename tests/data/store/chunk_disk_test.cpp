// Goal: what a disk gives back is what it was given, or nothing; a full or
// broken one costs no run. Method: real files, faults at the calls.
#include "data/store/chunk_disk.hpp"

#include "runtime/base/fault_point.hpp"
#include "tests/data/some_chunks.hpp"

#include <gmock/gmock.h>

namespace ballast::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t rows = 20;

class kept_on_disk : public ::testing::Test {
protected:
  explicit kept_on_disk(
      ledger::row_shape row = shape_of(ledger::stored_type::uint8, 50, 3)) {
    set_.row = std::move(row);
    for (uint32_t id = 0; id < 5; ++id) {
      ledger::chunk_info about;
      about.id = chunk_id(id);
      about.rows = rows;
      about.checksum = checksum(*of(id), set_.row);
      set_.train.push_back(about);
    }
  }
  chunk_ptr of(uint32_t id) const {
    return some_chunk<uint8_t>(id, rows, set_.row);
  }
  chunk_disk disk(uint64_t chunks) {
    return {folder_.path(), chunks * rows * (50 + 4 + 8), set_,
            [this](const std::string& why) { said_.push_back(why); }};
  }
  static bool has(chunk_disk& on, uint32_t id) {
    return on.read(chunk_id(id)) != nullptr;
  }

  temporary_folder folder_;
  ledger::manifest set_;
  std::vector<std::string> said_;
};

TEST_F(kept_on_disk, chunks_come_back_as_they_were) {
  chunk_disk kept = disk(5);
  for (uint32_t id : {3U, 0U, 4U, 3U})
    kept.put(*of(id));
  for (uint32_t id : {0U, 3U, 4U}) {
    const chunk_ptr got = kept.read(chunk_id(id));
    ASSERT_TRUE(got) << id;
    EXPECT_EQ(checksum(*got, set_.row), set_.train[id].checksum);
  }
  EXPECT_FALSE(has(kept, 1));
  EXPECT_EQ(kept.bytes(), 3U * rows * (50 + 4 + 8));
  EXPECT_THAT(said_, IsEmpty());
}

class targets_on_disk : public kept_on_disk {
protected:
  targets_on_disk()
      : kept_on_disk(shape_of(ledger::stored_type::uint8, 50, 0)) {}
};

TEST_F(targets_on_disk, come_back_too) {
  chunk_disk kept = disk(1);
  kept.put(*of(2));
  EXPECT_EQ(kept.read(chunk_id{2})->targets[5], 2.5F);
}

TEST_F(kept_on_disk, chunks_leave_their_room_to_others) {
  chunk_disk kept = disk(2);
  for (uint32_t id : {0U, 1U, 2U})
    kept.put(*of(id));
  EXPECT_FALSE(has(kept, 2)) << "a full disk keeps what it has";
  kept.keep_only({true, false, true});
  kept.put(*of(2));
  EXPECT_TRUE(has(kept, 0));
  EXPECT_FALSE(has(kept, 1));
  EXPECT_TRUE(has(kept, 2));
}

TEST_F(kept_on_disk, chunks_leave_no_file_behind_nor_show_one) {
  chunk_disk kept = disk(2);
  kept.put(*of(0));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(kept_on_disk, chunks_that_come_back_with_other_bytes_are_not_used) {
  chunk_disk kept = disk(5);
  kept.put(*of(0));
  kept.put(*of(1));
  set_.train[0].checksum = set_.train[1].checksum;
  EXPECT_FALSE(has(kept, 0));
  EXPECT_FALSE(has(kept, 1)) << "a disk that lies is not asked again";
  kept.put(*of(2));
  EXPECT_FALSE(has(kept, 2));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("chunk 0 comes back with other")));
}

TEST_F(kept_on_disk, chunks_of_a_folder_that_is_not_there_are_none) {
  chunk_disk kept(folder_ / "none", 1 << 20, set_,
                  [this](const std::string& why) { said_.push_back(why); });
  kept.put(*of(0));
  EXPECT_FALSE(has(kept, 0));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("No such file or directory")));
}

} // namespace
} // namespace ballast::data
