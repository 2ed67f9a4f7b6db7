#include "data/source/libpq.hpp"

#include <dlfcn.h>
#include <memory>

namespace ballast::data {

namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

} // namespace

const libpq* open_libpq(const char* file) {
  // Local: the driver of ADBC has a libpq of its own in it.
  void* at = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!at)
    return nullptr;
  auto out = std::make_unique<libpq>();
  libpq& all = *out;
  const bool whole =
      find(at, "PQconnectdb", all.connect) &&
      find(at, "PQstatus", all.status) && find(at, "PQfinish", all.finish) &&
      find(at, "PQerrorMessage", all.error_message) &&
      find(at, "PQsetNoticeReceiver", all.set_notice_receiver) &&
      find(at, "PQexec", all.execute) &&
      find(at, "PQgetResult", all.next_result) &&
      find(at, "PQgetCopyData", all.get_copy_data) &&
      find(at, "PQfreemem", all.free_memory) &&
      find(at, "PQresultStatus", all.result_status) &&
      find(at, "PQresultErrorField", all.result_field) &&
      find(at, "PQresultErrorMessage", all.result_message) &&
      find(at, "PQntuples", all.row_count) &&
      find(at, "PQnfields", all.field_count) &&
      find(at, "PQgetisnull", all.is_null) &&
      find(at, "PQgetvalue", all.value) &&
      find(at, "PQgetlength", all.length) && find(at, "PQclear", all.clear) &&
      find(at, "PQgetCancel", all.get_cancel) &&
      find(at, "PQcancel", all.cancel) &&
      find(at, "PQfreeCancel", all.free_cancel);
  if (!whole) {
    dlclose(at);
    return nullptr;
  }
  return out.release(); // as long as the library: for ever
}

const libpq* libpq_here() {
  static const libpq* const here = open_libpq("libpq.so.5");
  return here;
}

} // namespace ballast::data
