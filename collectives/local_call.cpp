#include "collectives/local_call.hpp"

#include "collectives/bfloat16.hpp"

#include <cstring>

namespace ballast::collectives {

namespace {

template <class T>
void sum_range(const std::vector<call>& calls, slice range) {
  for (size_t i = range.begin; i < range.end; ++i) {
    T sum = 0;
    for (const call& c : calls) {
      sum += static_cast<const T*>(c.data)[i];
    }
    for (const call& c : calls) {
      static_cast<T*>(c.data)[i] = sum;
    }
  }
}

void sum_range_bfloat16(const std::vector<call>& calls, slice range) {
  for (size_t i = range.begin; i < range.end; ++i) {
    float sum = 0;
    for (const call& c : calls) {
      sum += from_bfloat16(static_cast<const uint16_t*>(c.data)[i]);
    }
    for (const call& c : calls) {
      static_cast<uint16_t*>(c.data)[i] = to_bfloat16(sum);
    }
  }
}

void sum(const std::vector<call>& calls, slice range) {
  switch (calls.front().type) {
  case element_type::float32:
    return sum_range<float>(calls, range);
  case element_type::float64:
    return sum_range<double>(calls, range);
  case element_type::bfloat16:
    return sum_range_bfloat16(calls, range);
  }
}

/// Copies bytes [begin, end) of rank `from` to every rank.
void spread(const std::vector<call>& calls, int from, size_t begin,
            size_t end) {
  const char* source = static_cast<const char*>(calls[from].data);
  for (size_t r = 0; r < calls.size(); ++r) {
    if (static_cast<int>(r) != from && begin < end) {
      std::memcpy(static_cast<char*>(calls[r].data) + begin, source + begin,
                  end - begin);
    }
  }
}

void sum_in_order(const std::vector<call>& calls) {
  std::vector<rank_parts> parts;
  for (const call& c : calls) {
    parts.push_back(c.parts);
  }
  const call& first = calls.front();
  add_in_order(*first.how, parts, 0, static_cast<float*>(first.data),
               first.count);
  spread(calls, 0, 0, first.count * sizeof(float));
}

void exchange_blocks(const std::vector<call>& calls) {
  const size_t bytes = calls.front().count;
  for (size_t to = 0; to < calls.size() && bytes > 0; ++to) {
    for (size_t from = 0; from < calls.size(); ++from) {
      std::memcpy(static_cast<char*>(calls[to].data) + from * bytes,
                  static_cast<const char*>(calls[from].blocks) + to * bytes,
                  bytes);
    }
  }
}

} // namespace

void perform(const std::vector<call>& calls) {
  const call& first = calls.front();
  const int size = static_cast<int>(calls.size());
  switch (first.what) {
  case call_kind::none:
  case call_kind::barrier:
    return;
  case call_kind::reduce:
  case call_kind::scatter: // all ranks get all sums: more than requested
    return sum(calls, {0, first.count});
  case call_kind::gather:
    for (int r = 0; r < size; ++r) {
      slice part = slice_of(first.count, r, size);
      spread(calls, r, part.begin * size_of(first.type),
             part.end * size_of(first.type));
    }
    return;
  case call_kind::sum_in_order:
    return sum_in_order(calls);
  case call_kind::all_to_all:
    return exchange_blocks(calls);
  case call_kind::broadcast:
    return spread(calls, first.root, 0, first.count);
  }
}

} // namespace ballast::collectives
