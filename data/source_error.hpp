/// What is wrong with a source, in two parts: the message names file, row,
/// column and what was expected, and may be read by everybody who can ask for a
/// job; the detail is content of the file, for those who can read it anyway.
/// what() has both.
#pragma once

#include "runtime/base/errors.hpp"

#include <string>
#include <utility>

namespace ballast {

class source_error : public ballast_error {
public:
  source_error(const std::string& message, const std::string& pointer,
               std::string detail)
      : ballast_error(errc::invalid_data, message, pointer),
        detail_(std::move(detail)),
        text_(detail_.empty() ? message : message + " (" + detail_ + ")") {}

  const std::string& detail() const { return detail_; }
  const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string detail_;
  std::string text_;
};

} // namespace ballast
