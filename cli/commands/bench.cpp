/// `ballast bench NAME ...`: calls the benchmark of that name. The thin program
/// refuses names that this build does not have.
#include "cli/commands/bench_allreduce.hpp"
#include "cli/commands/bench_planner.hpp"
#include "runtime/base/errors.hpp"

#include <iostream>
#include <string>

/// argv[0] is "bench", argv[1] the name.
extern "C" __attribute__((visibility("default"))) int
ballast_bench_main(int argc, char** argv) {
  using namespace ballast;
  std::string name = argc > 1 ? argv[1] : "";
  if (name == "allreduce")
    return cli::bench_allreduce(argc - 1, argv + 1);
  if (name == "planner")
    return cli::bench_planner(argc - 1, argv + 1);
  if (name == "--help" || name == "-h") {
    std::cout << "usage: ballast bench allreduce [OPTIONS]\n"
                 "       ballast bench planner [OPTIONS]\n";
    return 0;
  }
  std::cerr << "ballast: bench \"" << name
            << "\" is not in this build, which has: allreduce, planner\n";
  return describe(errc::not_in_build).exit_code;
}
