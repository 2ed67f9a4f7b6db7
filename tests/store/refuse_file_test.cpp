// Goal: a file that cannot be used is refused with one sentence: what was to be
// done with it, why it failed, and the remedy. Method: a table of errno.
#include "store/refuse_file.hpp"

#include "tests/store/expect_error.hpp"

#include <cerrno>
#include <string>

namespace ballast::store {
namespace {

std::string refused(int error_number, errc wanted,
                    std::string_view otherwise = {}) {
  try {
    refuse_file("/d/steps.jsonl", "append 9 bytes to", error_number, otherwise);
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, wanted);
    return error.what();
  }
}

TEST(refuse_file, names_action_path_reason_and_remedy) {
  const std::string begin = "cannot append 9 bytes to /d/steps.jsonl: ";
  EXPECT_EQ(refused(EACCES, errc::run_dir_unusable),
            begin + "Permission denied");
  EXPECT_EQ(refused(EACCES, errc::run_dir_unusable, "choose another"),
            begin + "Permission denied; choose another");
  EXPECT_EQ(refused(ENOSPC, errc::disk_full, "choose another"),
            begin + "No space left on device; make space");
  EXPECT_EQ(refused(EMFILE, errc::run_dir_unusable, "choose another"),
            begin + "Too many open files; raise the limit with `ulimit -n`");
  EXPECT_EQ(refused(ENAMETOOLONG, errc::run_dir_unusable, "choose another"),
            begin + "File name too long (a name may have 255 bytes, a path "
                    "4095); choose another");
}

TEST(refuse_file, calls_quotas_and_size_limits_a_full_disk) {
  for (int error_number : {ENOSPC, EDQUOT, EFBIG})
    EXPECT_TRUE(means_disk_full(error_number)) << error_number;
  for (int error_number : {0, EIO, EACCES, EMFILE})
    EXPECT_FALSE(means_disk_full(error_number)) << error_number;
}

} // namespace
} // namespace ballast::store
