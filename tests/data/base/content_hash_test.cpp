#include "data/base/content_hash.hpp"
#include "data/store/chunk.hpp"

#include <gtest/gtest.h>

namespace ballast::data {
namespace {

std::string hash_of(const std::string& text) {
  return checksum(text.data(), text.size());
}

// Published vectors of XXH64 with seed 0: every tail length class.
TEST(content_hash, agrees_with_published_vectors) {
  EXPECT_EQ(hash_of(""), "ef46db3751d8e999");
  EXPECT_EQ(hash_of("a"), "d24ec4f1a98c6e5b");
  EXPECT_EQ(hash_of("abc"), "44bc2cf5ad770999");
  EXPECT_EQ(hash_of("Nobody inspects the spammish repetition"),
            "fbcea83c8a378bf1");
}

TEST(content_hash, does_not_depend_on_how_it_is_fed) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += char(i * 37);
  for (size_t step : {1, 3, 31, 32, 33, 64, 299}) {
    content_hash hash;
    for (size_t at = 0; at < text.size(); at += step)
      hash.update(std::string_view(text).substr(at, step));
    EXPECT_EQ(hex16(hash.digest()), hash_of(text)) << step;
  }
}

TEST(content_hash, sees_every_single_changed_bit) {
  std::string text(77, 'x');
  const std::string before = hash_of(text);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] ^= char(1 << bit % 8);
    EXPECT_NE(hash_of(text), before) << bit;
    text[bit / 8] ^= char(1 << bit % 8);
  }
}

} // namespace
} // namespace ballast::data
