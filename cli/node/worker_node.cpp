#include "cli/node/node.hpp"

#include "actors/gpu_worker.hpp"
#include "actors/types.hpp"
#include "cli/liveness.hpp"
#include "cli/node/gpu_watch.hpp"
#include "cli/node/host_port.hpp"
#include "cli/node/identity.hpp"
#include "cli/node/worker_device.hpp"
#include "cli/process_identity.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/store/host_memory.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/nccl_introduction.hpp"
#include "gpu/torch_library.hpp"
#include "monitor/http/http_server.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/node_name.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/thread_name.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace ballast::cli {

namespace {

using namespace std::chrono_literals;

/// Ends the process; the first thread with a reason prints it.
class exit_latch {
public:
  void leave(int code, std::string reason) {
    std::lock_guard lock(mutex_);
    if (!code_) {
      code_ = code;
      reason_ = std::move(reason);
    }
    changed_.notify_all();
  }
  int wait(std::string& reason) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return code_.has_value(); });
    reason = reason_;
    return *code_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<int> code_;
  std::string reason_;
};

/// Notices that the run was killed. Before the worker exists there is nothing
/// to keep; afterwards another run may adopt this process.
class supervisor_watch {
public:
  explicit supervisor_watch(int descriptor) {
    if (descriptor >= 0)
      std::thread([this, descriptor] {
        name_this_thread("bl-supervisor");
        follow(descriptor);
      }).detach();
  }
  void hand_over(const actors::local_worker_actor& worker) {
    std::lock_guard lock(mutex_);
    worker_ = worker;
  }

private:
  void follow(int descriptor) {
    if (int injected = fault_point("worker.supervisor_watch"))
      throw std::system_error(injected, std::generic_category(), "a thread");
    liveness_socket supervisor(descriptor);
    while (!supervisor.receive().is_null()) {
    }
    std::lock_guard lock(mutex_);
    if (!worker_)
      std::_Exit(1);
    caf::anon_send(worker_, freeze_atom::value);
  }

  std::mutex mutex_;
  actors::local_worker_actor worker_;
};

std::string host_name() {
  char name[256] = "host";
  gethostname(name, sizeof name - 1);
  return printable(name);
}

/// The address at which other nodes reach this one. Throws ballast_error{usage}
/// if it is not permitted.
std::string reachable_host(const node_options& options) {
  if (!options.host.empty()) {
    check_bind({options.host, 0}, "--host", options.insecure);
    return options.host;
  }
  host_port coordinator = parse_host_port(options.join, "--join");
  std::string out = local_address_towards(coordinator);
  check_bind({out, 0}, "--host (from the way to --join " + options.join + ")",
             options.insecure);
  return out;
}

std::string node_name(const node_options& options) {
  if (options.name.empty())
    return to_node_name(host_name() + "-" + std::to_string(getpid()));
  if (!is_node_name(options.name))
    throw ballast_error(errc::usage,
                        "--name: " + node_name_mistake(options.name));
  return options.name;
}

/// One attempt with a deadline, because a peer may accept and stay silent.
actors::coordinator_actor connect_once(caf::actor_system& system,
                                       caf::scoped_actor& self,
                                       const host_port& where,
                                       std::string& problem) {
  actors::coordinator_actor out;
  self->request(system.middleman().actor_handle(), 2s, caf::connect_atom::value,
                where.host, where.port)
      .receive(
          [&](const caf::node_id&, const caf::strong_actor_ptr& found,
              const std::set<std::string>&) {
            if (found)
              out = caf::actor_cast<actors::coordinator_actor>(found);
            else
              problem = "something else than a coordinator answers there";
          },
          [&](const caf::error& why) {
            problem = why == caf::sec::request_timeout
                          ? "it accepts the connection but does not answer"
                          : "connection refused";
          });
  return out;
}

actors::coordinator_actor find_coordinator(caf::actor_system& system,
                                           const node_options& options) {
  host_port where = parse_host_port(options.join, "--join");
  caf::scoped_actor self{system};
  auto until =
      std::chrono::steady_clock::now() + std::chrono::seconds(options.wait_s);
  std::string problem;
  // Used for the pause between attempts: the coordinator may still be starting.
  std::mutex mutex;
  std::condition_variable never;
  while (true) {
    actors::coordinator_actor found =
        connect_once(system, self, where, problem);
    if (found)
      return found;
    if (std::chrono::steady_clock::now() >= until)
      throw ballast_error(errc::unreachable,
                          "no coordinator at " + options.join + " within " +
                              std::to_string(options.wait_s) +
                              " s: " + problem);
    std::unique_lock lock(mutex);
    never.wait_for(lock, 50ms);
  }
}

/// The address at which the coordinator of a run listens now, from its file;
/// else the one at which this node joined.
host_port newest_address(const node_options& options,
                         const std::string& run_folder) {
  std::ifstream file(std::filesystem::path(run_folder) / "coordinator.json");
  nlohmann::json told = nlohmann::json::parse(file, nullptr, false);
  if (!run_folder.empty() && told.is_object() && told.contains("control"))
    return parse_host_port(told["control"], "coordinator.json");
  return parse_host_port(options.join, "--join");
}

/// Retries until a coordinator answers. The worker itself decides when to give
/// up.
actors::coordinator_actor find_again(caf::actor_system& system,
                                     const node_options& options,
                                     const std::string& run_folder) {
  std::mutex mutex;
  std::condition_variable never;
  for (bool by_file = true;; by_file = !by_file) {
    {
      // Pauses first, because the lost coordinator may still be ending.
      std::unique_lock lock(mutex);
      never.wait_for(lock, 20ms);
    }
    caf::scoped_actor self{system};
    std::string problem;
    actors::coordinator_actor found =
        connect_once(system, self,
                     by_file ? newest_address(options, run_folder)
                             : parse_host_port(options.join, "--join"),
                     problem);
    if (found)
      return found;
  }
}

monitor::http_handlers
worker_handlers(std::shared_ptr<actors::probe_slot> probes) {
  monitor::http_handlers out;
  out.metrics = [probes] {
    auto probe = probes->get();
    return probe ? probe->text() : monitor::idle_metrics();
  };
  out.unhealthy = [] { return std::optional<std::string>(); };
  out.not_ready = out.unhealthy;
  return out;
}

sigset_t end_signals() {
  sigset_t out;
  sigemptyset(&out);
  sigaddset(&out, SIGINT);
  sigaddset(&out, SIGTERM);
  return out;
}

/// What the coordinator learns of this process.
worker_hello hello_of(const node_options& options, const std::string& name,
                      const worker_device& place,
                      const monitor::http_address& metrics) {
  worker_hello out;
  out.name = name;
  out.pid = uint32_t(getpid());
  out.host = host_name();
  out.device = place.name;
  out.start_ticks = start_ticks(getpid()).value_or(0);
  out.boot_id = boot_id();
  out.memory_bytes = data::available_memory_bytes();
  if (place.device) {
    out.gpu = gpu::gpu_identity(place.device->bus());
    const gpu::nccl_report nccl = gpu::probe_nccl();
    if (const std::string why = nccl_trouble(nccl); !why.empty())
      monitor::log().warn("NCCL {}", why);
    else
      out.nccl = gpu::nccl_version_text(nccl.running_version);
  }
  out.build_id = options.build_id.empty() ? build_id() : options.build_id;
  out.metrics_address = "http://" + to_string(metrics);
  return out;
}

/// `place` and `latch` live as long as the process.
std::unique_ptr<actors::worker_engine>
engine_on(const std::string& host, const worker_device& place,
          exit_latch& latch, actors::engine_listener listener) {
  actors::engine_config engine;
  engine.bind_host = host;
  engine.device = place.device;
  // CUDA errors are sticky: every later call in the process fails too. This
  // process ends, the other workers continue, and the supervisor starts a new
  // one.
  if (place.device)
    engine.device_lost = [&latch](const std::string& why) {
      latch.leave(1, why);
    };
  return make_worker_engine(std::move(engine), std::move(listener));
}

void preload_libraries() {
  name_this_thread("bl-preload");
  gpu::preload_torch();
}

/// On a thread that ends with the process, or when it succeeds.
void look_again(caf::actor_system& system, const node_options& options,
                const std::string& run_folder,
                std::function<void(actors::coordinator_actor)> found) {
  std::thread([&system, &options, run_folder, found = std::move(found)] {
    name_this_thread("bl-reconnect");
    found(find_again(system, options, run_folder));
  }).detach();
}

/// A signal drains the worker. A second one, or the end of the grace period,
/// ends the process at once.
void drain_on_signals(const actors::local_worker_actor& actor,
                      exit_latch& latch, uint32_t grace_s) {
  std::thread([actor, &latch, grace_s] {
    name_this_thread("bl-signals");
    sigset_t ends = end_signals();
    int got = 0;
    sigwait(&ends, &got);
    caf::anon_send(actor, drain_atom::value);
    timespec patience{time_t(grace_s), 0};
    sigtimedwait(&ends, nullptr, &patience);
    latch.leave(130, "ended by signal " + std::to_string(got));
  }).detach();
}

/// The kernel frees sockets, threads and memory; an orderly teardown would only
/// wait for peers that may be gone.
[[noreturn]] void end_process(int code, const std::string& reason) {
  // The reason must be the last line, whatever other threads still log.
  monitor::log().flush();
  monitor::log().set_level(spdlog::level::off);
  if (code != 0)
    std::fprintf(stderr, "ballast: %s\n", reason.c_str());
  std::fflush(nullptr);
  std::_Exit(code);
}

} // namespace

int run_worker(const node_options& options) {
  sigset_t ends = end_signals();
  pthread_sigmask(SIG_BLOCK, &ends, nullptr); // before any thread starts
  std::string name = node_name(options);
  monitor::start_log(name);
  // Leaked on purpose, as below: work on a device may outlive this function.
  auto& place = *new worker_device(choose_device(options.device));
  host_port metrics = parse_host_port(options.metrics, "--metrics");
  check_bind(metrics, "--metrics", options.insecure);
  const std::string host = reachable_host(options);
  // Waiting compute threads yield their core, because nodes may share it.
  setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
  std::jthread preload; // joined also if the following code throws
  if (options.preload_torch)
    preload = std::jthread(preload_libraries);

  // Everything below must live until the process exits: the latch is leaked on
  // purpose, because CAF's threads may still call it during the exit.
  auto& latch = *new exit_latch;
  auto& watch = *new supervisor_watch(options.liveness_fd);
  auto probes = std::make_shared<actors::probe_slot>();
  auto& health = *new std::unique_ptr<gpu_watch>;
  if (place.device)
    health = std::make_unique<gpu_watch>(place.name, place.device->bus(),
                                         [probes](const gpu::gpu_reading& now) {
                                           if (auto probe = probes->get())
                                             probe->gpu(now);
                                         });
  monitor::http_server http;
  monitor::http_address bound =
      http.start(metrics.host, metrics.port, worker_handlers(probes));

  auto& config = *new actors::system_config;
  auto& system = *new caf::actor_system(config);
  actors::coordinator_actor coordinator = find_coordinator(system, options);
  actors::gpu_worker_config worker;
  worker.hello = hello_of(options, name, place, bound);
  worker.once = options.once;
  worker.log_to_folder = options.liveness_fd < 0;
  worker.probes = probes;
  worker.fragments = {host, data::default_cache_folder()};
  if (health)
    worker.device_trouble = [&health] { return health->trouble(); };
  worker.make_engine = [host, &place,
                        &latch](actors::engine_listener listener) {
    return engine_on(host, place, latch, std::move(listener));
  };
  worker.look_again = [&system, &options](const std::string& run_folder,
                                          auto found) {
    look_again(system, options, run_folder, std::move(found));
  };
  worker.on_exit = [&latch](int code, std::string reason) {
    latch.leave(code, std::move(reason));
  };
  auto actor = system.spawn<actors::gpu_worker, caf::detached>(
      coordinator, std::move(worker));
  caf::anon_send(actor, join_atom::value);
  drain_on_signals(actor, latch, options.grace_s);
  watch.hand_over(actor);
  if (options.liveness_fd < 0)
    std::printf("worker %s joins %s, metrics http://%s\n", name.c_str(),
                options.join.c_str(), to_string(bound).c_str());
  std::fflush(stdout);

  std::string reason;
  int code = latch.wait(reason);
  if (preload.joinable())
    preload.join();
  end_process(code, reason);
}

} // namespace ballast::cli
