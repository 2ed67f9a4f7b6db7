/// `ballast validate --data JOB.json`: what each column holds, over all rows,
/// and what a run would refuse.
#include "cli/commands/data.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/prepared/job_tables.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/prepared/set_notes.hpp"
#include "data/source/database_source.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/table_survey.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ballast::cli {

namespace {

using nlohmann::json;

data::source_request request_of(const data_order& order,
                                const std::string& pointer) {
  const job& what = order.what;
  data::source_request out;
  out.stop = order.stop;
  out.label = data::label_of(what);
  out.data = &what.data;
  out.seed = what.seed;
  out.pointer = pointer;
  out.kept = data::kept_columns(what);
  if (pointer == "/data/test")
    out.kept.resize(what.balance.by.size());
  return out;
}

void tell(const std::string& note) {
  if (!note.empty())
    std::cerr << "ballast: " << note << "\n";
}

/// Its chunks, each as its manifest says; throws what a run would refuse.
void look_at_prepared(const data_order& order, bool as_json, json& all) {
  const auto set = data::prepare(order.what, data::default_cache_folder(),
                                 {.stop = order.stop, .warn = tell});
  const ledger::manifest& about = set->about();
  const auto read = [&](data::data_part part, const auto& chunks) {
    for (const ledger::chunk_info& one : chunks) {
      store::check_stop(order.stop);
      set->read(part, one.id);
    }
  };
  read(data::data_part::train, about.train);
  read(data::data_part::test, about.test);
  const std::string& uri = order.what.data.train.uri;
  if (as_json)
    all.push_back({{"source", uri},
                   {"train_rows", about.train_rows},
                   {"test_rows", about.test_rows}});
  else
    std::cout << printable(uri) << ": " << counted(about.train_rows, "row")
              << " to train on, " << about.test_rows << " to test, in "
              << counted(about.train.size() + about.test.size(), "chunk")
              << ", all of them sound\n";
}

/// False: something is wrong.
bool look_at(const data_order& order, const source_spec& source,
             const std::string& pointer, bool as_json, json& all) {
  std::optional<data::row_faults> passed_over =
      data::row_faults::of(order.what.data);
  if (source.format == source_format::prepared) {
    look_at_prepared(order, as_json, all);
    return true;
  }
  if (!is_table(source.format)) {
    if (!as_json)
      std::cout << pointer << ": " << to_string(source.format)
                << " has no named columns to look at\n";
    return true;
  }
  data::source_request how = request_of(order, pointer);
  if (passed_over)
    how.faults = &*passed_over;
  const data::table_survey found = data::survey(source, how);
  const json fix = passed_over ? json() : data::fix_of(source, found);
  if (as_json)
    all.push_back(data::to_json(found, fix));
  else
    std::cout << data::describe(found, fix);
  return found.clean();
}

/// Of a job that leaves bad rows out: reads as a run does, and says which.
int tell_left_out(const data_order& order, bool as_json, json sources) {
  constexpr size_t shown_max = 5;
  const data::rows_left_out found = data::left_out_by(order.what, order.stop);
  std::vector<std::string> first;
  std::istringstream lines(found.lines);
  for (std::string line; first.size() < shown_max && std::getline(lines, line);)
    first.push_back(line);
  if (as_json) {
    json shown = json::array();
    for (const std::string& one : first)
      shown.push_back(json::parse(one));
    std::cout << json_lines_text(json{{"valid", true},
                                      {"sources", std::move(sources)},
                                      {"left_out",
                                       {{"rows", found.counts.rows},
                                        {"of", found.counts.read},
                                        {"first", std::move(shown)}}}})
              << "\n";
    return 0;
  }
  std::cout << "nothing in the data stands against a run; with /data/on_error "
               "\""
            << to_string(order.what.data.on_error) << "\" "
            << data::rejected_note(found.counts, "") << "\n";
  for (const std::string& one : first)
    std::cout << "  " << one << "\n";
  if (found.counts.rows > first.size())
    std::cout << "  ... and " << found.counts.rows - first.size() << " more\n";
  return 0;
}

/// Of sources that are no files: whether a server could be asked at all.
void check_places(const data_spec& data) {
  const auto check = [](const source_spec& one, const std::string& pointer) {
    if (is_sent(one.format))
      data::name_of_database(one, pointer);
  };
  check(data.train, "/data/train");
  if (data.test)
    check(*data.test, "/data/test");
  for (const auto& [name, one] : data.sources)
    check(one, "/data/sources/" + name);
}

} // namespace

int check_nodes(const data_order& order) {
  const bool as_json = order.request.value("json", false);
  try {
    check_places(order.what.data);
    data::schemas_of_nodes_here(order.what.data, order.stop);
    return 0;
  } catch (const ballast_error& error) {
    const failure& why = error.what_failed();
    if (!as_json || why.code == errc::stopped)
      throw;
    std::cout << json_lines_text(json{{"valid", false},
                                      {"mistakes",
                                       {{{"code", to_string(why.code)},
                                         {"pointer", why.pointer},
                                         {"message", why.message}}}}})
              << "\n";
    return describe(errc::invalid_data).exit_code;
  }
}

int validate_data(const data_order& order) {
  const job& what = order.what;
  const json& request = order.request;
  data::schemas_of_nodes(what.data, order.stop);
  const bool as_json = request.value("json", false);
  json all = json::array();
  bool clean = look_at(order, what.data.train, "/data/train", as_json, all);
  if (what.data.test)
    clean =
        look_at(order, *what.data.test, "/data/test", as_json, all) && clean;
  if (clean && what.train.sampling.kind != sampling_kind::once &&
      what.data.train.format != source_format::prepared)
    tell(data::check_uses(what, order.stop));
  if (what.data.on_error != error_policy::fail)
    return tell_left_out(order, as_json, std::move(all));
  if (as_json)
    std::cout << json_lines_text(json{{"valid", clean}, {"sources", all}})
              << "\n";
  else if (clean)
    std::cout << (is_pictures(what.data.train.format)
                      ? "the images are only looked at when they are prepared\n"
                      : "nothing in the data stands against a run\n");
  return clean ? 0 : describe(errc::invalid_data).exit_code;
}

} // namespace ballast::cli
