#include "cli/predict_arguments.hpp"

#include "cli/node_library.hpp"
#include "runtime/base/json_text.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

using nlohmann::json;

struct predict_arguments {
  std::string by;
  std::string model;
  std::string data;
  std::string format;
  std::string labels;
  std::string out;
  uint32_t workers = 0;
  bool as_json = false;
};

void add_input(CLI::App* command, predict_arguments& a) {
  command
      ->add_option("model", a.model,
                   "RUN_DIR, or a folder with the files of its model")
      ->required();
  command
      ->add_option("--data", a.data,
                   "The rows: a path, a glob or a URI; columns by name")
      ->required();
  command->add_option("--format", a.format,
                      "csv, parquet, jsonl, arrow, orc; default: by its name");
  command
      ->add_option("--workers", a.workers,
                   "Processes that compute; default one for each core, 4 at "
                   "most")
      ->check(CLI::Range(1, 256));
  command->add_flag("--json", a.as_json, "As JSON");
}

json request_of(const predict_arguments& a, const char* what) {
  return {{"do", what},         {"model", a.model},     {"data", a.data},
          {"format", a.format}, {"labels", a.labels},   {"by", a.by},
          {"out", a.out},       {"workers", a.workers}, {"json", a.as_json}};
}

void add_export(CLI::App& app, std::function<int()>& chosen) {
  struct arguments {
    std::string model;
    std::string out;
  };
  const auto a = std::make_shared<arguments>();
  CLI::App* command = app.add_subcommand(
      "export", "The model of a run, for programs other than this one");
  command
      ->add_option("model", a->model,
                   "RUN_DIR, or a folder with the files of its model")
      ->required();
  command
      ->add_option("--out", a->out,
                   "NAME.onnx, NAME.pt (TorchScript), or a folder to hand "
                   "on; it is new")
      ->required();
  command->callback([a, &chosen] {
    chosen = [a] {
      return call_node_library(
          "export", {json_text(json{{"model", a->model}, {"out", a->out}})});
    };
  });
}

} // namespace

void add_predict_commands(CLI::App& app, std::function<int()>& chosen) {
  const auto a = std::make_shared<predict_arguments>();
  CLI::App* predict = app.add_subcommand(
      "predict", "What a trained model says of new rows, as a file");
  add_input(predict, *a);
  predict
      ->add_option("--out", a->out,
                   "NAME.csv, .parquet, .jsonl, .arrow, .orc, a new file")
      ->required();
  predict->callback([a, &chosen] {
    chosen = [a] {
      return call_node_library("predict",
                               {json_text(request_of(*a, "predict"))});
    };
  });
  CLI::App* evaluate = app.add_subcommand(
      "evaluate", "How well a trained model does on rows with labels");
  add_input(evaluate, *a);
  evaluate->add_option("--labels", a->labels,
                       "The file of the labels, of images of the format idx");
  evaluate
      ->add_option("--by", a->by,
                   "A column of tables: also for each of its values")
      ->check([](const std::string& name) {
        return name.empty() ? std::string("expected the name of a column")
                            : std::string();
      });
  evaluate->callback([a, &chosen] {
    chosen = [a] {
      return call_node_library("predict",
                               {json_text(request_of(*a, "evaluate"))});
    };
  });
  add_export(app, chosen);
}

} // namespace ballast::cli
