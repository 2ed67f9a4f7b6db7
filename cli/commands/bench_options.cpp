#include "cli/commands/bench_options.hpp"
#include "gpu/collective_backends.hpp"

#include "collectives/collective.hpp"

#include <charconv>
#include <sstream>

namespace ballast::cli {

const char* const bench_usage_text =
    "usage: ballast bench allreduce [--ranks 2,4] [--bytes 65536,16777216]\n"
    "         [--backends ring-shm,ring-tcp,gloo] [--seconds S] [--csv]\n"
    "         [--buffers arena|heap]\n"
    "       ballast bench allreduce --kills N [--ranks 2,4,8] "
    "[--backends ...]\n";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    if (!item.empty()) {
      out.push_back(item);
    }
  }
  return out;
}

namespace {

template <class T>
T number(const std::string& option, const std::string& text, T least, T most) {
  T value{};
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      value < least || value > most) {
    throw usage_error(option + ": '" + text + "' is no number from " +
                      std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

template <class T>
std::vector<T> numbers(const std::string& option, const std::string& text,
                       T least, T most) {
  std::vector<T> out;
  for (const std::string& item : split(text)) {
    out.push_back(number<T>(option, item, least, most));
  }
  if (out.empty()) {
    throw usage_error(option + " needs at least one value");
  }
  return out;
}

} // namespace

bench_options parse_bench_options(int argc, char** argv) {
  bench_options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--csv") {
      options.csv = true;
      continue;
    }
    if (i + 1 >= argc) {
      throw usage_error("'" + name + "' is unknown or needs a value");
    }
    std::string text = argv[++i];
    if (name == "--ranks") {
      options.ranks = numbers<int>(name, text, 1, 64);
    } else if (name == "--bytes") {
      options.bytes = numbers<size_t>(name, text, 4, size_t{1} << 32);
    } else if (name == "--backends") {
      options.backends = split(text);
    } else if (name == "--seconds") {
      options.seconds = number<double>(name, text, 0.01, 3600);
    } else if (name == "--buffers" && (text == "arena" || text == "heap")) {
      options.heap = text == "heap";
    } else if (name == "--kills") {
      options.kills = number<int>(name, text, 1, 1000000);
    } else if (name == "--host") {
      options.host = text;
    } else if (name == "--as-rank") {
      options.as_rank = number<int>(name, text, 0, 63);
    } else if (name == "--of") {
      options.of = number<int>(name, text, 1, 64);
    } else {
      throw usage_error("'" + name + " " + text + "' is not understood");
    }
  }
  for (const std::string& name : options.backends) {
    gpu::make_backend(
        name); // fails for an unknown name before any process starts
  }
  return options;
}

} // namespace ballast::cli
