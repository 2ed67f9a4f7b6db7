#include "store/damaged_tail.hpp"

#include "runtime/base/unique_fd.hpp"
#include "store/refuse_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

namespace ballast::store {

namespace {

namespace fs = std::filesystem;

std::string why_damaged(const std::string& line, bool ends, const char* key,
                        uint64_t number) {
  if (line.find('\0') != std::string::npos)
    return "it has zero bytes";
  if (!ends)
    return "it does not end";
  nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
  if (!value.is_object())
    return "it is no JSON object";
  if (!value.contains(key) || value[key] != number)
    return std::string("its ") + key + " is not " + std::to_string(number);
  return {};
}

void write_all(const fs::path& path, const std::string& bytes) {
  unique_fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file)
    refuse_file(path, "make", errno);
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count =
        ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      int number = errno;
      ::unlink(path.c_str());
      refuse_file(path, "write", number);
    }
    done += size_t(count);
  }
  if (::fdatasync(file.get()) != 0)
    refuse_file(path, "sync", errno);
}

} // namespace

fs::path damaged_name(const fs::path& file) {
  std::error_code ignored;
  for (int number = 1;; ++number) {
    fs::path out = file.string() + ".damaged-" + std::to_string(number);
    if (!fs::exists(out, ignored))
      return out;
  }
}

std::optional<damaged_tail> cut_damaged_tail(const fs::path& file,
                                             const char* key) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return std::nullopt;
  damaged_tail out;
  uint64_t whole = 0;
  for (std::string line; out.why.empty() && std::getline(in, line);) {
    ++out.line;
    bool ends = !in.eof();
    out.why = why_damaged(line, ends, key, out.line);
    if (out.why.empty())
      whole += line.size() + 1;
  }
  if (out.why.empty())
    return std::nullopt;
  in.clear();
  in.seekg(std::streamoff(whole));
  std::string tail(std::istreambuf_iterator<char>(in), {});
  out.bytes = tail.size();
  out.kept = damaged_name(file);
  write_all(out.kept, tail);
  if (::truncate(file.c_str(), off_t(whole)) != 0)
    refuse_file(file, "shorten", errno);
  return out;
}

} // namespace ballast::store
