// Goal: what lies above a `cache` node is computed once for all jobs that have
// it, and for others again; no damage of what is kept is used. Method: jobs
// over one source, which is spoiled under its old time stamp between them, so
// that who reads it again finds other rows.
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/prepared/some_tables.hpp"

#include <fstream>
#include <gmock/gmock.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class cached_nodes_of_graphs : public ::testing::Test {
protected:
  void SetUp() override {
    right_ = table_of(500, "numbers");
    source_ = folder_.write("numbers.csv", right_);
    written_ = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(source_, written_);
  }
  /// `above` and a `cache`, then what is `below`, named "some".
  job job_of_nodes(const std::string& above, const std::string& below,
                   uint64_t seed = 7) const {
    const std::string text =
        R"({"model": {"kind": "mlp"}, "elastic": {"workers": 2}, "data": {
            "test_fraction": 0, "chunk_rows": 50,
            "sources": {"numbers": {"format": "csv", "uri": "numbers.csv"}},
            "graph": [)" +
        above + R"(, {"op": "cache"}, )" + below +
        R"(], "train": {"from": "some", "label": "y"}}})";
    const job_result read = parse_job(text, {}, folder_.path().string());
    EXPECT_TRUE(read.value)
        << (read.mistakes.empty() ? "" : read.mistakes[0].message);
    job out = *read.value;
    out.seed = seed;
    return out;
  }
  std::string made(const job& what, const std::string& cache = "cache") {
    prepare_options options;
    options.warn = [this](const std::string& text) { told_.push_back(text); };
    return description_of(*prepare(what, folder_ / cache, options));
  }
  /// Of the source as it was.
  std::string expected(const job& what) {
    return made(what, "another" + std::to_string(caches_++));
  }
  void spoil() const {
    std::string text = right_;
    const size_t line = text.find('\n', text.size() / 2) + 1;
    text[text.find('.', line) + 1] ^= 1; // another digit
    std::ofstream(source_, std::ios::binary) << text;
    fs::last_write_time(source_, written_);
  }
  fs::path kept_rows() const {
    for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
      if (fs::exists(entry.path() / "rows.arrow") &&
          entry.path().filename().string().size() == 16)
        return entry.path() / "rows.arrow";
    return {};
  }

  const std::string above_ =
      R"({"op": "derive", "from": "numbers", "columns": {"d": "a + b"}})";
  const std::string below_ =
      R"({"op": "filter", "where": "d > 0", "as": "some"})";
  const std::string other_ =
      R"({"op": "filter", "where": "c > 1", "as": "some"})";
  temporary_folder folder_;
  std::string right_;
  std::string source_;
  fs::file_time_type written_;
  std::vector<std::string> told_;
  int caches_ = 0;
};

TEST_F(cached_nodes_of_graphs, are_not_computed_again_for_what_is_below) {
  const job later = job_of_nodes(above_, other_);
  const std::string right = expected(later);
  made(job_of_nodes(above_, below_));
  EXPECT_FALSE(kept_rows().empty());
  spoil();
  EXPECT_EQ(made(later), right);
  EXPECT_NE(expected(later), right) << "the source is another";
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(cached_nodes_of_graphs, keep_the_origin_of_each_row) {
  const std::string sorted =
      R"({"op": "sort", "from": "numbers", "by": ["b"]})";
  const job later = job_of_nodes(sorted, other_);
  const std::string right = expected(later);
  made(job_of_nodes(sorted, below_.substr(0, below_.find("d >")) +
                                R"(a > 0", "as": "some"})"));
  spoil();
  EXPECT_EQ(made(later), right);
}

TEST_F(cached_nodes_of_graphs, are_computed_again_if_what_is_above_changes) {
  made(job_of_nodes(above_, below_));
  const job other = job_of_nodes(
      R"({"op": "derive", "from": "numbers", "columns": {"d": "a - b"}})",
      below_);
  EXPECT_EQ(made(other), expected(other));
  const std::string drawn = R"({"op": "shuffle", "from": "numbers"})";
  const std::string rest = R"({"op": "limit", "rows": 300, "as": "some"})";
  const std::string first = made(job_of_nodes(drawn, rest, 1));
  EXPECT_NE(made(job_of_nodes(drawn, rest, 2)), first);
}

TEST_F(cached_nodes_of_graphs, see_a_source_that_changed) {
  made(job_of_nodes(above_, below_));
  right_ += "1,2,3,4,1\n";
  std::ofstream(source_, std::ios::binary) << right_;
  const job later = job_of_nodes(above_, other_);
  EXPECT_EQ(made(later), expected(later));
}

TEST_F(cached_nodes_of_graphs, are_set_aside_and_computed_again_if_damaged) {
  const job later = job_of_nodes(above_, other_);
  const std::string right = expected(later);
  made(job_of_nodes(above_, below_));
  std::fstream file(kept_rows(), std::ios::in | std::ios::out);
  file.seekp(std::streamoff(fs::file_size(kept_rows())) / 2);
  file << "damage";
  file.close();
  EXPECT_EQ(made(later), right);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("its rows are computed again")));
  EXPECT_FALSE(kept_rows().empty()) << "and kept again";
}

TEST_F(cached_nodes_of_graphs, are_not_kept_unless_all_of_them_have_passed) {
  made(job_of_nodes(above_, R"({"op": "limit", "rows": 9, "as": "some"})"));
  EXPECT_TRUE(kept_rows().empty());
  for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
    EXPECT_FALSE(entry.path().filename().string().ends_with(".tmp"));
}

TEST_F(cached_nodes_of_graphs, are_not_kept_where_rows_may_be_left_out) {
  job what = job_of_nodes(above_, below_);
  what.data.on_error = error_policy::skip;
  made(what);
  EXPECT_TRUE(kept_rows().empty());
}

TEST_F(cached_nodes_of_graphs, that_a_disk_does_not_take_are_said_and_used) {
  const job what = job_of_nodes(above_, below_);
  const std::string right = expected(what);
  std::string out;
  // The hashes of the sources come first, and must be written.
  for (int write = 1; out.empty() && write < 10; ++write) {
    const std::string fault = "cache.write=enospc@" + std::to_string(write);
    ASSERT_STREQ(arm_fault_points(fault.c_str()), "");
    try {
      out = made(what);
    } catch (const ballast_error&) {
    }
    arm_fault_points("");
  }
  EXPECT_EQ(out, right);
  EXPECT_THAT(told_, Contains(HasSubstr("are not kept: cannot write")));
}

TEST_F(cached_nodes_of_graphs, are_listed_and_go_as_sets_do) {
  made(job_of_nodes(above_, below_));
  const std::string key = kept_rows().parent_path().filename();
  const prepare_cache cache(folder_ / "cache");
  const auto all = cache.entries();
  EXPECT_EQ(all.size(), 2u);
  cache.evict(1);
  EXPECT_FALSE(fs::exists(folder_ / "cache" / key));
  EXPECT_THAT(cache.entries(), IsEmpty());
}

} // namespace
} // namespace ballast::data
