// Goal: who writes a set again has it there as it is here, whatever became of
// what was there; what a folder of this machine refuses is told as such.
// Method: small files that play a set.
#include "data/store/stored_set.hpp"

#include "runtime/base/errors.hpp"
#include "tests/store/temp_folder.hpp"

#include <gmock/gmock.h>

#include <string>

namespace ballast::data {
namespace {

using store::content_of;
using store::write_content;
using ::testing::HasSubstr;
using ::testing::Not;

class stored_set : public ::testing::Test {
protected:
  stored_set() {
    std::filesystem::create_directory(folder_ / "set");
    write_content(folder_ / "set/train.arrow", std::string(9 << 20, 'a'));
    write_content(folder_ / "set/test.arrow", "some rows");
    write_content(folder_ / "set/manifest.json", "{}");
  }
  void write(const std::string& place = "there") const {
    write_stored_set(folder_ / "set", (folder_ / place).string(), {});
  }
  std::string refused(const std::string& place) const {
    try {
      write(place);
    } catch (const ballast_error& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  const store::temp_folder folder_;
};

TEST_F(stored_set, is_mended_by_writing_it_again) {
  write();
  for (const char* name : {"train.arrow", "test.arrow"}) {
    std::string damaged = content_of(folder_ / "there" / name);
    damaged.back() ^= 1;
    write_content(folder_ / "there" / name, damaged);
    write();
    EXPECT_EQ(content_of(folder_ / "there" / name),
              content_of(folder_ / "set" / name))
        << name;
  }
  EXPECT_EQ(content_of(folder_ / "there/manifest.json"), "{}");
}

TEST_F(stored_set, that_is_sound_is_left_as_it_is) {
  write();
  const auto file = folder_ / "there/train.arrow";
  const auto written = std::filesystem::last_write_time(file);
  write();
  EXPECT_EQ(std::filesystem::last_write_time(file), written);
}

TEST_F(stored_set, has_no_network_to_check_in_a_folder_of_this_machine) {
  write_content(folder_ / "file", "no folder");
  for (const char* place : {"file", "file/below"})
    EXPECT_THAT(refused(place),
                AllOf(HasSubstr((folder_ / place).string()),
                      HasSubstr("name a folder in which you may read and "
                                "write"),
                      Not(HasSubstr("network"))));
}

} // namespace
} // namespace ballast::data
