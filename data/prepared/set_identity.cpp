#include "data/prepared/set_identity.hpp"

#include "data/fitting/fitted_state.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/operators/user_library.hpp"
#include "data/source/database_source.hpp"
#include "data/source/file_system.hpp"
#include "data/source/found_files.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/placed_workers.hpp"
#include "runtime/placement/joint_bins.hpp"
#include "runtime/placement/row_cells.hpp"
#include "runtime/placement/target_bins.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace {

using nlohmann::json;

/// Increased when prepared sets of older builds must not be used any more.
constexpr int format_of_sets = 3;
/// Likewise, of sets for a sampling. 1: did not say for which.
constexpr int format_of_samplings = 2;
/// Likewise, of the rows of nodes that are kept.
constexpr int format_of_nodes = 1;
/// Increased when the same image files give other pixels.
constexpr int decoder_of_images = 1;
/// Increased when the same text has other types, or other cells.
constexpr int types_of_cells = 3;

bool is_regression(const job& what) {
  return label_of(what) == label_kind::target;
}

json files_identity(const source_spec& spec, const std::string& pointer,
                    const data_spec& data, prepare_cache& cache,
                    const store::work_watch& stop, found_files* found);

/// The content of all files and libraries that an output of the graph needs.
json graph_files(const graph::output& output, const data_spec& data,
                 prepare_cache& cache, const store::work_watch& stop,
                 found_files* found) {
  json files = json::array();
  for (const std::string& name : graph_sources(data, output))
    for (json& one :
         files_identity(data.sources.at(name), "/data/sources/" + name, data,
                        cache, stop, found))
      files.push_back(std::move(one));
  for (const node_library& one : graph_libraries(data, output))
    files.push_back(hash_of_library(one.path, one.pointer));
  return files;
}

/// The content of a source's files, one after another.
json files_identity(const source_spec& spec, const std::string& pointer,
                    const data_spec& data, prepare_cache& cache,
                    const store::work_watch& stop, found_files* found) {
  json files = json::array();
  if (spec.format == source_format::idx) {
    files.push_back(cache.hash_of(spec.images, pointer + "/images", stop));
    files.push_back(cache.hash_of(spec.labels, pointer + "/labels", stop));
  } else if (is_sent(spec.format)) {
    files.push_back(open_database(spec, pointer, stop)->identity());
  } else if (spec.format == source_format::graph) {
    return graph_files(output_of(data, spec.from), data, cache, stop, found);
  } else if (spec.format == source_format::images) {
    files.push_back(cache.hash_of(list_images(spec, pointer, stop),
                                  pointer + "/uri", stop));
  } else {
    for (const stored_file& file :
         find_files(found, spec.uri, pointer + "/uri", stop))
      files.push_back(file.system
                          ? file.name + " " + file.version
                          : cache.hash_of(file.path, pointer + "/uri", stop));
  }
  return files;
}

/// Adds the seed, and how the sources are read, to the nodes of a graph.
template <class Output>
json with_sources(json out, const job& what, const Output& output) {
  if (is_seeded(what.data, output))
    out["seed"] = what.seed;
  if (has_states(what.data, output))
    out["fitting"] = state_version;
  for (const std::string& name : graph_sources(what.data, output)) {
    const source_spec& one = what.data.sources.at(name);
    json& source = out["sources"].emplace_back();
    source = {{"name", name},
              {"format", to_string(one.format)},
              {"null_values", one.null_values}};
    if (is_untyped(one.format))
      source["types"] = types_of_cells;
    if (!one.columns.empty())
      source["columns"] = one.columns;
  }
  return out;
}

/// The inputs that determine the content of one source, besides the seed.
json identity_of(const job& what, const source_spec& spec,
                 const std::string& pointer, prepare_cache& cache,
                 const store::work_watch& stop, found_files* found) {
  if (spec.format == source_format::synthetic)
    return {{"rows", spec.rows},
            {"classes", spec.classes},
            {"width", spec.width},
            {"generator", 2}}; // 1: the C library's logarithm, sine and cosine
  json out{
      {"format", to_string(spec.format)},
      {"files", files_identity(spec, pointer, what.data, cache, stop, found)},
      {"label", spec.label},
      {"features", spec.features}};
  // Added later: sets without these fields keep their key.
  if (!spec.where.empty())
    out["where"] = spec.where;
  if (!spec.null_values.empty())
    out["null_values"] = spec.null_values;
  if (!spec.columns.empty())
    out["columns"] = spec.columns;
  if (spec.format == source_format::csv)
    out["types"] = types_of_cells;
  if (spec.format == source_format::graph)
    out["graph"] = with_sources(nodes_of(what, spec.from), what, spec.from);
  if (is_pictures(spec.format)) {
    out["size"] = {spec.size.at(0), spec.size.back()};
    out["decoder"] = decoder_of_images;
  }
  return out;
}

/// The kind of placement and every field of that kind.
void add_placement(const job& what, json& identity) {
  const json placement = to_json(what)["data"]["placement"];
  for (const auto& [field, value] : placement.items())
    identity[field == "kind" ? "placement" : field] = value;
  // Added later: sets prepared without these fields keep their key.
  if (what.data.placement.min_rows == 1)
    identity.erase("min_rows");
  if (!what.data.placement.balanced)
    identity.erase("balanced");
}

/// In the order of the texts: another order of the lists is the same sampling.
void add_sources(const sampling_spec& how, json& out) {
  std::vector<size_t> order(how.values.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return how.values[a] < how.values[b]; });
  const auto add = [&](const char* name, const auto& list) {
    if (list.size() != order.size())
      return;
    out[name] = json::array();
    for (size_t i : order)
      out[name].push_back(list[i]);
  };
  add("values", how.values);
  add("proportion", how.proportion);
  add("repeat", how.repeat);
  add("choose", how.choose);
}

/// The order of the rows in a chunk, and what they weigh.
void add_sampling(const job& what, json& identity) {
  const sampling_spec& how = what.train.sampling;
  json sampling = sampling_of_set(how);
  if (sampling.is_null())
    return;
  sampling["format"] = format_of_samplings;
  // The length of an epoch decides how large chunks are.
  if (!what.data.chunk_rows && how.rows)
    sampling["rows"] = *how.rows;
  identity["sampling"] = std::move(sampling);
}

} // namespace

std::string changed_source(const job& what, const json& before,
                           const json& now) {
  const auto changed = [&](const source_spec& spec, const std::string& part) {
    const json was = before[part].value("files", json::array());
    const json is = now[part].value("files", json::array());
    if (was == is)
      return std::string();
    const std::vector<std::string> files =
        files_of(spec, "/data/" + part, what.data);
    if (was.size() != is.size() || files.size() != is.size())
      return (is_sent(spec.format) ? printable(files.at(0))
                                   : "the list of files of " +
                                         printable(without_secrets(spec.uri)));
    size_t first = 0;
    while (was[first] == is[first])
      ++first;
    return printable(files[first]);
  };
  std::string out = changed(what.data.train, "train");
  if (out.empty() && what.data.test)
    out = changed(*what.data.test, "test");
  return out;
}

label_kind label_of(const job& what) {
  switch (what.train.loss) {
  case loss_kind::mse:
  case loss_kind::huber:
    return label_kind::target;
  case loss_kind::next_token:
    return label_kind::none;
  case loss_kind::cross_entropy:
  case loss_kind::bce:
  case loss_kind::hinge:
    break;
  }
  return label_kind::number_of_class;
}

std::vector<column_to_keep> kept_columns(const job& what) {
  std::vector<column_to_keep> out;
  for (const std::string& name : what.balance.by)
    out.push_back({name, "/balance/by/" + std::to_string(out.size())});
  if (!what.balance.group.empty())
    out.push_back({what.balance.group, "/balance/group"});
  if (!what.train.sampling.column.empty())
    out.push_back({what.train.sampling.column, sampling_column_field});
  return out;
}

nlohmann::json sampling_of_set(const sampling_spec& how) {
  if (how.kind == sampling_kind::once)
    return {};
  json out{{"kind", to_string(how.kind)}};
  if (how.beta)
    out["beta"] = *how.beta;
  if (!how.column.empty())
    out["column"] = how.column;
  if (how.kind == sampling_kind::sources)
    add_sources(how, out);
  return out;
}

nlohmann::json set_identity(const job& what, prepare_cache& cache,
                            const store::work_watch& stop, found_files* found) {
  const data_spec& data = what.data;
  json out{{"format", format_of_sets},
           {"regression", is_regression(what)},
           {"train",
            identity_of(what, data.train, "/data/train", cache, stop, found)},
           {"chunk_rows", data.chunk_rows ? json(*data.chunk_rows) : json()},
           {"workers", placed_workers(what)}};
  add_placement(what, out);
  if (data.test)
    out["test"] =
        identity_of(what, *data.test, "/data/test", cache, stop, found);
  else
    out["test_fraction"] = data.test_fraction;
  if (is_regression(what))
    out["target_bins"] = placement::target_bins_max;
  if (label_of(what) == label_kind::none) {
    out["tokens"] = true;
    out["cells"] = placement::row_cells_max;
  }
  if (!what.balance.by.empty())
    out.update({{"by", what.balance.by},
                {"bins_of_numbers", placement::target_bins_max},
                {"bins_of_texts", placement::texts_max}});
  if (!what.balance.group.empty())
    out.update({{"group", what.balance.group}, {"order_of_groups", "lists"}});
  add_sampling(what, out);
  if (data.on_error != error_policy::fail)
    out["on_error"] = {to_string(data.on_error), data.errors_max};
  for (const pipeline_step& step : data.pipeline)
    out["pipeline"].push_back(
        json::array({to_string(step.op), step.op == pipeline_op::reshape
                                             ? json(step.shape)
                                             : json(step.factor)}));
  const bool ordered = data.placement.kind == placement_kind::contiguous ||
                       data.placement.kind == placement_kind::sizes ||
                       data.placement.kind == placement_kind::sorted ||
                       data.placement.kind == placement_kind::column;
  const bool split = !data.test && data.test_fraction > 0;
  const bool synthetic =
      data.train.format == source_format::synthetic ||
      (data.test && data.test->format == source_format::synthetic);
  const bool dealt = what.train.sampling.kind == sampling_kind::stratified;
  if (!ordered || split || synthetic || dealt)
    out["seed"] = what.seed;
  return out;
}

nlohmann::json node_identity(const job& what, size_t node, prepare_cache& cache,
                             const store::work_watch& stop) {
  const graph::output output{false, node, 0};
  json out = with_sources(nodes_of(what, output), what, output);
  out["rows_of_nodes"] = format_of_nodes;
  out["files"] = graph_files(output, what.data, cache, stop, nullptr);
  // Each row says by its number which source it comes from.
  out["all_sources"] = names_of_sources(what.data);
  return out;
}

nlohmann::json rows_identity(const json& set_identity) {
  json out;
  for (const char* field : {"format", "regression", "tokens", "train", "test",
                            "pipeline", "on_error"})
    if (set_identity.contains(field))
      out[field] = set_identity[field];
  // Its column is no feature, and rows that have no weight may be left out.
  if (set_identity.contains("sampling") &&
      set_identity["sampling"].contains("column"))
    out["sampling"] = set_identity["sampling"];
  return out;
}

bool rows_are_read(const job& what) {
  return what.data.train.format != source_format::synthetic &&
         (!what.data.test ||
          what.data.test->format != source_format::synthetic);
}

bool set_has_all_columns(const job& what) {
  const std::string& column = what.data.placement.column;
  return rows_are_read(what) && what.balance.by.empty() &&
         what.balance.group.empty() && what.train.sampling.column.empty() &&
         (column.empty() || column == what.data.train.label);
}

} // namespace ballast::data
