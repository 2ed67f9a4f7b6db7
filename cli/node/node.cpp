#include "cli/node/node.hpp"

#include "runtime/errors.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <random>

namespace ballast {

host_port parse_host_port(const std::string& text, const std::string& option) {
  size_t colon = text.rfind(':');
  host_port out;
  try {
    if (colon == std::string::npos || colon == 0)
      throw std::invalid_argument(text);
    out.host = text.substr(0, colon);
    if (out.host.front() == '[' && out.host.back() == ']')
      out.host = out.host.substr(1, out.host.size() - 2);
    size_t used = 0;
    std::string digits = text.substr(colon + 1);
    unsigned long port = std::stoul(digits, &used);
    if (used != digits.size() || port > 65535)
      throw std::invalid_argument(text);
    out.port = uint16_t(port);
  } catch (const std::exception&) {
    throw ballast_error(errc::usage,
                        option + " takes HOST:PORT, not '" + text + "'");
  }
  return out;
}

void check_bind(const host_port& where, const std::string& option,
                bool insecure) {
  bool loopback = where.host == "localhost" || where.host == "::1" ||
                  where.host.starts_with("127.");
  if (!loopback && !insecure)
    throw ballast_error(errc::usage,
                        option + " " + where.host +
                            " is not loopback, and this build has no access "
                            "tokens yet: anybody who reaches that address "
                            "could steer the run. Say --insecure to bind it "
                            "all the same");
}

namespace {

struct build_id_search {
  const void* code;
  std::string found;
};

int look_for_build_id(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<build_id_search*>(data);
  auto address = reinterpret_cast<uintptr_t>(search.code);
  bool ours = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    ours = ours || (part.p_type == PT_LOAD && address >= begin &&
                    address < begin + part.p_memsz);
  }
  if (!ours)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE)
      continue;
    auto at = info->dlpi_addr + part.p_vaddr;
    auto end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      uintptr_t name = at + sizeof *note;
      uintptr_t bytes = name + ((note->n_namesz + 3u) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
          std::memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0) {
        const auto* id = reinterpret_cast<const unsigned char*>(bytes);
        for (uint32_t k = 0; k < note->n_descsz && k < 8; ++k) {
          char hex[3];
          std::snprintf(hex, sizeof hex, "%02x", id[k]);
          search.found += hex;
        }
        return 1;
      }
      at = bytes + ((note->n_descsz + 3u) & ~3u);
    }
  }
  return 1;
}

} // namespace

std::string build_id() {
  build_id_search search{reinterpret_cast<const void*>(&parse_host_port), {}};
  dl_iterate_phdr(look_for_build_id, &search);
  return search.found.empty() ? "unknown" : search.found;
}

std::string make_token() {
  std::random_device device;
  std::string out;
  for (int i = 0; i < 4; ++i) {
    char part[9];
    std::snprintf(part, sizeof part, "%08x", device());
    out += part;
  }
  return out;
}

} // namespace ballast

extern "C" __attribute__((visibility("default"))) int
ballast_node_main(int argc, char** argv) {
  using namespace ballast;
  node_options options;
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
  app.add_option("--device", options.device, "worker: auto or cpu")
      ->needs(join);
  app.add_option("--metrics", options.metrics, "worker: HOST:PORT")
      ->needs(join);
  app.add_option("--wait", options.wait_s,
                 "worker: retry the coordinator for so many seconds")
      ->needs(join);
  app.add_flag("--once", options.once, "worker: leave after one job")
      ->needs(join);
  app.add_flag("--insecure", options.insecure,
               "bind other addresses than loopback, without access tokens");
  app.add_option("--liveness-fd", options.liveness_fd)->group("");
  app.add_flag("--preload-torch", options.preload_torch)->group("");
  app.add_flag("--no-progress", options.no_progress)->group("");
  app.add_option("--build-id", options.build_id)->group("");
  try {
    app.parse(argc, argv);
    if (!options.coordinator && options.join.empty())
      throw ballast_error(errc::usage, "say --coordinator or --join HOST:PORT");
    std::signal(SIGPIPE, SIG_IGN);
    return options.coordinator ? run_coordinator(options) : run_worker(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const ballast_error& e) {
    std::fprintf(stderr, "ballast: %s\n", e.what());
    return describe(e.what_failed().code).exit_code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ballast: %s\n", e.what());
    return 1;
  }
}
