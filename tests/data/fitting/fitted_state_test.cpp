// Goal: a state has the same bits whoever gathered which rows, is written and
// read without loss, and is refused where it does not fit. Method: random rows
// with any number of threads and any cuts; files that are damaged on purpose.
#include "data/fitting/state_files.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/fitting/fitting_tester.hpp"
#include "tests/data/operators/made_up_rows.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>

namespace ballast::data {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// More rows than two batches of a fit have; no cell is missing.
rows_pointer long_table() {
  const counter_random random(11, 4);
  arrow::DoubleBuilder x;
  arrow::DoubleBuilder y;
  arrow::StringBuilder t;
  constexpr int64_t rows = 3 * fit_batch_rows + 5;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE(x.Append(normal(random, uint64_t(i)) * 1e3).ok());
    EXPECT_TRUE(y.Append(random.unit(uint64_t(i) + 1'000'000'000)).ok());
    EXPECT_TRUE(t.Append("c" + std::to_string(random.below(
                                   9, uint64_t(i) + 2'000'000'000)))
                    .ok());
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64()),
                     arrow::field("y", arrow::float64()),
                     arrow::field("t", arrow::utf8())}),
      rows,
      {x.Finish().ValueOrDie(), y.Finish().ValueOrDie(),
       t.Finish().ValueOrDie()}));
}

std::vector<json> all_operators() {
  std::vector<json> out;
  for (const char* op : {"standardize", "min_max", "max_abs", "robust",
                         "quantile", "clip_outliers", "bin"})
    out.push_back({{"op", op}, {"columns", {"x", "y"}}});
  for (const char* op : {"one_hot", "ordinal", "hash_encode"})
    out.push_back({{"op", op}, {"columns", {"t"}}});
  for (const char* op : {"tf_idf", "hash_text"})
    out.push_back({{"op", op}, {"columns", {"t"}}});
  for (const char* strategy : {"mean", "median", "drop", "forward"})
    out.push_back(
        {{"op", "impute"}, {"columns", {"x"}}, {"strategy", strategy}});
  out.push_back({{"op", "impute"}, {"columns", {"t"}}, {"strategy", "mode"}});
  for (const int donors : {100'000, 1000})
    out.push_back({{"op", "impute"},
                   {"columns", {"x", "y"}},
                   {"strategy", "knn"},
                   {"donors", donors}});
  out.push_back({{"op", "log"}, {"columns", {"y"}}, {"offset", 1.0}});
  out.push_back({{"op", "target_encode"}, {"columns", {"t"}}, {"target", "y"}});
  out.push_back({{"op", "polynomial"}, {"columns", {"x", "y"}}});
  out.push_back({{"op", "pca"}, {"columns", {"x", "y"}}, {"components", 2}});
  out.push_back({{"op", "select_features"},
                 {"columns", {"x"}},
                 {"method", "correlation"},
                 {"target", "y"}});
  out.push_back({{"op", "select_features"},
                 {"columns", {"y"}},
                 {"method", "chi2"},
                 {"target", "t"}});
  out.push_back({{"op", "select_features"},
                 {"columns", {"x", "y"}},
                 {"method", "mutual_information"},
                 {"target", "t"}});
  return out;
}

TEST(fitted_state, has_the_same_bits_for_any_threads_and_batches) {
  const auto rows = long_table();
  for (const json& node : all_operators()) {
    fitted once(node, rows, 1, 4096);
    const std::string hash = hash_of(bytes_of(*once.state));
    const auto changed = once.rows(rows, true, 1, 4096);
    for (const size_t threads : {2, 7})
      for (const int64_t at_once : {999, 50'000}) {
        fitted again(node, rows, threads, at_once);
        EXPECT_EQ(hash_of(bytes_of(*again.state)), hash)
            << node << threads << " threads, " << at_once;
        EXPECT_TRUE(
            same_rows(*again.rows(rows, true, threads, at_once), *changed))
            << node;
      }
  }
}

TEST(fitted_state, is_read_as_it_was_written) {
  const auto rows = long_table();
  for (const json& node : all_operators()) {
    fitted one(node, rows);
    const state_bytes bytes = bytes_of(*one.state);
    const fitted_state read = read_state(bytes, "state");
    // A node says nothing of options that are as usual.
    EXPECT_EQ(bytes_of(read).json, bytes.json) << node;
    EXPECT_EQ(read.columns, one.state->columns) << node;
    EXPECT_EQ(read.numbers, one.state->numbers) << node;
    fitted_terms terms{
        make_operator({read.what, "/data/graph/2", read.name, read.seed}),
        std::make_shared<const fitted_state>(read)};
    EXPECT_TRUE(same_rows(
        *all_of(fitted_rows(stream_of(rows), terms, fitted::context())),
        *one.rows(rows)))
        << node;
  }
}

TEST(fitted_state, names_the_column_of_another_schema) {
  fitted one({{"op", "standardize"}, {"columns", {"x", "yy"}}},
             numbers({"x", "yy"}, R"([{"x":1,"yy":2},{"x":2,"yy":3}])"));
  EXPECT_EQ(refused([&] { one.rows(numbers({"x"}, R"([{"x":1}])")); }),
            "/data/graph/2: there is no column 'yy' (double), on which "
            "\"standardize\" (the node) was fitted");
  EXPECT_THAT(refused([&] {
                one.rows(numbers({"x", "y"}, R"([{"x":1,"y":1}])"));
              }),
              HasSubstr("did you mean 'y'?"));
  EXPECT_THAT(refused([&] {
                one.rows(rows_of({arrow::field("x", arrow::int64()),
                                  arrow::field("yy", arrow::float64())},
                                 R"([{"x":1,"yy":1}])"));
              }),
              HasSubstr("column 'x' has the type int64; \"standardize\" (the "
                        "node) was fitted on double"));
}

class state_files_test : public testing::Test {
protected:
  void SetUp() override {
    const auto rows = numbers({"x"}, R"([{"x":1},{"x":2}])");
    for (const char* op : {"min_max", "robust"})
      states_.push_back(fitted({{"op", op}, {"columns", {"x"}}}, rows).state);
    write_states(folder_.path() / "preprocessing", states_);
  }
  void change(const std::string& file, const std::string& content) const {
    std::ofstream(folder_.path() / "preprocessing" / file) << content;
  }

  store::temp_folder folder_;
  std::vector<std::shared_ptr<const fitted_state>> states_;
};

TEST_F(state_files_test, are_found_in_their_folder_and_in_a_run_s) {
  for (const char* place : {"preprocessing", ""}) {
    const auto read = read_states(folder_.path() / place);
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(describe(read), describe(states_));
  }
  copy_states(folder_.path() / "preprocessing", folder_.path() / "copy");
  EXPECT_EQ(describe(read_states(folder_.path() / "copy")), describe(states_));
}

TEST_F(state_files_test, that_were_changed_are_refused) {
  change("1-robust/numbers.safetensors", "other");
  EXPECT_THAT(refused([&] { read_states(folder_.path()); }),
              HasSubstr("1-robust: is damaged or was changed: its SHA-256"));
  change("manifest.json", "{}");
  EXPECT_THAT(refused([&] { read_states(folder_.path()); }),
              HasSubstr("is no list of fitted states"));
  change("manifest.json", R"({"version":99,"states":[]})");
  EXPECT_THAT(refused([&] { read_states(folder_.path()); }),
              HasSubstr("is of another version"));
  EXPECT_THAT(refused([&] { read_states(folder_.path() / "none"); }),
              HasSubstr("cannot be read"));
}

TEST_F(state_files_test, of_another_version_or_operator_are_refused) {
  state_bytes bytes = bytes_of(*states_[0]);
  const auto with = [&](const char* key, const json& value) {
    json about = json::parse(bytes.json);
    about[key] = value;
    return refused([&] {
      read_state({about.dump(), bytes.numbers}, "the state");
    });
  };
  EXPECT_THAT(with("version", 2), HasSubstr("its version is 2"));
  EXPECT_THAT(with("op", "filter"), HasSubstr("no operator 'filter' with a "
                                              "state"));
  EXPECT_THAT(with("options", {{"width", 1}}), HasSubstr("no option 'width'"));
  EXPECT_THAT(refused([&] {
                read_state({bytes.json, bytes.numbers + "x"}, "the state");
              }),
              HasSubstr("its tensors take"));
}

} // namespace
} // namespace ballast::data
