#include "data/export/model_folder.hpp"

#include "data/export/model_card.hpp"
#include "data/fitting/state_files.hpp"
#include "data/model/safetensors.hpp"
#include "data/model/state_blocks.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/copied_file.hpp"
#include "store/json_file.hpp"
#include "store/refuse_file.hpp"
#include "store/whole_file.hpp"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr const char* parameters_name = "model.safetensors";

json object_in(const fs::path& file) {
  json out = store::read_json_file(file);
  if (!out.is_object())
    throw ballast_error(errc::invalid_data,
                        printable(file.string()) +
                            ": is missing or damaged; expected a JSON object");
  return out;
}

json set_in(const fs::path& run) {
  const fs::path other = run / "set.json";
  std::error_code none;
  return object_in(fs::exists(other, none) ? other : run / "manifest.json");
}

/// That of a set without rows: what there is to know of each is left.
json without_chunks(json set) {
  set["version"] = 1; // as of one that has its chunks in the JSON
  for (const char* rows : {"train_rows", "test_rows"})
    set[rows] = 0;
  for (const char* of_chunks : {"train", "test", "placement"})
    set[of_chunks] = json::array();
  for (const char* of_chunks : {"tables", "rejected", "test_rows_trained_on"})
    set.erase(of_chunks);
  return set;
}

/// The report with the evaluation of this model, which need not be the last one
/// (keep.best), or be one at all, as of a run that was stopped: then without
/// any.
json judged_as_kept(json report, const fs::path& run) {
  const json step = report.value("model_step", json());
  if (step.is_null() || !report.contains("test_loss"))
    return report;
  report.erase("test_loss");
  report.erase("test_metrics");
  std::ifstream events(run / "events.jsonl");
  for (std::string line; std::getline(events, line);) {
    if (line.find("\"evaluation\"") == std::string::npos)
      continue;
    const json one = json::parse(line, nullptr, false);
    if (!one.is_object() || one.value("kind", json()) != "evaluation" ||
        one.value("step", json()) != step)
      continue;
    report["test_loss"] = one.value("test_loss", json());
    report["test_metrics"] = one.value("metrics", json());
  }
  return report;
}

/// Numbers that a model's file holds; its values are not read.
uint64_t parameters_in(const fs::path& file) {
  const uint64_t bytes = fs::file_size(file);
  const std::string header = // with its length before it
      header_bytes(*file_blocks(file, bytes), bytes, file.string());
  std::map<std::string, std::string> metadata;
  uint64_t out = 0;
  for (const tensor_place& one : tensor_places(header.substr(sizeof(uint64_t)),
                                               file.string(), metadata)) {
    uint64_t count = 1;
    for (const int64_t length : one.shape)
      count *= uint64_t(length);
    out += count;
  }
  return out;
}

/// The same file where the file system can, else a copy.
void bring(const fs::path& from, const fs::path& to) {
  std::error_code problem;
  fs::create_hard_link(from, to, problem);
  if (!problem)
    return;
  if (const int number = store::copy_whole(from, to))
    store::refuse_file(to, "write", number);
}

} // namespace

void write_model_folder(const fs::path& run, const fs::path& place,
                        store::outlives durability) {
  const json job = object_in(run / "job.json");
  const json set = set_in(run);
  json report = store::read_json_file(run / "report.json");
  if (!report.is_object())
    report = json::object();
  report = judged_as_kept(std::move(report), run);
  const card_facts facts{job, set, report,
                         parameters_in(run / parameters_name)};
  const nlohmann::ordered_json card = model_card(facts);
  bring(run / parameters_name, place / parameters_name);
  std::error_code none;
  if (fs::exists(run / preprocessing_name, none))
    copy_states(run / preprocessing_name, place / preprocessing_name);
  store::write_whole(place / "job.json", json_lines_text(job) + "\n",
                     durability);
  store::write_whole(place / "set.json",
                     json_lines_text(without_chunks(set)) + "\n", durability);
  store::write_whole(place / "card.json", json_lines_text(card) + "\n",
                     durability);
  store::write_whole(place / "README.md", card_text(card), durability);
}

void publish_model_folder(const fs::path& run, const fs::path& staged) {
  const fs::path place = run / model_folder_name;
  std::error_code problem;
  fs::remove_all(place, problem);
  fs::rename(staged, place, problem);
  if (problem)
    store::refuse_file(place, "replace", problem.value());
}

} // namespace ballast::data
