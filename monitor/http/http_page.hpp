/// The web page of a coordinator: shows /v1/status and /v1/events and refreshes
/// itself. It loads nothing from other servers. The files are in monitor/page/
/// and are compiled in.
#pragma once

#include <span>
#include <string_view>

namespace ballast::monitor {

struct page_file {
  std::string_view name; // index.html is served at /, the others at /page/NAME
  std::string_view content;
};

std::span<const page_file> page_files();
/// What reports and comparisons (monitor/report_page.hpp) have of their own.
std::span<const page_file> report_files();

/// By the extension of a file name.
std::string_view content_type(std::string_view name);

} // namespace ballast::monitor
