// transformer: a decoder that predicts each token of a row from those before
// it; GPT-2 (Radford et al. 2019) with its names and with shapes as in
// torch.nn.Linear. Tokens and their positions are embedded, then come `layers`
// blocks
//   x += attention(norm(x))    causal, `heads` heads
//   x += mlp(norm(x))          4 x `width` wide, GELU (by tanh)
// and a last norm. The head is tied: a token's score is the product with its
// own embedding. That leaves one matrix of vocabulary x width to reduce instead
// of two. No dropout.
//
// A row of T tokens is one sample. Its loss is the mean over its T - 1
// predictions, so that the job's loss is the mean cross entropy of a token. All
// T positions pass through the model, although the last one predicts nothing: a
// power of two as length remains one.
#include "gpu/torch/recompute.hpp"
#include "gpu/torch/tensor_objective.hpp"
#include "gpu/torch/token_rows.hpp"
#include "gpu/torch/torch_model.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>

namespace ballast::gpu {
namespace {

using named_shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

constexpr double deviation = 0.02; // of initial weights, as GPT-2
/// Most scores (tokens x vocabulary) that an evaluation holds at once.
constexpr int64_t evaluation_scores_max = 64 << 20;

// Indices in the list of parameters: the embeddings, the blocks, the last norm.
constexpr size_t token_embedding = 0;
constexpr size_t position_embedding = 1;
constexpr size_t first_block = 2;
constexpr size_t parameters_a_block = 12;
// Inside a block, each followed by its bias.
constexpr size_t norm_1 = 0;
constexpr size_t query_key_value = 2;
constexpr size_t attention_out = 4;
constexpr size_t norm_2 = 6;
constexpr size_t mlp_in = 8;
constexpr size_t mlp_out = 10;

int64_t vocabulary_of(const model_request& request) {
  const ledger::row_shape& row = request.row;
  if (row.vocabulary == 0)
    throw ballast_error(errc::invalid_job,
                        "model 'transformer' needs rows of tokens; set the "
                        "loss to next_token, by which the data are read",
                        "/train/loss");
  const uint64_t known =
      request.what->model.vocabulary.value_or(row.vocabulary);
  if (known < row.vocabulary)
    throw ballast_error(errc::invalid_job,
                        "the data have tokens up to " +
                            std::to_string(row.vocabulary - 1) +
                            ", a vocabulary of " + std::to_string(known) +
                            " ends before; expected at least " +
                            std::to_string(row.vocabulary) + ", or null",
                        "/model/vocabulary");
  return int64_t(known);
}

named_shapes transformer_parameters(const model_request& request) {
  const int64_t width = request.what->model.width;
  named_shapes out;
  out.push_back({"wte.weight", {vocabulary_of(request), width}});
  out.push_back({"wpe.weight", {int64_t(request.row.features), width}});
  auto norm = [&](const std::string& name) {
    out.push_back({name + ".weight", {width}});
    out.push_back({name + ".bias", {width}});
  };
  auto linear = [&](const std::string& name, int64_t to, int64_t from) {
    out.push_back({name + ".weight", {to, from}});
    out.push_back({name + ".bias", {to}});
  };
  for (uint32_t l = 0; l < request.what->model.layers; ++l) {
    const std::string block = "h." + std::to_string(l) + ".";
    norm(block + "ln_1");
    linear(block + "attn.c_attn", 3 * width, width);
    linear(block + "attn.c_proj", width, width);
    norm(block + "ln_2");
    linear(block + "mlp.c_fc", 4 * width, width);
    linear(block + "mlp.c_proj", width, 4 * width);
  }
  norm("ln_f");
  return out;
}

class transformer_model final : public torch_model {
public:
  explicit transformer_model(const model_request& request)
      : torch_model(request, transformer_parameters(request),
                    {.repeats = !request.what->train.activation_checkpointing}),
        length_(request.row.features), width_(setting().what.model.width),
        heads_(setting().what.model.heads),
        vocabulary_(vocabulary_of(request)) {}

private:
  static size_t block(size_t layer) {
    return first_block + layer * parameters_a_block;
  }
  size_t last_norm() const { return block(setting().what.model.layers); }

  // As GPT-2: the initial contribution of each layer to the residual stream
  // decreases with the number of layers.
  void default_values(std::span<float> values) override {
    default_filler fill(setting().what.seed);
    const double residual =
        deviation / std::sqrt(2.0 * double(setting().what.model.layers));
    for (size_t i = 0; i < parameters().size(); ++i) {
      const parameter_info& p = parameters()[i];
      const std::span<float> to = values.subspan(p.offset, p.count);
      if (p.shape.size() == 2)
        fill.normal(to,
                    p.name.ends_with("c_proj.weight") ? residual : deviation);
      else
        std::ranges::fill(to, p.name.ends_with(".weight") ? 1.0F : 0.0F);
    }
  }

  at::Tensor norm(size_t i, const at::Tensor& x) {
    return at::layer_norm(x, {width_}, leaves()[i], leaves()[i + 1]);
  }
  at::Tensor linear(size_t i, const at::Tensor& x) {
    return at::linear(x, leaves()[i], leaves()[i + 1]);
  }

  // x: rows x length x width.
  at::Tensor attention(size_t first, const at::Tensor& x) {
    const int64_t rows = x.size(0);
    auto by_head = [&](const at::Tensor& part) {
      return part.view({rows, length_, heads_, width_ / heads_})
          .transpose(1, 2);
    };
    // Split, not sliced: the backward pass is one concatenation.
    const std::vector<at::Tensor> parts =
        linear(first + query_key_value, x).split(width_, 2);
    const at::Tensor out = at::scaled_dot_product_attention(
        by_head(parts[0]), by_head(parts[1]), by_head(parts[2]), {}, 0.0,
        /*is_causal=*/true);
    return linear(first + attention_out,
                  out.transpose(1, 2).reshape({rows, length_, width_}));
  }

  at::Tensor mlp(size_t first, const at::Tensor& x) {
    return linear(first + mlp_out, at::gelu(linear(first + mlp_in, x), "tanh"));
  }

  at::Tensor forward_block(size_t l, at::Tensor x) {
    check_interrupt();
    x = x.add(attention(block(l), norm(block(l) + norm_1, x)));
    return x.add(mlp(block(l), norm(block(l) + norm_2, x)));
  }

  /// The score of each token of the vocabulary to follow each position: (rows x
  /// length) x vocabulary.
  at::Tensor scores(const at::Tensor& tokens) {
    at::Tensor x = at::embedding(leaves()[token_embedding], tokens)
                       .add(leaves()[position_embedding]);
    for (size_t l = 0; l < setting().what.model.layers; ++l)
      x = setting().what.train.activation_checkpointing
              ? recomputed(x,
                           [this, l](const at::Tensor& input, bool again) {
                             const autocast_scope types(
                                 setting().place, again && setting().bfloat16);
                             return forward_block(l, input);
                           })
              : forward_block(l, x);
    return at::linear(norm(last_norm(), x), leaves()[token_embedding])
        .view({-1, vocabulary_});
  }

  static at::Tensor losses(const at::Tensor& scores, const at::Tensor& next,
                           double smoothing) {
    return at::cross_entropy_loss(scores.to(at::kFloat), next.view(-1), {},
                                  at::Reduction::None, no_token, smoothing);
  }
  at::Tensor sum_of_means(const at::Tensor& by_position) const {
    return by_position.sum(at::kDouble).div(double(length_ - 1));
  }

  void check_rows(const batch_view& batch) const override {
    if (setting().place.elsewhere) // else they are checked as they are read
      check_tokens(batch, setting().row, vocabulary_);
  }
  double differentiate(const batch_view& batch, uint64_t step_seed,
                       const std::function<void(size_t)>& ready) override {
    check_rows(batch);
    return pass(batch, step_seed, ready).item<double>();
  }

  at::Tensor pass(const batch_view& batch, uint64_t /*step_seed*/,
                  const std::function<void(size_t)>& ready) override {
    const autograd_scope autograd; // first: it keeps tokens, too
    const token_rows rows =
        token_rows_at(setting().place, batch, setting().row, vocabulary_);
    at::Tensor loss;
    {
      const autocast_scope types(setting().place, setting().bfloat16);
      const at::Tensor found = scores(rows.tokens);
      loss = losses(found, rows.next, goal().smoothing());
      if (batch.scores)
        write_token_scores(batch, found, loss, rows.next);
    }
    const at::Tensor by_position = loss.detach();
    at::Tensor counts = at::full_like(by_position, 1.0 / double(length_ - 1));
    if (batch.weights)
      counts = counts.view({batch.rows, length_})
                   .mul(row_weights(batch, by_position).unsqueeze(1))
                   .view(-1);
    leaves().backward(loss, counts, ready);
    return batch.weights ? by_position.mul(counts).sum(at::kDouble)
                         : sum_of_means(by_position);
  }

  /// The loss of a row, or the norm of its gradient by all its scores.
  void write_token_scores(const batch_view& batch, const at::Tensor& found,
                          const at::Tensor& loss,
                          const at::Tensor& next) const {
    at::Tensor by_position = loss.detach();
    if (!goal().scores_loss()) {
      const at::Tensor flat = next.view(-1);
      const at::Tensor labels = flat.clamp_min(0).unsqueeze(1);
      const double smoothing = goal().smoothing();
      at::Tensor derivative =
          found.detach()
              .to(at::kFloat)
              .softmax(1)
              .scatter_add(1, labels,
                           at::full_like(labels, smoothing - 1, at::kFloat));
      if (smoothing > 0)
        derivative = derivative.sub(smoothing / double(vocabulary_));
      by_position = derivative.square().sum(1).mul(flat.ne(no_token));
    }
    const at::Tensor sums = by_position.view({batch.rows, length_}).sum(1);
    copy_to_host((goal().scores_loss() ? sums.clamp_min(0) : sums.sqrt())
                     .div(double(length_ - 1)),
                 batch.scores);
  }

  evaluation_sums judge_outputs(const batch_view& batch) override {
    return judge(batch);
  }

  evaluation_sums judge(const batch_view& batch) override {
    check_rows(batch);
    const token_rows rows =
        token_rows_at(setting().place, batch, setting().row, vocabulary_);
    const c10::NoGradGuard no_grad;
    const autocast_scope types(setting().place, setting().bfloat16);
    const at::Tensor found = scores(rows.tokens);
    const at::Tensor by_position = losses(found, rows.next, 0);
    if (batch.scores) { // those of training
      const double smoothing = goal().smoothing();
      write_token_scores(batch, found,
                         smoothing > 0 ? losses(found, rows.next, smoothing)
                                       : by_position,
                         rows.next);
    }
    return {
        .loss = sum_of_means(by_position).item<double>(),
        .correct =
            sum_of_means(found.argmax(1).eq(rows.next.view(-1))).item<double>(),
        .rows = double(batch.rows),
        .weight = double(batch.rows)};
  }

  uint32_t evaluation_rows() const override {
    return uint32_t(std::clamp<int64_t>(
        evaluation_scores_max / (length_ * vocabulary_), 1, 512));
  }

  int64_t length_; // tokens in a row
  int64_t width_;
  int64_t heads_;
  int64_t vocabulary_;
};

} // namespace

std::unique_ptr<model> make_transformer_model(const model_request& request) {
  return std::make_unique<transformer_model>(request);
}

} // namespace ballast::gpu
