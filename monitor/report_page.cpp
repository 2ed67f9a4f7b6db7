#include "monitor/report_page.hpp"

#include "monitor/history/run_history.hpp"
#include "monitor/http/http_page.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::monitor {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t points_max = 1000;
/// Of those that say what happened; and of those that come with every epoch.
constexpr size_t events_max = 3000;
constexpr size_t routine_events_max = 500;
constexpr size_t line_bytes_max = size_t{1} << 20;

template <class Number>
Number number_in(const json& of, const char* key, Number otherwise) {
  const auto at = of.find(key);
  return at != of.end() && at->is_number() ? at->get<Number>() : otherwise;
}

/// One of many like it.
bool is_routine(const std::string& kind) {
  return kind == "epoch" || kind == "evaluation" || kind == "checkpoint";
}

/// The first and the last ones of a long list.
class both_ends {
public:
  explicit both_ends(size_t most) : part_(most / 3) {}
  void add(json one) {
    if (first_.size() < part_) {
      first_.push_back(std::move(one));
      return;
    }
    last_.push_back(std::move(one));
    if (last_.size() > 2 * part_) { // several at a time
      last_.erase(last_.begin(), last_.begin() + ptrdiff_t(part_));
      left_out_ += part_;
    }
  }
  uint64_t left_out() const { return left_out_; }
  void move_to(std::vector<json>& out) {
    for (std::vector<json>* part : {&first_, &last_})
      std::move(part->begin(), part->end(), std::back_inserter(out));
  }

private:
  size_t part_;
  std::vector<json> first_, last_;
  uint64_t left_out_ = 0;
};

/// Calls `take` with each line that is an object, to the first that is none.
/// Why it ended before the end of the file, or nothing.
template <class Take>
std::string each_line(const fs::path& file, const Take& take) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  const std::string name = file.filename().string();
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    const json one = line.size() > line_bytes_max
                         ? json()
                         : json::parse(line, nullptr, false);
    if (!one.is_object())
      return name + " is damaged from line " + std::to_string(number) +
             " on: what follows is not shown";
    take(one);
  }
  return {};
}

ledger::committed_step step_of(const json& line) {
  ledger::committed_step out;
  out.step = step_number{number_in<uint64_t>(line, "step", 0)};
  out.world = number_in<uint32_t>(line, "world", 0);
  out.samples = number_in<uint64_t>(line, "samples", 0);
  out.loss = number_in(line, "loss", std::numeric_limits<double>::quiet_NaN());
  out.t_ns = number_in<uint64_t>(line, "t_ns", 0);
  return out;
}

class course {
public:
  explicit course(const fs::path& run) {
    tell(each_line(run / "steps.jsonl", [this](const json& line) {
      const ledger::committed_step one = step_of(line);
      was_at(int64_t(one.t_ns));
      history_.committed({&one, 1});
    }));
    tell(each_line(run / "events.jsonl",
                   [this](const json& line) { happened(line); }));
    for (const auto& [t_ns, what] : evaluations_)
      history_.evaluated(t_ns, what);
  }

  json to_json() {
    std::vector<json> events;
    const uint64_t left_out = events_.left_out() + routine_.left_out();
    events_.move_to(events);
    routine_.move_to(events);
    std::stable_sort(events.begin(), events.end(),
                     [](const json& a, const json& b) {
                       return number_in<uint64_t>(a, "seq", 0) <
                              number_in<uint64_t>(b, "seq", 0);
                     });
    return {{"series",
             history_.to_json({history_.names(), 0, points_max}).at("series")},
            {"events", std::move(events)},
            {"left_out", left_out},
            {"begin_ns", begin_ns_},
            {"end_ns", end_ns_},
            {"troubles", troubles_}};
  }

private:
  void tell(std::string trouble) {
    if (!trouble.empty())
      troubles_.push_back(std::move(trouble));
  }
  void was_at(int64_t t_ns) {
    if (t_ns <= 0)
      return;
    begin_ns_ = begin_ns_ == 0 ? t_ns : std::min(begin_ns_, t_ns);
    end_ns_ = std::max(end_ns_, t_ns);
  }
  void happened(const json& line) {
    const json kind = line.value("kind", json());
    const auto t_ns = number_in<int64_t>(line, "t_ns", 0);
    if (!kind.is_string() || t_ns <= 0)
      return; // of nothing that this program writes
    was_at(t_ns);
    const auto name = kind.get<std::string>();
    if (name == "evaluation")
      evaluated(t_ns, line);
    if (name == "undone") // the steps were trained again, or are gone
      std::erase_if(evaluations_,
                    [to = number_in<uint64_t>(line, "to", 0)](const auto& one) {
                      return value(one.second.step) > to;
                    });
    (is_routine(name) ? routine_ : events_).add(line);
  }
  void evaluated(int64_t t_ns, const json& line) {
    coordinator::events::evaluated what;
    what.step = step_number{number_in<uint64_t>(line, "step", 0)};
    what.loss =
        number_in(line, "test_loss", std::numeric_limits<double>::quiet_NaN());
    if (line.contains("test_accuracy"))
      what.accuracy = number_in<double>(line, "test_accuracy", 0);
    const auto found = line.find("metrics");
    if (found != line.end() && found->is_object())
      for (const auto& [name, value] : found->items())
        if (const auto known = parse_word<metrics::metric>(name);
            known && value.is_number())
          what.values.push_back({*known, {value.get<double>()}, {}, 0});
    evaluations_.emplace_back(t_ns, std::move(what));
  }

  run_history history_;
  std::vector<std::pair<int64_t, coordinator::events::evaluated>> evaluations_;
  both_ends events_{events_max};
  both_ends routine_{routine_events_max};
  std::vector<std::string> troubles_;
  int64_t begin_ns_ = 0;
  int64_t end_ns_ = 0;
};

std::string_view page_part(std::string_view name) {
  for (const auto& files : {page_files(), report_files()})
    for (const page_file& one : files)
      if (one.name == name)
        return one.content;
  BALLAST_CHECK(false, "no page file " + std::string(name));
}

/// JSON in a script element: nothing in it ends the element.
std::string as_script_data(const json& what) {
  std::string out;
  for (char c : json_text(what))
    c == '<' ? void(out += "\\u003c") : out.push_back(c);
  return out;
}

json read_job(const fs::path& run) {
  json job = store::read_json_file(run / "job.json");
  if (!job.is_object())
    throw ballast_error(errc::run_dir_unusable,
                        printable(run.string()) +
                            ": has no job.json that can be read; expected the "
                            "directory of a run");
  return job;
}

json data_of(const fs::path& run) {
  json job = read_job(run);
  json out = course(run).to_json();
  out["job"] = std::move(job);
  out["name"] = fs::weakly_canonical(run).filename().string();
  const json report = store::read_json_file(run / "report.json");
  out["report"] = report.is_object() ? report : json();
  return out;
}

/// A page with its parts, each named in it as {{NAME}}.
std::string filled(std::string_view page, const json& data) {
  std::string out;
  while (true) {
    const size_t at = page.find("{{");
    out += page.substr(0, at);
    if (at == std::string_view::npos)
      return out;
    const size_t end = page.find("}}", at);
    const std::string_view name = page.substr(at + 2, end - at - 2);
    if (name == "data")
      out += as_script_data(data);
    else
      out += page_part(name);
    page = page.substr(end + 2);
  }
}

} // namespace

std::string report_page(const fs::path& run) {
  return filled(page_part("report.html"), data_of(run));
}

std::string comparison_page(std::span<const fs::path> runs) {
  json data{{"runs", json::array()}};
  for (const fs::path& run : runs) {
    json one = data_of(run);
    one.erase("events");
    data["runs"].push_back(std::move(one));
  }
  data["differences"] = job_differences(runs);
  return filled(page_part("compare.html"), data);
}

nlohmann::json job_differences(std::span<const fs::path> runs) {
  std::vector<json> jobs;
  for (const fs::path& run : runs)
    jobs.push_back(read_job(run).flatten());
  std::set<std::string> pointers;
  for (const json& job : jobs)
    for (const auto& [pointer, value] : job.items())
      pointers.insert(pointer);
  json out = json::array();
  for (const std::string& pointer : pointers) {
    json values = json::array();
    for (const json& job : jobs)
      values.push_back(job.value(pointer, json()));
    if (std::ranges::adjacent_find(values, std::not_equal_to()) != values.end())
      out.push_back({{"pointer", pointer}, {"values", values}});
  }
  return out;
}

} // namespace ballast::monitor
