/// Rules of `train.loss`: which model it is for, and what belongs to it.
#include "runtime/job/job_field.hpp"
#include "runtime/job/rule_book.hpp"

#include <algorithm>

namespace ballast {

namespace {

std::string n(uint64_t number) {
  return std::to_string(number);
}

std::string quoted(loss_kind loss) {
  return "\"" + to_string(loss) + "\"";
}

void check_class_weights(const job& in, rule_book& book) {
  const std::vector<double>& weights = in.train.class_weights;
  const bool balanced = in.train.class_weights_balanced;
  if (weights.empty() && !balanced)
    return;
  if (!is_of_classes(in.train.loss))
    book.refuse({"/train/class_weights", "/train/loss"},
                "belongs to the losses of classes; the loss is " +
                    quoted(in.train.loss) +
                    ", expected \"cross_entropy\", \"bce\" or \"hinge\"");
  if (in.model.kind == model_kind::emulated)
    book.refuse({"/train/class_weights", "/model/kind"},
                "the emulated model has no classes; leave it out");
  if (balanced && !in.balance.by.empty())
    book.refuse({"/train/class_weights", "/balance/by"},
                "\"balanced\" needs to know the rows of each class, and with "
                "/balance/by others are counted; give a list of weights, or "
                "leave that out");
  if (balanced)
    return;
  if (std::all_of(weights.begin(), weights.end(),
                  [](double w) { return w == 0; }))
    book.refuse({"/train/class_weights"},
                "all are 0; expected at least one above 0");
  if (in.data.train.format == source_format::synthetic &&
      weights.size() != in.data.train.classes)
    book.refuse(
        {"/train/class_weights", "/data/train/classes", "/data/train/format"},
        n(weights.size()) + " weights for " + n(in.data.train.classes) +
            " classes; expected one each");
}

void check_smoothing(const job& in, rule_book& book) {
  if (in.train.label_smoothing == 0)
    return;
  if (!can_smooth_labels(in.train.loss))
    book.refuse({"/train/label_smoothing", "/train/loss"},
                "the loss " + quoted(in.train.loss) +
                    " gives no part of itself to other labels; expected 0, or "
                    "the loss \"cross_entropy\", \"bce\" or \"next_token\"");
  if (in.model.kind == model_kind::emulated)
    book.refuse({"/train/label_smoothing", "/model/kind"},
                "the emulated model computes no loss; leave it out");
}

/// It is computed by the module, of which the job knows nothing.
void check_own_loss(const job& in, rule_book& book) {
  if (in.model.loss.empty())
    return;
  const std::string why =
      " belongs to the formula of /train/loss, and /model/loss takes its place";
  if (!in.train.class_weights.empty() || in.train.class_weights_balanced)
    book.refuse({"/train/class_weights", "/model/loss"},
                "a weight of classes" + why + "; weigh the rows in the method");
  if (in.train.label_smoothing > 0)
    book.refuse({"/train/label_smoothing", "/model/loss"},
                "it" + why + "; smooth the labels in the method");
  if (in.train.importance.by != importance_score::none)
    book.refuse({"/train/importance/by", "/model/loss"},
                "a score of rows" + why + "; leave one of the two out");
}

/// Of other data the classes are known only after reading them.
void check_two_classes(const job& in, rule_book& book) {
  const source_spec& train = in.data.train;
  if (!is_of_two_classes(in.train.loss) || train.classes == 2 ||
      train.format != source_format::synthetic ||
      in.model.kind == model_kind::emulated)
    return;
  book.refuse({"/train/loss", "/data/train/classes", "/data/train/format"},
              quoted(in.train.loss) + " is of two classes, the data have " +
                  n(train.classes) +
                  " (/data/train/classes); expected 2 there, or the loss "
                  "\"cross_entropy\"");
}

void check_model(const job& in, rule_book& book) {
  const model_kind kind = in.model.kind;
  const loss_kind loss = in.train.loss;
  if (kind == model_kind::linear && !is_of_numbers(loss) &&
      loss != loss_kind::hinge)
    book.refuse({"/train/loss", "/model/kind"},
                "a \"linear\" model has one output, a number, and needs "
                "\"mse\", \"huber\" or, of two classes, \"hinge\"; for "
                "probabilities of classes take the model \"logistic\"");
  if (kind == model_kind::logistic && loss == loss_kind::bce)
    book.refuse({"/train/loss", "/model/kind"},
                "a \"logistic\" model of two classes has one output, and its "
                "\"cross_entropy\" is this loss; expected that");
  else if (kind == model_kind::logistic && loss != loss_kind::cross_entropy)
    book.refuse(
        {"/train/loss", "/model/kind"},
        "a \"logistic\" model predicts classes and needs "
        "\"cross_entropy\"; for " +
            std::string(loss == loss_kind::hinge ? "a score" : "numbers") +
            " take the model \"linear\"");
  if (parse_word<model_init>(in.model.init) == model_init::zeros &&
      kind != model_kind::linear && kind != model_kind::logistic)
    book.refuse({"/model/init", "/model/kind"},
                "\"zeros\" belongs to the models \"linear\" and \"logistic\"; "
                "a \"" +
                    to_string(kind) +
                    "\" that starts with zeros learns nothing");
}

} // namespace

void check_losses(const job& in, std::vector<failure>& mistakes) {
  rule_book book(mistakes);
  check_class_weights(in, book);
  check_smoothing(in, book);
  check_own_loss(in, book);
  check_two_classes(in, book);
  check_model(in, book);
}

} // namespace ballast
