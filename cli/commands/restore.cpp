/// What `ballast run --resume-from PLACE` does first: makes a run directory of
/// the newest copy in a place. One argument, JSON: `place`, `folder` (empty:
/// the run's name in `base`), `base`, and `answer`, the descriptor that the
/// folder's path is written to.
#include "data/copies/fetched_copy.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

namespace ballast::cli {

namespace {

int restore(const nlohmann::json& request) {
  const data::copy_place from(request.at("place").get<std::string>());
  const auto [folder, got] =
      data::fetch_run(from, request.at("folder").get<std::string>(),
                      request.at("base").get<std::string>(), {});
  if (!got.damage.empty())
    std::cerr << "ballast: copies that cannot be used: "
              << printable(got.damage, 2000) << std::endl;
  const std::string path = folder.string();
  const ssize_t told =
      ::write(request.at("answer").get<int>(), path.data(), path.size());
  return told == ssize_t(path.size()) ? 0 : 1;
}

} // namespace

} // namespace ballast::cli

/// argv[0] is "restore".
extern "C" __attribute__((visibility("default"))) int
ballast_restore_main(int argc, char** argv) {
  using namespace ballast;
  try {
    return cli::restore(nlohmann::json::parse(argc > 1 ? argv[1] : "{}"));
  } catch (const ballast_error& error) {
    std::cerr << "ballast: --resume-from " << error.what() << std::endl;
    return describe(error.what_failed().code).exit_code;
  } catch (const std::exception& error) {
    std::cerr << "ballast: --resume-from: " << error.what() << std::endl;
    return 1;
  }
}
