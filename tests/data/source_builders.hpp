/// Jobs and source files for tests of data/.
#pragma once

#include "runtime/job/job.hpp"
#include "tests/data/some_chunks.hpp"

#include <cstring>
#include <string>
#include <vector>
#include <zlib.h>

namespace ballast::data {

inline std::string big_endian(uint32_t number) {
  return {char(number >> 24), char(number >> 16), char(number >> 8),
          char(number)};
}

/// An IDX file: type byte, dimensions, payload as given.
inline std::string idx_bytes(unsigned char type,
                             const std::vector<uint32_t>& dimensions,
                             const std::string& payload) {
  std::string out{0, 0, char(type), char(dimensions.size())};
  for (uint32_t dimension : dimensions)
    out += big_endian(dimension);
  return out + payload;
}

/// `rows` images of 2 x 3 bytes: pixel j of image i = (i * 6 + j) % 256.
inline std::string idx_images(uint32_t rows) {
  std::string pixels;
  for (uint32_t i = 0; i < rows * 6; ++i)
    pixels += char(i % 256);
  return idx_bytes(8, {rows, 2, 3}, pixels);
}

/// Label i = i % classes.
inline std::string idx_labels(uint32_t rows, uint32_t classes) {
  std::string labels;
  for (uint32_t i = 0; i < rows; ++i)
    labels += char(i % classes);
  return idx_bytes(8, {rows}, labels);
}

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline source_spec idx_source(const std::string& images,
                              const std::string& labels) {
  source_spec out;
  out.format = source_format::idx;
  out.images = images;
  out.labels = labels;
  return out;
}

inline source_spec table_source(source_format format, const std::string& uri,
                                const std::string& label,
                                std::vector<std::string> features = {}) {
  source_spec out;
  out.format = format;
  out.uri = uri;
  out.label = label;
  out.features = std::move(features);
  return out;
}

inline source_spec synthetic_source(uint64_t rows, uint32_t classes,
                                    uint32_t width) {
  source_spec out;
  out.format = source_format::synthetic;
  out.rows = rows;
  out.classes = classes;
  out.width = width;
  return out;
}

/// Two workers, no test set, chunks of `chunk_rows`.
inline job job_of(source_spec train, uint32_t chunk_rows = 4) {
  job out;
  out.seed = 7;
  out.data.train = std::move(train);
  out.data.test_fraction = 0;
  out.data.chunk_rows = chunk_rows;
  out.elastic.workers = 2;
  return out;
}

} // namespace ballast::data
