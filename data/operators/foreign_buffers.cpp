#include "data/operators/foreign_buffers.hpp"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <cstdint>

namespace ballast::data {

namespace {

void touch(const void* memory, int64_t bytes) {
  constexpr int64_t page = 4096;
  if (memory == nullptr || bytes <= 0)
    return; // Arrow says what is missing
  const auto* at = static_cast<const volatile uint8_t*>(memory);
  for (int64_t i = 0; i < bytes; i += page)
    static_cast<void>(at[i]);
  static_cast<void>(at[bytes - 1]);
}

} // namespace

void touch_fixed(const ArrowArray& what, const arrow::DataType& type) {
  const int64_t values = what.length + what.offset;
  if (values == 0)
    return;
  const bool has_offsets = arrow::is_base_binary_like(type.id()) ||
                           arrow::is_var_length_list(type.id());
  const arrow::DataTypeLayout layout = type.layout();
  const auto buffers = std::min(size_t(what.n_buffers), layout.buffers.size());
  for (size_t i = 0; i < buffers; ++i)
    switch (layout.buffers[i].kind) {
    case arrow::DataTypeLayout::BITMAP:
      touch(what.buffers[i], (values + 7) / 8);
      break;
    case arrow::DataTypeLayout::FIXED_WIDTH:
      touch(what.buffers[i],
            (values + (has_offsets ? 1 : 0)) * layout.buffers[i].byte_width);
      break;
    default: // nobody knows yet how much it is
      break;
    }
  const int children =
      int(std::min(what.n_children, int64_t(type.num_fields())));
  for (int i = 0; i < children; ++i)
    touch_fixed(*what.children[i], *type.field(i)->type());
}

void touch_all(const arrow::ArrayData& what) {
  for (const std::shared_ptr<arrow::Buffer>& one : what.buffers)
    if (one != nullptr)
      touch(one->data(), one->size());
  for (const std::shared_ptr<arrow::ArrayData>& child : what.child_data)
    touch_all(*child);
}

} // namespace ballast::data
