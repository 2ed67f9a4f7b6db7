/// Goal: a job is read from any text, or refused with the place of every
/// mistake in it; `--set` changes what it says. Method: texts, right and wrong.
#include "job_fixture.hpp"

#include "runtime/base/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using namespace testing;

TEST(job_text, names_every_mistake_at_once) {
  job_result result =
      parse_with({"/train/epochs=0", "/elastic/workers=0", "/sed=1",
                  "/model/kind=x", "/data/placement/kind=sizes"});
  EXPECT_THAT(pointers(result), ::testing::UnorderedElementsAre(
                                    "/train/epochs", "/elastic/workers", "/sed",
                                    "/model/kind", "/data/placement/shares"));
}

TEST(job_text, gives_line_and_column_of_a_syntax_error) {
  const std::map<std::string, std::string> table = {
      {"{\n  \"seed\": 1,\n  seed\n}", "line 3, column 3"},
      {"{\"seed\": 1", "line 1, column 10"},
      {"", "the text is empty"},
      {"{\"seed\": 1, \"seed\": 2}", "'seed' is given twice"},
      {"{\"seed\": 1e999}", "1e999 is too large"},
      {"[1]", "expected an object"},
      {"{\"seed\": 1} x", "line 1, column 13"},
      {"{\"seed\": .5}", "; a number begins with a digit, as 0.5 does"},
      {"{\"seed\": 1, }", "; nothing follows the comma before it"},
      {"{\"seed\": 1 // a\n}", "; JSON has no comments"},
  };
  for (const auto& [text, says] : table) {
    job_result result = parse_job(text, {}, "");
    ASSERT_EQ(result.mistakes.size(), 1u) << text;
    EXPECT_THAT(result.mistakes[0].message, HasSubstr(says)) << text;
    EXPECT_EQ(result.mistakes[0].code, errc::invalid_job);
  }
}

// A job of somebody else must not move the cursor of who looks at it.
TEST(job_text, keys_are_told_without_control_characters) {
  const std::map<std::string, std::string> table = {
      {R"({"a\nb\u001b[2J": 1})", "/a\\nb\\x1b[2J: unknown key"},
      {R"({"data": {"\u009b2J": 1}})", "/data/\\xc2\\x9b2J: unknown key"},
      {R"({"\u001b": 1, "\u001b": 2})", "the key '\\x1b' is given twice"},
      {R"({"seed": "\u009b2J"})", "found \"\\xc2\\x9b2J\""},
  };
  for (const auto& [text, says] : table)
    EXPECT_THAT(all_messages(parse_job(text, {}, "")), HasSubstr(says)) << text;
}

TEST(job_text, limits_size_and_depth_of_the_text) {
  std::string deep(5000, '[');
  EXPECT_THAT(parse_job(deep, {}, "").mistakes[0].message,
              HasSubstr("nested deeper"));
  std::string long_text(json_text_bytes_max + 1, ' ');
  EXPECT_THAT(parse_job(long_text, {}, "").mistakes[0].message,
              HasSubstr("at most 1048576"));
}

TEST(job_text, may_say_where_its_schema_is) {
  nlohmann::json named = right_job();
  named["$schema"] = "./job.schema.json";
  const job_result read = parse(named);
  ASSERT_TRUE(read.value) << all_messages(read);
  EXPECT_EQ(to_json(*read.value), to_json(*parse(right_job()).value));
  named["$schema"] = 7;
  EXPECT_EQ(pointers(parse(named)), std::vector<std::string>{"/$schema"});
}

TEST(job_text, makes_relative_paths_absolute_against_the_job_file) {
  job_result result =
      parse_with({"/data/test={\"format\":\"idx\",\"images\":\"../a.gz\","
                  "\"labels\":\"/b.gz\"}",
                  "/model/init=w/x.safetensors"});
  ASSERT_TRUE(result.value) << all_messages(result);
  EXPECT_EQ(result.value->data.test->images, "/a.gz");
  EXPECT_EQ(result.value->data.test->labels, "/b.gz");
  EXPECT_EQ(result.value->model.init, "/base/w/x.safetensors");
  result = parse_with({"/data/train={\"format\":\"csv\",\"uri\":\"d/*.csv\","
                       "\"label\":\"y\"}"});
  ASSERT_TRUE(result.value) << all_messages(result);
  EXPECT_EQ(result.value->data.train.uri, "/base/d/*.csv");
  EXPECT_EQ(result.value->model.init, "default");
  result = parse_with({"/data/train={\"format\":\"csv\","
                       "\"uri\":\"file:///d/a.csv\",\"label\":\"y\"}"});
  ASSERT_TRUE(result.value) << all_messages(result);
  EXPECT_EQ(result.value->data.train.uri, "file:///d/a.csv");
}

TEST(job_set, reads_json_or_else_text) {
  job_result result = parse_with(
      {"/name=7", "/seed=7", "/train/optimizer/kind=adam", "/data/pipeline=[]",
       "/data/pipeline/-={\"op\":\"scale\",\"factor\":1}",
       "/data/pipeline/0/factor=2", "/elastic/workers=5", "/elastic/workers=3",
       "/train/clip_norm=null"});
  ASSERT_TRUE(result.value) << all_messages(result);
  EXPECT_EQ(result.value->name, "7");
  EXPECT_EQ(result.value->seed, 7u);
  EXPECT_EQ(result.value->train.optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(result.value->data.pipeline.at(0).factor, 2);
  EXPECT_EQ(result.value->elastic.workers, 3u) << "the last one counts";
}

TEST(job_set, refuses_what_is_no_pointer_and_value) {
  for (const char* set : {"train=1", "/train", "", "=",
                          "/=", "/data/pipeline/0/op=scale", "/seed/x=1"}) {
    job_result result = parse_with({"/seed=1", "/data/pipeline=[]", set});
    ASSERT_EQ(result.mistakes.size(), 1u) << set;
    EXPECT_EQ(describe(result.mistakes[0].code).exit_code, 2) << set;
    EXPECT_THAT(result.mistakes[0].message, HasSubstr(set));
  }
}

TEST(job_text, survives_any_text) {
  // Mutations of a right job: an answer, never a crash, and never both a job
  // and mistakes.
  const uint64_t seed = 20240;
  std::string base = to_json(*parse(right_job()).value).dump();
  counter_random random(seed, 0);
  uint64_t draw = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = base;
    uint64_t edits = 1 + random.below(4, draw++);
    for (uint64_t i = 0; i < edits; ++i) {
      size_t at = random.below(text.size(), draw++);
      switch (random.below(3, draw++)) {
      case 0:
        text[at] = char(random.below(256, draw++));
        break;
      case 1:
        text.erase(at, 1 + random.below(9, draw++));
        break;
      default:
        text.insert(at, text.substr(random.below(text.size(), draw++), 5));
      }
    }
    job_result result = parse_job(text, {}, "/base");
    ASSERT_NE(result.value.has_value(), !result.mistakes.empty())
        << "seed " << seed << ", round " << round << ": " << text;
  }
}

} // namespace
} // namespace ballast
