/// The keys of one type of control message, as fields: which key goes to which
/// member of its struct. The type of a key is that of the member. Pure values.
#pragma once

#include "runtime/job/field.hpp"

#include <string>
#include <utility>
#include <vector>

namespace ballast {

template <class Request>
class request_keys {
public:
  /// A key that every message of the type has.
  template <class T>
  request_keys& must(const std::string& key, T Request::*member,
                     std::string doc) {
    add(key, member, std::move(doc)).required = true;
    return *this;
  }
  /// A key that may be left out; the member stays as it is then.
  template <class T>
  request_keys& may(const std::string& key, T Request::*member,
                    std::string doc) {
    add(key, member, std::move(doc));
    return *this;
  }
  operator std::vector<field>() const { return fields_; } // NOLINT: its end

private:
  template <class T>
  field& add(const std::string& key, T Request::*member, std::string doc) {
    field& out = append_field<Request>(
        fields_, "/" + key,
        [member](Request& of) -> field_place { return &(of.*member); },
        std::move(doc));
    out.type_only = true;
    out.mistake = errc::bad_request;
    return out;
  }

  std::vector<field> fields_;
};

} // namespace ballast
