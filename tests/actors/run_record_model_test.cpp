// Goal: a finished model stays until one of a later step takes its place.
// Method: a run's files, and models that two lives of it end with.
#include "actors/run_record.hpp"
#include "data/model/safetensors.hpp"
#include "runtime/base/errors.hpp"
#include "tests/store/temp_folder.hpp"

#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

class run_record_model : public ::testing::Test {
protected:
  run_record_model()
      : record_({}, (folder_ / "run").string(), folder_.path(), "token", {}) {}

  /// A run that ends after this step with a weight that tells so.
  saved_model end_after(uint64_t step) {
    const std::vector<float> weight{float(step)};
    const std::vector<data::tensor_view> tensors{{"weight", {1}, weight}};
    return publish(safetensors_bytes(tensors, {{"step", std::to_string(step)}}),
                   step_number{step});
  }

  saved_model publish(const std::string& file, step_number step) {
    return record_.models().publish({file.size(),
                                     [&](const data::unfinished_state& into) {
                                       into.write(0, file);
                                       return std::string("its hash");
                                     }},
                                    step);
  }

  float weight_in(const std::string& name) {
    return data::read_safetensors((folder_ / "run" / name).string())
        .tensors.at(0)
        .values[0];
  }

  store::temp_folder folder_;
  run_record record_;
};

TEST_F(run_record_model, of_a_later_step_takes_the_place_of_an_earlier_one) {
  EXPECT_EQ(end_after(7).step, step_number{7});
  EXPECT_EQ(end_after(9).step, step_number{9});
  EXPECT_EQ(weight_in("model.safetensors"), 9);
}

TEST_F(run_record_model, of_an_earlier_step_is_put_beside_a_later_one) {
  end_after(9);
  const saved_model second = end_after(0);
  EXPECT_EQ(weight_in("model.safetensors"), 9);
  EXPECT_EQ(weight_in("model-step-0.safetensors"), 0);
  EXPECT_EQ(second.step, step_number{9}) << "what the report says of the model";
  EXPECT_NE(second.note.find("model-step-0.safetensors"), std::string::npos)
      << second.note;
}

TEST_F(run_record_model, stays_as_it_was_where_another_is_not_written) {
  end_after(7);
  EXPECT_THROW(record_.models().publish(
                   {100,
                    [](const data::unfinished_state& into) -> std::string {
                      into.write(0, "the first bytes");
                      throw ballast_error(errc::digest_mismatch, "differs");
                    }},
                   step_number{9}),
               ballast_error);
  EXPECT_EQ(weight_in("model.safetensors"), 7);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "run" / "tmp"));
}

TEST_F(run_record_model, is_the_best_one_where_that_is_kept) {
  end_after(9);
  const auto of = [&](float weight, uint64_t step) {
    const std::vector<float> values{weight};
    const std::vector<data::tensor_view> tensors{{"weight", {1}, values}};
    const std::string file =
        safetensors_bytes(tensors, {{"step", std::to_string(step)}});
    return run_models::source{
        file.size(), [file, weight](const data::unfinished_state& into) {
          into.write(0, file);
          return "of " + std::to_string(int(weight));
        }};
  };
  const saved_model found =
      record_.models().publish_best(of(3, 3), step_number{3}, of(8, 8));
  EXPECT_EQ(found.step, step_number{3});
  EXPECT_EQ(found.weights_sha256, "of 3");
  EXPECT_EQ(weight_in("model.safetensors"), 3);
  EXPECT_EQ(weight_in("last/model.safetensors"), 8);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "run" / "tmp"));
}

TEST_F(run_record_model, takes_the_place_of_one_that_cannot_be_read) {
  end_after(7);
  const std::filesystem::path place = folder_ / "run" / "model.safetensors";
  std::filesystem::resize_file(place, std::filesystem::file_size(place) / 2);
  const saved_model second = end_after(9);
  EXPECT_EQ(second.step, step_number{9});
  EXPECT_EQ(weight_in("model.safetensors"), 9);
  EXPECT_TRUE(std::filesystem::exists(place.string() + ".damaged-1"));
  ASSERT_EQ(record_.notices().events()->after(0, 9).size(), 1u);
  EXPECT_NE(record_.notices().events()->after(0, 9)[0].line.find("damaged-1"),
            std::string::npos);
}

TEST_F(run_record_model, takes_the_place_of_a_folder) {
  const std::filesystem::path place = folder_ / "run" / "model.safetensors";
  std::filesystem::create_directories(place / "mine");
  EXPECT_EQ(end_after(9).step, step_number{9});
  EXPECT_EQ(weight_in("model.safetensors"), 9);
  EXPECT_TRUE(std::filesystem::exists(place.string() + ".damaged-1/mine"));
}

} // namespace
} // namespace ballast::actors
