/// `ballast data split|write|partition`: the rows of a job's nodes as files;
/// `apply`: those of a source, as a run's nodes changed them.
#include "cli/commands/data.hpp"

#include "data/fitting/apply_states.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/sink/node_files.hpp"
#include "data/sink/partial_path.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::cli {

namespace {

using data::row_faults;
using nlohmann::json;

std::string quarantine_beside(const std::string& output) {
  return output + "." + data::quarantine_name;
}

/// What a command leaves out beside the rows that it writes.
class listed_rows {
public:
  /// Refuses an earlier list, which would be taken for this one.
  listed_rows(const data_order& order, const std::string& beside)
      : faults_(row_faults::of(order.what.data)),
        removed_(data::removed_rows::of(order.what.data)),
        file_(quarantine_beside(beside)) {
    std::error_code ignored;
    data::partial_path::remove_left_over(beside);
    if (any() && std::filesystem::exists(file_, ignored))
      throw ballast_error(errc::usage,
                          printable(file_) +
                              ": is there; remove it, or name another output");
  }
  /// Of states that remove rows, whatever the job does.
  void expect_removed(const data_spec& data) {
    if (removed_ == nullptr)
      removed_ = std::make_unique<data::removed_rows>(data.on_error !=
                                                      error_policy::skip);
  }

  bool any() const { return faults_ || removed_ != nullptr; }
  data::left_out_rows terms() {
    return {faults_ ? &*faults_ : nullptr, removed_.get(),
            any() ? file_ : std::string()};
  }
  ledger::rejected_rows counts() const {
    return data::left_out_counts(faults_ ? &*faults_ : nullptr, removed_.get());
  }
  const std::string& file() const { return file_; }

private:
  std::optional<row_faults> faults_;
  std::unique_ptr<data::removed_rows> removed_;
  const std::string file_;
};

/// What is said of the rows that were left out beside those that were written
/// to `beside`, for a program and for a reader.
struct rejected {
  json counts;
  std::string note;
};
std::optional<rejected> tell_rejected(const listed_rows& rows) {
  if (!rows.any())
    return std::nullopt;
  const ledger::rejected_rows counts = rows.counts();
  const std::string file = counts.kept > 0 ? rows.file() : "";
  return rejected{{{"rows", counts.rows},
                   {"of", counts.read},
                   {"removed", counts.removed},
                   {"file", file}},
                  data::rejected_note(counts, file)};
}

/// `without`: a column that is in the names of the folders; may be empty.
int print(const std::vector<data::written_file>& files, const json& request,
          const std::optional<rejected>& left_out,
          const std::string& without = {}) {
  if (request.value("json", false)) {
    json all = json::array();
    for (const data::written_file& one : files)
      all.push_back({{"file", one.path.string()}, {"rows", one.rows}});
    json out{{"files", std::move(all)}};
    if (!without.empty())
      out["column_in_names"] = without;
    if (left_out)
      out["left_out"] = left_out->counts;
    std::cout << json_lines_text(out) << "\n";
    return 0;
  }
  for (const data::written_file& one : files)
    std::cout << printable(one.path.string()) << ": "
              << counted(one.rows, "row") << "\n";
  if (!without.empty())
    std::cout << "column '" << printable(without)
              << "' is in the names of the folders, not in the files\n";
  if (left_out)
    std::cout << left_out->note << "\n";
  return 0;
}

} // namespace

int write_data(const data_order& order) {
  const json& request = order.request;
  const auto files = request.at("files").get<std::vector<std::string>>();
  listed_rows listed(order, files.at(0));
  const auto written = data::write_nodes(
      order.what, request.at("nodes").get<std::vector<std::string>>(), files,
      order.stop, listed.terms(), [](const std::string& note) {
        std::cerr << "ballast: " << note << "\n";
      });
  return print(written, request, tell_rejected(listed));
}

int partition_data(const data_order& order) {
  const json& request = order.request;
  data::partition_terms terms;
  terms.folder = request.at("folder").get<std::string>();
  terms.format = request.at("format").get<std::string>();
  terms.into = request.at("into").get<uint64_t>();
  terms.column = request.at("column").get<std::string>();
  listed_rows listed(order, terms.folder);
  const auto written =
      data::partition_node(order.what, request.at("node").get<std::string>(),
                           terms, order.stop, listed.terms());
  return print(written, request, tell_rejected(listed), terms.column);
}

int apply_data(const data_order& order) {
  const nlohmann::json& request = order.request;
  data::apply_terms terms;
  terms.states = request.at("states").get<std::string>();
  terms.node = request.at("node").get<std::string>();
  terms.file = request.at("file").get<std::string>();
  listed_rows listed(order, terms.file);
  listed.expect_removed(order.what.data);
  terms.left_out = listed.terms();
  terms.stop = order.stop;
  const data::applied_rows applied = data::apply_states(order.what, terms);
  for (const std::string& note : applied.notes)
    std::cerr << "ballast: " << note << "\n";
  if (request.value("json", false)) {
    nlohmann::json states = nlohmann::json::array();
    for (const data::fitted_node& one : applied.states)
      states.push_back(
          {{"op", one.op}, {"name", one.name}, {"sha256", one.sha256}});
    nlohmann::json out{{"file", terms.file},
                       {"rows", applied.rows},
                       {"states", std::move(states)}};
    out["left_out"] = tell_rejected(listed)->counts;
    std::cout << json_lines_text(out) << "\n";
    return 0;
  }
  std::cout << printable(terms.file) << ": " << counted(applied.rows, "row")
            << ", changed by " << counted(applied.states.size(), "state")
            << "\n";
  if (data::any_left_out(listed.counts()))
    std::cout << tell_rejected(listed)->note << "\n";
  return 0;
}

} // namespace ballast::cli
