#include "collectives/add.hpp"

#include "collectives/bfloat16.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ballast::collectives {

namespace {

// Signature of all variants: target = source 0 + source 1 + ... over bytes
// [begin, end), which are whole elements.
using sum_function = void (*)(void* target, const void* const* sources,
                              size_t ways, size_t begin, size_t end);

struct variant {
  std::string name;
  sum_function sum32;
  sum_function sum64;
};

template <class T>
T load(const void* memory, size_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(memory) + at, sizeof(T));
  return value;
}

template <class T>
void store(void* memory, size_t at, T value) {
  std::memcpy(static_cast<char*>(memory) + at, &value, sizeof(T));
}

// The reference, without compiler vectorisation.
template <class T>
void sum_scalar(void* target, const void* const* sources, size_t ways,
                size_t begin, size_t end) {
  for (size_t at = begin; at < end; at += sizeof(T)) {
    T sum = load<T>(sources[0], at);
    for (size_t w = 1; w < ways; ++w) {
      sum += load<T>(sources[w], at);
    }
    store<T>(target, at, sum);
  }
}

#if defined(__x86_64__)

inline const char* at_byte(const void* memory, size_t at) {
  return static_cast<const char*>(memory) + at;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none.
// A macro because target attributes do not pass through templates: one body for
// every vector width and element. Two vectors at a time hide the latency of the
// addition when there are many sources.
#define BALLAST_SUM_VECTOR(NAME, TARGET, SCALAR, VECTOR, LOAD, STORE, ADD)     \
  __attribute__((target(TARGET))) void NAME(                                   \
      void* target, const void* const* sources, size_t ways, size_t begin,     \
      size_t end) {                                                            \
    constexpr size_t width = sizeof(VECTOR);                                   \
    size_t at = begin;                                                         \
    for (; at + 2 * width <= end; at += 2 * width) {                           \
      VECTOR low =                                                             \
          LOAD(reinterpret_cast<const SCALAR*>(at_byte(sources[0], at)));      \
      VECTOR high = LOAD(                                                      \
          reinterpret_cast<const SCALAR*>(at_byte(sources[0], at + width)));   \
      for (size_t w = 1; w < ways; ++w) {                                      \
        low = ADD(low, LOAD(reinterpret_cast<const SCALAR*>(                   \
                           at_byte(sources[w], at))));                         \
        high = ADD(high, LOAD(reinterpret_cast<const SCALAR*>(                 \
                             at_byte(sources[w], at + width))));               \
      }                                                                        \
      char* out = static_cast<char*>(target) + at;                             \
      STORE(reinterpret_cast<SCALAR*>(out), low);                              \
      STORE(reinterpret_cast<SCALAR*>(out + width), high);                     \
    }                                                                          \
    sum_scalar<SCALAR>(target, sources, ways, at, end);                        \
  }
// NOLINTEND(bugprone-macro-parentheses)

BALLAST_SUM_VECTOR(sum32_avx512, "avx512f", float, __m512, _mm512_loadu_ps,
                   _mm512_storeu_ps, _mm512_add_ps)
BALLAST_SUM_VECTOR(sum64_avx512, "avx512f", double, __m512d, _mm512_loadu_pd,
                   _mm512_storeu_pd, _mm512_add_pd)
BALLAST_SUM_VECTOR(sum32_avx2, "avx2", float, __m256, _mm256_loadu_ps,
                   _mm256_storeu_ps, _mm256_add_ps)
BALLAST_SUM_VECTOR(sum64_avx2, "avx2", double, __m256d, _mm256_loadu_pd,
                   _mm256_storeu_pd, _mm256_add_pd)

#undef BALLAST_SUM_VECTOR

#endif

const std::vector<variant>& variants() {
  static const std::vector<variant> found = [] {
    std::vector<variant> all;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
      all.push_back({"avx512", sum32_avx512, sum64_avx512});
    }
    if (__builtin_cpu_supports("avx2")) {
      all.push_back({"avx2", sum32_avx2, sum64_avx2});
    }
#endif
    all.push_back({"scalar", sum_scalar<float>, sum_scalar<double>});
    return all;
  }();
  return found;
}

std::atomic<const variant*> chosen{nullptr};

const variant& current() {
  const variant* v = chosen.load(std::memory_order_acquire);
  return v != nullptr ? *v : variants().front();
}

void sum_bfloat16(void* target, const void* const* sources, size_t ways,
                  size_t begin, size_t end) {
  for (size_t at = begin; at < end; at += sizeof(uint16_t)) {
    float sum = from_bfloat16(load<uint16_t>(sources[0], at));
    for (size_t w = 1; w < ways; ++w) {
      sum += from_bfloat16(load<uint16_t>(sources[w], at));
    }
    store<uint16_t>(target, at, to_bfloat16(sum));
  }
}

} // namespace

void sum_of(void* target, std::span<const void* const> sources, size_t count,
            element_type type) {
  size_t end = count * size_of(type);
  switch (type) {
  case element_type::float32:
    return current().sum32(target, sources.data(), sources.size(), 0, end);
  case element_type::float64:
    return current().sum64(target, sources.data(), sources.size(), 0, end);
  case element_type::bfloat16:
    return sum_bfloat16(target, sources.data(), sources.size(), 0, end);
  }
}

void add_into(void* target, const void* source, size_t count,
              element_type type) {
  const void* both[] = {target, source};
  sum_of(target, both, count, type);
}

std::span<const std::string> add_variants() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const variant& v : variants()) {
      out.push_back(v.name);
    }
    return out;
  }();
  return names;
}

void use_add_variant(const std::string& name) {
  for (const variant& v : variants()) {
    if (v.name == name) {
      chosen = &v;
      return;
    }
  }
  throw std::invalid_argument("this processor has no variant '" + name + "'");
}

} // namespace ballast::collectives
