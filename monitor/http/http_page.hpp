/// The web page of a coordinator: shows /v1/status and /v1/events, and keeps
/// itself fresh. It needs nothing from elsewhere. The files lie in
/// monitor/page/ and are compiled in.
#pragma once

#include <span>
#include <string_view>

namespace ballast {

struct page_file {
  std::string_view name; // index.html is served at /, the others at /page/NAME
  std::string_view content;
};

std::span<const page_file> page_files();

/// By the ending of a file's name.
std::string_view content_type(std::string_view name);

} // namespace ballast
