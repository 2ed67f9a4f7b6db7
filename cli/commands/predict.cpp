/// `ballast predict` and `ballast evaluate`: a trained model on new rows. This
/// process reads the input and cuts it into parts, processes of a pool compute
/// them, and the answers come together in the order of the input.
#include "cli/commands/end_of_command.hpp"
#include "cli/commands/ending_signals.hpp"
#include "cli/commands/evaluated_slices.hpp"
#include "cli/commands/evaluation_parts.hpp"
#include "cli/commands/inference_pool.hpp"
#include "cli/commands/predict_progress.hpp"
#include "data/base/content_hash.hpp"
#include "data/graph/temporary_folder.hpp"
#include "data/inference/feature_rows.hpp"
#include "data/inference/prediction_file.hpp"
#include "data/inference/prediction_parts.hpp"
#include "data/inference/trained_run.hpp"
#include "data/model/parameters_digest.hpp"
#include "gpu/model.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::cli {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
namespace fs = std::filesystem;

/// The command line, as JSON.
struct order {
  std::string model;
  data::input_terms input;
  std::string file; // of predict
  std::optional<uint32_t> workers;
  bool as_json = false;
};

order order_of(const json& request, const store::work_watch& stop) {
  order out;
  out.model = request.at("model").get<std::string>();
  out.input.file = request.at("data").get<std::string>();
  out.input.format = request.value("format", "");
  out.input.labels_file = request.value("labels", "");
  out.input.by = request.value("by", "");
  out.input.stop = stop;
  out.file = request.value("out", "");
  if (const uint32_t workers = request.value("workers", 0U); workers > 0)
    out.workers = workers;
  out.as_json = request.value("json", false);
  return out;
}

/// More than one thread reads and writes beside them.
uint32_t usual_workers() {
  constexpr unsigned most = 4;
  return std::clamp(std::thread::hardware_concurrency(), 1U, most);
}

data::trained_run opened(const order& what, const char* doing) {
  data::trained_run out = data::read_trained_run(what.model);
  data::check_parameters(out.folder);
  if (gpu::answer_columns(out.what, out.row) == 0)
    throw ballast_error(
        errc::not_in_build,
        std::string("cannot ") + doing + " with a model '" +
            to_string(out.what.model.kind) +
            "': it says nothing of a row as a whole; expected one of linear, "
            "logistic, mlp, cnn, resnet18 and torchscript",
        "/model/kind");
  return out;
}

/// The next part, of at most so many rows; nothing: there is none any more.
using part_supply =
    std::function<std::optional<data::labelled_features>(size_t rows)>;

/// One after another, as they lie in the input.
part_supply in_order(data::feature_rows& input) {
  return [&input](size_t rows) -> std::optional<data::labelled_features> {
    data::labelled_features part = input.next(rows);
    if (part.rows == 0)
      return std::nullopt;
    return part;
  };
}

/// Reads parts while processes compute those before.
class part_run {
public:
  part_run(const data::trained_run& run, const order& what, part_supply input,
           data::prediction_parts& parts, const fs::path& logs, bool judges)
      : run_(run), input_(std::move(input)), parts_(parts),
        stop_(what.input.stop),
        columns_(gpu::answer_columns(run.what, run.row)),
        pool_({run.folder, run.fingerprint, logs,
               what.workers.value_or(usual_workers()), judges}),
        judges_(judges) {}

  /// To the end. `done`: called for each part in order, with its number and
  /// rows. Answers that are there are taken up.
  template <class Done>
  void run(const Done& done) {
    const size_t rows = data::rows_of_part(run_.row.features);
    while (!ended_ || !pool_.is_empty()) {
      if (stop_.stop_requested())
        throw ballast_error(errc::stopped, "ended by a signal");
      const bool reads = !ended_ && pool_.wants_parts();
      if (reads)
        read(rows);
      for (const json& one : pool_.step(reads ? 0ms : 100ms))
        take(one);
      for (; next_ < rows_.size() && is_done_[next_]; ++next_)
        done(part_number(next_), rows_[next_]);
      progress_.show(rows_done_, pool_.deaths());
    }
    progress_.end();
  }

  size_t columns() const { return columns_; }
  uint64_t rows() const { return rows_done_; }
  uint64_t taken_up() const { return taken_up_; }
  uint64_t deaths() const { return pool_.deaths(); }

private:
  void read(size_t rows) {
    const std::optional<data::labelled_features> part = input_(rows);
    ended_ = !part;
    if (!part)
      return;
    const auto number = part_number(rows_.size());
    rows_.push_back(part->rows);
    is_done_.push_back(
        !judges_ && parts_.answers(number, part->rows, columns_).has_value());
    if (is_done_.back()) {
      rows_done_ += part->rows;
      taken_up_ += part->rows;
      return;
    }
    parts_.write_rows(number, *part);
    pool_.add(number, {parts_.rows_file(number), parts_.answers_file(number)});
  }

  void take(const json& said) {
    const auto number = said.at("done").get<uint64_t>();
    is_done_.at(number) = true;
    rows_done_ += rows_.at(number);
    parts_.remove_rows(part_number(number));
  }

  const data::trained_run& run_;
  const part_supply input_;
  data::prediction_parts& parts_;
  const store::work_watch stop_;
  const size_t columns_;
  inference_pool pool_;
  predict_progress progress_;
  const bool judges_;
  std::vector<uint64_t> rows_; // by part
  std::vector<bool> is_done_;
  size_t next_ = 0; // the part that is done next in order
  bool ended_ = false;
  uint64_t rows_done_ = 0;
  uint64_t taken_up_ = 0;
};

/// Whose parts they are. An input that tells no version is another one each
/// time.
std::string fingerprint_of(const data::trained_run& run, const order& what,
                           const data::feature_rows& input) {
  data::content_hash out;
  const std::string version = input.version();
  for (const std::string& one :
       {run.fingerprint, what.input.file, what.input.format,
        what.input.labels_file, version,
        version.empty() ? std::to_string(::getpid()) : std::string(),
        std::to_string(data::rows_of_part(run.row.features))}) {
    out.update(one);
    out.update("\n");
  }
  return data::hex16(out.digest());
}

void add_part(data::prediction_file& file, const data::prediction_parts& parts,
              part_number number, uint64_t rows, size_t columns) {
  const auto answers = parts.answers(number, rows, columns);
  if (!answers)
    throw ballast_error(errc::run_dir_unusable,
                        printable(parts.answers_file(number).string()) +
                            ": was changed or removed while it was needed; "
                            "the same command computes it again");
  file.add(*answers);
}

/// `ended`: where the parts go, as the same command does not go on with them.
template <class Work>
void with_parts(data::prediction_parts& parts, const Work& work) {
  try {
    work();
  } catch (const ballast_error& error) {
    if (describe(error.what_failed().code).exit_code == 2)
      parts.remove();
    throw;
  }
  parts.remove();
}

int predict(const order& what) {
  const data::trained_run run = opened(what, "predict");
  const fs::path place = what.file;
  data::prediction_file::check(place);
  data::feature_rows input(run, what.input);
  const fs::path folder = place.string() + ".parts";
  data::prediction_parts parts(folder, fingerprint_of(run, what, input));
  json said{{"file", what.file}};
  with_parts(parts, [&] {
    data::prediction_file file(place, run);
    part_run work(run, what, in_order(input), parts, folder, false);
    work.run([&](part_number number, uint64_t rows) {
      add_part(file, parts, number, rows, work.columns());
    });
    input.check_unchanged();
    file.publish();
    said["rows"] = work.rows();
    said["taken_up"] = work.taken_up();
    said["workers_lost"] = work.deaths();
  });
  if (what.as_json)
    std::cout << json_lines_text(said) << "\n";
  else
    std::cout << printable(what.file) << ": "
              << counted(said.at("rows").get<uint64_t>(), "row") << "\n";
  return 0;
}

/// A line for each value, with what is one number.
void print_slices(const nlohmann::ordered_json& by) {
  const auto& slices = by.at("slices");
  std::vector<std::string> heads{printable(by.at("column").get<std::string>()),
                                 "rows", "loss"};
  for (const auto& [name, value] : slices.front().at("metrics").items())
    if (!value.is_structured())
      heads.push_back(name);
  const auto cell = [](const json& value) {
    char text[32];
    if (!value.is_number())
      return std::string("-");
    std::snprintf(text, sizeof text, "%.6g", value.get<double>());
    return std::string(text);
  };
  std::vector<std::vector<std::string>> lines{heads};
  for (const auto& [value, one] : slices.items()) {
    std::vector<std::string>& line = lines.emplace_back();
    line = {printable(value, 40), cell(one.at("rows")), cell(one.at("loss"))};
    for (size_t i = line.size(); i < heads.size(); ++i)
      line.push_back(cell(one.at("metrics").value(heads[i], json())));
  }
  std::cout << "\n";
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      size_t width = 0;
      for (const auto& other : lines)
        width = std::max(width, other[i].size());
      const std::string room(width - line[i].size(), ' ');
      std::cout << (i == 0 ? line[i] + room : "  " + room + line[i]);
    }
    std::cout << "\n";
  }
}

/// A line for each number, and one for each class of those that have several.
void print(const nlohmann::ordered_json& said) {
  constexpr size_t width = 22;
  const auto line = [](const std::string& name, const json& value) {
    std::cout << name
              << std::string(name.size() < width ? width - name.size() : 1, ' ')
              << json_text(value) << "\n";
  };
  line("rows", said.at("rows"));
  line("loss", said.at("loss"));
  for (const auto& [name, value] : said.at("metrics").items()) {
    if (!value.is_object()) {
      line(name, value);
      continue;
    }
    for (const auto& [of_class, one] : value.items())
      line(name + " " + printable(of_class), one);
  }
  if (said.contains("by"))
    print_slices(said.at("by"));
}

int evaluate(const order& what) {
  const data::trained_run run = opened(what, "evaluate");
  data::input_terms terms = what.input;
  terms.labels = true;
  data::feature_rows input(run, terms);
  const data::rows_folder own = data::rows_folder::make();
  data::prediction_parts parts(own.path() / "parts", run.fingerprint);
  judgement found(run);
  const std::string& by = terms.by;
  evaluated_slices slices(run, input, by);
  part_run work(
      run, what,
      by.empty() ? in_order(input)
                 : [&](size_t rows) { return slices.next(rows); },
      parts, own.path(), true);
  work.run([&](part_number number, uint64_t /*rows*/) {
    const evaluated_part part = read_part(parts.answers_file(number));
    found.add(part);
    if (!by.empty())
      slices.add(uint64_t(number), part);
    fs::remove(parts.answers_file(number));
  });
  input.check_unchanged();
  if (found.rows() == 0)
    throw ballast_error(errc::invalid_data, printable(what.input.file) +
                                                ": has no row to evaluate");
  nlohmann::ordered_json said = found.to_json();
  if (!by.empty())
    said["by"] = {{"column", by}, {"slices", slices.to_json()}};
  if (what.as_json)
    std::cout << json_lines_text(said) << "\n";
  else
    print(said);
  return 0;
}

int do_predict(const std::string& text, const store::work_watch& stop) {
  const json request = json::parse(text);
  const order what = order_of(request, stop);
  const int code =
      request.at("do") == "evaluate" ? evaluate(what) : predict(what);
  std::cout.flush();
  return code;
}

} // namespace

} // namespace ballast::cli

/// argv[1] is the request.
extern "C" __attribute__((visibility("default"))) int
ballast_predict_main(int argc, char** argv) {
  using namespace ballast;
  cli::ending_signals signals;
  return cli::end_of_command(
      [&] { return cli::do_predict(argc > 1 ? argv[1] : "", signals.stop()); },
      signals, "the same command goes on with the parts that are done");
}
