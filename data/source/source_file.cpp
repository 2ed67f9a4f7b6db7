#include "data/source/source_file.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <glob.h>
#include <sys/stat.h>
#include <zlib.h>

namespace ballast::data {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why,
                         const std::string& pointer) {
  throw ballast_error(errc::invalid_data, printable(path) + ": " + why,
                      pointer);
}

/// Decodes "%20" and the like, as in every URI.
std::string percent_decoded(const std::string& uri, const std::string& text,
                            const std::string& pointer) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    unsigned byte = 0;
    const char* digits = text.data() + std::min(at + 1, text.size());
    const char* end = text.data() + std::min(at + 3, text.size());
    const auto [rest, error] = std::from_chars(digits, end, byte, 16);
    if (error != std::errc{} || rest != digits + 2 || byte == 0)
      refuse(uri,
             "a % of a URI stands before two hex digits; write %25 for "
             "the character itself, or give the path without file://",
             pointer);
    out += char(byte);
    at += 2;
  }
  return out;
}

/// The path inside a file:// URI; other text unchanged.
std::string path_of(const std::string& uri, const std::string& pointer) {
  const size_t colon = uri.find("://");
  if (colon == std::string::npos)
    return uri;
  const std::string scheme = uri.substr(0, colon);
  if (scheme != "file")
    throw ballast_error(errc::not_in_build,
                        "'" + uri + "': reading from " + scheme +
                            ":// is not in this build; copy the files and "
                            "name their path",
                        pointer);
  const std::string rest = uri.substr(colon + 3);
  const size_t slash = rest.find('/');
  const std::string host = rest.substr(0, slash);
  if (slash == std::string::npos || !(host.empty() || host == "localhost"))
    refuse(uri, "expected file:///absolute/path", pointer);
  return percent_decoded(uri, rest.substr(slash), pointer);
}

bool is_regular(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && !S_ISDIR(about.st_mode);
}

bool leads_nowhere(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0 && stat(path.c_str(), &about) != 0;
}

} // namespace

std::vector<std::string> expand_uri(const std::string& uri,
                                    const std::string& pointer) {
  const std::string path = path_of(uri, pointer);
  // An existing name is taken literally, brackets and stars included.
  if (is_regular(path) || path.find_first_of("*?[") == std::string::npos)
    return {path};
  glob_t found{};
  const int result = glob(path.c_str(), 0, nullptr, &found);
  std::vector<std::string> out;
  std::string lost;
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i)
    if (is_regular(found.gl_pathv[i]))
      out.emplace_back(found.gl_pathv[i]);
    else if (lost.empty() && leads_nowhere(found.gl_pathv[i]))
      lost = found.gl_pathv[i];
  globfree(&found);
  // A disk that is not mounted would silently take its rows with it.
  if (!lost.empty())
    refuse(lost, "is a link that leads nowhere; mend or remove it", pointer);
  if (out.empty())
    refuse(path, "no file matches; check the pattern", pointer);
  return out;
}

file_stamp stamp_of(const std::string& path, const std::string& pointer) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0)
    refuse(path,
           errno == ENOENT ? "there is no such file; check the path"
           : errno == ENAMETOOLONG
               ? "the path is too long; a name may have 255 bytes, a path 4095"
               : std::string("cannot be opened: ") + std::strerror(errno),
           pointer);
  if (S_ISDIR(about.st_mode))
    refuse(path, "is a folder; name a file, or a glob such as *.csv", pointer);
  // Only regular files, because a source is read more than once: for its hash,
  // for its rows, and after damage.
  if (!S_ISREG(about.st_mode))
    refuse(path,
           std::string(S_ISFIFO(about.st_mode)   ? "is a pipe"
                       : S_ISSOCK(about.st_mode) ? "is a socket"
                                                 : "is a device") +
               "; expected a file, which can be read more than once",
           pointer);
  return {uint64_t(about.st_size),
          int64_t(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec,
          uint64_t(about.st_ino)};
}

struct source_file::stream {
  gzFile file = nullptr;
  uint64_t packed_bytes = 0;
  uint64_t taken_bytes = 0;
};

source_file::source_file(std::string path, std::string pointer,
                         store::work_watch stop)
    : path_(std::move(path)), pointer_(std::move(pointer)),
      stop_(std::move(stop)), stream_(std::make_unique<stream>()) {
  stream_->packed_bytes = stamp_of(path_, pointer_).size;
  stream_->file = gzopen(path_.c_str(), "rbe");
  if (stream_->file == nullptr)
    refuse(path_, std::string("cannot be opened: ") + std::strerror(errno),
           pointer_);
  gzbuffer(stream_->file, 1 << 18);
}

source_file::~source_file() {
  gzclose_r(stream_->file);
}

size_t source_file::read(void* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    check_stop(stop_);
    const auto step = unsigned(std::min<size_t>(bytes - done, size_t{1} << 22));
    const int got = gzread(stream_->file, static_cast<char*>(to) + done, step);
    int code = Z_OK;
    const char* message = gzerror(stream_->file, &code);
    if (code == Z_BUF_ERROR)
      refuse(path_,
             "is truncated: the gzip stream breaks off after " +
                 std::to_string(stream_->taken_bytes + done +
                                size_t(std::max(got, 0))) +
                 " unpacked bytes; fetch the file again",
             pointer_);
    if (got < 0)
      refuse(path_,
             std::string("cannot be read: ") +
                 (code == Z_ERRNO ? std::strerror(errno) : message),
             pointer_);
    if (got == 0)
      break;
    done += size_t(got);
  }
  stream_->taken_bytes += done;
  return done;
}

uint64_t source_file::bytes_at_most() const {
  if (gzdirect(stream_->file) != 0)
    return stream_->packed_bytes - stream_->taken_bytes;
  // Deflate compresses at most 1032 to one.
  return (stream_->packed_bytes + 1) * 1032;
}

} // namespace ballast::data
