/// An error in a source, in two parts. The message names file, row, column and
/// the expected content, and may be shown to everyone who can submit a job; the
/// detail quotes the file, for users who can read it anyway. what() has both.
#pragma once

#include "runtime/base/errors.hpp"

#include <string>
#include <utility>

namespace ballast::data {

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

} // namespace ballast::data
