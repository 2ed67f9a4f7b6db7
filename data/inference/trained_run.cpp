#include "data/inference/trained_run.hpp"

#include "data/augment/image_augment.hpp"
#include "data/base/content_hash.hpp"
#include "data/fitting/state_files.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr const char* model_name = "model.safetensors";
constexpr const char* job_name = "job.json";
/// A run calls the description of its data so; a copy of a model has a manifest
/// of its own, and that beside it.
constexpr std::array set_names{"set.json", "manifest.json"};

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored);
}

[[noreturn]] void refuse_folder(const fs::path& folder,
                                const std::string& why) {
  throw ballast_error(errc::run_dir_unusable,
                      printable(folder.string()) + ": " + why);
}

void check_is_run(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    refuse_folder(folder, fs::exists(folder, ignored)
                              ? "is no folder; expected that of a run, or of "
                                "its model"
                              : "there is no such folder; expected that of a "
                                "run, or of its model");
  if (!is_there(folder / job_name))
    refuse_folder(folder, "holds no run: job.json is missing");
  const json report = store::read_json_file(folder / "report.json");
  if (!is_there(folder / model_name) && report.is_object() &&
      report.value("state", json()) == "failed")
    refuse_folder(folder, "has no model.safetensors: the run failed; a new one "
                          "can go on from a checkpoint, `--from " +
                              printable(folder.string()) + "@STEP`");
  if (!is_there(folder / model_name))
    refuse_folder(folder, "has no model.safetensors: the run has not ended; "
                          "if nothing trains it any more, `ballast run "
                          "--resume " +
                              printable(folder.string()) + "` goes on with it");
}

json read_json(const fs::path& file) {
  json out = store::read_json_file(file);
  if (!out.is_object())
    throw ballast_error(errc::invalid_data,
                        printable(file.string()) +
                            (is_there(file) ? ": is damaged; expected a JSON "
                                              "object"
                                            : ": is missing"));
  return out;
}

job read_job(const fs::path& folder) {
  const fs::path file = folder / job_name;
  job_result read = parse_job(json_text(read_json(file)), {}, folder.string());
  if (!read.value)
    throw ballast_error(read.mistakes.at(0).code,
                        printable(file.string()) +
                            ": was written by another version, or changed: " +
                            read.mistakes.at(0).message,
                        read.mistakes.at(0).pointer);
  return std::move(*read.value);
}

fs::path set_of(const fs::path& folder) {
  for (const char* name : set_names)
    if (is_there(folder / name))
      return folder / name;
  return folder / set_names.back();
}

void read_set(const fs::path& file, trained_run& into) {
  try {
    const json content = read_json(file);
    auto set = content.get<ledger::manifest>();
    into.stored = set.row;
    const auto images =
        make_image_augment(into.what.data.augment, into.what.seed, set.row);
    into.row = images ? images->seen() : set.row;
    into.label = set.label;
    into.class_names = std::move(set.class_names);
    into.columns = content.value("columns", std::vector<std::string>());
  } catch (const json::exception& error) {
    throw ballast_error(
        errc::invalid_data,
        printable(file.string()) +
            ": is damaged, or of another version: " + error.what());
  }
}

/// The content of a file, and how long it is.
void add_file(const fs::path& file, content_hash& to) {
  std::ifstream in(file, std::ios::binary);
  std::string block(size_t{1} << 20, '\0');
  while (in) {
    in.read(block.data(), std::streamsize(block.size()));
    to.update(block.data(), size_t(in.gcount()));
  }
  if (in.bad())
    refuse_folder(file, "cannot be read");
}

std::string fingerprint_of(const trained_run& of, const fs::path& set) {
  content_hash all;
  for (const fs::path& file :
       {of.folder / model_name, of.folder / job_name, set})
    add_file(file, all);
  for (const fitted_node& one : describe(of.states))
    all.update(one.sha256);
  return hex16(all.digest());
}

} // namespace

trained_run read_trained_run(const fs::path& folder) {
  trained_run out;
  std::error_code ignored;
  out.folder = fs::absolute(folder, ignored).lexically_normal();
  check_is_run(out.folder);
  out.what = read_job(out.folder);
  out.what.model.init = (out.folder / model_name).string();
  out.what.init = {}; // what it began with is of no use any more
  const fs::path set = set_of(out.folder);
  read_set(set, out);
  if (!out.what.data.train.features.empty())
    out.columns = out.what.data.train.features;
  if (fs::exists(out.folder / preprocessing_name, ignored))
    out.states = read_states(out.folder);
  out.fingerprint = fingerprint_of(out, set);
  return out;
}

} // namespace ballast::data
