// Goal: a TorchScript module trains like a model of our own. Method: a small
// module saved here, against the linear model of the same values.
#include "gpu/torch/script_file.hpp"
#include "warm_start_fixture.hpp"

#include <gmock/gmock.h>

#include <thread>
#include <torch/script.h>
#include <torch/serialize.h>

namespace ballast::gpu {
namespace {

class torchscript : public warm_start {
protected:
  torchscript() {
    job_.model.kind = model_kind::torchscript;
    job_.model.init = "default";
  }

  void save(const std::string& forward, bool running_mean = false,
            bool frozen_bias = false, const std::string& more = {}) const {
    torch::jit::Module m("net");
    torch::manual_seed(3);
    m.register_parameter("weight", torch::randn({4, 12}).requires_grad_(),
                         false);
    m.register_parameter("bias", torch::randn({4}).requires_grad_(!frozen_bias),
                         false);
    m.register_parameter("unused", torch::randn({2, 2}).requires_grad_(),
                         false);
    if (running_mean)
      m.register_buffer("running_mean", torch::zeros(4));
    m.register_attribute("training", c10::BoolType::get(), true);
    m.define("def forward(self, x):\n" + forward);
    if (!more.empty())
      m.define(more);
    m.save(job_.model.path);
  }
  static constexpr const char* dense =
      "  return torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n";
};

TEST_F(torchscript, trains_the_module_by_its_parameter_names) {
  save(dense);
  model_setup script(job_, image({3, 4}, 4));
  model_setup linear(job_of(model_kind::linear), image({3, 4}, 4));
  ASSERT_EQ(script.made->parameters().size(), 3);
  const size_t weight = script.index_of("weight"),
               bias = script.index_of("bias");
  auto values = [](const model_setup& m, const std::vector<float>& arena,
                   size_t i) {
    const parameter_info& p = m.made->parameters()[i];
    return std::vector<float>(arena.begin() + long(p.offset),
                              arena.begin() + long(p.offset + p.count));
  };
  std::vector<float> start = values(script, script.parameters, weight);
  for (float b : values(script, script.parameters, bias))
    start.push_back(b);
  linear.parameters = start;

  random_rows rows(script.row, 9);
  std::vector<int> calls(3);
  const double loss =
      script.made->accumulate(rows.view(), 1, [&](size_t i) { ++calls[i]; });
  EXPECT_EQ(calls, (std::vector<int>{1, 1, 1}));
  EXPECT_NEAR(loss, linear.accumulate(rows.view()), 1e-5);
  std::vector<float> got = values(script, script.gradients, weight);
  for (float b : values(script, script.gradients, bias))
    got.push_back(b);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], linear.gradients[i], 1e-5) << i;
  EXPECT_EQ(values(script, script.gradients, script.index_of("unused")),
            std::vector<float>(4));

  // It adds, follows its arenas, and evaluates without effect.
  std::vector<float> other(script.gradients.size());
  script.made->bind(script.parameters, other);
  script.accumulate(rows.view());
  EXPECT_EQ(other, script.gradients);
  script.accumulate(rows.view());
  EXPECT_NEAR(other[0], 2 * script.gradients[0], 1e-5);
  const std::vector<float> before = other;
  EXPECT_NEAR(script.made->evaluate(rows.view()).loss, loss, 1e-4);
  EXPECT_EQ(other, before);
}

TEST_F(torchscript, trains_by_a_loss_of_its_own) {
  save(dense, false, false,
       "def twice(self, outputs, labels):\n"
       "  return 2 * torch.cross_entropy_loss(outputs, labels, None, 0)\n");
  model_setup usual(job_, image({3, 4}, 4));
  job_.model.loss = "twice";
  model_setup own(job_, image({3, 4}, 4));
  random_rows rows(own.row, 9);
  const std::vector<float> weights = {1, 0, 2, 1, 1, 0.5, 3, 1, 1};
  batch_view batch = rows.view();
  batch.weights = weights.data();
  EXPECT_NEAR(own.accumulate(batch), 2 * usual.accumulate(batch), 1e-5);
  for (size_t i = 0; i < own.gradients.size(); ++i)
    ASSERT_NEAR(own.gradients[i], 2 * usual.gradients[i], 1e-5) << i;
  const evaluation_sums of_usual = usual.made->evaluate(rows.view());
  const evaluation_sums of_own = own.made->evaluate(rows.view());
  EXPECT_NEAR(of_own.loss, 2 * of_usual.loss, 1e-5);
  EXPECT_EQ(of_own.correct, of_usual.correct);
  EXPECT_EQ(of_own.weight, 9);
}

TEST_F(torchscript, refuses_a_loss_that_it_cannot_train_by) {
  const std::string head = "def own(self, outputs, labels):\n  return ";
  const auto refusal = [this](const std::string& method) {
    save(dense, false, false, method);
    job_.model.loss = "own";
    try {
      const model_setup made(job_, image({3, 4}, 4));
      return std::string("taken");
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().pointer, "/model/loss");
      return std::string(e.what());
    }
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(""), HasSubstr("the module has no method 'own'"));
  EXPECT_THAT(refusal("def own(self, outputs):\n  return outputs\n"),
              HasSubstr("takes 1 arguments; expected outputs and labels"));
  EXPECT_THAT(refusal(head + "outputs.sum(1) + torch.rand(2)\n"),
              HasSubstr("may draw random numbers"));
  EXPECT_THAT(refusal(head + "outputs.sum()\n"),
              HasSubstr("returns CPUFloatType of shape []; expected float32 of "
                        "shape [2]"));
  EXPECT_THAT(refusal(head + "outputs.detach().sum(1)\n"),
              HasSubstr("returns what no parameter decides"));
  EXPECT_THAT(refusal(head + "torch.cross_entropy_loss(outputs, outputs)[7]\n"),
              HasSubstr("fails on the outputs of 2 rows"));
}

TEST_F(torchscript, of_a_loss_with_one_output_has_one) {
  save("  return torch.linear(torch.flatten(x, 1), self.weight, self.bias)"
       "[:, :1]\n");
  job_.train.loss = loss_kind::bce;
  model_setup m(job_, image({3, 4}, 2));
  EXPECT_GT(m.accumulate(random_rows(m.row, 9).view()), 0);
  save(dense);
  try {
    const model_setup four(job_, image({3, 4}, 2));
    FAIL() << "took four outputs";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().pointer, "/model/path");
    EXPECT_NE(std::string(e.what()).find(
                  "of shape [2, 1], as the loss \"bce\" needs"),
              std::string::npos)
        << e.what();
  }
}

TEST_F(torchscript, draws_its_dropout_from_the_step_seed) {
  save("  x = torch.dropout(torch.flatten(x, 1), 0.5, True)\n"
       "  return torch.linear(x, self.weight, self.bias)\n");
  model_setup m(job_, image({3, 4}, 4));
  random_rows rows(m.row, 9);
  const double first = m.accumulate(rows.view(), 1);
  EXPECT_NE(m.accumulate(rows.view(), 2), first);
  EXPECT_EQ(m.accumulate(rows.view(), 1), first);
}

// Long enough for LibTorch to make a graph of its own of it after some passes.
constexpr const char* drops =
    "  x = torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n"
    "  x = torch.sigmoid(x) * torch.tanh(x) + torch.relu(x)\n"
    "  x = torch.dropout(x, 0.3, self.training)\n"
    "  x = torch.sigmoid(x) * torch.tanh(x) + torch.relu(x)\n"
    "  return torch.dropout(x, 0.3, self.training)\n";

struct leaf_bits {
  double loss = 0;
  std::vector<float> gradients;
  bool operator==(const leaf_bits&) const = default;
};

leaf_bits bits_of(model_setup& m, const batch_view& rows, uint64_t seed) {
  m.clear();
  const double loss = m.accumulate(rows, seed);
  return {loss, m.gradients};
}

TEST_F(torchscript, gives_a_leaf_the_same_bits_however_often_it_computed) {
  save(drops);
  job_.train.order = sample_order::global;
  job_.train.reduction = reduction_kind::canonical;
  model_setup m(job_, image({3, 4}, 4));
  random_rows rows(m.row, 9);
  const leaf_bits first = bits_of(m, rows.view(), 1);
  EXPECT_NE(bits_of(m, rows.view(), 2), first);
  for (int pass = 0; pass < 5; ++pass) {
    bits_of(m, rows.view(0, uint32_t(2 + pass)), 2);
    EXPECT_EQ(bits_of(m, rows.view(), 1), first) << pass;
  }
}

TEST_F(torchscript, gives_a_leaf_the_same_bits_beside_others) {
  save(drops);
  job_.train.order = sample_order::global;
  job_.train.reduction = reduction_kind::canonical;
  model_setup one(job_, image({3, 4}, 4)), other(job_, image({3, 4}, 4));
  random_rows rows(one.row, 9);
  const leaf_bits of_one = bits_of(one, rows.view(), 1);
  const leaf_bits of_other = bits_of(other, rows.view(), 2);
  constexpr int passes = 500;
  int differ = 0;
  std::thread beside([&] {
    for (int pass = 0; pass < passes; ++pass)
      differ += bits_of(other, rows.view(), 2) != of_other;
  });
  int differ_here = 0;
  for (int pass = 0; pass < passes; ++pass)
    differ_here += bits_of(one, rows.view(), 1) != of_one;
  beside.join();
  EXPECT_EQ(differ_here + differ, 0);
}

TEST_F(torchscript, refuses_canonical_sums_of_a_module_that_always_draws) {
  save("  x = torch.dropout(torch.flatten(x, 1), 0.5, True)\n"
       "  return torch.linear(x, self.weight, self.bias)\n");
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 4)), "accepted");
  job_.train.order = sample_order::global;
  job_.train.reduction = reduction_kind::canonical;
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 4)), "/model/path");
}

TEST_F(torchscript, knows_whether_a_module_draws) {
  const auto draws = [&](const std::string& forward) {
    save(forward);
    return may_draw(load_script(job_.model.path, at::kCPU).module);
  };
  EXPECT_FALSE(draws(dense));
  EXPECT_FALSE(draws("  sizes = [x.size(0), 12]\n"
                     "  if x.size(0) > len(sizes):\n"
                     "    x = torch.relu(x)\n"
                     "  x = torch.layer_norm(x.view(sizes), [12])\n"
                     "  return torch.linear(x, self.weight, self.bias)\n"));
  EXPECT_TRUE(draws(drops));
  EXPECT_TRUE(draws("  x = torch.linear(torch.flatten(x, 1), self.weight)\n"
                    "  if x.size(0) > 100:\n"
                    "    x = x + torch.rand_like(x)\n"
                    "  return x\n"));
}

TEST_F(torchscript, refuses_modules_that_do_not_fit) {
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 4)), "/model/path");
  save(dense);
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 5)), "/model/path");
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 5}, 4)), "/model/path");
}

TEST_F(torchscript, saves_a_frozen_parameter_and_does_not_train_it) {
  save(dense, false, true);
  model_setup m(job_, image({3, 4}, 4));
  ASSERT_EQ(m.made->parameters().size(), 2);
  for (const parameter_info& p : m.made->parameters())
    EXPECT_NE(p.name, "bias");
  ASSERT_EQ(m.made->buffers().size(), 1);
  EXPECT_EQ(m.made->buffers()[0].name, "bias");
  EXPECT_EQ(m.made->buffers()[0].values.size(), 4);
}

TEST_F(torchscript, saves_a_buffer_that_stays_as_it_is) {
  save("  x = torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n"
       "  return x + self.running_mean\n",
       true);
  model_setup m(job_, image({3, 4}, 4));
  ASSERT_EQ(m.made->buffers().size(), 1);
  EXPECT_EQ(m.made->buffers()[0].name, "running_mean");
}

TEST_F(torchscript, refuses_a_buffer_that_changes_in_training) {
  save("  x = torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n"
       "  if self.training:\n"
       "    self.running_mean.add_(1.0)\n"
       "  return x\n",
       true);
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 4)), "/model/path");
}

TEST_F(torchscript, refuses_a_batch_norm_with_running_statistics) {
  save("  x = torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n"
       "  return torch.batch_norm(x, None, None, self.running_mean, "
       "torch.ones([4]), self.training, 0.1, 1e-5, False)\n",
       true);
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 4)), "/model/path");
}

TEST_F(torchscript, names_what_to_do_with_a_file_of_torch_save) {
  torch::save(torch::zeros(3), job_.model.path);
  EXPECT_EQ(pointer_of_refusal(job_, image({3, 4}, 4)), "/model/path");
}

} // namespace
} // namespace ballast::gpu
