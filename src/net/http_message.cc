#include "base/ascii.h"
#include "net/http_server.h"

namespace lockstep::net {

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (AsciiLower(header.name) == AsciiLower(name)) return header.value;
  }
  return {};
}

std::string_view HttpRequest::Path() const { return std::string_view(target).substr(0, target.find('?')); }

std::string_view HttpRequest::Query() const {
  size_t mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

}  // namespace lockstep::net
