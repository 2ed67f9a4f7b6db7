// resnet18 beside the same network written down plainly in double precision:
// outputs, loss, every gradient, running statistics; and what the published
// one is known by: its size and the names of its tensors.
#include "gpu/optimizer.hpp"
#include "runtime/base/errors.hpp"
#include "tests/gpu/torch/autograd_reference.hpp"

#include <gtest/gtest.h>
#include <map>

namespace ballast::gpu {
namespace {

job resnet_job(resnet_stem stem = resnet_stem::imagenet) {
  job out = job_of(model_kind::resnet18);
  out.model.stem = stem;
  return out;
}

/// The whole network by names, so that neither order nor indices are shared.
class reference {
public:
  reference(const model_setup& m, bool training) : training_(training) {
    for (const parameter_info& p : m.made->parameters())
      by_name_[p.name] = in_double(m.parameters.data() + p.offset, p.shape)
                             .requires_grad_(true);
    for (const model::buffer& b : m.made->buffers())
      by_name_[b.name] = in_double(b.values.data(), b.shape);
  }

  Tensor outputs(const Tensor& images, bool cifar) {
    Tensor x = cifar ? convolve("conv1", images, 1, 1)
                     : convolve("conv1", images, 2, 3);
    x = torch::relu(norm("bn1", x));
    if (!cifar)
      x = torch::max_pool2d(x, 3, 2, 1);
    for (int stage = 1; stage <= 4; ++stage)
      for (int part = 0; part < 2; ++part)
        x = block("layer" + std::to_string(stage) + "." + std::to_string(part),
                  x, stage > 1 && part == 0 ? 2 : 1);
    return torch::linear(x.mean({2, 3}), by_name_.at("fc.weight"),
                         by_name_.at("fc.bias"));
  }
  Tensor gradient(const std::string& name) const {
    return by_name_.at(name).grad();
  }

private:
  Tensor convolve(const std::string& name, const Tensor& x, int64_t stride,
                  int64_t padding) const {
    return torch::conv2d(x, by_name_.at(name + ".weight"), {}, stride, padding);
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    const Tensor mean =
        training_ ? x.mean({0, 2, 3}) : by_name_.at(name + ".running_mean");
    auto wide = [](const Tensor& t) { return t.view({1, -1, 1, 1}); };
    const Tensor centred = x - wide(mean);
    const Tensor variance = training_ ? centred.pow(2).mean({0, 2, 3})
                                      : by_name_.at(name + ".running_var");
    return centred / wide((variance + 1e-5).sqrt()) *
               wide(by_name_.at(name + ".weight")) +
           wide(by_name_.at(name + ".bias"));
  }
  Tensor block(const std::string& name, const Tensor& x, int64_t stride) const {
    Tensor y = torch::relu(
        norm(name + ".bn1", convolve(name + ".conv1", x, stride, 1)));
    y = norm(name + ".bn2", convolve(name + ".conv2", y, 1, 1));
    Tensor shortcut = x;
    if (by_name_.count(name + ".downsample.0.weight") > 0)
      shortcut = norm(name + ".downsample.1",
                      convolve(name + ".downsample.0", x, stride, 0));
    return torch::relu(y + shortcut);
  }

  bool training_;
  std::map<std::string, Tensor> by_name_;
};

Tensor images_of(const model_setup& m, const random_rows& rows) {
  std::vector<int64_t> sizes{rows.rows};
  if (m.row.shape.size() == 2)
    sizes.push_back(1);
  sizes.insert(sizes.end(), m.row.shape.begin(), m.row.shape.end());
  return in_double(rows.features.data(), sizes);
}

double off_by(const Tensor& got, const Tensor& expected) {
  return ((got - expected).norm() / (expected.norm() + 1e-12)).item<double>();
}

class resnet18 : public testing::TestWithParam<resnet_stem> {
protected:
  bool cifar() const { return GetParam() == resnet_stem::cifar; }

  // Odd sides, so that every stride meets a rest.
  model_setup m_{resnet_job(GetParam()),
                 cifar() ? image({11, 9}, 3) : image({3, 33, 39}, 4)};
  random_rows rows_{m_.row, 6};
};

INSTANTIATE_TEST_SUITE_P(
    stems, resnet18, testing::Values(resnet_stem::imagenet, resnet_stem::cifar),
    [](const auto& info) { return ballast::to_string(info.param); });

TEST_P(resnet18, has_the_loss_and_the_gradients_of_autograd) {
  reference expected(m_, true);
  Tensor loss = loss_of_outputs(
      m_, expected.outputs(images_of(m_, rows_), cifar()), rows_.view());
  loss.backward();
  EXPECT_NEAR(m_.accumulate(rows_.view()), loss.item<double>(),
              1e-5 * loss.item<double>());
  for (const parameter_info& p : m_.made->parameters())
    EXPECT_LT(off_by(in_double(m_.gradients.data() + p.offset, p.shape),
                     expected.gradient(p.name)),
              1e-4)
        << p.name;
}

TEST_P(resnet18,
       tells_of_each_gradient_once_when_it_is_final_last_layer_first) {
  const auto& all = m_.made->parameters();
  std::vector<std::string> order;
  std::vector<float> sums(all.size());
  auto sum_of = [&](size_t i) {
    const float* from = m_.gradients.data() + all[i].offset;
    return std::accumulate(from, from + all[i].count, 0.0F);
  };
  m_.made->accumulate(rows_.view(), 1, [&](size_t i) {
    order.push_back(all[i].name);
    sums[i] = sum_of(i);
  });
  ASSERT_EQ(order.size(), all.size());
  EXPECT_TRUE(order[0].starts_with("fc."));
  EXPECT_TRUE(order[2].starts_with("layer4.1."));
  EXPECT_EQ(order.back(), "conv1.weight");
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(sums[i], sum_of(i)) << all[i].name;
}

TEST_P(resnet18, adds_to_the_gradients_that_are_there) {
  m_.accumulate(rows_.view());
  const std::vector<float> once = m_.gradients;
  m_.accumulate(rows_.view());
  for (size_t i = 0; i < once.size(); ++i)
    ASSERT_NEAR(m_.gradients[i], 2 * once[i], 1e-5 * (1 + std::abs(once[i])));
}

// Goal: micro-batches of a step add up, each normalised by itself. Method: the
// reference, batch by batch.
TEST_P(resnet18, normalises_each_micro_batch_by_itself) {
  reference expected(m_, true);
  const Tensor images = images_of(m_, rows_);
  double loss = 0;
  for (auto [begin, count] : {std::pair{0, 4}, {4, 2}}) {
    Tensor part = loss_of_outputs(
        m_, expected.outputs(images.slice(0, begin, begin + count), cifar()),
        rows_.view(uint32_t(begin), uint32_t(count)));
    part.backward();
    loss += part.item<double>();
  }
  EXPECT_NEAR(m_.accumulate(rows_.view(0, 4)) + m_.accumulate(rows_.view(4, 2)),
              loss, 1e-5 * loss);
  for (const parameter_info& p : m_.made->parameters())
    EXPECT_LT(off_by(in_double(m_.gradients.data() + p.offset, p.shape),
                     expected.gradient(p.name)),
              1e-4)
        << p.name;
}

TEST_P(resnet18, evaluates_with_running_statistics_that_a_step_moves) {
  ASSERT_EQ(m_.made->statistics_count(), 2 * 4800);
  auto evaluated = [&] { return m_.made->evaluate(rows_.view()).loss; };
  auto expected = [&] {
    return loss_of_outputs(
               m_, reference(m_, false).outputs(images_of(m_, rows_), cifar()),
               rows_.view())
        .item<double>();
  };
  const double before = evaluated();
  EXPECT_NEAR(before, expected(), 1e-5 * before);
  m_.accumulate(rows_.view());
  EXPECT_EQ(evaluated(), before) << "moved before the step was applied";
  std::vector<float> sums(m_.made->statistics_count());
  m_.made->take_statistics(sums);
  m_.made->apply_statistics(sums, rows_.rows);
  EXPECT_NE(evaluated(), before);
  EXPECT_NEAR(evaluated(), expected(), 1e-5 * evaluated());
}

TEST_P(resnet18, takes_a_single_row_of_the_smallest_image) {
  const uint32_t side = cifar() ? 9 : 33;
  model_setup m(resnet_job(GetParam()), image({side, side}, 3));
  random_rows rows(m.row, 1);
  EXPECT_TRUE(std::isfinite(m.accumulate(rows.view())));
  std::vector<float> sums(m.made->statistics_count());
  m.made->take_statistics(sums);
  for (float s : sums)
    ASSERT_TRUE(std::isfinite(s));
}

TEST_P(resnet18, refuses_smaller_images_and_says_what_helps) {
  const uint32_t side = cifar() ? 8 : 32;
  try {
    const model_setup made(resnet_job(GetParam()), image({3, 64, side}, 3));
    FAIL() << "accepted images of 64 x " << side;
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::invalid_job);
    EXPECT_EQ(e.what_failed().pointer, "/model/stem");
    const std::string says = e.what();
    EXPECT_NE(says.find("64 x " + std::to_string(side)), std::string::npos)
        << says;
    EXPECT_EQ(says.find("the stem \"cifar\" takes") == std::string::npos,
              cifar());
  }
}

TEST_P(resnet18, learns_its_rows_by_heart) {
  auto update =
      make_optimizer({.kind = optimizer_kind::sgd}, m_.parameters.size());
  std::vector<double> losses;
  for (uint64_t step = 1; step <= 12; ++step) {
    m_.clear();
    losses.push_back(m_.accumulate(rows_.view()) / rows_.rows);
    update->apply(m_.parameters, m_.gradients, 1.0 / rows_.rows, 0.02, step);
  }
  EXPECT_LT(losses.back(), losses.front() / 4);
}

TEST(resnet18_of_torchvision, has_its_tensors) {
  job what = resnet_job();
  auto made = make_model({&what, image({3, 224, 224}, 1000)});
  EXPECT_EQ(made->parameter_count(), 11'689'512U);
  EXPECT_EQ(made->parameters().size(), 62U);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const parameter_info& p : made->parameters())
    shapes[p.name] = p.shape;
  using shape = std::vector<int64_t>;
  EXPECT_EQ(shapes.at("conv1.weight"), (shape{64, 3, 7, 7}));
  EXPECT_EQ(shapes.at("bn1.bias"), (shape{64}));
  EXPECT_EQ(shapes.at("layer1.1.conv2.weight"), (shape{64, 64, 3, 3}));
  EXPECT_EQ(shapes.at("layer2.0.conv1.weight"), (shape{128, 64, 3, 3}));
  EXPECT_EQ(shapes.at("layer2.0.downsample.0.weight"), (shape{128, 64, 1, 1}));
  EXPECT_EQ(shapes.at("layer4.0.downsample.1.weight"), (shape{512}));
  EXPECT_EQ(shapes.at("fc.weight"), (shape{1000, 512}));
  EXPECT_EQ(shapes.count("layer1.0.downsample.0.weight"), 0U);
  std::vector<model::buffer> buffers = made->buffers();
  ASSERT_EQ(buffers.size(), 40U);
  EXPECT_EQ(buffers[0].name, "bn1.running_mean");
  EXPECT_EQ(buffers.back().name, "layer4.1.bn2.running_var");
}

TEST(resnet18_of_torchvision, starts_as_it_does) {
  model_setup m(resnet_job(), image({3, 64, 64}, 10));
  auto values = [&](const std::string& name) {
    const parameter_info& p = m.made->parameters()[m.index_of(name)];
    return in_double(m.parameters.data() + p.offset, p.shape);
  };
  for (const auto& [name, fan_out] :
       std::map<std::string, double>{{"conv1.weight", 64 * 49},
                                     {"layer3.1.conv1.weight", 256 * 9},
                                     {"layer4.0.downsample.0.weight", 512}}) {
    const Tensor w = values(name);
    EXPECT_NEAR(w.std().item<double>() / std::sqrt(2 / fan_out), 1, 0.03)
        << name;
    EXPECT_NEAR(w.mean().item<double>() / std::sqrt(2 / fan_out), 0, 0.05)
        << name;
  }
  EXPECT_TRUE((values("layer2.0.bn2.weight") == 1).all().item<bool>());
  EXPECT_TRUE((values("layer2.0.bn2.bias") == 0).all().item<bool>());
  EXPECT_LE(values("fc.weight").abs().max().item<double>(),
            1 / std::sqrt(512.0));
}

} // namespace
} // namespace ballast::gpu
