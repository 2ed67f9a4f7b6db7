// Goal: outputs appear all or not at all, whenever their process is killed, and
// the next one removes what it left and nothing else. Method: processes of the
// test's own that are killed at chosen places.
#include "data/sink/partial_path.hpp"

#include "runtime/base/fault_point.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <csignal>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

class partial_paths : public testing::Test {
protected:
  static constexpr auto file = partial_path::kind::file;
  static constexpr auto folder = partial_path::kind::folder;

  static void fill(const partial_path& what) {
    std::ofstream(what.path()) << "rows";
  }
  /// Runs `work` in another process, which is killed.
  template <class Work>
  void killed(Work work) const {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& one : fs::directory_iterator(folder_.path()))
      out.insert(one.path().filename().string());
    return out;
  }
  fs::path at(const std::string& name) const { return folder_ / name; }

  temporary_folder folder_;
};

TEST_F(partial_paths, appear_when_they_are_published) {
  {
    partial_path one(at("a.csv"), file);
    fill(one);
    EXPECT_FALSE(fs::exists(at("a.csv")));
    partial_path::publish({&one});
    partial_path other(at("b.csv"), file);
  }
  EXPECT_THAT(names(), ElementsAre("a.csv"));
  partial_path again(at("a.csv"), file);
  EXPECT_THAT(
      refusal_of([&] { partial_path::publish({&again}); }, errc::usage),
      testing::HasSubstr("a.csv: is there; remove it, or name another file"));
}

TEST_F(partial_paths, of_a_process_that_was_killed_are_removed_by_the_next) {
  std::ofstream(at("a.csv.notes.partial")) << "a user's";
  killed([&] {
    new partial_path(at("a.csv"), file);
    fs::create_directory((new partial_path(at("parts"), folder))->path() / "x");
  });
  EXPECT_EQ(names().size(), 3u);
  partial_path::remove_left_over(at("a.csv"));
  partial_path::remove_left_over(at("parts"));
  EXPECT_THAT(names(), ElementsAre("a.csv.notes.partial"));
}

TEST_F(partial_paths, of_a_process_that_lives_stay) {
  partial_path here(at("a.csv"), file);
  killed([&] { partial_path::remove_left_over(at("a.csv")); });
  EXPECT_TRUE(fs::exists(here.path()));
}

#ifndef BALLAST_NO_FAULT_POINTS

TEST_F(partial_paths, of_a_set_that_half_appeared_are_removed_by_the_next) {
  const auto half = [&] {
    partial_path one(at("a.csv"), file);
    partial_path two(at("b.csv"), file);
    fill(one);
    fill(two);
    arm_fault_points("sink.appear=kill@2");
    partial_path::publish({&one, &two});
  };
  killed(half);
  ASSERT_TRUE(fs::exists(at("a.csv"))) << "the first had appeared";
  partial_path::remove_left_over(at("b.csv"));
  partial_path::remove_left_over(at("a.csv"));
  EXPECT_THAT(names(), IsEmpty());
  killed(half);
  fs::remove(at("a.csv"));
  std::ofstream(at("a.csv")) << "a user's, of the same name";
  partial_path::remove_left_over(at("a.csv"));
  partial_path::remove_left_over(at("b.csv"));
  EXPECT_THAT(names(), ElementsAre("a.csv"));
}

TEST_F(partial_paths, of_a_set_are_all_taken_back_if_one_cannot_appear) {
  partial_path one(at("a.csv"), file);
  partial_path two(at("b.csv"), file);
  arm_fault_points("sink.appear=enospc@2");
  refusal_of([&] { partial_path::publish({&one, &two}); }, errc::disk_full);
  arm_fault_points("");
  EXPECT_FALSE(fs::exists(at("a.csv")));
  EXPECT_FALSE(fs::exists(at("b.csv")));
}

#endif

TEST_F(partial_paths, are_gone_when_the_process_is_ended_at_once) {
  partial_path here(at("a.csv"), file);
  store::remove_unfinished();
  EXPECT_THAT(names(), IsEmpty());
}

} // namespace
} // namespace ballast::data
