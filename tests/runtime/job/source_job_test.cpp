// Goal: a job names a database or a Flight server with what belongs to it, and
// no secret. What the place itself allows is the business of data/.
#include "runtime/job/job.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using ::testing::HasSubstr;

std::string said_of(nlohmann::json train) {
  train["label"] = "y";
  nlohmann::json document = testing::right_job();
  document["data"]["train"] = std::move(train);
  return testing::all_messages(testing::parse(document));
}

TEST(job_of_flight, takes_a_path_or_a_command_and_who_asks) {
  EXPECT_EQ(said_of({{"format", "flight"},
                     {"uri", "grpc+tls://me@host:8815/a/b"},
                     {"password_file", "secret"},
                     {"connections", 8},
                     {"where", "a > 0"}}),
            "");
  EXPECT_EQ(said_of({{"format", "flight"},
                     {"uri", "grpc://host:8815"},
                     {"query", "people"},
                     {"password_env", "TOKEN"}}),
            "");
  EXPECT_EQ(said_of({{"format", "sql"},
                     {"uri", "grpc://host:8815"},
                     {"query", "select 1"}}),
            "");
}

TEST(job_of_flight, refuses_what_is_not_its_own) {
  EXPECT_THAT(said_of({{"format", "flight"}}), HasSubstr("/data/train/uri"));
  EXPECT_THAT(
      said_of({{"format", "flight"}, {"uri", "grpc://h:1/a"}, {"table", "t"}}),
      HasSubstr("/data/train/table"));
  EXPECT_THAT(said_of({{"format", "flight"},
                       {"uri", "grpc://h:1/a"},
                       {"password_env", "A"},
                       {"password_file", "a"}}),
              HasSubstr("the password is in one place"));
}

TEST(job_of_a_store, names_nobody_and_a_user_without_a_password) {
  const auto of = [](const char* uri) {
    return said_of({{"format", "csv"}, {"uri", uri}});
  };
  for (const char* uri :
       {"gs://anonymous@bucket/a.csv", "hdfs://me@node:9000/a.csv",
        "hdfs://node:9000/a@b.csv", "abfs://box@account/a.csv"})
    EXPECT_EQ(of(uri), "") << uri;
  for (const char* uri :
       {"gs://me@bucket/a.csv", "gs://anonymous:x@bucket/a.csv",
        "hdfs://me:geheim@node:9000/a.csv", "s3://anonymous@bucket/a.csv"})
    EXPECT_THAT(of(uri), HasSubstr("holds no user and no password")) << uri;
}

} // namespace
} // namespace ballast
