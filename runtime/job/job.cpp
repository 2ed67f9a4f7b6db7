/// Text to job and back.
#include "runtime/job/job.hpp"

#include "runtime/base/node_name.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/field_document.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using nlohmann::json;

constexpr size_t pipeline_steps_max = 256;
constexpr size_t augment_steps_max = 256;
constexpr size_t graph_nodes_max = 256;
constexpr size_t graph_sources_max = 64;
const std::string pipeline_pointer = "/data/pipeline";
const std::string augment_pointer = "/data/augment";
const std::string graph_pointer = "/data/graph";
const std::string sources_pointer = "/data/sources";

const document_kind& a_job() {
  static const document_kind kind{
      .name = "job",
      .also = {"/data/test", sources_pointer},
      .lists = {{pipeline_pointer, pipeline_steps_max},
                {augment_pointer, augment_steps_max},
                {graph_pointer, graph_nodes_max}},
      .place = {}};
  return kind;
}

/// Which fields there are; a list or object of the wrong type counts as absent
/// here and as a mistake in read_document.
job_form form_of(const json& document) {
  job_form form;
  form.test = find_value(document, "/data/test") != nullptr;
  const json* pipeline = find_value(document, pipeline_pointer);
  if (pipeline != nullptr && pipeline->is_array())
    form.pipeline_steps = std::min(pipeline->size(), pipeline_steps_max);
  const json* augment = find_value(document, augment_pointer);
  if (augment != nullptr && augment->is_array())
    form.augment_steps = std::min(augment->size(), augment_steps_max);
  const json* nodes = find_value(document, graph_pointer);
  if (nodes != nullptr && nodes->is_array())
    form.graph_nodes = std::min(nodes->size(), graph_nodes_max);
  const json* sources = find_value(document, sources_pointer);
  if (sources != nullptr && sources->is_object())
    for (const auto& [name, source] : sources->items())
      if (is_node_name(name))
        form.sources.push_back(name);
  return form;
}

/// "$schema" is for editors; it says nothing of the run.
void take_schema_out(json& document, std::vector<failure>& mistakes) {
  const std::string key = "$schema";
  if (!document.contains(key))
    return;
  if (!document[key].is_string())
    mistakes.push_back(wrong_type(a_job(), "/" + key, "text", document[key]));
  document.erase(key);
}

/// Where rows come from a graph, that says it all.
void fill_format(json& document) {
  for (const char* part : {"train", "test"}) {
    json* data = document.contains("data") ? &document["data"] : nullptr;
    if (data == nullptr || !data->is_object() || !data->contains(part))
      continue;
    json& source = (*data)[part];
    if (source.is_object() && source.contains("from") &&
        !source.contains("format"))
      source["format"] = to_string(source_format::graph);
  }
}

/// What no field describes: the keys of `data.sources` are the user's.
void check_sources(const json& document, std::vector<failure>& mistakes) {
  const json* sources = find_value(document, sources_pointer);
  if (sources == nullptr)
    return;
  if (!sources->is_object()) {
    mistakes.push_back(
        wrong_type(a_job(), sources_pointer, "an object", *sources));
    return;
  }
  for (const auto& [name, source] : sources->items())
    if (!is_node_name(name))
      mistakes.push_back(
          {errc::invalid_job,
           sources_pointer + ": \"" + printable(name, 64) +
               "\" is no name; expected 1 to 64 letters, digits, '.', '_' or "
               "'-', the first no '.' or '-'",
           sources_pointer});
  if (sources->size() > graph_sources_max)
    mistakes.push_back({errc::invalid_job,
                        sources_pointer + ": expected at most " +
                            std::to_string(graph_sources_max) + " sources",
                        sources_pointer});
}

} // namespace

job_field& add_field(std::vector<job_field>& fields, std::string pointer,
                     field_access at, std::string doc) {
  return append_field<job>(fields, std::move(pointer), std::move(at),
                           std::move(doc));
}

job_result parse_job(const std::string& text,
                     const std::vector<std::string>& sets,
                     const std::string& base_folder) {
  json document;
  job_result result;
  if (failure f = read_json_text(text, errc::invalid_job, "job", document)) {
    result.mistakes.push_back(std::move(f));
    return result;
  }
  if (!document.is_object()) {
    result.mistakes.push_back(wrong_type(a_job(), "", "an object", document));
    return result;
  }
  if (failure f = apply_sets(sets, document)) {
    result.mistakes.push_back(std::move(f));
    return result;
  }
  std::vector<failure> mistakes;
  take_schema_out(document, mistakes);
  fill_format(document);
  std::vector<job_field> fields = job_fields(form_of(document));
  job read;
  result.mistakes = read_document(a_job(), document, fields, read);
  result.mistakes.insert(result.mistakes.end(), mistakes.begin(),
                         mistakes.end());
  check_sources(document, result.mistakes);
  for (graph::node& one : read.data.graph)
    for (const graph::option& known : graph::about(one.what).options)
      graph::option_of(one, known.name);
  for (augment::step& one : read.data.augment)
    for (const augment::option& known : augment::about(one.what).options)
      augment::option_of(one, known.name);
  check_rules(read, result.mistakes);
  check_losses(read, result.mistakes);
  check_graph(read, result.mistakes);
  check_columns(read, result.mistakes);
  check_augment(read, result.mistakes);
  check_sampling(read, result.mistakes);
  check_importance(read, result.mistakes);
  check_evaluate(read, result.mistakes);
  check_init(read, result.mistakes);
  check_course(read, result.mistakes);
  check_reproducible(read, result.mistakes);
  if (!result.mistakes.empty())
    return result;
  resolve_paths(fields, base_folder, read);
  // A batch of few chunks has what each of them has.
  if (read.train.sampling.kind == sampling_kind::stratified &&
      !read.train.shuffle.window_chunks)
    read.train.shuffle.window_chunks = 1;
  result.value = std::move(read);
  return result;
}

json to_json(const job& in) {
  job copy = in;
  json out = json::object();
  job_form form{in.data.test.has_value(), in.data.pipeline.size()};
  form.graph_nodes = in.data.graph.size();
  form.augment_steps = in.data.augment.size();
  for (const auto& [name, source] : in.data.sources)
    form.sources.push_back(name);
  const std::vector<job_field> fields = job_fields(form);
  out["data"]["pipeline"] = json::array();
  for (size_t i = 0; i < in.data.pipeline.size(); ++i)
    out["data"]["pipeline"].push_back(json::object());
  for (size_t i = 0; i < in.data.augment.size(); ++i)
    out["data"]["augment"].push_back(json::object());
  for (size_t i = 0; i < in.data.graph.size(); ++i)
    out["data"]["graph"].push_back(json::object());
  for (const job_field& field : fields)
    if (applies(field, fields, out))
      out[json::json_pointer(field.pointer)] = load_value(field, copy);
  return out;
}

} // namespace ballast
