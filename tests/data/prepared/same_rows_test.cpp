#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "store/file_lock.hpp"
#include "tests/data/prepared/some_tables.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A cache in which a job's rows are prepared, and another job of the same
/// rows.
class same_rows : public ::testing::Test {
protected:
  /// What is said of the job's set, made with what the cache has.
  std::string made(const job& what, const fs::path& cache,
                   std::optional<uint64_t> memory = {}) {
    prepare_options options;
    options.rows_memory = memory;
    options.warn = [this](const std::string& text) { told_.push_back(text); };
    const auto set = prepare(what, cache, options);
    return description_of(*set);
  }
  /// Replaces the sources by others of the same size and times, so that who
  /// reads them finds other numbers.
  void spoil(const std::string& path) const {
    const auto time = fs::last_write_time(path);
    std::fstream file(path, std::ios::in | std::ios::out);
    file.seekp(std::streamoff(fs::file_size(path)) / 2);
    file << "\"";
    file.close();
    fs::last_write_time(path, time);
  }
  /// Long ago, so that the cache remembers its hash.
  static void age(const std::string& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() -
                                  std::chrono::hours(1));
  }
  /// Makes `later` of the rows of `first`, without a look at the sources.
  std::string made_without_sources(const job& first, const job& later,
                                   std::optional<uint64_t> memory) {
    return made_without(first.data.train.format == source_format::idx
                            ? first.data.train.images
                            : first.data.train.uri,
                        first, later, memory);
  }
  std::string made_without(const std::string& source, const job& first,
                           const job& later, std::optional<uint64_t> memory) {
    const fs::path cache = folder_ / ("cache" + std::to_string(caches_++));
    age(source);
    made(first, cache);
    std::ifstream in(source, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const auto time = fs::last_write_time(source);
    spoil(source);
    std::string out = made(later, cache, memory);
    std::ofstream(source, std::ios::binary) << bytes;
    fs::last_write_time(source, time);
    return out;
  }
  std::string made_of_sources(const job& what) {
    return made(what, folder_ / ("cache" + std::to_string(caches_++)));
  }

  temporary_folder folder_;
  std::vector<std::string> told_;
  int caches_ = 0;
};

TEST_F(same_rows, are_placed_anew_in_every_way) {
  for (const std::string_view kind : ballast::words_of<placement_kind>) {
    if (kind == "column" || kind == "continuous")
      continue; // go by a column
    const job first =
        job_with(folder_, "numbers", placement_kind::contiguous, 0.2);
    job later =
        job_with(folder_, "numbers", *parse_word<placement_kind>(kind), 0.3);
    later.seed = 99;
    later.data.chunk_rows = 9;
    SCOPED_TRACE(kind);
    const std::string expected = made_of_sources(later);
    for (uint64_t memory : {uint64_t{1}, uint64_t{2500}, UINT64_MAX})
      EXPECT_EQ(made_without_sources(first, later, memory), expected) << memory;
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(same_rows, are_of_every_kind) {
  for (const char* kind : {"regression", "bytes", "words", "tokens", "images"})
    for (const bool test : {false, true})
      for (double fraction : {0.0, 0.25}) {
        job first = job_with(folder_, kind, placement_kind::iid, 0.1);
        if (test)
          first.data.test = first.data.train;
        job later = first;
        later.data.test_fraction = fraction;
        later.data.placement.kind = placement_kind::stratified;
        later.elastic.workers = 2;
        SCOPED_TRACE(std::string(kind) + (test ? " with a test set " : " ") +
                     std::to_string(fraction));
        const std::string expected = made_of_sources(later);
        for (uint64_t memory : {uint64_t{1}, UINT64_MAX})
          EXPECT_EQ(made_without_sources(first, later, memory), expected)
              << memory;
      }
}

TEST_F(same_rows, keep_their_numbers_where_a_condition_takes_some) {
  job first = job_with(folder_, "numbers", placement_kind::iid, 0.1);
  first.data.train.where = "user > 4";
  job later = first;
  later.data.test_fraction = 0;
  later.elastic.workers = 2;
  const std::string expected = made_of_sources(later);
  for (uint64_t memory : {uint64_t{1}, UINT64_MAX})
    EXPECT_EQ(made_without_sources(first, later, memory), expected) << memory;
}

TEST_F(same_rows, go_by_the_label_without_the_sources) {
  const job first = job_with(folder_, "numbers", placement_kind::iid, 0);
  job later = first;
  later.data.placement.kind = placement_kind::column;
  later.data.placement.column = "y";
  const std::string expected = made_of_sources(later);
  EXPECT_EQ(made_without_sources(first, later, UINT64_MAX), expected);
}

TEST_F(same_rows, are_read_again_for_columns_that_the_set_has_not) {
  const job first = job_with(folder_, "numbers", placement_kind::iid, 0);
  job by = first;
  by.balance.by = {"user"};
  job group = first;
  group.balance.group = "user";
  job column = first;
  column.data.placement.kind = placement_kind::column;
  column.data.placement.column = "user";
  for (const job& later : {by, group, column}) {
    const std::string expected = made_of_sources(later);
    const fs::path cache = folder_ / ("cache" + std::to_string(caches_++));
    made(first, cache);
    EXPECT_EQ(made(later, cache), expected);
  }
}

/// Rows of a graph, in another order than that of their source, some twice.
static job graph_over(const job& of, const std::string& nodes, bool test) {
  job out = of;
  source_spec from = of.data.train;
  from.label.clear();
  out.data.sources["numbers"] = from;
  const job_result read = parse_job(
      R"({"model": {"kind": "mlp"}, "data": {"sources": {"numbers": {
          "format": "csv", "uri": "x.csv"}}, "graph": )" +
          nodes + R"(, "train": {"from": "some", "label": "y"}}})",
      {}, "/");
  EXPECT_TRUE(read.value);
  out.data.graph = read.value->data.graph;
  out.data.train = read.value->data.train;
  if (test)
    out.data.test = out.data.train;
  return out;
}

TEST_F(same_rows, of_a_graph_are_reused_in_whichever_order_they_came) {
  const job plain =
      job_with(folder_, "numbers", placement_kind::contiguous, 0.2);
  for (const char* nodes :
       {R"([{"op": "sort", "from": "numbers", "by": ["a"], "as": "some"}])",
        R"([{"op": "repeat", "from": "numbers", "times": 2, "as": "some"}])",
        R"([{"op": "filter", "from": "numbers", "where": "a > 0"},
            {"op": "shuffle", "as": "some"}])"})
    for (const bool test : {false, true}) {
      const job first = graph_over(plain, nodes, test);
      job later = first;
      later.data.placement.kind = placement_kind::stratified;
      later.elastic.workers = 2;
      later.data.test_fraction = 0.4;
      SCOPED_TRACE(nodes);
      const std::string source = plain.data.train.uri;
      const std::string expected = made_of_sources(later);
      for (uint64_t memory : {uint64_t{1}, UINT64_MAX})
        EXPECT_EQ(made_without(source, first, later, memory), expected)
            << memory;
    }
}

class changed_set : public same_rows {
protected:
  /// The folder of the first set, once it is made.
  fs::path make_first() {
    first_ = job_with(folder_, "numbers", placement_kind::iid, 0);
    later_ = first_;
    later_.elastic.workers = 2;
    expected_ = made_of_sources(later_);
    return prepare(first_, cache_)->folder();
  }
  const fs::path cache_ = folder_ / "cache";
  job first_;
  job later_;
  std::string expected_;
};

TEST_F(changed_set, is_passed_over_if_it_is_gone) {
  fs::remove_all(make_first());
  EXPECT_EQ(made(later_, cache_), expected_);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(changed_set, is_passed_over_while_another_process_works_on_it) {
  const fs::path set = make_first();
  store::file_lock lock(cache_ / "locks" / set.filename());
  ASSERT_TRUE(lock.take(store::file_lock::mode::exclusive));
  EXPECT_EQ(made(later_, cache_), expected_);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(changed_set, is_told_of_once_if_it_is_damaged) {
  const fs::path set = make_first();
  std::fstream file(set / "train.arrow", std::ios::in | std::ios::out);
  file.seekp(std::streamoff(fs::file_size(set / "train.arrow")) / 2);
  file << std::string(1000, '?'); // more than Arrow writes between columns
  file.close();
  for (uint64_t memory : {uint64_t{1}, UINT64_MAX}) {
    told_.clear();
    EXPECT_EQ(made(later_, cache_, memory), expected_);
    EXPECT_THAT(told_, ElementsAre(HasSubstr("the sources are read instead")));
    fs::remove_all(prepare(later_, cache_)->folder());
  }
}

TEST_F(changed_set, is_told_of_if_its_manifest_is_damaged) {
  std::ofstream(make_first() / "manifest.json") << "{}";
  EXPECT_EQ(made(later_, cache_), expected_);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("the sources are read instead")));
}

TEST_F(changed_set, is_not_taken_for_rows_of_a_changed_source) {
  make_first();
  job other = later_;
  other.data.train.uri = folder_.write("other.csv", table_of(501, "numbers"));
  const std::string expected = made_of_sources(other);
  EXPECT_EQ(made(other, cache_), expected);
}

} // namespace
} // namespace ballast::data
