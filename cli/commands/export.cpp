/// `ballast export`: the model of a run for those who have no Ballast, as a
/// file of ONNX or TorchScript, or as a folder that explains itself.
#include "cli/commands/end_of_command.hpp"
#include "data/export/model_folder.hpp"
#include "data/export/onnx_file.hpp"
#include "data/export/torch_source.hpp"
#include "data/inference/trained_run.hpp"
#include "data/model/parameters_digest.hpp"
#include "data/model/safetensors.hpp"
#include "data/sink/partial_path.hpp"
#include "gpu/script_writer.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/whole_file.hpp"

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What is lost between a training and a file of numbers: names.
std::map<std::string, std::string> metadata_of(const data::trained_run& run,
                                               data::tensor_file& parameters) {
  std::map<std::string, std::string> out;
  out["name"] = run.what.name;
  out["label"] = run.label;
  if (!run.columns.empty())
    out["columns"] = json_text(json(run.columns));
  if (!run.class_names.empty())
    out["classes"] = json_text(json(run.class_names));
  if (!run.states.empty())
    out["preprocessing"] =
        "features are what the nodes of the run's graph make of a row; "
        "`ballast predict` does that by itself";
  out["step"] = parameters.metadata["step"];
  return out;
}

void write_onnx(const fs::path& model, const fs::path& place) {
  const data::trained_run run = data::read_trained_run(model);
  data::check_parameters(run.folder);
  const data::onnx_graph graph = data::onnx_graph_of(run.what, run.row);
  data::tensor_file parameters =
      data::read_safetensors((run.folder / "model.safetensors").string());
  const auto metadata = metadata_of(run, parameters);
  store::write_whole(place, data::onnx_bytes(graph, parameters, metadata),
                     store::outlives::power);
}

gpu::script_module script_of(const data::trained_run& run,
                             const data::onnx_graph& graph,
                             const data::tensor_file& parameters) {
  gpu::script_module out{"Model", data::torch_source(graph), {}};
  for (const std::string& name : graph.parameters) {
    const data::tensor_view* one = parameters.find(name);
    if (one == nullptr)
      throw ballast_error(errc::invalid_data,
                          printable(run.folder.string()) +
                              "/model.safetensors: lacks the tensor '" + name +
                              "'");
    const bool buffer =
        name.ends_with("running_mean") || name.ends_with("running_var");
    out.tensors.push_back({name, one->shape, one->values, buffer});
  }
  for (const data::onnx_constant& one : graph.constants)
    if (const auto* values = std::get_if<std::vector<float>>(&one.values);
        values != nullptr && !one.shape.empty())
      out.tensors.push_back({one.name, one.shape, *values, true});
  return out;
}

void write_script(const fs::path& model, const fs::path& place) {
  const data::trained_run run = data::read_trained_run(model);
  data::check_parameters(run.folder);
  const data::onnx_graph graph = data::onnx_graph_of(run.what, run.row);
  const data::tensor_file parameters =
      data::read_safetensors((run.folder / "model.safetensors").string());
  store::write_whole(place,
                     gpu::script_bytes(script_of(run, graph, parameters)),
                     store::outlives::power);
}

void write_folder(const fs::path& model, const fs::path& place) {
  const data::trained_run run = data::read_trained_run(model);
  data::check_parameters(run.folder);
  std::error_code none;
  if (fs::exists(run.folder / "card.json", none))
    throw ballast_error(errc::usage,
                        printable(model.string()) +
                            " is such a folder already, with its card; copy it "
                            "(cp -r), or give --out NAME.onnx");
  data::partial_path made(place, data::partial_path::kind::folder);
  data::write_model_folder(model, made.path(), store::outlives::power);
  data::partial_path::publish({&made});
}

int do_export(const json& request) {
  const fs::path model = request.at("model").get<std::string>();
  fs::path place = request.at("out").get<std::string>();
  if (!place.has_filename()) // "NAME/"
    place = place.parent_path();
  const bool onnx = place.extension() == ".onnx";
  const bool script = place.extension() == ".pt";
  if (!onnx && !script && place.has_extension())
    throw ballast_error(errc::usage, "--out: " + printable(place.string()) +
                                         ": expected NAME.onnx, NAME.pt, or "
                                         "the name of a folder");
  data::check_free(place, onnx || script ? data::partial_path::kind::file
                                         : data::partial_path::kind::folder);
  (onnx ? write_onnx : script ? write_script : write_folder)(model, place);
  std::cout << printable(place.string()) << "\n" << std::flush;
  return 0;
}

} // namespace

} // namespace ballast::cli

/// argv[1] is the request.
extern "C" __attribute__((visibility("default"))) int
ballast_export_main(int argc, char** argv) {
  using namespace ballast;
  return cli::end_of_command([&] {
    return cli::do_export(nlohmann::json::parse(argc > 1 ? argv[1] : ""));
  });
}
