/// What a command of the node library answers besides its exit code: a text, in
/// memory. Its number goes along with the request.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <string>

namespace ballast::cli {

class library_answer {
public:
  /// Throws device_failed.
  library_answer();

  int descriptor() const { return memory_.get(); }
  std::string text() const;

private:
  unique_fd memory_;
};

} // namespace ballast::cli
