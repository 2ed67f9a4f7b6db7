// Goal: weights that come piece by piece have the hash of the whole file's,
// however they are cut. Method: files of a few tensors, one of them a buffer.
#include "data/model/streamed_weights.hpp"

#include "runtime/base/errors.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace ballast::data {
namespace {

class streamed : public ::testing::Test {
protected:
  std::vector<float> a = {1, 2, 3}, b = {4, 5}, mean = {6}, none;
  std::vector<tensor_view> weights{
      {"a", {3}, a}, {"b", {2}, b}, {"z", {0}, none}};
  std::string file = [this] {
    std::vector<tensor_view> all = weights;
    all.push_back({"a.mean", {1}, mean});
    return safetensors_bytes(all, {{"buffers", R"(["a.mean"])"}});
  }();

  std::string hash(const std::string& bytes, size_t piece) {
    streamed_weights out("model");
    for (size_t at = 0; at < bytes.size(); at += piece)
      out.update(std::string_view(bytes).substr(at, piece));
    return out.end().sha256;
  }
};

TEST_F(streamed, weights_have_the_hash_of_the_whole_file_without_its_buffers) {
  for (size_t piece :
       {size_t{1}, size_t{3}, size_t{8}, size_t{64}, file.size()})
    EXPECT_EQ(hash(file, piece), weights_sha256(weights)) << piece;
}

TEST_F(streamed, weights_of_a_file_that_ends_early_or_goes_on_are_refused) {
  EXPECT_THROW(hash(file.substr(0, file.size() - 1), 8), ballast_error);
  EXPECT_THROW(hash(file + "x", 8), ballast_error);
  EXPECT_THROW(hash(file.substr(0, 5), 8), ballast_error);
  EXPECT_THROW(hash("", 8), ballast_error);
}

TEST_F(streamed, weights_of_a_header_that_is_none_are_refused) {
  EXPECT_THROW(hash(std::string(16, '\xff'), 8), ballast_error);
  EXPECT_THROW(hash(std::string("\x04\0\0\0\0\0\0\0abcd", 12), 8),
               ballast_error);
}

} // namespace
} // namespace ballast::data
