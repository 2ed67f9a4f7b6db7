#include "data/base/arrow_support.hpp"

#include "store/refuse_file.hpp"

#include <arrow/util/io_util.h>

namespace ballast::data {

void check_arrow(const arrow::Status& status, errc code,
                 const std::string& context) {
  if (status.ok())
    return;
  const int number = arrow::internal::ErrnoFromStatus(status);
  if (store::means_disk_full(number))
    throw ballast_error(errc::disk_full,
                        context + ": the disk is full (" + status.message() +
                            "); make room or point $BALLAST_CACHE elsewhere");
  throw ballast_error(code, context + ": " + status.message());
}

} // namespace ballast::data
