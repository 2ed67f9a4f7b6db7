/// Rows that come by standard input, of every command that reads data.
#include "cli/commands/data.hpp"

#include "data/prepared/kept_input.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/source_uri.hpp"

#include <cerrno>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast::cli {

void keep_standard_input(job& what) {
  for (source_spec* one : sources_of_standard_input(what)) {
    const data::kept_input kept = data::keep_input(
        STDIN_FILENO, data::default_cache_folder(),
        "." + to_string(one->format), data::cache_limit_bytes());
    one->uri = kept.file.string();
    std::cerr << "ballast: standard input: " << kept.bytes << " bytes, kept as "
              << printable(one->uri) << "\n";
  }
}

int tell_input_kept(const data_order& order) {
  const std::string text = json_text(to_json(order.what));
  if (::write(order.request.at("answer").get<int>(), text.data(),
              text.size()) != ssize_t(text.size()))
    throw ballast_error(errc::device_failed,
                        std::string("standard input: its file cannot be "
                                    "named: ") +
                            std::strerror(errno));
  return 0;
}

} // namespace ballast::cli
