/// Memory that another's code says it has: whether it is there is seen by
/// reading a byte of each page, so that a pointer to nowhere ends the process
/// while a crash_note says whose it is, and not when somebody uses the values.
/// Includes Arrow; for source files of data/operators/ only. Any thread.
#pragma once

#include <arrow/c/abi.h>
#include <arrow/type_fwd.h>

namespace ballast::data {

/// What Arrow reads when it imports an array, and values of fixed width.
/// Precondition: its lengths are not negative and its children are there.
void touch_fixed(const ArrowArray& what, const arrow::DataType& type);

/// All buffers of an imported array, such as the characters of texts.
void touch_all(const arrow::ArrayData& what);

} // namespace ballast::data
