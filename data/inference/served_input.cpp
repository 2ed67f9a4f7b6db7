#include "data/inference/served_input.hpp"

#include "data/fitting/apply_states.hpp"
#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/source/cell_type.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/served_nodes.hpp"
#include "runtime/job/format_names.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace ballast::data {

namespace {

constexpr const char* only_source = "in";

source_format format_for(const input_terms& terms, source_format trained) {
  if (!terms.format.empty()) {
    const auto said = parse_word<source_format>(terms.format);
    if (said && std::ranges::count(table_file_formats, *said) > 0)
      return *said;
    throw ballast_error(errc::usage,
                        "--format: expected csv, parquet, jsonl, arrow or orc, "
                        "found " +
                            printable(terms.format));
  }
  std::string name = terms.file;
  for (const char* packed : {".gz", ".zst", ".bz2"})
    if (name.ends_with(packed))
      name.resize(name.size() - std::string(packed).size());
  if (const named_format* known = format_of_name(name))
    return known->format;
  if (std::ranges::count(table_file_formats, trained) > 0)
    return trained;
  throw ballast_error(errc::usage,
                      printable(terms.file) +
                          ": its name does not tell its format; give --format "
                          "csv, parquet, jsonl, arrow or orc");
}

/// Of files a path is taken from here, as on every command line.
std::string uri_of(const std::string& file) {
  if (file.find("://") != std::string::npos)
    return file;
  std::error_code ignored;
  return std::filesystem::absolute(file, ignored).string();
}

/// The source as the job reads it, with the new file instead.
source_spec with_file(source_spec spec, const input_terms& terms) {
  const source_format trained = spec.format;
  spec.format = format_for(terms, trained);
  spec.uri = uri_of(terms.file);
  if (spec.format != source_format::csv)
    spec.null_values.clear();
  if (!is_untyped(spec.format))
    spec.columns.clear();
  // Those of a database, and of what is trained on.
  spec.query.clear();
  spec.table.clear();
  spec.password_env.clear();
  spec.password_file.clear();
  spec.partition_by.clear();
  spec.connections.reset();
  spec.where.clear();
  spec.label.clear();
  spec.features.clear();
  return spec;
}

/// Of a job that trains on a file as it is.
served_input of_file(const trained_run& of, const input_terms& terms) {
  served_input out;
  out.source = only_source;
  out.data.sources.emplace(only_source, with_file(of.what.data.train, terms));
  out.rows = {true, 0, 0};
  return out;
}

served_input of_graph(const trained_run& of, const input_terms& terms) {
  served_input out;
  out.data = of.what.data;
  const std::vector<std::string> sources = names_of_sources(out.data);
  graph::served_graph way =
      graph::served_nodes(sources, out.data.graph, out.data.train.from,
                          terms.labels ? std::string() : of.label);
  if (way.mistake)
    throw ballast_error(way.mistake);
  out.data.graph = std::move(way.nodes);
  out.rows = way.rows;
  out.source = sources.at(way.source);
  out.number = way.source;
  source_spec& source = out.data.sources.at(out.source);
  source = with_file(source, terms);
  return out;
}

/// By the names of the nodes, which stay what they were.
std::shared_ptr<fitted_states> states_of(const trained_run& of) {
  auto out = std::make_shared<fitted_states>();
  for (size_t i = 0; i < of.what.data.graph.size(); ++i)
    for (const auto& state : of.states)
      if (state->name == graph::name_of(of.what.data.graph, i) &&
          state->what.what == of.what.data.graph[i].what)
        out->add(i, state);
  return out;
}

std::string number_word() {
  return ballast::to_string(column_type::float64);
}

/// Columns whose cells have no types are not guessed at again, where the run
/// knows: a file of few rows may look otherwise.
void put_types(const trained_run& of, const input_terms& terms,
               served_input& input) {
  source_spec& source = input.data.sources.at(input.source);
  if (!is_untyped(source.format))
    return;
  const auto there =
      graph_stream(input.data, input.source, graph_terms{.stop = terms.stop})
          .choose_all();
  const auto put = [&](const std::string& column, const std::string& word) {
    if (!word.empty() && there->GetFieldIndex(column) >= 0)
      source.columns.try_emplace(column, word);
  };
  for (const auto& state : of.states)
    for (const learned_column& one : state->columns)
      put(one.name, type_word(one.type));
  if (terms.labels && !of.label.empty())
    put(of.label, of.class_names.empty()
                      ? number_word()
                      : ballast::to_string(column_type::text));
  if (input.rows.of_source)
    for (const std::string& column : of.columns)
      put(column, number_word());
}

} // namespace

served_input serve_input(const trained_run& of, const input_terms& terms) {
  const source_format trained = of.what.data.train.format;
  // Of a set nobody knows by which nodes its rows became what they are.
  if (trained == source_format::prepared)
    throw ballast_error(errc::not_in_build,
                        "the model was trained on a set that another job "
                        "prepared, and how that changed its rows is not kept "
                        "with the run; expected a run of the job with the "
                        "sources themselves",
                        "/data/train/format");
  if (!is_table(trained))
    throw ballast_error(errc::not_in_build,
                        "the model was trained on the format '" +
                            ballast::to_string(trained) +
                            "'; new rows can be read of tables (csv, parquet, "
                            "jsonl, arrow, orc), and "
                            "of images where the model was trained on images",
                        "/data/train/format");
  if (of.columns.empty())
    throw ballast_error(
        errc::invalid_data,
        printable(of.folder.string()) +
            ": manifest.json does not name the columns of the model (an "
            "earlier build prepared the set); name them in the order of the "
            "training file in /data/train/features of its job.json");
  served_input out = trained == source_format::graph ? of_graph(of, terms)
                                                     : of_file(of, terms);
  out.states = states_of(of);
  put_types(of, terms, out);
  return out;
}

} // namespace ballast::data
