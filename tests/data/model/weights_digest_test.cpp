// Goal: the digest of parameters tells whether they are the same, however they
// are cut and by however many threads it is made. Method: some blocks of it.
#include "data/model/weights_digest.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ballast::data {
namespace {

class weights_digests : public ::testing::Test {
protected:
  std::vector<tensor_view> all() const {
    return {{"b", {int64_t(large.size())}, large},
            {"a", {2}, small},
            {"c", {0}, {}}};
  }
  std::string streamed(size_t piece) const {
    weights_digest out;
    for (const std::vector<float>* one : {&small, &large}) {
      const std::string_view bytes(reinterpret_cast<const char*>(one->data()),
                                   one->size() * sizeof(float));
      for (size_t at = 0; at < bytes.size(); at += piece)
        out.update(bytes.substr(at, piece));
    }
    return out.hex_digest();
  }

  std::vector<float> small{1, 2};
  std::vector<float> large = std::vector<float>((36 << 20) + 3, 1.5F);
};

TEST_F(weights_digests, do_not_depend_on_threads_or_pieces) {
  const std::string expected = digest_of(all(), 1);
  EXPECT_EQ(expected.size(), 16u);
  for (const uint32_t threads : {0U, 2U, 7U})
    EXPECT_EQ(digest_of(all(), threads), expected) << threads;
  for (const size_t piece : {size_t{1} << 20, size_t{1} << 40})
    EXPECT_EQ(streamed(piece), expected) << piece;
}

TEST_F(weights_digests, tell_of_each_bit) {
  const std::string before = digest_of(all(), 2);
  large.back() = -large.back();
  const std::string after = digest_of(all(), 2);
  EXPECT_NE(after, before);
  large.back() = -large.back();
  small[0] = 3;
  EXPECT_NE(digest_of(all(), 2), before);
  EXPECT_NE(digest_of(all(), 2), after);
}

TEST_F(weights_digests, of_nothing_are_all_the_same) {
  EXPECT_EQ(digest_of({}, 2), weights_digest().hex_digest());
}

} // namespace
} // namespace ballast::data
