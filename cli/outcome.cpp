#include "cli/outcome.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/job/sampling_spec.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace ballast::cli {

namespace {

std::optional<coordinator::run_phase> state_of(const nlohmann::json& report) {
  return parse_word<coordinator::run_phase>(report.value("state", ""));
}

} // namespace

std::optional<outcome> outcome_of(const std::string& folder, bool interrupted) {
  std::ifstream file(folder + "/report.json");
  nlohmann::json report = nlohmann::json::parse(file, nullptr, false);
  if (!report.is_object())
    return std::nullopt;
  const std::optional<coordinator::run_phase> state = state_of(report);
  int exit_code = state == coordinator::run_phase::done ? 0 : 1;
  if (state == coordinator::run_phase::stopped)
    exit_code = interrupted ? 130 : 0;
  return outcome{exit_code, report.value("reason", ""), folder, report, false};
}

bool holds_run(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder + "/run.lock", ignored);
}

std::string stamp_of_report(const std::string& folder) {
  struct stat about {};
  if (::stat((folder + "/report.json").c_str(), &about) != 0)
    return {};
  return std::to_string(about.st_ino) + "." +
         std::to_string(about.st_mtim.tv_sec) + "." +
         std::to_string(about.st_mtim.tv_nsec);
}

namespace {

/// The job says how often rows are used, which is not once.
nlohmann::json job_in(const std::string& folder) {
  std::ifstream file(folder + "/job.json");
  nlohmann::json job = nlohmann::json::parse(file, nullptr, false);
  return job.is_object() ? job : nlohmann::json::object();
}

bool plans_uses(const std::string& folder) {
  const nlohmann::json::json_pointer kind("/train/sampling/kind");
  const std::string once = to_string(sampling_kind::once);
  return job_in(folder).value(kind, once) != once;
}

void print_audit(const nlohmann::json& audit, bool of_uses) {
  std::printf("  %-14s %llu %s expected, %llu %s, %llu lost, %llu repeated\n",
              "audit", audit.value("expected", 0ull),
              of_uses ? "uses" : "samples", audit.value("once", 0ull),
              of_uses ? "as planned" : "once", audit.value("lost", 0ull),
              audit.value("repeated", 0ull));
}

void print_importance(const nlohmann::json& drawn) {
  std::string rows = ": the gradient of every row was computed";
  if (drawn.value("drawn", 0ull) > 0) {
    char text[96];
    std::snprintf(text, sizeof text, ", with the gradient of %.0f of %.0f rows",
                  drawn.value("mean_gradient_rows", 0.0),
                  drawn.value("mean_rows", 0.0));
    rows = text;
  }
  if (const auto since = drawn.value("since_step", 0ull); since > 0)
    rows += " (after step " + std::to_string(since) + ")";
  std::printf("  %-14s %llu of %llu steps of a worker%s\n", "importance",
              drawn.value("drawn", 0ull), drawn.value("worker_steps", 0ull),
              rows.c_str());
}

/// Those that are one number, apart from the accuracy.
void print_metrics(const nlohmann::json& report) {
  if (!report.contains("test_metrics"))
    return;
  std::string out;
  for (const auto& [name, value] : report["test_metrics"].items()) {
    if (name == "accuracy" || value.is_array())
      continue;
    char text[32] = "undefined";
    if (value.is_number())
      std::snprintf(text, sizeof text, "%.4f", value.get<double>());
    out += (out.empty() ? "" : ", ") + name + " " + text;
  }
  if (!out.empty())
    std::printf("  %-14s %s\n", "test metrics", out.c_str());
}

/// Which evaluation the model is of, or would have been, and why no more
/// follow.
void print_course(const nlohmann::json& report, const std::string& folder) {
  if (report.contains("best")) {
    const nlohmann::json& best = report["best"];
    const nlohmann::json::json_pointer every("/evaluate/every");
    const char* unit = job_in(folder).value(every, nlohmann::json()).is_number()
                           ? "step"
                           : "epoch";
    std::printf("  %-14s %s %.4g, after %s %llu%s\n", "best",
                best.value("metric", "").c_str(), best.value("value", 0.0),
                unit, best.value(unit, 0ull),
                best["step"] == report.value("model_step", nlohmann::json())
                    ? ", which is the model"
                    : "");
  }
  const nlohmann::json::json_pointer keeps("/keep/best/metric");
  const std::string kept = job_in(folder).value(keeps, "");
  if (!kept.empty() && !report.contains("best"))
    std::printf("  %-14s none: no evaluation had a %s; the model is the last "
                "one\n",
                "best", kept.c_str());
  const std::string reason = report.value("reason", "");
  if (report.value("state", "") == "done" && !reason.empty())
    std::printf("  %-14s %s\n", "ended early", reason.c_str());
}

void print_summary(const outcome& how) {
  const nlohmann::json& report = how.report;
  if (!report.is_object())
    return;
  std::error_code none;
  const bool resumed =
      std::filesystem::exists(how.folder + "/report-1.json", none);
  std::printf("%s: %llu steps, %llu samples in %.1f s%s",
              report.value("state", "").c_str(), report.value("steps", 0ull),
              report.value("samples", 0ull), report.value("wall_s", 0.0),
              resumed ? " since it began" : "");
  if (const auto rate = report.find("samples_per_s");
      rate != report.end() && rate->is_number())
    std::printf(" (%.0f samples/s in training)", rate->get<double>());
  std::printf("\n");
  auto number = [&report](const char* key, const char* label) {
    if (report.contains(key) && report[key].is_number())
      std::printf("  %-14s %.4f\n", label, report[key].get<double>());
  };
  number("train_loss", "train loss");
  number("test_loss", "test loss");
  number("test_accuracy", "test accuracy");
  print_metrics(report);
  print_course(report, how.folder);
  if (report.contains("importance"))
    print_importance(report["importance"]);
  if (report.contains("audit") && report["audit"].is_object())
    print_audit(report["audit"], plans_uses(how.folder));
  std::printf("  %-14s %s\n", "run directory",
              shown_folder(how.folder).c_str());
}

} // namespace

std::string shown_folder(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::path shown =
      std::filesystem::relative(folder, ignored);
  return shown.empty() || shown.native().starts_with("..") ? folder
                                                           : shown.string();
}

void tell(const outcome& how, bool json, const std::string& resume) {
  if (!json)
    print_summary(how);
  else if (how.report.is_object())
    std::printf("%s\n", json_text(how.report).c_str());
  std::fflush(stdout);
  const bool stopped = how.report.is_object() &&
                       state_of(how.report) == coordinator::run_phase::stopped;
  const bool interrupted = how.exit_code == 130;
  if (!resume.empty() && (stopped || interrupted))
    std::fprintf(stderr, "to go on with it:\n%s\n", resume.c_str());
  if (how.exit_code != 0 || stopped)
    std::fprintf(stderr, "ballast: %s\n", how.reason.c_str());
}

} // namespace ballast::cli
