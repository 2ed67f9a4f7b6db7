#include "monitor/http/http_access.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>

namespace ballast::monitor {

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) {
                      return std::tolower(x) == std::tolower(y);
                    });
}

bool is_literal_address(std::string_view host) {
  std::string text(host);
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), address) == 1;
}

} // namespace

std::string_view host_part(std::string_view host_header) {
  if (!host_header.empty() && host_header.front() == '[') {
    size_t end = host_header.find(']');
    return end == std::string_view::npos ? std::string_view()
                                         : host_header.substr(1, end - 1);
  }
  return host_header.substr(0, host_header.find(':'));
}

bool host_allowed(std::string_view host_header, std::string_view bound_host,
                  std::string_view machine_name) {
  std::string_view host = host_part(host_header);
  if (host.empty())
    return false;
  for (std::string_view name :
       {bound_host, std::string_view("localhost"),
        std::string_view("127.0.0.1"), std::string_view("::1")})
    if (equal_ignoring_case(host, name))
      return true;
  bool everywhere = bound_host == "0.0.0.0" || bound_host == "::";
  return everywhere &&
         (is_literal_address(host) ||
          (!machine_name.empty() && equal_ignoring_case(host, machine_name)));
}

bool origin_allowed(std::string_view origin, std::string_view host_header) {
  constexpr std::string_view scheme = "http://";
  return origin.empty() ||
         (origin.substr(0, scheme.size()) == scheme &&
          equal_ignoring_case(origin.substr(scheme.size()), host_header));
}

bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t'))
    type.remove_suffix(1);
  return equal_ignoring_case(type, "application/json");
}

} // namespace ballast::monitor
