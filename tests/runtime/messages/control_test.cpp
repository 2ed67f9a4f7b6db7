/// Goal: a control message is understood or refused with code, reason and
/// pointer, and never both. Method: tables of texts.
#include "runtime/messages/control.hpp"

#include "runtime/job/job_text.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using ballast::testing::right_job;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(control, reads_every_type_that_it_offers) {
  for (const std::string& type : control_types()) {
    json message = {{"version", 1}, {"id", "x1"}, {"type", type}};
    if (type == "submit")
      message["job"] = right_job();
    if (type.ends_with("_worker") || type == "damage_chunks" ||
        type == "flip_gradients")
      message["worker"] = "w1";
    if (type == "damage_chunks")
      message["chunks"] = 2;
    if (type == "flip_gradients")
      message["leaves"] = 2;
    if (type == "stall_worker")
      message["seconds"] = 0.5;
    if (type == "slow_worker")
      message["factor"] = 2;
    if (type == "scale")
      message["workers"] = 3;
    if (type == "note")
      message["text"] = "a note";
    control_result result = parse_control(message.dump());
    ASSERT_TRUE(result.value) << result.refused.message;
    EXPECT_EQ(result.value->id, "x1");
    EXPECT_EQ(std::holds_alternative<submit_request>(result.value->request),
              type == "submit");
  }
}

TEST(control, keeps_the_job_of_a_submit) {
  json job = right_job();
  job["seed"] = 3;
  control_result result = parse_control(
      json{{"version", 1}, {"type", "submit"}, {"job", job}}.dump());
  ASSERT_TRUE(result.value) << result.refused.message;
  EXPECT_EQ(std::get<submit_request>(result.value->request).what.seed, 3u);
  EXPECT_EQ(result.value->id, "");
}

TEST(control, refuses_a_submit_as_its_job_is_refused) {
  json job = right_job();
  job["train"]["epochs"] = 0;
  control_result result = parse_control(
      json{{"version", 1}, {"id", "a"}, {"type", "submit"}, {"job", job}}
          .dump());
  EXPECT_FALSE(result.value);
  EXPECT_EQ(result.id, "a");
  EXPECT_EQ(result.refused.code, errc::invalid_job);
  EXPECT_EQ(result.refused.pointer, "/train/epochs");
  EXPECT_EQ(http_status(result.refused), 422);
}

TEST(control, says_what_a_wrong_key_may_mean_before_what_is_missing) {
  control_result result =
      parse_control(R"({"version":1,"type":"evict_worker","wroker":"w1"})");
  EXPECT_EQ(result.refused.pointer, "/wroker");
  EXPECT_EQ(result.refused.message,
            "/wroker: unknown key in \"evict_worker\"; did you mean "
            "\"worker\"?");
}

TEST(control, refuses_with_code_reason_and_pointer) {
  struct refusal {
    const char* text;
    errc code;
    const char* pointer;
    const char* says;
  };
  const refusal table[] = {
      {"", errc::bad_request, "", "empty"},
      {"{", errc::bad_request, "", "line 1, column 1"},
      {"[]", errc::bad_request, "", "expected an object"},
      {R"({"type":"stop"})", errc::bad_request, "/version", "is required"},
      {R"({"version":2,"type":"stop"})", errc::bad_request, "/version",
       "expected 1, found 2"},
      {R"({"version":"1","type":"stop"})", errc::bad_request, "/version",
       "found \"1\""},
      {R"({"version":1})", errc::bad_request, "/type", "\"stop\""},
      {R"({"version":1,"type":"stopp"})", errc::bad_request, "/type",
       "did you mean \"stop\"?"},
      {R"({"version":1,"type":7})", errc::bad_request, "/type", "found 7"},
      {R"({"version":1,"type":"stop","id":7})", errc::bad_request, "/id",
       "expected a text"},
      {R"({"version":1,"type":"stop","now":true})", errc::bad_request, "/now",
       "unknown key"},
      {R"({"version":1,"type":"stop","type":"stop"})", errc::bad_request, "",
       "given twice"},
      {R"({"version":1,"type":"submit"})", errc::bad_request, "/job",
       "is required"},
      {R"({"version":1,"type":"submit","job":"a"})", errc::bad_request, "/job",
       "of type object"},
      {R"({"version":1,"type":"slow_worker","worker":"w1"})", errc::bad_request,
       "/factor", "is required"},
      {R"({"version":1,"type":"set_balance","skew_tv":"low"})",
       errc::bad_request, "/skew_tv", "of type number"},
      {R"({"version":1,"type":"set_balance","enabled":1})", errc::bad_request,
       "/enabled", "of type boolean"},
      {R"({"version":1,"type":"set_balance","skew_tv":NaN})", errc::bad_request,
       "", "not valid JSON"},
      {R"({"version":1,"type":"set_balance","skew_tv":1e999})",
       errc::bad_request, "", "too large"},
      {R"({"version":1,"type":"set_balance","skew_tv":null})",
       errc::bad_request, "/skew_tv", "of type number"},
      {R"({"version":1,"type":"set_balance","skew_tv":[0.1]})",
       errc::bad_request, "/skew_tv", "of type number"},
      {R"({"version":1,"type":"set_balance","enabled":"yes"})",
       errc::bad_request, "/enabled", "of type boolean"},
      {R"({"version":1,"type":"set_balance","skew":0.1})", errc::bad_request,
       "/skew", "unknown key"},
      {R"({"version":1,"type":"stop","a\n\u001b[2J":1})", errc::bad_request,
       "/a\n\x1b[2J", "/a\\n\\x1b[2J: unknown key"},
      {R"({"version":1,"type":"plan","worker":"w1"})", errc::bad_request,
       "/worker", "unknown key"},
      {R"({"version":1,"type":"explain","worker":7})", errc::bad_request,
       "/worker", "of type string"},
      {R"({"version":1,"type":"explain","chunk":1.5})", errc::bad_request,
       "/chunk", "of type integer"},
      {R"({"version":1,"type":"damage_chunks","worker":"w1","chunks":-1})",
       errc::bad_request, "/chunks", "of type integer"},
      {R"({"version":1,"type":"flip_gradients","worker":"w1"})",
       errc::bad_request, "/leaves", "is required"},
      {R"({"version":1,"type":"explain","chunk":-1})", errc::bad_request,
       "/chunk", "of type integer"},
  };
  for (const refusal& r : table) {
    control_result result = parse_control(r.text);
    EXPECT_FALSE(result.value) << r.text;
    EXPECT_EQ(result.refused.code, r.code) << r.text;
    EXPECT_EQ(result.refused.pointer, r.pointer) << r.text;
    EXPECT_THAT(result.refused.message, HasSubstr(r.says)) << r.text;
    int status = http_status(result.refused);
    EXPECT_TRUE(status >= 400 && status < 500) << r.text;
  }
}

TEST(control, a_refusal_can_be_matched_to_its_message) {
  control_result result =
      parse_control(R"({"version":1,"id":"a","type":"slow_worker"})");
  EXPECT_TRUE(result.refused);
  EXPECT_EQ(result.id, "a");
}

TEST(control, what_is_not_given_in_set_balance_stays) {
  control_result result =
      parse_control(R"({"version":1,"type":"set_balance","skew_tv":0.2})");
  ASSERT_TRUE(result.value) << result.refused.message;
  const auto& what = std::get<balance_request>(result.value->request);
  EXPECT_FALSE(what.enabled);
  EXPECT_EQ(what.skew_tv, 0.2);
}

TEST(control, limits_the_size_of_a_body) {
  std::string text = R"({"version":1,"type":"status","id":")" +
                     std::string(json_text_bytes_max, 'x') + "\"}";
  EXPECT_THAT(parse_control(text).refused.message, HasSubstr("at most"));
}

TEST(control, replies_name_the_message_they_answer) {
  json ok = json::parse(make_reply_ok("a", {{"run", "r-1"}, {"ok", false}}));
  EXPECT_EQ(ok,
            (json{{"version", 1}, {"id", "a"}, {"ok", true}, {"run", "r-1"}}));
  json refused = json::parse(
      make_reply_error("b", {errc::unknown_worker, "no worker w9", "/worker"}));
  EXPECT_EQ(refused["ok"], false);
  EXPECT_EQ(refused["id"], "b");
  EXPECT_EQ(refused["error"], (json{{"code", "unknown_worker"},
                                    {"message", "no worker w9"},
                                    {"pointer", "/worker"}}));
}

TEST(control, writes_what_every_answer_says) {
  struct reply {
    control_reply value;
    const char* fields;
  };
  const reply table[] = {
      {{{}, request_done{}}, R"({})"},
      {{{}, run_begun{"r-1", "runs/r-1"}},
       R"({"run": "r-1", "run_dir": "runs/r-1"})"},
      {{{}, balance_set{false, 0.5}}, R"({"enabled": false, "skew_tv": 0.5})"},
      {{{}, status_shown{{{"state", "idle"}}}},
       R"({"status": {"state": "idle"}})"},
      {{{}, balance_explained{{{"rows", 7}}}}, R"({"rows": 7})"},
  };
  for (const reply& r : table) {
    control_response got = make_response("a", r.value);
    json expected = json::parse(r.fields);
    expected.update({{"version", 1}, {"id", "a"}, {"ok", true}});
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(json::parse(got.body), expected);
  }
  control_response refused =
      make_response("b", {{errc::busy, "it is busy", ""}, request_done{}});
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(json::parse(refused.body)["error"]["message"], "it is busy");
}

TEST(control, replies_are_json_whatever_the_text) {
  EXPECT_TRUE(json::accept(make_reply_error("\xff", {errc::busy, "\xfe", ""})));
}

} // namespace
} // namespace ballast
