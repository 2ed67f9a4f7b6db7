#include "monitor/http/http_page.hpp"

#include "runtime/base/check.hpp"

#include <string>

namespace ballast::monitor {

std::string_view content_type(std::string_view name) {
  if (name.ends_with(".html"))
    return "text/html; charset=utf-8";
  if (name.ends_with(".css"))
    return "text/css; charset=utf-8";
  if (name.ends_with(".js"))
    return "text/javascript; charset=utf-8";
  BALLAST_CHECK(name.ends_with(".svg"),
                "no content type for " + std::string(name));
  return "image/svg+xml";
}

} // namespace ballast::monitor
