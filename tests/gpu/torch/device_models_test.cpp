// Goal: the models compute where their arenas are, and in bfloat16, with the
// results of the CPU in float32. Method: LibTorch's CPU operations over a
// device whose addresses kill the host's code that follows them
// (guarded_device.hpp).
#include "gpu/torch_library.hpp"
#include "runtime/job/asked_metrics.hpp"
#include "runtime/metrics/tally.hpp"
#include "tests/gpu/guarded_device.hpp"
#include "tests/gpu/torch/model_fixture.hpp"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <unistd.h>

namespace ballast::gpu {
namespace {

namespace fs = std::filesystem;

/// A model on a guarded device.
struct device_setup {
  job what;
  ledger::row_shape row;
  guarded_device device;
  std::unique_ptr<model> made;
  size_t count;
  std::shared_ptr<float[]> parameters, gradients;
  batch_view brought;

  device_setup(const job& j, const ledger::row_shape& shape,
               const random_rows& rows)
      : what(j), row(shape), made(make_model({&what, row, 1, device.place()})),
        count(made->parameter_count()), parameters(device.allocate(count)),
        gradients(device.allocate(count)),
        brought(device.bring(0, rows.view(), row.features)) {
    std::vector<float> values(count);
    made->initialize(values);
    device.upload(parameters.get(), values.data(), count);
    made->bind({parameters.get(), count}, {gradients.get(), count});
  }
  std::vector<float> values_of(const std::shared_ptr<float[]>& arena) {
    std::vector<float> out(count);
    device.download(out.data(), arena.get(), count);
    return out;
  }
};

struct device_variant {
  std::string name;
  job what;
  ledger::row_shape row;
  friend void PrintTo(const device_variant& v, std::ostream* out) {
    *out << v.name;
  }
};

job with_batch_norm(job what) {
  what.model.batch_norm = true;
  return what;
}
job with_stem(job what, resnet_stem stem) {
  what.model.stem = stem;
  return what;
}
job weighted(job what, std::vector<double> weights) {
  what.train.class_weights = std::move(weights);
  return what;
}

job smoothed(job what) {
  what.train.label_smoothing = 0.2;
  return what;
}

std::vector<device_variant> device_variants() {
  return {
      {"linear_mse", job_of(model_kind::linear, loss_kind::mse), flat(6, 0)},
      {"linear_mse_of_a_class_number",
       job_of(model_kind::linear, loss_kind::mse), flat(6, 3)},
      {"logistic", job_of(model_kind::logistic), flat(6, 2)},
      {"logistic_weighted", weighted(job_of(model_kind::logistic), {1, 3}),
       flat(6, 2)},
      {"mlp", job_of(model_kind::mlp), flat(33, 10)},
      {"mlp_weighted", weighted(job_of(model_kind::mlp), {1, 2, 0.5}),
       flat(33, 3)},
      {"mlp_weighted_smoothed",
       smoothed(weighted(job_of(model_kind::mlp), {1, 2, 0.5})), flat(33, 3)},
      {"mlp_bce_weighted_smoothed",
       smoothed(weighted(job_of(model_kind::mlp, loss_kind::bce), {1, 3})),
       flat(33, 2)},
      {"mlp_hinge", job_of(model_kind::mlp, loss_kind::hinge), flat(33, 2)},
      {"mlp_hinge_weighted",
       weighted(job_of(model_kind::mlp, loss_kind::hinge), {1, 3}),
       flat(33, 2)},
      {"mlp_huber", job_of(model_kind::mlp, loss_kind::huber), flat(33, 0)},
      {"transformer_smoothed",
       smoothed(job_of(model_kind::transformer, loss_kind::next_token)),
       tokens(9, 17)},
      {"cnn", job_of(model_kind::cnn), image({28, 28}, 10)},
      {"cnn_with_batch_norm", with_batch_norm(job_of(model_kind::cnn)),
       image({3, 12, 17}, 4)},
      {"resnet18", with_stem(job_of(model_kind::resnet18), resnet_stem::cifar),
       image({3, 16, 16}, 5)},
      {"transformer", job_of(model_kind::transformer, loss_kind::next_token),
       tokens(9, 17)},
  };
}

class model_on_a_device : public testing::TestWithParam<device_variant> {};

double largest(const std::vector<float>& values) {
  double out = 0;
  for (float x : values)
    out = std::max(out, std::abs(double(x)));
  return out;
}

void expect_close(const std::vector<float>& got,
                  const std::vector<float>& expected, double relative,
                  const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  const double tolerance = relative * (largest(expected) + 1e-3);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance) << what << " " << i;
}

std::shared_ptr<const metrics::layout> told_rows(const device_variant& of) {
  return std::make_shared<const metrics::layout>(metrics::lay_out(
      task_of(of.what.train.loss), of.row.classes, asked_metrics(of.what), 6));
}

TEST_P(model_on_a_device, has_the_gradients_and_sums_of_the_cpu) {
  const device_variant& v = GetParam();
  const random_rows rows(v.row, 6);
  model_setup cpu(v.what, v.row);
  device_setup there(v.what, v.row, rows);
  expect_close(there.values_of(there.parameters), cpu.parameters, 0, "initial");

  // In two micro-batches, of which the second makes gradients final.
  double loss = cpu.made->accumulate(rows.view(0, 2), 1, {});
  loss += cpu.made->accumulate(rows.view(2, 4), 2, {});
  std::vector<int> times(there.made->parameters().size());
  double got =
      there.made->accumulate(there.brought.slice(0, 2, v.row.features), 1, {});
  got += there.made->accumulate(there.brought.slice(2, 4, v.row.features), 2,
                                [&](size_t i) { ++times[i]; });
  EXPECT_NEAR(got, loss, 1e-5 * std::abs(loss));
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
  // Batch norms make the gradient of what comes before them rounding.
  expect_close(there.values_of(there.gradients), cpu.gradients, 2e-4,
               "gradient");

  std::vector<float> sums(cpu.made->statistics_count()), ours(sums.size());
  cpu.made->take_statistics(sums);
  there.made->take_statistics(ours);
  expect_close(ours, sums, 1e-5, "statistic");
  std::vector<float> again(sums.size());
  there.made->take_statistics(again); // forgotten
  EXPECT_EQ(again, std::vector<float>(sums.size()));
  cpu.made->apply_statistics(sums, 6);
  there.made->apply_statistics(sums, 6);

  batch_view here = rows.view(), brought = there.brought;
  metrics::tally told(told_rows(v)), told_there(told_rows(v));
  here.tally = &told;
  brought.tally = &told_there;
  const evaluation_sums expected = cpu.made->evaluate(here);
  const evaluation_sums found = there.made->evaluate(brought);
  EXPECT_NEAR(found.loss, expected.loss, 1e-5 * std::abs(expected.loss));
  EXPECT_NEAR(found.correct, expected.correct, 1e-9);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_NEAR(found.weight, expected.weight, 1e-9);
  EXPECT_EQ(told_there.counts(), told.counts());
}

TEST_P(model_on_a_device, follows_its_arenas_when_they_take_turns) {
  const device_variant& v = GetParam();
  const random_rows rows(v.row, 4);
  device_setup there(v.what, v.row, rows);
  there.made->accumulate(there.brought, 1, {});
  auto second = there.device.allocate(there.count);
  there.made->bind({there.parameters.get(), there.count},
                   {second.get(), there.count});
  there.made->accumulate(there.brought, 1, {});
  expect_close(there.values_of(second), there.values_of(there.gradients), 1e-6,
               "second arena");
}

// bfloat16 has 8 bits: half a percent a product. Gradients keep their
// direction.
TEST_P(model_on_a_device, in_bfloat16_points_where_float32_does) {
  const device_variant& v = GetParam();
  const random_rows rows(v.row, 16);
  model_setup exact(v.what, v.row);
  const double loss = exact.accumulate(rows.view());
  job what = v.what;
  what.train.precision = compute_precision::bfloat16;
  auto expect_alike = [&](const std::vector<float>& got, double got_loss) {
    EXPECT_NEAR(got_loss, loss, 0.03 * std::abs(loss));
    double product = 0, a = 0, b = 0;
    bool same = true;
    for (size_t i = 0; i < got.size(); ++i) {
      product += double(got[i]) * exact.gradients[i];
      a += double(got[i]) * got[i];
      b += double(exact.gradients[i]) * exact.gradients[i];
      same = same && got[i] == exact.gradients[i];
    }
    // Batch norms spread the rounding of few rows over all of them.
    const bool normalises = exact.made->statistics_count() > 0;
    EXPECT_GT(product / std::sqrt(a * b), normalises ? 0.94 : 0.98);
    EXPECT_FALSE(same) << "computed in float32";
  };
  model_setup on_cpu(what, v.row);
  expect_alike(on_cpu.gradients,
               (on_cpu.clear(), on_cpu.accumulate(rows.view())));
  device_setup there(what, v.row, rows);
  const double got = there.made->accumulate(there.brought, 1, {});
  expect_alike(there.values_of(there.gradients), got);
  const evaluation_sums sums = there.made->evaluate(there.brought);
  EXPECT_TRUE(std::isfinite(sums.loss));
}

INSTANTIATE_TEST_SUITE_P(all, model_on_a_device,
                         testing::ValuesIn(device_variants()),
                         [](const auto& info) { return info.param.name; });

TEST(torchscript_on_a_device, trains_the_parameters_of_the_module) {
  const fs::path path =
      fs::temp_directory_path() /
      ("device_models_test_" + std::to_string(getpid()) + ".pt");
  torch::jit::Module module("m");
  module.register_parameter(
      "weight", (torch::ones({3, 5}) * 0.1).requires_grad_(), false);
  module.define(R"(
    def forward(self, x):
        return torch.matmul(x, self.weight.t())
  )");
  module.save(path.string());
  job what = job_of(model_kind::torchscript);
  what.model.path = path.string();
  const ledger::row_shape row = flat(5, 3);
  const random_rows rows(row, 8);
  model_setup cpu(what, row);
  device_setup there(what, row, rows);
  fs::remove(path);
  const double loss = cpu.accumulate(rows.view());
  EXPECT_NEAR(there.made->accumulate(there.brought, 1, {}), loss, 1e-5 * loss);
  expect_close(there.values_of(there.gradients), cpu.gradients, 1e-5,
               "gradient");
}

TEST(model_on_any_device, names_the_sample_with_a_label_out_of_range) {
  const ledger::row_shape row = flat(6, 3);
  random_rows rows(row, 4);
  rows.labels[2] = 3;
  device_setup there(job_of(model_kind::mlp), row, rows);
  try {
    there.made->accumulate(there.brought, 1, {});
    FAIL() << "took a label out of range";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::invalid_data);
    EXPECT_NE(std::string(e.what()).find("sample 1002"), std::string::npos)
        << e.what();
  }
}

TEST(model_on_any_device, drops_other_inputs_in_every_step) {
  job what = job_of(model_kind::cnn);
  what.model.dropout = 0.5;
  const ledger::row_shape row = image({28, 28}, 10);
  const random_rows rows(row, 8);
  device_setup there(what, row, rows);
  auto losses = [&](uint64_t seed) {
    return there.made->accumulate(there.brought, seed, {});
  };
  EXPECT_NE(losses(1), losses(2));
  EXPECT_EQ(losses(1), losses(1));
  EXPECT_EQ(there.made->evaluate(there.brought).loss,
            there.made->evaluate(there.brought).loss);
}

TEST(model_on_a_gpu, is_refused_where_libtorch_has_no_such_part) {
  const failure why = torch_on_cuda();
  if (!why)
    GTEST_SKIP() << "this LibTorch finds a GPU";
  EXPECT_EQ(why.message.find('\n'), std::string::npos) << why.message;
  job what = job_of(model_kind::mlp);
  try {
    make_model({&what, flat(6, 3), 1, {.elsewhere = true, .cuda = 0}});
    FAIL() << "made a model on a GPU that is not there";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, why.code);
  }
  what.model.kind = model_kind::emulated;
  EXPECT_THROW(
      make_model({&what, flat(6, 3), 1, {.elsewhere = true, .cuda = 0}}),
      ballast_error);
}

} // namespace
} // namespace ballast::gpu
