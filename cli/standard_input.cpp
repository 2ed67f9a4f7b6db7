#include "cli/standard_input.hpp"

#include "cli/node_library.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/job/source_uri.hpp"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace ballast::cli {

namespace {

std::string text_in(int descriptor) {
  std::string out(size_t(::lseek(descriptor, 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(descriptor, out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : size_t(got));
  return out;
}

} // namespace

int keep_standard_input(job& what) {
  if (sources_of_standard_input(what).empty())
    return 0;
  const unique_fd answer(::memfd_create("ballast-input", MFD_CLOEXEC));
  if (!answer)
    throw ballast_error(errc::device_failed,
                        std::string("standard input: its file cannot be "
                                    "named: ") +
                            std::strerror(errno));
  const int code = call_node_library(
      "data", {json_text(nlohmann::json{{"do", "keep_input"},
                                        {"job", to_json(what)},
                                        {"answer", answer.get()}})});
  if (code != 0)
    return code;
  job_result kept = parse_job(text_in(answer.get()), {}, "/");
  BALLAST_CHECK(kept.value, "a job that was valid");
  what = std::move(*kept.value);
  return 0;
}

} // namespace ballast::cli
