#include "cli/data_arguments.hpp"

#include "cli/commands.hpp"
#include "cli/node_library.hpp"
#include "cli/set_option.hpp"
#include "cli/source_arguments.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/resampling_methods.hpp"
#include "runtime/job/job.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

namespace {

using nlohmann::json;

/// `data show` holds them in memory; `data write` writes any number.
constexpr uint64_t rows_shown_max = 1'000'000;

struct data_arguments {
  std::string job_path;
  std::vector<std::string> sets;
  source_arguments from;
  std::string node;
  uint64_t rows = 5;
  bool as_json = false;
  bool dot = false;
  std::vector<std::string> parts; // FILE=FRACTION
  std::string by = "random";
  std::string column;
  uint64_t seed = 1;
  std::string to;
  std::string against;
  std::string states;
  uint64_t into = 0;
  std::string format = "parquet";
  std::string method;
  std::vector<std::string> options; // NAME=VALUE
  bool with_source = false;
};

int hand_on(json request) {
  return call_node_library("data", {json_text(request)});
}

/// As in a job.
void add_seed(CLI::App* command, data_arguments& a) {
  constexpr uint64_t seed_max = (uint64_t{1} << 53) - 1;
  command->add_option("--seed", a.seed, "Default 1")
      ->check(CLI::Range(uint64_t{0}, seed_max));
}

void add_job(CLI::App* command, data_arguments& a) {
  command->add_option("job", a.job_path, "JOB.json")->required();
  add_sets(command, a.sets);
}

json parts_of(const data_arguments& a, json& fractions) {
  json files = json::array();
  for (const std::string& part : a.parts) {
    const size_t equals = part.rfind('=');
    const std::string number =
        equals == std::string::npos ? "" : part.substr(equals + 1);
    double fraction = 0;
    const char* const end = number.data() + number.size();
    if (std::from_chars(number.data(), end, fraction).ptr != end ||
        !(fraction > 0 && fraction <= 1))
      throw ballast_error(
          errc::usage,
          "split: expected FILE=FRACTION, the fraction a number above 0 and at "
          "most 1, such as train.parquet=0.8, found " +
              printable(part));
    files.push_back(part.substr(0, equals));
    fractions.push_back(fraction);
  }
  return files;
}

int split(const data_arguments& a) {
  json fractions = json::array();
  const json files = parts_of(a, fractions);
  json names = json::array();
  for (size_t i = 0; i < files.size(); ++i)
    names.push_back("part-" + std::to_string(i + 1));
  json node{
      {"op", "split"}, {"fractions", fractions}, {"by", a.by}, {"as", names}};
  if (!a.column.empty())
    node["column"] = a.column;
  return hand_on({{"do", "split"},
                  {"job", job_of(a.from, a.seed, json::array({node}))},
                  {"nodes", names},
                  {"files", files},
                  {"json", a.as_json}});
}

int partition(const data_arguments& a) {
  if ((a.into > 0) == !a.column.empty())
    throw ballast_error(errc::usage, "partition: expected --into N files, or "
                                     "--by COLUMN");
  return hand_on({{"do", "partition"},
                  {"job", job_of(a.from, a.seed, json::array())},
                  {"folder", a.to},
                  {"into", a.into},
                  {"column", a.column},
                  {"format", a.format},
                  {"node", rows_of(a.from)},
                  {"json", a.as_json}});
}

/// As the command line calls what was said.
failure as_argument(failure mistake) {
  const std::string options = "/options/";
  const std::string argument =
      mistake.pointer == "/method" ? "--method"
      : mistake.pointer.starts_with(options)
          ? "--option " + mistake.pointer.substr(options.size())
          : "--option";
  return {mistake.code, argument + ": " + mistake.message, {}};
}

int resample(const data_arguments& a) {
  const graph::resampling_result read =
      graph::parse_resampling(a.method, a.options);
  if (read.mistake)
    throw ballast_error(as_argument(read.mistake));
  return hand_on({{"do", "resample"},
                  {"job", job_of(a.from, a.seed, json::array())},
                  {"node", rows_of(a.from)},
                  {"source", a.from.uri},
                  {"file", a.to},
                  {"label", a.column},
                  {"method", a.method},
                  {"options", a.options},
                  {"seed", a.seed},
                  {"with_source", a.with_source},
                  {"json", a.as_json}});
}

int apply(const data_arguments& a) {
  return hand_on({{"do", "apply"},
                  {"job", job_of(a.from, 1, json::array())},
                  {"states", a.states},
                  {"file", a.to},
                  {"node", rows_of(a.from)},
                  {"json", a.as_json}});
}

json loaded(const data_arguments& a) {
  return to_json(load_job(a.job_path, a.sets));
}

void add_job_commands(CLI::App* data, const std::shared_ptr<data_arguments>& a,
                      std::function<int()>& chosen) {
  CLI::App* show = data->add_subcommand(
      "show", "What the nodes of a job's data do, their columns, some rows");
  add_job(show, *a);
  show->add_option("--node", a->node, "Rows of this one; default: as trained");
  show->add_option("--rows", a->rows, "How many; default 5")
      ->check(CLI::Range(uint64_t{0}, rows_shown_max));
  CLI::Option* as_json = show->add_flag("--json", a->as_json, "As JSON");
  show->add_flag("--dot", a->dot, "As a graph for Graphviz")->excludes(as_json);
  show->callback([a, &chosen] {
    chosen = [a] {
      return hand_on({{"do", "show"},
                      {"job", loaded(*a)},
                      {"node", a->node},
                      {"rows", a->rows},
                      {"json", a->as_json},
                      {"dot", a->dot}});
    };
  });
  CLI::App* prepare =
      data->add_subcommand("prepare", "Prepare a job's data without training");
  add_job(prepare, *a);
  prepare->add_flag("--json", a->as_json, "As JSON");
  prepare
      ->add_option("--to", a->to,
                   "Also write the set to this folder: a path, s3://, "
                   "gs://; jobs with the format \"prepared\" train on it")
      ->check([](const std::string& folder) {
        return folder.empty() ? std::string("names no folder") : std::string();
      });
  prepare->callback([a, &chosen] {
    chosen = [a] {
      return hand_on({{"do", "prepare"},
                      {"job", loaded(*a)},
                      {"json", a->as_json},
                      {"to", a->to}});
    };
  });
  CLI::App* write =
      data->add_subcommand("write", "Write the rows of a node as a file");
  add_job(write, *a);
  write->add_option("node", a->node, "A name of data.graph or data.sources")
      ->required();
  write->add_option("file", a->to, "NAME.csv, .parquet, .jsonl, .arrow, .orc")
      ->required();
  write->add_flag("--json", a->as_json, "As JSON");
  write->callback([a, &chosen] {
    chosen = [a] {
      return hand_on({{"do", "write"},
                      {"job", loaded(*a)},
                      {"nodes", {a->node}},
                      {"files", {a->to}},
                      {"json", a->as_json}});
    };
  });
}

void add_source_commands(CLI::App* data,
                         const std::shared_ptr<data_arguments>& a,
                         std::function<int()>& chosen) {
  CLI::App* profile = data->add_subcommand(
      "profile", "What each column of a source holds, over all rows");
  add_source(profile, a->from);
  add_policy(profile, a->from);
  profile->add_option("--against", a->against,
                      "Another source of the same format: how far its columns "
                      "have drifted from these");
  profile->add_option("--html", a->to, "Write a page into this file, too");
  profile->add_flag("--json", a->as_json, "As JSON");
  profile->callback([a, profile, &chosen] {
    chosen = [a, with_page = profile->count("--html") > 0,
              compared = profile->count("--against") > 0] {
      json request{{"do", "profile"},
                   {"job", job_of(a->from, 1, json::array())},
                   {"html", with_page ? json(a->to) : json()},
                   {"json", a->as_json}};
      if (compared) {
        source_arguments other = a->from;
        other.uri = a->against;
        request["against"] = job_of(other, 1, json::array());
      }
      return hand_on(std::move(request));
    };
  });
  CLI::App* split = data->add_subcommand(
      "split", "Deal the rows of a source into files, each row into one");
  add_source(split, a->from);
  add_policy(split, a->from);
  split
      ->add_option("parts", a->parts,
                   "FILE=FRACTION, such as train.parquet=0.8 test.parquet=0.2")
      ->required()
      ->expected(2, 16);
  split->add_option("--by", a->by, "random, stratified, group or time");
  split->add_option("--column", a->column, "For all but random");
  add_seed(split, *a);
  split->add_flag("--json", a->as_json, "As JSON");
  split->callback([a, &chosen] { chosen = [a] { return cli::split(*a); }; });
  CLI::App* partition = data->add_subcommand(
      "partition", "Write a source as several files in a folder");
  add_source(partition, a->from);
  add_policy(partition, a->from);
  partition->add_option("folder", a->to, "A new folder")->required();
  partition->add_option("--into", a->into, "So many files, rows in turn")
      ->check(CLI::Range(1, 4096));
  partition->add_option("--by", a->column,
                        "A file for each value of a column: COLUMN=VALUE/");
  partition->add_option("--to", a->format,
                        "parquet (default), csv, jsonl, arrow, orc");
  partition->add_flag("--json", a->as_json, "As JSON");
  partition->callback(
      [a, &chosen] { chosen = [a] { return cli::partition(*a); }; });
}

void add_resample(CLI::App* data, const std::shared_ptr<data_arguments>& a,
                  std::function<int()>& chosen) {
  std::string methods;
  for (const graph::resampling_about& one : graph::resampling_catalogue())
    methods += (methods.empty() ? "" : ", ") + to_string(one.what);
  CLI::App* resample = data->add_subcommand(
      "resample", "Change the shares of the classes: draw, add or remove rows");
  add_source(resample, a->from);
  resample
      ->add_option("file", a->to, "NAME.csv, .parquet, .jsonl, .arrow, .orc")
      ->required();
  resample->add_option("--label", a->column, "The column of the classes")
      ->required();
  resample->add_option("--method", a->method, methods)->required();
  resample
      ->add_option("--option", a->options,
                   "NAME=VALUE of the method, such as k_neighbors=5; "
                   "docs/resampling.md lists them")
      ->expected(1)
      ->take_all();
  add_seed(resample, *a);
  resample->add_flag("--with-source", a->with_source,
                     "A column source_row: the row of the input, from 1; "
                     "missing of a row that was made");
  resample->add_flag("--json", a->as_json, "As JSON");
  resample->callback(
      [a, &chosen] { chosen = [a] { return cli::resample(*a); }; });
}

void add_apply_command(CLI::App* data, const std::shared_ptr<data_arguments>& a,
                       std::function<int()>& chosen) {
  CLI::App* apply = data->add_subcommand(
      "apply", "Change a source's rows by what a run has learned");
  apply
      ->add_option("states", a->states,
                   "preprocessing/ of a run, or the run's folder")
      ->required();
  add_source(apply, a->from);
  add_policy(apply, a->from);
  apply
      ->add_option("file", a->to,
                   "NAME.csv, .parquet, .jsonl, .arrow, .orc, a new file")
      ->required();
  apply->add_flag("--json", a->as_json, "As JSON");
  apply->callback([a, &chosen] { chosen = [a] { return cli::apply(*a); }; });
}

} // namespace

void add_data_commands(CLI::App& app, std::function<int()>& chosen) {
  CLI::App* data = app.add_subcommand(
      "data", "Look at, prepare and split data without training");
  data->require_subcommand(1);
  const auto a = std::make_shared<data_arguments>();
  add_job_commands(data, a, chosen);
  add_source_commands(data, a, chosen);
  add_resample(data, a, chosen);
  add_apply_command(data, a, chosen);
}

} // namespace ballast::cli
