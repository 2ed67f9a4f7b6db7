#include "data/source/row_file.hpp"

#include "data/store/chunk.hpp"
#include "runtime/base/fault_point.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace ballast::data {

nameless_file::nameless_file(std::filesystem::path path, refusal refuse)
    : path_(std::move(path)), refuse_(refuse),
      file_(
          ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (!file_ || ::unlink(path_.c_str()) != 0)
    refuse_(path_, errno);
}

void nameless_file::write(uint64_t at, const void* bytes, size_t count) {
  if (int fault = fault_point("cache.write"))
    refuse_(path_, fault);
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t done = ::pwrite(file_.get(), from, count, off_t(at));
    if (done < 0 && errno != EINTR)
      refuse_(path_, errno);
    if (done <= 0)
      continue;
    from += done;
    at += uint64_t(done);
    count -= size_t(done);
  }
}

void nameless_file::read(uint64_t at, void* bytes, size_t count) const {
  auto* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t done = ::pread(file_.get(), to, count, off_t(at));
    if (done == 0)
      refuse_(path_, EIO); // nobody else can have cut it
    if (done < 0 && errno != EINTR)
      refuse_(path_, errno);
    if (done < 0)
      continue;
    to += done;
    at += uint64_t(done);
    count -= size_t(done);
  }
}

void row_file::are_of(uint32_t features, ledger::stored_type stored) {
  stored_ = stored;
  row_bytes_ = features * stored_bytes(stored);
}

} // namespace ballast::data
