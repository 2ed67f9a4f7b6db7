// Goal: a model starts from zeros, or from the tensors of a file, where the job
// says so. Method: files that fit and files that do not.
#include "tests/data/write_safetensors.hpp"
#include "warm_start_fixture.hpp"

namespace ballast::gpu {
namespace {

TEST(init, zeros_starts_linear_and_logistic_at_zero) {
  for (const model_kind kind : {model_kind::linear, model_kind::logistic}) {
    job j = job_of(kind);
    j.model.init = "zeros";
    model_setup m(j, flat(6, 3));
    EXPECT_EQ(m.parameters, std::vector<float>(21));
  }
}

TEST_F(warm_start, takes_the_tensors_of_the_file) {
  data::write_safetensors(job_.model.init,
                          {{"weight", {2, 3}, weight_}, {"bias", {2}, bias_}});
  EXPECT_EQ(model_setup(job_, flat(3, 2)).parameters,
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(warm_start, refuses_a_file_of_another_model) {
  EXPECT_EQ(pointer_of_refusal(job_, flat(3, 2)), "/model/init"); // missing
  data::write_safetensors(job_.model.init,
                          {{"weight", {3, 2}, weight_}, {"bias", {2}, bias_}});
  EXPECT_EQ(pointer_of_refusal(job_, flat(3, 2)), "/model/init");
  data::write_safetensors(job_.model.init, {{"weight", {2, 3}, weight_}});
  EXPECT_EQ(pointer_of_refusal(job_, flat(3, 2)), "/model/init");
  data::write_safetensors(job_.model.init, {{"weight", {2, 3}, weight_},
                                            {"bias", {2}, bias_},
                                            {"scale", {2}, bias_}});
  EXPECT_EQ(pointer_of_refusal(job_, flat(3, 2)), "/model/init");
}

TEST_F(warm_start, brings_running_statistics_too) {
  job j = job_of(model_kind::cnn);
  j.model.batch_norm = true;
  model_setup m(j, image({12, 12}, 3));
  random_rows rows(m.row, 4);
  m.accumulate(rows.view());
  std::vector<float> sums(m.made->statistics_count());
  m.made->take_statistics(sums);
  m.made->apply_statistics(sums, 4);
  std::vector<data::tensor_view> tensors;
  for (const parameter_info& p : m.made->parameters())
    tensors.push_back(
        {p.name, p.shape, std::span(m.parameters).subspan(p.offset, p.count)});
  for (const auto& b : m.made->buffers())
    tensors.push_back({b.name, b.shape, b.values});
  data::write_safetensors(job_.model.init, tensors);
  j.seed = 99;
  j.model.init = job_.model.init;
  model_setup warm(j, image({12, 12}, 3));
  EXPECT_EQ(warm.made->evaluate(rows.view()).loss,
            m.made->evaluate(rows.view()).loss);
}

} // namespace
} // namespace ballast::gpu
