// Goal: a prepared set says what its weights and the order of its rows are of,
// and serves no other sampling. Method: one set in a folder, jobs that train on
// it.
#include "data/prepared/prepared_set.hpp"
#include "data/store/stored_set.hpp"
#include "tests/data/source_builders.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

sampling_spec weighted(const std::string& column) {
  sampling_spec out;
  out.kind = sampling_kind::weighted;
  out.column = column;
  return out;
}

sampling_spec balanced(std::optional<double> beta = {}) {
  sampling_spec out;
  out.kind = sampling_kind::class_balanced;
  out.beta = beta;
  return out;
}

sampling_spec of_kind(sampling_kind kind, const std::string& column = "") {
  sampling_spec out;
  out.kind = kind;
  out.column = column;
  return out;
}

sampling_spec sources(std::vector<std::string> values,
                      std::vector<double> sampling_spec::*list,
                      std::vector<double> numbers) {
  sampling_spec out;
  out.kind = sampling_kind::sources;
  out.column = "from";
  out.values = std::move(values);
  out.*list = std::move(numbers);
  return out;
}

class set_sampling : public ::testing::Test {
protected:
  job with(const sampling_spec& how) {
    std::string rows = "x,kind,w,s,from\n";
    for (int i = 0; i < 120; ++i)
      rows += std::to_string(i) + "," + std::to_string(i % 5 == 0) + "," +
              std::to_string(i % 3) + "," + std::to_string(i) + "," +
              (i % 2 == 0 ? "a" : "b") + "\n";
    job out = job_of(table_source(source_format::csv,
                                  folder_.write("rows.csv", rows), "kind"),
                     7);
    out.data.train.features = {"x"};
    out.data.test_fraction = 0;
    out.train.sampling = how;
    return out;
  }
  /// Where a job names a set that was prepared with `how`.
  std::string stored(const sampling_spec& how) {
    const std::string place =
        (folder_ / ("set" + std::to_string(sets_++))).string();
    const auto set = prepare(with(how), folder_ / "cache");
    write_stored_set(set->folder(), place, {});
    return place;
  }
  /// Why a job with this sampling is refused at that place; empty: it is not.
  failure refused(const std::string& place, const sampling_spec& how) {
    job what = with(how);
    what.data.train = {};
    what.data.train.format = source_format::prepared;
    what.data.train.uri = place;
    try {
      prepare(what, folder_ / "cache");
      return {};
    } catch (const ballast_error& error) {
      return error.what_failed();
    }
  }

  temporary_folder folder_;
  int sets_ = 0;
};

const auto proportion = &sampling_spec::proportion;
const auto repeat = &sampling_spec::repeat;

TEST_F(set_sampling, is_refused_where_it_is_not_the_one_of_the_set) {
  const std::string mixed = stored(sources({"a", "b"}, proportion, {1, 3}));
  const std::string by_class = stored(balanced());
  const std::string by_w = stored(weighted("w"));
  const std::string by_score = stored(of_kind(sampling_kind::curriculum, "s"));
  const struct {
    const std::string& place;
    sampling_spec how;
    const char* field;
  } cases[] = {
      {mixed, sources({"a", "b"}, repeat, {1, 2}), "proportion"},
      {mixed, sources({"a", "b"}, proportion, {1, 2}), "proportion"},
      {mixed, sources({"b", "a"}, proportion, {1, 3}), "proportion"},
      {mixed, sources({"a", "c"}, proportion, {1, 3}), "values"},
      {mixed, weighted("w"), "kind"},
      {by_class, balanced(0.9), "beta"},
      {by_class, of_kind(sampling_kind::stratified), "kind"},
      {by_w, balanced(), "kind"},
      {by_w, weighted("no such column"), "column"},
      {by_w, of_kind(sampling_kind::stratified), "kind"},
      {by_score, of_kind(sampling_kind::curriculum, "x"), "column"},
  };
  for (const auto& [place, how, field] : cases) {
    const failure why = refused(place, how);
    EXPECT_EQ(why.code, errc::invalid_job) << field;
    EXPECT_EQ(why.pointer, std::string("/train/sampling/") + field);
    EXPECT_THAT(why.message, HasSubstr(place));
    EXPECT_THAT(why.message, HasSubstr("was prepared with the sampling {"));
    EXPECT_THAT(why.message, HasSubstr("prepare the set again"));
  }
}

TEST_F(set_sampling, may_be_another_one_with_the_same_weights_and_order) {
  const std::string mixed = stored(sources({"a", "b"}, proportion, {1, 3}));
  EXPECT_FALSE(refused(mixed, sources({"a", "b"}, proportion, {1, 3})));
  EXPECT_FALSE(refused(mixed, sources({"b", "a"}, proportion, {3, 1})));
  EXPECT_FALSE(refused(mixed, of_kind(sampling_kind::once)));
  sampling_spec longer = balanced(0.9);
  longer.rows = 500;
  EXPECT_FALSE(refused(stored(balanced(0.9)), longer));
  sampling_spec slower = of_kind(sampling_kind::curriculum, "s");
  slower.begin = 0.5;
  EXPECT_FALSE(
      refused(stored(of_kind(sampling_kind::curriculum, "s")), slower));
}

TEST_F(set_sampling, of_a_set_without_any_is_refused) {
  const std::string plain = stored(of_kind(sampling_kind::once));
  const failure why = refused(plain, balanced());
  EXPECT_EQ(why.pointer, "/train/sampling/kind");
  EXPECT_THAT(why.message, HasSubstr("was prepared without /train/sampling"));
}

TEST_F(set_sampling, of_an_earlier_build_is_not_known_where_rows_have_weights) {
  const auto stored_earlier = [&](const sampling_spec& how) {
    const std::string place = stored(how);
    const std::string file = place + "/manifest.json";
    std::ifstream in(file);
    json content = json::parse(in);
    content.erase("checksum"); // they have none of these
    content.erase("sampling");
    std::ofstream(file) << content.dump();
    return place;
  };
  const std::string earlier = stored_earlier(balanced());
  EXPECT_THAT(refused(earlier, balanced()).message,
              HasSubstr("prepare it again"));
  EXPECT_FALSE(refused(earlier, of_kind(sampling_kind::once)));
  const sampling_spec eased = of_kind(sampling_kind::curriculum, "s");
  EXPECT_THAT(refused(stored_earlier(eased), eased).message,
              HasSubstr("prepare it again"));
  const sampling_spec mixed = of_kind(sampling_kind::stratified);
  EXPECT_FALSE(refused(stored_earlier(mixed), mixed));
}

} // namespace
} // namespace ballast::data
