#include "cli/library_answer.hpp"

#include "runtime/base/errors.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace ballast::cli {

library_answer::library_answer()
    : memory_(::memfd_create("ballast-answer", MFD_CLOEXEC)) {
  if (!memory_)
    throw ballast_error(errc::device_failed,
                        std::string("memory for an answer cannot be had: ") +
                            std::strerror(errno));
}

std::string library_answer::text() const {
  std::string out(size_t(::lseek(memory_.get(), 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(memory_.get(), out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : size_t(got));
  return out;
}

} // namespace ballast::cli
