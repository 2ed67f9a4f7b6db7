// Goal: a run finds the model or checkpoint that its job begins with, keeps it,
// and says of anything else what was expected, before it writes a byte. Method:
// folders as runs leave them.
#include "actors/run_parent.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/model/safetensors.hpp"
#include "tests/data/model/played_state.hpp"
#include "tests/data/write_safetensors.hpp"
#include "tests/store/temp_folder.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::actors {
namespace {

namespace fs = std::filesystem;
using data::tensor_view;
using ::testing::HasSubstr;

/// A run with checkpoints of the steps 5 and 10, of Adam.
class parent_of_a_run : public ::testing::Test {
protected:
  parent_of_a_run() {
    fs::create_directories(run_ / "checkpoints");
    say_job(R"({"train": {"optimizer": {"kind": "adam"}}})");
    for (const uint64_t step : {5, 10})
      publish(step);
    job_.init.from = run_.string();
    job_.train.optimizer.kind = optimizer_kind::adam;
  }
  void say_job(const std::string& text) {
    std::ofstream(run_ / "job.json") << text;
  }
  void say_report(const std::string& text) {
    std::ofstream(run_ / "report.json") << text;
  }
  data::safetensors_image state(uint64_t step) {
    values_[0] = float(step);
    return data::image_of({{"weight", {2, 3}, values_},
                           {"mean", {6}, values_},
                           {"optimizer/exp_avg", {6}, values_},
                           {"optimizer/exp_avg_sq", {6}, values_}},
                          {{"step", std::to_string(step)},
                           {"ballast_run", "first"},
                           {"buffers", "[\"mean\"]"}});
  }
  void publish(uint64_t step) {
    const data::checkpoint_store store(run_ / "checkpoints");
    const data::safetensors_image image = state(step);
    std::string bytes(image.bytes(), '\0');
    image.copy(0, bytes);
    const ledger::checkpoint_identity holds{
        {epoch_number{1}, step_number{step}}, generation{1}, plan_number{1}, 5};
    store.stage(holds, "first", data::all_of(bytes));
    (void)store.publish(holds);
  }
  void write_model(const fs::path& to, uint64_t step) {
    values_[0] = float(step);
    fs::create_directories(to.parent_path());
    data::write_safetensors(to.string(), {{"weight", {2, 3}, values_}},
                            {{"step", std::to_string(step)}});
  }
  run_parent found(const std::string& from) {
    job_.init.from = from;
    return find_parent(job_).value();
  }
  failure refused(const std::string& from) {
    job_.init.from = from;
    try {
      (void)find_parent(job_);
    } catch (const ballast_error& e) {
      return e.what_failed();
    }
    return {};
  }

  store::temp_folder folder_;
  fs::path run_ = folder_ / "first";
  std::vector<float> values_{1, 2, 3, 4, 5, 6};
  job job_;
};

TEST_F(parent_of_a_run, is_its_newest_checkpoint_until_it_has_a_model) {
  EXPECT_EQ(found(run_.string()).step, step_number{10});
  write_model(run_ / "model.safetensors", 12);
  EXPECT_EQ(found(run_.string() + "/").step, step_number{12});
}

TEST_F(parent_of_a_run, is_named_by_run_step_and_the_hash_of_its_parameters) {
  const run_parent one = found(run_.string() + "@5");
  EXPECT_EQ(one.run, "first");
  EXPECT_EQ(one.step, step_number{5});
  EXPECT_EQ(one.optimizer_steps, 5U);
  values_[0] = 5;
  EXPECT_EQ(one.sha256, data::weights_sha256({{"weight", {2, 3}, values_}}));
}

TEST_F(parent_of_a_run, without_that_step_is_refused_with_those_there_are) {
  const failure why = refused(run_.string() + "@7");
  EXPECT_EQ(why.code, errc::invalid_job);
  EXPECT_EQ(why.pointer, "/init/from");
  EXPECT_THAT(why.message, HasSubstr("has no checkpoint of step 7; it has "
                                     "those of the steps 5 and 10"));
}

TEST_F(parent_of_a_run, is_refused_where_it_is_none) {
  EXPECT_THAT(refused((folder_ / "gone").string()).message,
              HasSubstr("no such file or folder"));
  EXPECT_THAT(refused((folder_ / "gone").string() + "@5").message,
              HasSubstr("no such file or folder"));
  fs::create_directories(folder_ / "photos");
  EXPECT_THAT(refused((folder_ / "photos").string()).message,
              HasSubstr("holds no run"));
  EXPECT_THAT(refused(run_.string() + "@last").message,
              HasSubstr("expected the number of a step, or best"));
  EXPECT_THAT(refused((run_ / "job.json").string() + "@5").message,
              HasSubstr("no folder of a run"));
}

TEST_F(parent_of_a_run, may_have_an_at_sign_in_its_name) {
  const fs::path other = folder_ / "try@5";
  fs::copy(run_, other, fs::copy_options::recursive);
  EXPECT_EQ(found(other.string()).step, step_number{10});
  EXPECT_EQ(found(other.string() + "@5").step, step_number{5});
}

TEST_F(parent_of_a_run, that_kept_no_best_model_is_refused) {
  EXPECT_THAT(refused(run_.string() + "@best").message,
              HasSubstr("kept no best model"));
  say_job(R"({"keep": {"best": {"metric": "loss"}}})");
  EXPECT_THAT(refused(run_.string() + "@best").message,
              HasSubstr("known once it has ended"));
  write_model(run_ / "model.safetensors", 4);
  say_report("{}");
  EXPECT_THAT(refused(run_.string() + "@best").message,
              HasSubstr("ended before its first evaluation"));
}

TEST_F(parent_of_a_run, is_its_best_model_where_it_was_kept) {
  say_job(R"({"keep": {"best": {"metric": "loss"}}})");
  write_model(run_ / "model.safetensors", 4);
  say_report(R"({"best": {"step": 4}})");
  EXPECT_EQ(found(run_.string() + "@best").step, step_number{4});
}

TEST_F(parent_of_a_run, that_was_damaged_or_cut_is_refused) {
  const fs::path file = run_ / "checkpoints" / "step-10" / "state.safetensors";
  std::fstream(file, std::ios::in | std::ios::out).seekp(-3, std::ios::end)
      << "x";
  EXPECT_EQ(refused(run_.string() + "@10").pointer, "/init/from");
  fs::resize_file(file, fs::file_size(file) - 4);
  EXPECT_THAT(refused(run_.string() + "@10").message,
              HasSubstr("the checkpoint of step 10"));
  write_model(folder_ / "model.safetensors", 4);
  fs::resize_file(folder_ / "model.safetensors", 200);
  EXPECT_EQ(refused((folder_ / "model.safetensors").string()).pointer,
            "/init/from");
}

TEST_F(parent_of_a_run, has_the_optimizers_state_in_checkpoints_alone) {
  job_.init.optimizer = true;
  EXPECT_FALSE(refused(run_.string() + "@5"));
  write_model(run_ / "model.safetensors", 12);
  EXPECT_EQ(refused(run_.string()).pointer, "/init/optimizer");
  EXPECT_THAT(refused(run_.string()).message,
              HasSubstr("has no optimizer's state"));
  job_.train.optimizer.kind = optimizer_kind::sgd;
  const failure why = refused(run_.string() + "@5");
  EXPECT_EQ(why.pointer, "/train/optimizer/kind");
  EXPECT_THAT(why.message, HasSubstr("\"adam\""));
}

TEST_F(parent_of_a_run, is_kept_by_the_new_one_which_needs_it_no_more) {
  const run_parent one = found(run_.string() + "@5");
  const auto next = store::run_directory::create_at(folder_ / "second");
  keep_parent(one, next);
  fs::remove_all(run_);
  const auto kept = kept_parent(next.path());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->run, "first");
  EXPECT_EQ(kept->sha256, one.sha256);
  EXPECT_EQ(
      data::read_safetensors(kept->file.string()).find("weight")->values[0], 5);
  EXPECT_FALSE(parent_missing(job_, next.path()));
  fs::remove(next.path() / parent_weights_name);
  EXPECT_THAT(parent_missing(job_, next.path()).message,
              HasSubstr("parent.safetensors is missing"));
}

} // namespace
} // namespace ballast::actors
