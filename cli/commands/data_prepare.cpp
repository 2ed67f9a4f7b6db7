/// `ballast data prepare JOB.json`: what a run would do before its first step.
#include "cli/commands/data.hpp"

#include "data/prepared/prepared_set.hpp"
#include "data/source/row_faults.hpp"
#include "data/store/stored_set.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

namespace ballast::cli {

/// Once all of it is verified.
static std::string written_to(const data::prepared_set& set,
                              const data_order& order, const std::string& to) {
  if (order.what.data.train.format == source_format::prepared)
    throw ballast_error(errc::usage,
                        "--to: the job trains on a prepared set already; copy "
                        "its folder");
  for (const data::data_part part :
       {data::data_part::train, data::data_part::test})
    for (const ledger::chunk_info& one : part == data::data_part::train
                                             ? set.about().train
                                             : set.about().test) {
      store::check_stop(order.stop);
      set.read(part, one.id);
    }
  return data::write_stored_set(set.folder(), to, order.stop);
}

int prepare_data(const data_order& order) {
  const auto begin = std::chrono::steady_clock::now();
  const auto set =
      data::prepare(order.what, data::default_cache_folder(),
                    {.stop = order.stop, .warn = [](const std::string& line) {
                       std::cerr << "ballast: " << line << "\n";
                     }});
  const std::string to = order.request.value("to", "");
  const std::string written = to.empty() ? "" : written_to(*set, order, to);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const ledger::manifest& about = set->about();
  uint64_t bytes = 0;
  for (const auto* part : {&about.train, &about.test})
    for (const ledger::chunk_info& one : *part)
      bytes += one.bytes;
  const std::string listed =
      about.rejected && about.rejected->kept > 0
          ? (set->folder() / data::quarantine_name).string()
          : "";
  if (order.request.value("json", false)) {
    nlohmann::json out{{"folder", set->folder().string()},
                       {"train_rows", about.train_rows},
                       {"test_rows", about.test_rows},
                       {"chunks", about.train.size() + about.test.size()},
                       {"bytes", bytes},
                       {"seconds", took.count()}};
    if (!written.empty())
      out["written_to"] = written;
    if (about.rejected)
      out["left_out"] = {{"rows", about.rejected->rows},
                         {"of", about.rejected->read},
                         {"removed", about.rejected->removed},
                         {"file", listed}};
    std::cout << json_lines_text(out) << "\n";
    return 0;
  }
  std::printf("%s: %s to train on, %llu to test, %s, %.1f MB, %.2f s\n",
              printable(set->folder().string()).c_str(),
              counted(about.train_rows, "row").c_str(),
              static_cast<unsigned long long>(about.test_rows),
              counted(about.train.size() + about.test.size(), "chunk").c_str(),
              double(bytes) / 1e6, took.count());
  if (!written.empty())
    std::printf("written to %s\n", printable(written).c_str());
  if (about.rejected)
    std::printf("%s\n", data::rejected_note(*about.rejected, listed).c_str());
  return 0;
}

} // namespace ballast::cli
