#include "data/export/model_card.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/loss_kind.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ballast::data {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int card_version = 1;
/// Columns that the text names; the JSON has all of them.
constexpr size_t names_shown = 40;

json at(const json& of, const char* pointer) {
  const json::json_pointer place(pointer);
  return of.contains(place) ? of.at(place) : json();
}

/// Without what nobody said.
void put(ordered_json& to, const char* name, const json& value) {
  const bool empty = value.is_null() || (value.is_string() && value == "") ||
                     (value.is_structured() && value.empty());
  if (!empty)
    to[name] = value;
}

ordered_json input_of(const json& set) {
  ordered_json out;
  const bool tokens = at(set, "/row/vocabulary").get<uint64_t>() > 0;
  out["kind"] = tokens ? "tokens" : "numbers";
  put(out, "shape", at(set, "/row/shape"));
  put(out, "columns", at(set, "/columns"));
  if (tokens)
    put(out, "vocabulary", at(set, "/row/vocabulary"));
  if (at(set, "/row/stored") == "uint8") {
    put(out, "scale", at(set, "/row/scale"));
    put(out, "offset", at(set, "/row/offset"));
  }
  put(out, "preprocessing", at(set, "/preprocessing"));
  return out;
}

ordered_json output_of(const json& job, const json& set) {
  ordered_json out;
  const json loss = at(job, "/train/loss");
  const auto known = parse_word<loss_kind>(loss.get<std::string>());
  out["kind"] = !known || is_of_classes(*known) ? "classes"
                : is_of_numbers(*known)         ? "number"
                                                : "tokens";
  put(out, "label", at(set, "/label"));
  if (out["kind"] == "classes") {
    out["count"] = at(set, "/row/classes");
    put(out, "classes", at(set, "/class_names"));
  }
  return out;
}

ordered_json data_of(const json& job, const json& set) {
  ordered_json out;
  put(out, "sources", at(set, "/sources"));
  put(out, "format", at(job, "/data/train/format"));
  put(out, "training_rows", at(set, "/train_rows"));
  put(out, "test_rows", at(set, "/test_rows"));
  put(out, "test_rows_trained_on", at(set, "/test_rows_trained_on"));
  put(out, "fingerprint", at(set, "/content_id"));
  return out;
}

ordered_json training_of(const json& job, const json& report) {
  ordered_json out;
  for (const char* name : {"loss", "epochs", "global_batch"})
    put(out, name, at(job, "/train")[name]);
  put(out, "optimizer", at(job, "/train/optimizer/kind"));
  put(out, "lr", at(job, "/train/optimizer/lr"));
  put(out, "precision", at(job, "/train/precision"));
  put(out, "seed", at(job, "/seed"));
  put(out, "state", at(report, "/state"));
  put(out, "steps", at(report, "/steps"));
  put(out, "samples", at(report, "/samples"));
  put(out, "parent", at(report, "/parent"));
  return out;
}

ordered_json metrics_of(const json& report) {
  ordered_json out = ordered_json::object();
  put(out, "loss", at(report, "/test_loss"));
  const json metrics = at(report, "/test_metrics");
  for (const auto& [name, value] : metrics.items())
    out[name] = value;
  return out;
}

// -- for people --------------------------------------------------------------

std::string cell(const ordered_json& value) {
  std::string text =
      value.is_string() ? value.get<std::string>() : json_text(value);
  std::string out;
  for (const char one : printable(text))
    if (one == '<') // else a page that shows it takes it for its own
      out += "&lt;";
    else if (one == '|' || one == '[' || one == '`')
      out += {'\\', one};
    else
      out += one;
  return out;
}

std::string list_of(const ordered_json& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < names_shown; ++i)
    out += (i == 0 ? "" : ", ") + cell(names[i]);
  if (names.size() > names_shown)
    out += " and " + std::to_string(names.size() - names_shown) + " more";
  return out;
}

void add_table(std::string& out, const std::string& title,
               const ordered_json& of) {
  if (of.empty())
    return;
  out += "\n## " + title + "\n\n| | |\n|---|---|\n";
  for (const auto& [name, value] : of.items()) {
    std::string text;
    if (name == "preprocessing")
      for (const ordered_json& one : value)
        text += (text.empty() ? "" : ", ") + cell(one.value("name", ""));
    else
      text = value.is_array() && name != "shape" ? list_of(value) : cell(value);
    out += "| " + cell(name) + " | " + text + " |\n";
  }
}

/// Of the head, which is YAML: a text in quotes is one there, too.
std::string licence_of(const ordered_json& card) {
  for (const char* name : {"licence", "license"})
    if (card["says"].contains(name))
      return json_text(card["says"][name]);
  return {};
}

} // namespace

ordered_json model_card(const card_facts& from) {
  ordered_json out;
  out["version"] = card_version;
  out["name"] = at(from.job, "/name");
  out["says"] = at(from.job, "/card");
  if (out["says"].is_null())
    out["says"] = ordered_json::object();
  ordered_json model = at(from.job, "/model");
  model.erase("init");
  model["parameters"] = from.parameters;
  out["model"] = std::move(model);
  out["input"] = input_of(from.set);
  out["output"] = output_of(from.job, from.set);
  out["metrics"] = metrics_of(from.report);
  out["data"] = data_of(from.job, from.set);
  out["training"] = training_of(from.job, from.report);
  put(out, "step", at(from.report, "/model_step"));
  put(out, "weights_sha256", at(from.report, "/weights_sha256"));
  return out;
}

std::string card_text(const ordered_json& card) {
  std::string out = "---\nlibrary_name: ballast\n";
  if (const std::string licence = licence_of(card); !licence.empty())
    out += "license: " + licence + "\n";
  out += "---\n\n# " + cell(card["name"]) + "\n\n";
  out += "A model `" + cell(card["model"]["kind"]) + "` with " +
         cell(card["model"]["parameters"]) +
         " parameters, trained by Ballast. `ballast predict` on this folder "
         "answers new rows.\n";
  add_table(out, "Use", card["says"]);
  add_table(out, "Input", card["input"]);
  add_table(out, "Output", card["output"]);
  add_table(out, "On the test part", card["metrics"]);
  if (card["metrics"].empty() && card["data"].value("test_rows", 0) > 0)
    out += "\nThis model was not evaluated on the test part: its training was "
           "stopped between two evaluations. `ballast evaluate` does that.\n";
  add_table(out, "Data", card["data"]);
  add_table(out, "Training", card["training"]);
  add_table(out, "Architecture", card["model"]);
  if (card.contains("weights_sha256"))
    out += "\nWeights after step " + cell(card.value("step", json(0))) +
           ": SHA-256 `" + cell(card["weights_sha256"]) + "`.\n";
  return out;
}

} // namespace ballast::data
