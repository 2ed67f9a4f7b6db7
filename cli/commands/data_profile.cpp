/// `ballast data profile SOURCE`: what its columns hold, and how far they are
/// from those of another source.
#include "cli/commands/data.hpp"

#include "data/profile/profile_source.hpp"
#include "data/profile/profile_words.hpp"
#include "data/sink/partial_path.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace ballast::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// A table, and what of its rows was left out.
struct profiled {
  data::table_profile table;
  std::optional<data::row_faults> faults;
};

profiled profiled_of(const job& what, const store::work_watch& stop) {
  profiled out{{}, data::row_faults::of(what.data)};
  out.table = data::profile_of(
      what.data, {.stop = stop, .faults = out.faults ? &*out.faults : nullptr});
  return out;
}

ordered_json json_of(const profiled& one) {
  ordered_json out = data::to_json(one.table);
  if (one.faults)
    out["left_out"] = {{"rows", one.faults->counts().rows},
                       {"of", one.faults->counts().read}};
  return out;
}

void print(const profiled& one) {
  std::cout << data::describe(one.table);
  if (one.faults)
    std::cout << data::rejected_note(one.faults->counts(), "") << "\n"
              << (one.faults->any()
                      ? "  the last: " + one.faults->found().last + "\n"
                      : "");
}

void write_page(const std::string& file, const std::string& page) {
  data::partial_path to(file, data::partial_path::kind::file);
  std::ofstream out(to.path(), std::ios::binary);
  out << page;
  out.close();
  if (!out)
    throw ballast_error(errc::run_dir_unusable,
                        "cannot write " + printable(file));
  data::partial_path::publish({&to});
}

} // namespace

int profile_data(const data_order& order) {
  const json& request = order.request;
  const std::string page = request.value("html", "");
  if (!page.empty())
    data::check_free(page, data::partial_path::kind::file);
  const profiled one = profiled_of(order.what, order.stop);
  std::optional<profiled> other;
  std::optional<data::table_drift> drift;
  if (request.contains("against")) {
    other = profiled_of(job_in(request["against"]), order.stop);
    drift = data::drift_between(one.table, other->table);
  }
  if (!page.empty())
    write_page(page, data::profile_page(one.table, drift ? &*drift : nullptr));
  if (request.value("json", false)) {
    ordered_json out = json_of(one);
    if (drift) {
      out["against"] = json_of(*other);
      out["drift"] = data::to_json(*drift);
    }
    std::cout << json_lines_text(out) << "\n";
    return 0;
  }
  print(one);
  if (drift) {
    std::cout << "\n";
    print(*other);
    std::cout << "\n" << data::describe(*drift);
  }
  if (!page.empty())
    std::cout << printable(page) << ": the page\n";
  return 0;
}

} // namespace ballast::cli
