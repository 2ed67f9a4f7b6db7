// Goal: a job names a database or a Flight server with what belongs to it, and
// no secret; likewise a place for copies. What the place itself allows is the
// business of data/.
#include "runtime/job/job.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using ::testing::AllOf;
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

std::string said_of_place(const char* place) {
  nlohmann::json document = testing::right_job();
  document["checkpoint"]["copy_to"] = place;
  return testing::all_messages(testing::parse(document));
}

TEST(job_of_copies, names_one_folder_of_a_store_or_a_disk) {
  for (const char* place :
       {"", "s3://bucket/run", "s3://bucket/a/b?endpoint_override=h:1",
        "gs://bucket/run", "gs://anonymous@bucket/run", "/mnt/other/run",
        "other/run", "file:///mnt/other", "hdfs://node:9000/run"})
    EXPECT_EQ(said_of_place(place), "") << place;
  const struct {
    const char* place;
    const char* expected;
  } table[] = {{"ftp://host/run", "like s3://BUCKET/FOLDER"},
               {"s3://bucket", "a bucket and a folder in it"},
               {"s3://bucket/", "a bucket and a folder in it"},
               {"s3:///run", "a bucket and a folder in it"},
               {"s3://bucket/run/", "without a slash at its end"},
               {"s3://bucket/step-*", "not a pattern"},
               {"/mnt/run-[12]", "not a pattern"},
               {"s3://me:secret@bucket/run", "no user and no password"}};
  for (const auto& [place, expected] : table)
    EXPECT_THAT(said_of_place(place),
                AllOf(HasSubstr("/checkpoint/copy_to: "), HasSubstr(expected)))
        << place;
}

} // namespace
} // namespace ballast
