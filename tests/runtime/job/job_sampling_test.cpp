// Goal: a job says how often rows are used, and is refused where that says
// nothing, or two things.
#include "runtime/job/job.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json with_sampling(json sampling, json more = json::object()) {
  json out{{"data",
            {{"train", {{"format", "csv"}, {"uri", "a.csv"}, {"label", "y"}}}}},
           {"model", {{"kind", "mlp"}}},
           {"train", {{"sampling", std::move(sampling)}}}};
  out.update(more, true);
  return out;
}

std::string sampling_refusals(const json& document) {
  std::string out;
  for (const failure& one : parse_job(document.dump(), {}, "/").mistakes)
    out += one.message + "\n";
  return out;
}

TEST(job_sampling, is_read_and_written) {
  const json said{{"kind", "sources"},
                  {"column", "from"},
                  {"values", {"web", "book"}},
                  {"repeat", {1, 2.5}}};
  const job_result read = parse_job(with_sampling(said).dump(), {}, "/");
  ASSERT_TRUE(read.value) << sampling_refusals(with_sampling(said));
  EXPECT_EQ(read.value->train.sampling.kind, sampling_kind::sources);
  EXPECT_EQ(read.value->train.sampling.repeat, (std::vector<double>{1, 2.5}));
  const json written = to_json(*read.value);
  EXPECT_EQ(written["train"]["sampling"]["values"], said["values"]);
  EXPECT_EQ(parse_job(written.dump(), {}, "/").value->train.sampling.column,
            "from");
}

TEST(job_sampling, chooses_whole_numbers_of_uses) {
  const json said{{"kind", "sources"},
                  {"column", "from"},
                  {"values", {"web", "book"}},
                  {"choose", {2, 3.7}}};
  EXPECT_THAT(sampling_refusals(with_sampling(said)),
              HasSubstr("/train/sampling/choose/1: is no whole number"));
}

TEST(job_sampling, draws_stratified_batches_from_one_chunk_at_a_time) {
  const json said = with_sampling({{"kind", "stratified"}});
  EXPECT_EQ(parse_job(said.dump(), {}, "/").value->train.shuffle.window(), 1U);
  const json wider =
      with_sampling({{"kind", "stratified"}},
                    {{"train", {{"shuffle", {{"window_chunks", 3}}}}}});
  EXPECT_EQ(parse_job(wider.dump(), {}, "/").value->train.shuffle.window(), 3U);
}

TEST(job_sampling, has_the_fields_of_its_kind_alone) {
  EXPECT_THAT(sampling_refusals(with_sampling({{"kind", "weighted"}})),
              HasSubstr("/train/sampling/column"));
  EXPECT_THAT(sampling_refusals(
                  with_sampling({{"kind", "class_balanced"}, {"column", "w"}})),
              HasSubstr("/train/sampling/column"));
  EXPECT_THAT(sampling_refusals(
                  with_sampling({{"kind", "class_balanced"}, {"beta", 1}})),
              HasSubstr("/train/sampling/beta"));
  EXPECT_THAT(sampling_refusals(with_sampling(
                  {{"kind", "curriculum"}, {"column", "s"}, {"begin", 0}})),
              HasSubstr("/train/sampling/begin"));
}

TEST(job_sampling, of_sources_has_one_number_for_each_value) {
  const json both{{"kind", "sources"},
                  {"column", "from"},
                  {"values", {"a", "b"}},
                  {"repeat", {1, 2}},
                  {"choose", {10, 10}}};
  EXPECT_THAT(sampling_refusals(with_sampling(both)),
              HasSubstr("exactly one of"));
  json short_one = both;
  short_one.erase("choose");
  short_one["repeat"] = {1};
  EXPECT_THAT(sampling_refusals(with_sampling(short_one)),
              HasSubstr("1 numbers for 2 values"));
  json nothing = both;
  nothing.erase("repeat");
  nothing["choose"] = {0, 0};
  EXPECT_THAT(sampling_refusals(with_sampling(nothing)),
              HasSubstr("all are 0"));
  json twice = short_one;
  twice["values"] = {"a", "a"};
  twice["repeat"] = {1, 2};
  EXPECT_THAT(sampling_refusals(with_sampling(twice)),
              HasSubstr("names a value twice"));
}

TEST(job_sampling, by_a_column_needs_columns) {
  const json images{
      {"data",
       {{"train", {{"format", "idx"}, {"images", "i"}, {"labels", "l"}}}}},
      {"model", {{"kind", "mlp"}}},
      {"train", {{"sampling", {{"kind", "weighted"}, {"column", "w"}}}}}};
  EXPECT_THAT(sampling_refusals(images), HasSubstr("have no named columns"));
  json balanced = images;
  balanced["train"]["sampling"] = {{"kind", "class_balanced"}};
  EXPECT_EQ(sampling_refusals(balanced), "");
}

} // namespace
} // namespace ballast
