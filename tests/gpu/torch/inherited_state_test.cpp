// Goal: a model begins with the tensors of another one where the job says so,
// but for those that it excepts, and what does not fit is named with both
// shapes and the pattern that helps. Groups of an optimizer are those of
// torch.optim. Method: files that fit and files that do not; LibTorch beside.
#include "data/model/checkpoint_store.hpp"
#include "gpu/inherited_state.hpp"
#include "gpu/optimizer.hpp"
#include "tests/data/write_safetensors.hpp"
#include "warm_start_fixture.hpp"

#include <gmock/gmock.h>
#include <torch/optim.h>

namespace ballast::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// "weight" [2, 3] and "bias" [2] of a linear model.
class inherited : public warm_start {
protected:
  inherited() {
    job_.init.from = job_.model.init;
    job_.model.init = to_string(model_init::seeded);
  }
  void write(const std::vector<data::tensor_view>& tensors) {
    data::write_safetensors(job_.init.from, tensors);
  }
  failure refused(const ledger::row_shape& row) {
    try {
      model_setup(job_, row);
    } catch (const ballast_error& e) {
      return e.what_failed();
    }
    return {};
  }
};

TEST_F(inherited, parameters_have_the_bits_of_the_file) {
  write({{"weight", {2, 3}, weight_}, {"bias", {2}, bias_}});
  EXPECT_THAT(model_setup(job_, flat(3, 2)).parameters,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(inherited, parameters_but_the_excepted_which_the_seed_makes) {
  job seeded = job_;
  seeded.init.from.clear();
  const model_setup fresh(seeded, flat(3, 2));
  write({{"weight", {2, 3}, weight_}, {"bias", {2}, bias_}});
  job_.init.except = {"wei*"};
  const model_setup found(job_, flat(3, 2));
  EXPECT_TRUE(std::equal(fresh.parameters.begin(), fresh.parameters.begin() + 6,
                         found.parameters.begin()));
  EXPECT_EQ(found.parameters[6], 7);
  // Of another shape, too, and of none.
  write({{"weight", {3, 2}, weight_}, {"bias", {2}, bias_}});
  EXPECT_EQ(model_setup(job_, flat(3, 2)).parameters, found.parameters);
  write({{"bias", {2}, bias_}});
  EXPECT_EQ(model_setup(job_, flat(3, 2)).parameters, found.parameters);
}

TEST_F(inherited, parameters_of_another_shape_are_named_with_what_helps) {
  write({{"weight", {3, 2}, weight_}, {"bias", {2}, bias_}});
  const failure why = refused(flat(3, 2));
  EXPECT_EQ(why.code, errc::invalid_job);
  EXPECT_EQ(why.pointer, "/init/from");
  EXPECT_THAT(why.message,
              HasSubstr("'weight' has [3, 2] there, the model [2, 3]"));
  EXPECT_THAT(why.message, HasSubstr("/init/except names begin anew: "
                                     "\"weight\""));
}

TEST_F(inherited, parameters_that_lack_or_are_too_many_are_named) {
  write({{"weight", {2, 3}, weight_}});
  EXPECT_THAT(refused(flat(3, 2)).message, HasSubstr("'bias' [2] is not in"));
  write({{"weight", {2, 3}, weight_},
         {"bias", {2}, bias_},
         {"head.scale", {2}, bias_}});
  EXPECT_THAT(refused(flat(3, 2)).message,
              HasSubstr("'head.scale' [2] is none of the model"));
  EXPECT_THAT(refused(flat(3, 2)).message, HasSubstr("\"head.*\""));
  job_.init.except = {"head.*"};
  EXPECT_EQ(refused(flat(3, 2)).message, "");
}

TEST_F(inherited, patterns_that_fit_nothing_are_refused_with_the_names) {
  write({{"weight", {2, 3}, weight_}, {"bias", {2}, bias_}});
  job_.init.except = {"bias", "fc2.*"};
  const failure why = refused(flat(3, 2));
  EXPECT_EQ(why.pointer, "/init/except/1");
  EXPECT_THAT(why.message, HasSubstr("there are 'weight', 'bias'"));
}

TEST_F(inherited, files_that_are_none_are_refused_by_the_jobs_field) {
  EXPECT_EQ(refused(flat(3, 2)).pointer, "/init/from"); // missing
  std::ofstream(job_.init.from) << "no tensors";
  EXPECT_EQ(refused(flat(3, 2)).pointer, "/init/from");
}

TEST_F(inherited, running_statistics_come_too) {
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
  write(tensors);
  j.seed = 99;
  j.init.from = job_.init.from;
  EXPECT_EQ(model_setup(j, image({12, 12}, 3)).made->evaluate(rows.view()).loss,
            m.made->evaluate(rows.view()).loss);
}

TEST_F(inherited, state_of_an_optimizer_is_moved_to_where_parameters_lie) {
  const std::vector<float> state{11, 12, 13, 14, 15, 16, 17, 18};
  write({{"weight", {2, 3}, weight_},
         {"bias", {2}, bias_},
         {data::optimizer_prefix + "momentum_buffer", {8}, state}});
  init_spec how = job_.init;
  const auto here = lay_out({{"weight", {2, 3}}, {"bias", {2}}});
  auto found = inherit_optimizer(how, here, {"momentum_buffer"});
  EXPECT_EQ(found.at(0).values, state);
  // Another last layer, whose momentum begins with nothing.
  how.except = {"weight"};
  const auto wider = lay_out({{"weight", {1, 2}}, {"bias", {2}}});
  found = inherit_optimizer(how, wider, {"momentum_buffer"});
  EXPECT_THAT(found.at(0).values, ElementsAre(0, 0, 17, 18));
  try {
    (void)inherit_optimizer(how, here, {"exp_avg"});
    ADD_FAILURE() << "of another optimizer";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().pointer, "/init/optimizer");
  }
}

TEST(update_groups, are_the_parameter_groups_of_torch_optim) {
  constexpr int64_t count = 300;
  for (const optimizer_kind kind :
       {optimizer_kind::sgd, optimizer_kind::adam, optimizer_kind::adamw}) {
    const optimizer_spec spec{.kind = kind,
                              .lr = 0.02,
                              .momentum =
                                  kind == optimizer_kind::sgd ? 0.9 : 0.0,
                              .weight_decay = 0.1};
    torch::manual_seed(3);
    torch::Tensor first = torch::randn({100}).requires_grad_(true);
    torch::Tensor last = torch::randn({150}).requires_grad_(true);
    const auto group = [&](const torch::Tensor& of, double factor) {
      std::unique_ptr<torch::optim::OptimizerOptions> how;
      const double lr = spec.lr * factor;
      if (kind == optimizer_kind::sgd)
        how = std::make_unique<torch::optim::SGDOptions>(
            torch::optim::SGDOptions(lr).momentum(0.9).weight_decay(0.1));
      else if (kind == optimizer_kind::adam)
        how = std::make_unique<torch::optim::AdamOptions>(
            torch::optim::AdamOptions(lr).weight_decay(0.1));
      else
        how = std::make_unique<torch::optim::AdamWOptions>(
            torch::optim::AdamWOptions(lr).weight_decay(0.1));
      return torch::optim::OptimizerParamGroup({of}, std::move(how));
    };
    std::vector<torch::optim::OptimizerParamGroup> groups{group(first, 1),
                                                          group(last, 5)};
    std::unique_ptr<torch::optim::Optimizer> expected;
    if (kind == optimizer_kind::sgd)
      expected = std::make_unique<torch::optim::SGD>(
          groups, torch::optim::SGDOptions(spec.lr));
    else if (kind == optimizer_kind::adam)
      expected = std::make_unique<torch::optim::Adam>(
          groups, torch::optim::AdamOptions(spec.lr));
    else
      expected = std::make_unique<torch::optim::AdamW>(
          groups, torch::optim::AdamWOptions(spec.lr));
    std::vector<float> values(count, 0.5F);
    std::copy_n(first.data_ptr<float>(), 100, values.begin());
    std::copy_n(last.data_ptr<float>(), 150, values.begin() + 150);
    auto tested = make_optimizer(spec, count);
    tested->arrange({{{0, 100, 1}, {150, 150, 5}}, {{100, 50, 1}}, 0});
    for (uint64_t step = 1; step <= 20; ++step) {
      torch::Tensor sums = torch::randn({count}) * 32;
      first.mutable_grad() = sums.slice(0, 0, 100) / 32;
      last.mutable_grad() = sums.slice(0, 150, 300) / 32;
      expected->step();
      tested->apply(values, {sums.data_ptr<float>(), size_t(count)}, 1.0 / 32,
                    spec.lr, step);
    }
    for (int64_t i = 0; i < 100; ++i)
      ASSERT_NEAR(values[size_t(i)], first[i].item<float>(), 2e-6);
    for (int64_t i = 0; i < 150; ++i)
      ASSERT_NEAR(values[size_t(150 + i)], last[i].item<float>(), 4e-6);
    for (size_t i = 100; i < 150; ++i)
      ASSERT_EQ(values[i], 0.5F);
  }
}

} // namespace
} // namespace ballast::gpu
