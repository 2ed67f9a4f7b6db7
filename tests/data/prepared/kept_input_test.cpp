/// Goal: what comes by a pipe is kept whole, once, and within the limit of the
/// cache. Method: real pipes, written by a thread.
#include "data/prepared/kept_input.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "runtime/base/unique_fd.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <thread>
#include <unistd.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

class kept_input_test : public ::testing::Test {
protected:
  kept_input keep(const std::string& text, uint64_t limit = UINT64_MAX) {
    int ends[2] = {};
    EXPECT_EQ(::pipe(ends), 0);
    const unique_fd from(ends[0]);
    std::thread writer([to = ends[1], &text] {
      size_t done = 0;
      while (done < text.size())
        done += size_t(::write(to, text.data() + done, text.size() - done));
      ::close(to);
    });
    const auto join = [&] { writer.join(); };
    try {
      kept_input out = keep_input(from.get(), cache(), ".csv", limit);
      join();
      return out;
    } catch (...) {
      join();
      throw;
    }
  }
  fs::path cache() const { return folder_.path() / "cache"; }
  static std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

private:
  store::temp_folder folder_;
};

TEST_F(kept_input_test, keeps_all_of_it_under_a_name_of_its_content) {
  const std::string text(3'000'001, 'x');
  const kept_input one = keep(text);
  EXPECT_EQ(one.bytes, text.size());
  EXPECT_EQ(content_of(one.file), text);
  EXPECT_EQ(one.file.extension(), ".csv");
  EXPECT_EQ(keep(text).file, one.file);
  EXPECT_NE(keep(text + "y").file, one.file);
  EXPECT_EQ(kept_inputs(cache()).size(), 2u);
}

TEST_F(kept_input_test, refuses_an_empty_one_and_leaves_nothing) {
  try {
    keep("");
    FAIL() << "was kept";
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::invalid_data);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("is empty"));
  }
  EXPECT_TRUE(kept_inputs(cache()).empty());
}

TEST_F(kept_input_test, lets_the_oldest_go_beyond_the_limit_never_the_new_one) {
  const kept_input first = keep(std::string(100, 'a'));
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(first.file, old);
  const kept_input second = keep(std::string(100, 'b'), 150);
  EXPECT_FALSE(fs::exists(first.file));
  EXPECT_TRUE(fs::exists(second.file));
  const kept_input third = keep(std::string(1000, 'c'), 150);
  EXPECT_FALSE(fs::exists(second.file));
  EXPECT_TRUE(fs::exists(third.file));
}

TEST_F(kept_input_test, forgets_all_of_them) {
  keep("a");
  keep("b");
  EXPECT_EQ(forget_inputs(cache()).size(), 2u);
  EXPECT_TRUE(kept_inputs(cache()).empty());
}

} // namespace
} // namespace ballast::data
