// Goal: what order global and the reduction canonical ask of the rest of a job
// is said before anything starts, each in one line. Method: documents as users
// write them.
#include "runtime/job/leaves_of.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;

nlohmann::json global_job(const nlohmann::json& train = {}) {
  nlohmann::json out = right_job();
  out["train"]["order"] = "global";
  if (!train.is_null())
    out["train"].update(train);
  return out;
}

TEST(reproducible_job, cuts_a_step_into_leaves_if_its_order_is_global) {
  const job_result plain = parse(right_job());
  ASSERT_TRUE(plain.value) << all_messages(plain);
  EXPECT_EQ(leaves_of(plain.value->train), 0u);
  EXPECT_FALSE(streams(plain.value->train));
  const job_result global = parse(global_job());
  ASSERT_TRUE(global.value) << all_messages(global);
  EXPECT_EQ(leaves_of(global.value->train), 8u);
  EXPECT_TRUE(streams(global.value->train));
  EXPECT_EQ(all_messages(parse(right_job(), {"/train/leaves=4"})),
            "invalid_job /train/leaves: has no place here; it belongs to order "
            "\"global\"\n");
}

TEST(reproducible_job, is_written_as_it_was_read) {
  const job_result read =
      parse(global_job({{"leaves", 16}, {"reduction", "canonical"}}));
  ASSERT_TRUE(read.value) << all_messages(read);
  const nlohmann::json written = to_json(*read.value);
  EXPECT_EQ(written["train"]["leaves"], 16);
  const job_result again = parse(written);
  ASSERT_TRUE(again.value) << all_messages(again);
  EXPECT_EQ(to_json(*again.value), written);
}

TEST(reproducible_job, refuses_leaves_that_make_no_tree) {
  EXPECT_EQ(all_messages(parse(global_job({{"leaves", 6}}))),
            "invalid_job /train/leaves: 6 is no power of two; expected 4 or "
            "8\n");
  EXPECT_EQ(pointers(parse(global_job({{"leaves", 0}}))),
            std::vector<std::string>{"/train/leaves"});
  EXPECT_EQ(pointers(parse(global_job({{"leaves", 2048}}))),
            std::vector<std::string>{"/train/leaves"});
}

TEST(reproducible_job, refuses_a_batch_of_fewer_rows_than_leaves) {
  EXPECT_EQ(all_messages(parse(global_job({{"global_batch", 7}}))),
            "invalid_job /train/global_batch: 7 rows cannot be cut into 8 "
            "leaves (/train/leaves); expected at least 8, or fewer leaves\n");
  EXPECT_EQ(all_messages(parse(global_job({{"global_batch", 8}}))), "");
  EXPECT_EQ(
      all_messages(parse(global_job({{"global_batch", 2}, {"leaves", 2}}))),
      "");
}

TEST(reproducible_job, refuses_a_sampling_that_orders_the_rows_of_a_chunk) {
  const nlohmann::json how =
      global_job({{"sampling", {{"kind", "stratified"}}}});
  EXPECT_EQ(all_messages(parse(how)),
            "invalid_job /train/sampling/kind: \"stratified\" orders the rows "
            "of each chunk, the order \"global\" those of the whole set; "
            "expected another kind of sampling, or the order \"local\" "
            "(/train/order)\n");
  EXPECT_EQ(all_messages(parse(
                global_job({{"sampling", {{"kind", "class_balanced"}}}}))),
            "");
}

TEST(reproducible_job, refuses_canonical_sums_of_what_has_no_leaves) {
  EXPECT_EQ(all_messages(parse(right_job(), {"/train/reduction=canonical"})),
            "invalid_job /train/reduction: \"canonical\" adds up the leaves of "
            "a step, which the order \"local\" does not cut; expected "
            "\"fused\", or the order \"global\" (/train/order)\n");
}

TEST(reproducible_job, refuses_canonical_sums_by_who_sums_in_another_order) {
  for (const char* by : {"gloo", "nccl"})
    EXPECT_EQ(all_messages(parse(global_job(
                  {{"reduction", "canonical"}, {"collective", by}}))),
              "invalid_job /train/collective: \"" + std::string(by) +
                  "\" sums in an order of its own; the reduction "
                  "\"canonical\" needs \"ring\" or \"auto\"\n");
  for (const char* by : {"ring", "auto"})
    EXPECT_EQ(all_messages(parse(global_job(
                  {{"reduction", "canonical"}, {"collective", by}}))),
              "");
}

TEST(reproducible_job, refuses_canonical_sums_of_rows_that_a_worker_chose) {
  EXPECT_EQ(all_messages(parse(global_job({{"reduction", "canonical"},
                                           {"importance", {{"by", "loss"}}}}))),
            "invalid_job /train/importance/by: rows are drawn by scores among "
            "those of one worker, so the gradient depends on the number of "
            "workers; the reduction \"canonical\" needs \"none\"\n");
  EXPECT_EQ(all_messages(parse(global_job({{"importance", {{"by", "loss"}}}}))),
            "");
}

TEST(reproducible_job, computes_leaves_again_only_where_bits_are_equal) {
  nlohmann::json how = global_job({{"reduction", "canonical"}});
  how["verify"] = {{"every_steps", 50}};
  EXPECT_EQ(all_messages(parse(how)), "");
  how["train"]["reduction"] = "fused";
  EXPECT_EQ(all_messages(parse(how)),
            "invalid_job /verify/every_steps: the reduction \"fused\" "
            "(/train/reduction) has no leaves that another worker could "
            "compute again to the same bits; expected 0, or the reduction "
            "\"canonical\"\n");
}

TEST(reproducible_job, says_a_mistake_once) {
  EXPECT_EQ(pointers(parse(global_job({{"leaves", "many"}}))),
            std::vector<std::string>{"/train/leaves"});
  EXPECT_EQ(pointers(parse(
                global_job({{"reduction", "canonical"}, {"collective", 3}}))),
            std::vector<std::string>{"/train/collective"});
}

} // namespace
} // namespace ballast
