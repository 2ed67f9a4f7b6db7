// What of the transformer the tests of every model do not say (they compare its
// gradients with autograd): its size, what it learns, what it refuses.
#include "gpu/optimizer.hpp"
#include "runtime/base/errors.hpp"
#include "tests/gpu/torch/model_fixture.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace ballast::gpu {
namespace {

job small_job() {
  return job_of(model_kind::transformer, loss_kind::next_token);
}

failure refusal_of(const job& what, const ledger::row_shape& row) {
  try {
    model_setup(what, row);
  } catch (const ballast_error& e) {
    return e.what_failed();
  }
  return {};
}

TEST(transformer, of_the_size_of_gpt_2_has_its_number_of_parameters) {
  job what = small_job();
  what.model.layers = 12;
  what.model.width = 768;
  what.model.heads = 12;
  auto made = make_model({&what, tokens(1024, 50257)});
  EXPECT_EQ(made->parameter_count(), 124'439'808U);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const parameter_info& p : made->parameters())
    shapes[p.name] = p.shape;
  using shape = std::vector<int64_t>;
  EXPECT_EQ(shapes.size(), 2U + 12 * 12 + 2);
  EXPECT_EQ(shapes.at("wte.weight"), (shape{50257, 768}));
  EXPECT_EQ(shapes.at("wpe.weight"), (shape{1024, 768}));
  EXPECT_EQ(shapes.at("h.11.attn.c_attn.weight"), (shape{2304, 768}));
  EXPECT_EQ(shapes.at("h.0.mlp.c_fc.weight"), (shape{3072, 768}));
  EXPECT_EQ(shapes.at("ln_f.bias"), (shape{768}));
}

TEST(transformer, starts_without_an_idea) {
  model_setup m(small_job(), tokens(17, 50));
  random_rows rows(m.row, 20);
  const evaluation_sums sums = m.made->evaluate(rows.view());
  EXPECT_NEAR(sums.loss / sums.rows, std::log(50.0), 0.05);
}

TEST(transformer, starts_smaller_where_many_layers_add_up) {
  job what = small_job();
  what.model.layers = 8;
  what.model.width = 48;
  model_setup m(what, tokens(17, 50));
  auto deviation = [&](const std::string& name) {
    const parameter_info& p = m.made->parameters()[m.index_of(name)];
    double squares = 0;
    for (size_t i = 0; i < p.count; ++i)
      squares += std::pow(double(m.parameters[p.offset + i]), 2);
    return std::sqrt(squares / double(p.count));
  };
  EXPECT_NEAR(deviation("wte.weight"), 0.02, 0.002);
  EXPECT_NEAR(deviation("h.3.mlp.c_fc.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("h.3.mlp.c_proj.weight"), 0.02 / 4, 0.0003);
  EXPECT_NEAR(deviation("h.7.attn.c_proj.weight"), 0.02 / 4, 0.0003);
  EXPECT_EQ(deviation("h.7.attn.c_proj.bias"), 0);
  EXPECT_EQ(deviation("h.7.ln_2.weight"), 1);
}

// Goal: it sees what came before, not only the token before. Method: rows of
// which each token is the sum of the two before it, modulo 7.
TEST(transformer, learns_what_follows_from_two_tokens) {
  job what = small_job();
  what.model.width = 32;
  what.model.heads = 2;
  model_setup m(what, tokens(12, 7));
  random_rows rows(m.row, 49);
  for (uint32_t r = 0; r < 49; ++r) {
    float* row = rows.features.data() + size_t(r) * 12;
    const uint32_t first = r % 7, second = r / 7;
    row[0] = float(first);
    row[1] = float(second);
    for (size_t i = 2; i < 12; ++i)
      row[i] = float((int(row[i - 1]) + int(row[i - 2])) % 7);
  }
  auto update =
      make_optimizer({.kind = optimizer_kind::adamw}, m.parameters.size());
  for (uint64_t step = 1; step <= 200; ++step) {
    m.clear();
    m.accumulate(rows.view());
    update->apply(m.parameters, m.gradients, 1.0 / rows.rows, 3e-3, step);
  }
  // The second token of each row is anyone's guess: 1 of 11, for which no
  // better loss than ln 7 is to be had.
  const evaluation_sums sums = m.made->evaluate(rows.view());
  EXPECT_LT(sums.loss / sums.rows, std::log(7.0) / 11 + 0.05);
  EXPECT_GT(sums.correct / sums.rows, 10.0 / 11 - 0.01);
  EXPECT_LT(sums.correct / sums.rows, 10.0 / 11 + 0.03);
}

TEST(transformer, knows_more_tokens_than_the_data_have_if_asked_to) {
  job what = small_job();
  what.model.vocabulary = 20;
  model_setup m(what, tokens(5, 11));
  EXPECT_EQ(m.made->parameters()[0].shape, (std::vector<int64_t>{20, 12}));
  what.model.vocabulary = 10;
  const failure refused = refusal_of(what, tokens(5, 11));
  EXPECT_EQ(refused.pointer, "/model/vocabulary");
  EXPECT_NE(refused.message.find("at least 11"), std::string::npos);
}

TEST(transformer, goes_only_with_the_loss_of_tokens) {
  for (const loss_kind loss : {loss_kind::cross_entropy, loss_kind::mse})
    EXPECT_EQ(refusal_of(job_of(model_kind::transformer, loss), tokens(5, 11))
                  .pointer,
              "/train/loss")
        << to_string(loss);
  for (const model_kind kind :
       {model_kind::mlp, model_kind::logistic, model_kind::linear})
    EXPECT_EQ(
        refusal_of(job_of(kind, loss_kind::next_token), tokens(5, 11)).pointer,
        "/train/loss")
        << to_string(kind);
  EXPECT_EQ(refusal_of(small_job(), flat(5, 3)).pointer, "/train/loss");
}

TEST(transformer, names_the_sample_whose_token_it_does_not_know) {
  model_setup m(small_job(), tokens(5, 11));
  for (float wrong : {11.0F, -1.0F, 2.5F, NAN, INFINITY}) {
    random_rows rows(m.row, 4);
    rows.features[2 * 5 + 3] = wrong;
    for (bool training : {true, false})
      try {
        if (training)
          m.accumulate(rows.view());
        else
          m.made->evaluate(rows.view());
        ADD_FAILURE() << "accepted " << wrong;
      } catch (const ballast_error& e) {
        EXPECT_EQ(e.what_failed().code, errc::invalid_data);
        const std::string says = e.what();
        EXPECT_NE(says.find("token 4 of sample 1002"), std::string::npos)
            << says;
        EXPECT_NE(says.find("from 0 to 10"), std::string::npos) << says;
      }
  }
}

TEST(evaluation, holds_no_more_rows_at_once_than_micro_batch) {
  job what = small_job();
  model_setup whole(what, tokens(9, 11));
  what.train.micro_batch = 3;
  model_setup split(what, tokens(9, 11));
  random_rows rows(whole.row, 10);
  const evaluation_sums a = whole.made->evaluate(rows.view());
  const evaluation_sums b = split.made->evaluate(rows.view());
  EXPECT_NEAR(a.loss, b.loss, 1e-5 * a.loss);
  EXPECT_EQ(a.correct, b.correct);
  EXPECT_EQ(b.rows, 10);
}

} // namespace
} // namespace ballast::gpu
