/// Rules that involve several fields of a job, and the resolution of relative
/// paths.
#include "runtime/job/job_field.hpp"
#include "runtime/job/rule_book.hpp"
#include "runtime/job/source_uri.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace ballast {

namespace {

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
}

/// For other data the classes, or the bins of a target, are known only after
/// reading them.
bool classes_are_known(const job& in) {
  return in.data.train.format == source_format::synthetic &&
         is_of_classes(in.train.loss);
}

void check_matrix(const job& in, rule_book& book) {
  const auto& matrix = in.data.placement.matrix;
  const uint32_t workers = in.elastic.workers;
  const std::string field = "/data/placement/matrix";
  if (matrix.size() != workers)
    book.refuse({field, "/data/placement/kind", "/elastic/workers"},
                n(matrix.size()) + " rows for " + n(workers) +
                    " workers; expected one for each (/elastic/workers)");
  for (size_t worker = 0; worker < matrix.size(); ++worker) {
    const std::vector<double>& row = matrix[worker];
    const std::string blamed = field + "/" + n(worker);
    if (row.size() != matrix[0].size())
      book.refuse({blamed, field},
                  n(row.size()) + " weights, but the first row has " +
                      n(matrix[0].size()) + "; expected one for each class");
    if (std::all_of(row.begin(), row.end(), [](double w) { return w == 0; }))
      book.refuse({blamed, field},
                  "all are 0, which leaves this worker without rows; expected "
                  "at least one above 0");
  }
  const source_spec& train = in.data.train;
  if (classes_are_known(in) && !matrix.empty() &&
      matrix[0].size() != train.classes)
    book.refuse({field, "/data/train/classes", "/data/train/format"},
                n(matrix[0].size()) + " columns for " + n(train.classes) +
                    " classes; expected one for each");
}

bool has_named_columns(const source_spec& source) {
  return is_table(source.format);
}

std::string no_named_columns(const source_spec& source) {
  return "\"" + to_string(source.format) +
         "\" data have no named columns; expected a format that has, such as "
         "\"csv\" or \"parquet\"";
}

void check_column(const job& in, rule_book& book) {
  const source_spec& train = in.data.train;
  const std::string field = "/data/placement/column";
  const std::string& column = in.data.placement.column;
  if (!has_named_columns(train))
    book.refuse({field, "/data/train/format", "/data/placement/kind"},
                no_named_columns(train));
  else if (!train.features.empty() && column != train.label &&
           std::count(train.features.begin(), train.features.end(), column) ==
               0) {
    std::string loaded;
    if (!train.label.empty())
      loaded = "\"" + train.label + "\", ";
    for (const std::string& feature : train.features)
      loaded += "\"" + feature + "\", ";
    loaded.resize(loaded.size() - 2);
    book.refuse({field, "/data/train/features", "/data/train/label",
                 "/data/train/format", "/data/placement/kind"},
                "\"" + column +
                    "\" is not loaded; expected the label or one of the "
                    "features: " +
                    loaded);
  }
}

/// Columns for `balance.by` and `balance.group` need a format with named
/// columns.
void check_balance(const job& in, rule_book& book) {
  const balance_spec& b = in.balance;
  const source_spec& train = in.data.train;
  if (!b.by.empty() && !has_named_columns(train))
    book.refuse({"/balance/by", "/data/train/format"}, no_named_columns(train));
  if (!b.group.empty() && !has_named_columns(train))
    book.refuse({"/balance/group", "/data/train/format"},
                no_named_columns(train));
  if (!b.by.empty() && in.data.test && !has_named_columns(*in.data.test))
    book.refuse({"/balance/by", "/data/test/format"},
                no_named_columns(*in.data.test) + " for the test set, too");
  if (std::set<std::string>(b.by.begin(), b.by.end()).size() < b.by.size())
    book.refuse({"/balance/by"}, "names a column twice; expected each once");
}

void check_placement(const job& in, rule_book& book) {
  const placement_spec& p = in.data.placement;
  const uint32_t workers = in.elastic.workers;
  const bool given =
      p.kind == placement_kind::sizes ||
      (p.kind == placement_kind::inner_dirichlet && !p.shares.empty());
  if (given && p.shares.size() != workers)
    book.refuse(
        {"/data/placement/shares", "/data/placement/kind", "/elastic/workers"},
        n(p.shares.size()) + " shares for " + n(workers) +
            " workers; expected one for each (/elastic/workers)");
  if (p.kind == placement_kind::matrix)
    check_matrix(in, book);
  if (p.kind == placement_kind::column || p.kind == placement_kind::continuous)
    check_column(in, book);
  const source_spec& train = in.data.train;
  if (p.kind != placement_kind::classes || !classes_are_known(in))
    return;
  const std::vector<std::string> fields = {
      "/data/placement/classes_per_worker", "/data/placement/kind",
      "/data/train/classes", "/data/train/format", "/elastic/workers"};
  if (p.classes_per_worker > train.classes)
    book.refuse(fields, n(p.classes_per_worker) + " is more than the " +
                            n(train.classes) + " classes there are");
  if (uint64_t{p.classes_per_worker} * workers < train.classes)
    book.refuse(fields, n(p.classes_per_worker) + " for each of " + n(workers) +
                            " workers are fewer than the " + n(train.classes) +
                            " classes; expected at least " +
                            n((train.classes + workers - 1) / workers));
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

void check_database(const source_spec& source, const std::string& prefix,
                    rule_book& book) {
  if (!is_sent(source.format))
    return;
  if (source.format == source_format::sql &&
      source.query.empty() == source.table.empty())
    book.refuse({prefix + "/query", prefix + "/table", prefix + "/format"},
                "expected either a query or the name of a table in " + prefix +
                    "/table");
  if (!source.password_env.empty() && !source.password_file.empty())
    book.refuse({prefix + "/password_env", prefix + "/password_file"},
                "the password is in one place; leave one of the two out");
}

/// It is read once, from front to back.
void check_standard_input(const job& in, rule_book& book) {
  std::string first;
  const auto look = [&](const source_spec& one, const std::string& at) {
    if (one.uri != standard_input)
      return;
    if (is_pictures(one.format))
      book.refuse({at + "/uri", at + "/format"},
                  "standard input has no files; expected a folder or archives");
    else if (!first.empty())
      book.refuse({at + "/uri", first},
                  "standard input can be read once, and " + first +
                      " does; expected a file");
    else
      first = at + "/uri";
  };
  look(in.data.train, "/data/train");
  if (in.data.test)
    look(*in.data.test, "/data/test");
  for (const auto& [name, source] : in.data.sources)
    look(source, "/data/sources/" + name);
}

/// All of that was decided when it was prepared.
void check_prepared(const job& in, rule_book& book) {
  const data_spec& data = in.data;
  if (data.test && data.test->format == source_format::prepared)
    book.refuse({"/data/test/format"},
                "a prepared set has its test rows; name it in /data/train "
                "alone");
  if (data.train.format != source_format::prepared)
    return;
  const auto refuse = [&](bool given, const char* field) {
    if (given)
      book.refuse({field, "/data/train/format"},
                  "a prepared set has this already; leave it out, or say it "
                  "where the set is prepared");
  };
  refuse(data.test.has_value(), "/data/test");
  refuse(!data.pipeline.empty(), "/data/pipeline");
  refuse(data.placement.kind != placement_kind::contiguous,
         "/data/placement/kind");
  refuse(data.chunk_rows.has_value(), "/data/chunk_rows");
  refuse(data.on_error != error_policy::fail, "/data/on_error");
  refuse(!in.balance.by.empty(), "/balance/by");
  refuse(!in.balance.group.empty(), "/balance/group");
}

void check_sources(const job& in, rule_book& book) {
  check_prepared(in, book);
  check_standard_input(in, book);
  const source_spec& train = in.data.train;
  check_database(train, "/data/train", book);
  if (in.data.test)
    check_database(*in.data.test, "/data/test", book);
  for (const auto& [name, source] : in.data.sources)
    check_database(source, "/data/sources/" + name, book);
  check_features(train, "/data/train", book);
  if (!in.data.test)
    return;
  const source_spec& test = *in.data.test;
  check_features(test, "/data/test", book);
  if (train.format != source_format::synthetic ||
      test.format != source_format::synthetic)
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

void check_recomputing(const job& in, rule_book& book) {
  if (in.train.activation_checkpointing &&
      in.model.kind != model_kind::transformer &&
      in.model.kind != model_kind::resnet18)
    book.refuse({"/train/activation_checkpointing", "/model/kind"},
                "a \"" + to_string(in.model.kind) +
                    "\" has no blocks that could be computed again; expected "
                    "false, or the model \"transformer\" or \"resnet18\"");
}

void check_label(const source_spec& source, const std::string& prefix,
                 loss_kind loss, rule_book& book) {
  const std::string field = prefix + "/label";
  const std::vector<std::string> fields = {field, prefix + "/format",
                                           "/train/loss"};
  const bool table = has_named_columns(source);
  if (loss == loss_kind::next_token &&
      (source.format == source_format::idx || is_pictures(source.format)))
    book.refuse({prefix + "/format", "/train/loss"},
                "\"" + to_string(source.format) +
                    "\" data have labels, rows for the loss \"next_token\" "
                    "have none; expected \"csv\", \"parquet\" or "
                    "\"synthetic\"");
  else if (is_of_numbers(loss) && source.format == source_format::images)
    book.refuse({prefix + "/format", "/train/loss"},
                "folders of images are classes, the loss \"" + to_string(loss) +
                    "\" needs numbers; expected the loss \"cross_entropy\", or "
                    "\"webdataset\", whose labels may be any number");
  else if (loss == loss_kind::next_token && table && !source.label.empty())
    book.refuse(fields, "rows for the loss \"next_token\" have no label, each "
                        "token is that of those before it; leave it out (" +
                            prefix + "/features names the columns of tokens)");
  else if (loss != loss_kind::next_token && table && source.label.empty())
    book.refuse(fields, "is required with the loss \"" + to_string(loss) +
                            "\": the name of a column");
}

/// Rules for rows of tokens.
void check_tokens(const job& in, rule_book& book) {
  const model_kind kind = in.model.kind;
  const bool tokens = in.train.loss == loss_kind::next_token;
  const bool convex = kind == model_kind::linear ||
                      kind == model_kind::logistic; // check_losses
  check_label(in.data.train, "/data/train", in.train.loss, book);
  if (in.data.test)
    check_label(*in.data.test, "/data/test", in.train.loss, book);
  if (kind == model_kind::transformer && !tokens)
    book.refuse({"/train/loss", "/model/kind"},
                "a \"transformer\" predicts tokens and needs \"next_token\"");
  if (tokens && kind != model_kind::transformer &&
      kind != model_kind::emulated && !convex)
    book.refuse({"/train/loss", "/model/kind"},
                "\"next_token\" needs the model \"transformer\"; a \"" +
                    to_string(kind) + "\" does not predict tokens");
  if (tokens && !in.data.pipeline.empty())
    book.refuse({"/data/pipeline", "/train/loss"},
                "rows of tokens are taken as they are; leave the steps out");
  if (kind != model_kind::transformer)
    return;
  if (in.model.width % in.model.heads != 0)
    book.refuse({"/model/heads", "/model/width", "/model/kind"},
                n(in.model.heads) + " heads do not divide the width " +
                    n(in.model.width) + "; expected a divisor of it");
  const source_spec& train = in.data.train;
  if (in.model.vocabulary && train.format == source_format::synthetic &&
      *in.model.vocabulary < train.classes)
    book.refuse({"/model/vocabulary", "/data/train/classes",
                 "/data/train/format", "/model/kind"},
                n(*in.model.vocabulary) + " is less than the " +
                    n(train.classes) +
                    " tokens of /data/train; expected at least that, or null");
}

std::string absolute(const std::string& path, const std::string& base) {
  std::filesystem::path p(path);
  if (base.empty() || p.is_absolute())
    return path;
  return (std::filesystem::path(base) / p).lexically_normal().string();
}

} // namespace

void check_rules(const job& in, std::vector<failure>& mistakes) {
  rule_book book(mistakes);
  check_recomputing(in, book);
  check_workers(in, book);
  check_placement(in, book);
  check_balance(in, book);
  check_sources(in, book);
  check_tokens(in, book);
}

void resolve_paths(const std::vector<job_field>& fields,
                   const std::string& base_folder, job& in) {
  for (const job_field& field : fields) {
    bool word = field.text == text_kind::path_or_word;
    if (field.text != text_kind::path && field.text != text_kind::uri &&
        field.text != text_kind::place && !word)
      continue;
    if (field.pointer.starts_with("/data/graph/"))
      continue; // its place is that of a node of its operator
    auto* place = std::get<std::string*>(field.at(in));
    bool keeps = place->empty() || place->find("://") != std::string::npos ||
                 (field.text == text_kind::uri && *place == standard_input) ||
                 (word && std::count(field.allowed.begin(), field.allowed.end(),
                                     *place) > 0);
    if (!keeps)
      *place = absolute(*place, base_folder);
  }
  for (graph::node& node : in.data.graph)
    for (const graph::option& one : graph::about(node.what).options)
      if (one.is == graph::option::kind::path) {
        auto& place = std::get<std::string>(graph::option_of(node, one.name));
        place = absolute(place, base_folder);
      }
}

} // namespace ballast
