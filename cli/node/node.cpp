#include "cli/node/node.hpp"

#include "cli/node/thread_room.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thrown_text.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>

namespace {

/// Heaps of the C library. By default it has eight for each core, and each of
/// dozens of mostly sleeping threads keeps freed memory in its own: 10 MB of a
/// small worker, and twice as much growth over a thousand recoveries.
constexpr int heaps_max = 2;

/// The threads of a node once it listens, and a few more: those of the actor
/// library, and for a coordinator the HTTP threads.
constexpr uint32_t coordinator_threads = 32;
constexpr uint32_t worker_threads = 16;

/// Prints the reason as the last line, and ends the process at once: CAF's
/// threads may run already, and an orderly exit would destroy the streams under
/// them.
[[noreturn]] void leave(int exit_code, const char* why) {
  std::fprintf(stderr, "ballast: %s\n", why);
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
ballast_node_main(int argc, char** argv) {
  using namespace ballast;
  mallopt(M_ARENA_MAX, heaps_max);
  cli::node_options options;
  CLI::App app{"A long-lived process of a cluster: the coordinator, or a "
               "worker that joins one",
               "ballast node"};
  auto* coordinator =
      app.add_flag("--coordinator", options.coordinator, "be the coordinator");
  app.add_option("--listen", options.listen,
                 "HOST:PORT for the workers (port 0: any)")
      ->needs(coordinator);
  app.add_option("--http", options.http,
                 "HOST:PORT for users: status, control, metrics")
      ->needs(coordinator);
  app.add_option("--state", options.state, "folder; runs lie in FOLDER/runs")
      ->needs(coordinator);
  auto* join = app.add_option("--join", options.join,
                              "HOST:PORT of the coordinator: be a worker")
                   ->excludes(coordinator);
  app.add_option("--name", options.name, "worker: unique in the cluster")
      ->needs(join);
  app.add_option("--device", options.device, "worker: auto, cpu or cuda:N")
      ->needs(join);
  app.add_option("--metrics", options.metrics, "worker: HOST:PORT")
      ->needs(join);
  app.add_option(
         "--host", options.host,
         "worker: address at which other nodes reach this one (default: "
         "its own on the way to the coordinator)")
      ->needs(join);
  app.add_option("--wait", options.wait_s,
                 "worker: retry the coordinator for so many seconds")
      ->needs(join);
  app.add_option("--grace", options.grace_s,
                 "worker: SIGTERM lets it leave within so many seconds")
      ->needs(join);
  app.add_flag("--once", options.once, "worker: leave after one job")
      ->needs(join);
  app.add_flag("--insecure", options.insecure,
               "bind other addresses than loopback, without access tokens");
  app.add_option("--liveness-fd", options.liveness_fd)->group("");
  app.add_flag("--preload-torch", options.preload_torch)->group("");
  app.add_flag("--http-again", options.http_again)->group("");
  app.add_flag("--no-progress", options.no_progress)->group("");
  app.add_option("--build-id", options.build_id)->group("");
  try {
    app.parse(argc, argv);
    if (!options.coordinator && options.join.empty())
      throw ballast_error(errc::usage, "say --coordinator or --join HOST:PORT");
    // Needed later, but validated before anything is opened.
    options.coordinator ? data::cache_limit_bytes()
                        : data::available_memory_bytes();
    std::signal(SIGPIPE, SIG_IGN);
    // A limit on file sizes then acts like a full disk: a failed write.
    std::signal(SIGXFSZ, SIG_IGN);
    cli::need_threads(options.coordinator ? coordinator_threads
                                          : worker_threads);
    return options.coordinator ? cli::run_coordinator(options)
                               : cli::run_worker(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const ballast_error& e) {
    leave(describe(e.what_failed().code).exit_code, e.what());
  } catch (const std::exception& e) {
    leave(1, thrown_text(e).c_str());
  }
}
