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
#include "runtime/base/unique_fd.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>

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
  const auto refuse = [&](int number) {
    store::refuse_file(file, "write", number, "write where you may");
  };
  const unique_fd out(::open(to.path().c_str(), O_WRONLY | O_CLOEXEC));
  if (!out)
    refuse(errno);
  for (size_t done = 0; done < page.size();) {
    const ssize_t wrote =
        ::write(out.get(), page.data() + done, page.size() - done);
    if (wrote < 0 && errno != EINTR)
      refuse(errno);
    done += size_t(std::max<ssize_t>(wrote, 0));
  }
  store::sync_path(to.path());
  data::partial_path::publish({&to});
}

void print_json(const profiled& one, const std::optional<profiled>& other,
                const std::optional<data::table_drift>& drift) {
  ordered_json out = json_of(one);
  if (drift) {
    out["against"] = json_of(*other);
    out["drift"] = data::to_json(*drift);
  }
  std::cout << json_lines_text(out) << "\n";
}

} // namespace

int profile_data(const data_order& order) {
  const json& request = order.request;
  const json& html = request.at("html");
  const std::string page = html.is_null() ? "" : html.get<std::string>();
  if (!html.is_null() && page.empty())
    throw ballast_error(errc::usage, "--html: expected a file, found none");
  if (order.what.data.on_error == error_policy::quarantine)
    throw ballast_error(errc::usage,
                        "--on-error quarantine: a profile keeps no rows; give "
                        "skip, or use `ballast data split`, which lists them "
                        "beside its files");
  if (!page.empty())
    data::check_free(page, data::partial_path::kind::file);
  const profiled one = profiled_of(order.what, order.stop);
  std::optional<profiled> other;
  std::optional<data::table_drift> drift;
  if (request.contains("against")) {
    other = profiled_of(job_in(request["against"]), order.stop);
    drift = data::drift_between(one.table, other->table);
  }
  const bool as_json = request.value("json", false);
  if (as_json)
    print_json(one, other, drift);
  else {
    print(one);
    if (drift) {
      std::cout << "\n";
      print(*other);
      std::cout << "\n" << data::describe(*drift);
    }
  }
  if (page.empty())
    return 0;
  // Behind what was computed, which is not lost if there is no room for this.
  std::cout.flush();
  write_page(page, data::profile_page(one.table, drift ? &*drift : nullptr));
  if (!as_json)
    std::cout << printable(page) << ": the page\n";
  return 0;
}

} // namespace ballast::cli
