/// Rules that tie several fields of a job together, and paths made absolute.
#include "runtime/job_field.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace ballast {

namespace {

using mistakes_t = std::vector<failure>;

/// Collects mistakes; silent where a field in question has one already.
class rule_book {
public:
  explicit rule_book(mistakes_t& mistakes) : mistakes_(mistakes) {
    for (const failure& m : mistakes)
      wrong_.push_back(m.pointer);
  }

  /// `message` blames the first of `fields`, all of which it is about.
  void refuse(const std::vector<std::string>& fields,
              const std::string& message) {
    for (const std::string& field : fields)
      if (is_wrong(field))
        return;
    mistakes_.push_back(
        {errc::invalid_job, fields[0] + ": " + message, fields[0]});
  }

private:
  /// A mistake at the field, above it, or in one of its items.
  bool is_wrong(const std::string& field) const {
    auto inside = [](const std::string& inner, const std::string& outer) {
      return inner == outer || inner.rfind(outer + "/", 0) == 0;
    };
    return std::any_of(wrong_.begin(), wrong_.end(), [&](const std::string& w) {
      return w.empty() || inside(field, w) || inside(w, field);
    });
  }

  mistakes_t& mistakes_;
  std::vector<std::string> wrong_;
};

std::string n(uint64_t number) {
  return std::to_string(number);
}

void check_workers(const job& in, rule_book& book) {
  const elastic_spec& e = in.elastic;
  if (e.min_workers > e.workers)
    book.refuse({"/elastic/min_workers", "/elastic/workers"},
                n(e.min_workers) + " is more than workers (" + n(e.workers) +
                    "); expected at most that");
  if (e.workers > e.max_workers)
    book.refuse({"/elastic/workers", "/elastic/max_workers"},
                n(e.workers) + " is more than max_workers (" +
                    n(e.max_workers) + "); raise that, or take fewer");
  const placement_spec& p = in.data.placement;
  if (p.kind == "sizes" && p.shares.size() != e.workers)
    book.refuse(
        {"/data/placement/shares", "/data/placement/kind", "/elastic/workers"},
        n(p.shares.size()) + " shares for " + n(e.workers) +
            " workers; expected one for each (/elastic/workers)");
}

void check_features(const source_spec& source, const std::string& prefix,
                    rule_book& book) {
  std::set<std::string> seen;
  for (const std::string& column : source.features) {
    if (column == source.label)
      book.refuse({prefix + "/features", prefix + "/label"},
                  "the label column \"" + column + "\" cannot be a feature");
    if (!seen.insert(column).second)
      book.refuse({prefix + "/features"},
                  "the column \"" + column + "\" is named twice");
  }
}

void check_sources(const job& in, rule_book& book) {
  const source_spec& train = in.data.train;
  check_features(train, "/data/train", book);
  if (!in.data.test)
    return;
  const source_spec& test = *in.data.test;
  check_features(test, "/data/test", book);
  if (train.format != "synthetic" || test.format != "synthetic")
    return;
  if (test.classes != train.classes)
    book.refuse({"/data/test/classes", "/data/train/classes",
                 "/data/test/format", "/data/train/format"},
                n(test.classes) + " classes, but /data/train has " +
                    n(train.classes) + "; expected the same");
  if (test.width != train.width)
    book.refuse({"/data/test/features", "/data/train/features",
                 "/data/test/format", "/data/train/format"},
                n(test.width) + " features, but /data/train has " +
                    n(train.width) + "; expected the same");
}

void check_class_weights(const job& in, rule_book& book) {
  const std::vector<double>& weights = in.train.class_weights;
  if (weights.empty())
    return;
  if (in.train.loss != "cross_entropy")
    book.refuse({"/train/class_weights", "/train/loss"},
                "belongs to the loss \"cross_entropy\"; the loss is \"" +
                    in.train.loss + "\"");
  if (in.model.kind == "emulated")
    book.refuse({"/train/class_weights", "/model/kind"},
                "the emulated model has no classes; leave it out");
  if (std::all_of(weights.begin(), weights.end(),
                  [](double w) { return w == 0; }))
    book.refuse({"/train/class_weights"},
                "all are 0; expected at least one above 0");
  if (in.data.train.format == "synthetic" &&
      weights.size() != in.data.train.classes)
    book.refuse(
        {"/train/class_weights", "/data/train/classes", "/data/train/format"},
        n(weights.size()) + " weights for " + n(in.data.train.classes) +
            " classes; expected one each");
}

void check_loss(const job& in, rule_book& book) {
  const std::string& kind = in.model.kind;
  const std::string& loss = in.train.loss;
  if (kind == "linear" && loss != "mse")
    book.refuse({"/train/loss", "/model/kind"},
                "a \"linear\" model predicts a number and needs \"mse\"; for "
                "classes take the model \"logistic\"");
  if (kind == "logistic" && loss != "cross_entropy")
    book.refuse({"/train/loss", "/model/kind"},
                "a \"logistic\" model predicts classes and needs "
                "\"cross_entropy\"; for numbers take the model \"linear\"");
  const std::string& placement = in.data.placement.kind;
  if (loss == "mse" && (placement == "stratified" || placement == "sorted" ||
                        placement == "dirichlet"))
    book.refuse({"/data/placement/kind", "/train/loss"},
                "\"" + placement +
                    "\" needs classes, and \"mse\" has none; expected "
                    "\"contiguous\", \"iid\" or \"sizes\"");
  if (in.model.init == "zeros" && kind != "linear" && kind != "logistic")
    book.refuse({"/model/init", "/model/kind"},
                "\"zeros\" belongs to the models \"linear\" and \"logistic\"; "
                "a \"" +
                    kind + "\" that starts with zeros learns nothing");
}

std::string absolute(const std::string& path, const std::string& base) {
  std::filesystem::path p(path);
  if (base.empty() || p.is_absolute())
    return path;
  return (std::filesystem::path(base) / p).lexically_normal().string();
}

} // namespace

void check_rules(const job& in, mistakes_t& mistakes) {
  rule_book book(mistakes);
  check_workers(in, book);
  check_sources(in, book);
  check_class_weights(in, book);
  check_loss(in, book);
}

void resolve_paths(const std::vector<job_field>& fields,
                   const std::string& base_folder, job& in) {
  for (const job_field& field : fields) {
    bool word = field.text == text_kind::path_or_word;
    if (field.text != text_kind::path && field.text != text_kind::uri && !word)
      continue;
    auto* place = std::get<std::string*>(field.at(in));
    bool keeps = place->empty() || place->find("://") != std::string::npos ||
                 (word && std::count(field.allowed.begin(), field.allowed.end(),
                                     *place) > 0);
    if (!keeps)
      *place = absolute(*place, base_folder);
  }
}

} // namespace ballast
