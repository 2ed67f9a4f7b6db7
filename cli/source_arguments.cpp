#include "cli/source_arguments.hpp"

#include "cli/commands.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/format_names.hpp"
#include "runtime/job/job.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ballast::cli {

namespace {

using nlohmann::json;

/// By the end of a file's name, or the scheme of a server.
std::string format_of(const source_arguments& from) {
  if (!from.format.empty())
    return from.format;
  std::string name = from.uri;
  if (name.starts_with("postgresql://") || name.starts_with("sqlite://"))
    return "sql";
  if (name.starts_with("grpc://") || name.starts_with("grpc+tls://"))
    return from.query.empty() && from.table.empty() ? "flight" : "sql";
  for (const char* packed : {".gz", ".zst", ".bz2"})
    if (name.ends_with(packed))
      name.resize(name.size() - std::string(packed).size());
  if (const named_format* known = format_of_name(name))
    return to_string(known->format);
  throw ballast_error(errc::usage,
                      printable(from.uri) +
                          ": its name does not tell its format; give --format "
                          "csv, parquet, jsonl, arrow or orc");
}

void put_policy(const source_arguments& from, json& data) {
  if (!from.on_error.empty())
    data["on_error"] = from.on_error;
  if (from.errors_max.empty())
    return;
  data["errors_max"] = json::parse(from.errors_max, nullptr, false);
  if (!data["errors_max"].is_number())
    throw ballast_error(errc::usage,
                        "--errors-max: expected the part of the rows that may "
                        "be left out, such as 0.01, found " +
                            printable(from.errors_max));
}

} // namespace

std::string rows_of(const source_arguments& from) {
  if (!from.dropped.empty())
    return "rest";
  return from.where.empty() ? "in" : "taken";
}

json job_of(const source_arguments& from, uint64_t seed, json nodes) {
  json source{{"format", format_of(from)}, {"uri", from.uri}};
  if (!from.table.empty())
    source["table"] = from.table;
  if (!from.query.empty())
    source["query"] = from.query;
  if (!from.password_env.empty())
    source["password_env"] = from.password_env;
  if (!from.null_values.empty())
    source["null_values"] = from.null_values;
  for (const std::string& one : from.types) {
    const size_t equals = one.rfind('=');
    if (equals == std::string::npos)
      throw ballast_error(errc::usage,
                          "--type: expected COLUMN=TYPE, such as id=text, "
                          "found " +
                              printable(one));
    source["columns"][one.substr(0, equals)] = one.substr(equals + 1);
  }
  if (!from.dropped.empty())
    nodes.insert(
        nodes.begin(),
        json({{"op", "drop"}, {"columns", from.dropped}, {"as", "rest"}}));
  if (!from.where.empty())
    nodes.insert(
        nodes.begin(),
        json({{"op", "filter"}, {"where", from.where}, {"as", "taken"}}));
  json document{{"seed", seed},
                {"data",
                 {{"sources", {{"in", std::move(source)}}},
                  {"graph", std::move(nodes)},
                  {"train", {{"from", "in"}, {"label", "in"}}}}},
                {"model", {{"kind", "mlp"}}}};
  put_policy(from, document["data"]);
  job_result read =
      parse_job(json_text(document), {}, std::filesystem::current_path());
  if (!read.value)
    throw job_refused("the source", std::move(read.mistakes));
  return to_json(*read.value);
}

void add_source(CLI::App* command, source_arguments& from) {
  command
      ->add_option("source", from.uri,
                   "A path, a glob, a URI, postgresql://..., sqlite:///..., "
                   "grpc://...")
      ->required();
  command->add_option("--format", from.format,
                      "csv, parquet, jsonl, arrow, orc; default: by its name");
  command->add_option("--table", from.table, "Of a database");
  command->add_option("--query", from.query, "Of a database");
  command->add_option("--password-env", from.password_env,
                      "Variable with the password of a database");
  command->add_option("--null", from.null_values,
                      "Text of cells that are missing, such as NA");
  command
      ->add_option("--type", from.types,
                   "COLUMN=TYPE, of csv and jsonl: text, int64, float64, bool, "
                   "date or timestamp; what errors call \"columns\"")
      ->expected(1)
      ->take_all();
  command->add_option("--where", from.where, "Only rows of which this is true");
  command
      ->add_option("--drop", from.dropped,
                   "A column that is left out, such as one of lists")
      ->expected(1)
      ->take_all();
}

void add_policy(CLI::App* command, source_arguments& from) {
  command->add_option("--on-error", from.on_error,
                      "fail, skip or quarantine: what becomes of a bad row");
  command->add_option(
      "--errors-max", from.errors_max,
      "The part of the rows that may be left out; default 0.01");
}

} // namespace ballast::cli
