/// Goal: what is trained on is what the files show, in the order of their
/// names, on any number of threads; and what is wrong with a file is said with
/// its name. Method: images and archives that are encoded here.
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/source/image_codec.hpp"
#include "data/source/image_folder.hpp"
#include "data/source/image_rows.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_table.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/manifest.hpp"
#include "tests/data/source/image_files.hpp"
#include "tests/data/source_builders.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr colour red{200, 10, 20};
constexpr colour green{30, 210, 40};
constexpr colour blue{50, 60, 220};

std::vector<unsigned char> decoded(const std::string& file, image_size to) {
  std::vector<unsigned char> out(3 * to.height * to.width);
  decode_image(
      {reinterpret_cast<const unsigned char*>(file.data()), file.size()}, to,
      out.data());
  return out;
}

std::string refusal_of_images(const std::string& file) {
  try {
    decoded(file, {4, 4});
  } catch (const image_refusal& why) {
    return why.what();
  }
  return "taken";
}

/// One plane of a row.
std::vector<int> plane(const std::vector<unsigned char>& row, size_t number) {
  const size_t each = row.size() / 3;
  return {row.begin() + ptrdiff_t(number * each),
          row.begin() + ptrdiff_t((number + 1) * each)};
}

TEST(image_codec, keeps_every_pixel_of_a_png_that_has_the_size_already) {
  const std::string file =
      png_of({2, 3}, pixels_of({2, 3}, [](auto y, auto x) {
               return colour{uint8_t(10 * y + x), uint8_t(100 + 10 * y + x),
                             uint8_t(200 + 10 * y + x)};
             }));
  const auto row = decoded(file, {2, 3});
  EXPECT_THAT(plane(row, 0), ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(plane(row, 1), ElementsAre(100, 101, 102, 110, 111, 112));
  EXPECT_THAT(plane(row, 2), ElementsAre(200, 201, 202, 210, 211, 212));
}

TEST(image_codec, makes_three_channels_of_every_kind_of_png) {
  const image_size two{1, 2};
  const auto says = [&](const std::string& file) {
    const auto row = decoded(file, two);
    return std::vector<int>(row.begin(), row.end());
  };
  EXPECT_THAT(says(png_of(two, "\x07\x09", SPNG_COLOR_TYPE_GRAYSCALE)),
              ElementsAre(7, 9, 7, 9, 7, 9));
  EXPECT_THAT(
      says(png_of(two, std::string("\x40", 1), SPNG_COLOR_TYPE_GRAYSCALE, 1)),
      ElementsAre(0, 255, 0, 255, 0, 255));
  EXPECT_THAT(says(png_of(two, std::string("\x07\x00\x09\xff", 4),
                          SPNG_COLOR_TYPE_GRAYSCALE_ALPHA)),
              ElementsAre(7, 9, 7, 9, 7, 9))
      << "transparency is dropped, and no colour with it";
  EXPECT_THAT(
      says(png_of(two, std::string("\x01\x02\x03\x00\x04\x05\x06\x80", 8),
                  SPNG_COLOR_TYPE_TRUECOLOR_ALPHA)),
      ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(
      says(png_of(two, std::string("\x00\x01", 2), SPNG_COLOR_TYPE_INDEXED)),
      ElementsAre(10, 40, 20, 50, 30, 60));
}

TEST(image_codec, takes_the_high_byte_of_sixteen_bits) {
  // Written as the machine has them: 0x12ff and 0x0080.
  const auto row = decoded(png_of({1, 2}, std::string("\xff\x12\x80\x00", 4),
                                  SPNG_COLOR_TYPE_GRAYSCALE, 16),
                           {1, 2});
  EXPECT_THAT(plane(row, 0), ElementsAre(0x12, 0x00));
}

TEST(image_codec, makes_three_channels_of_a_grey_jpeg) {
  const auto row = decoded(
      jpeg_of({8, 8}, std::string(64, '\x50'), TJPF_GRAY, TJSAMP_GRAY), {8, 8});
  for (unsigned char value : row)
    EXPECT_EQ(value, 0x50);
}

TEST(image_codec, scales_the_shorter_side_and_takes_the_middle) {
  // Left, middle and right third, of which only the middle is square.
  const image_size size{60, 180};
  const auto thirds = [](uint64_t, uint64_t x) {
    return x < 60 ? red : x < 120 ? green : blue;
  };
  for (const std::string& file : {png_of(size, pixels_of(size, thirds)),
                                  jpeg_of(size, pixels_of(size, thirds))}) {
    const auto row = decoded(file, {20, 20});
    for (size_t y = 0; y < 20; ++y)
      for (size_t x = 2; x < 18; ++x) {
        EXPECT_NEAR(row[y * 20 + x], green.red, 3);
        EXPECT_NEAR(row[400 + y * 20 + x], green.green, 3);
        EXPECT_NEAR(row[800 + y * 20 + x], green.blue, 3);
      }
  }
}

TEST(image_codec, keeps_a_plain_colour_at_any_size) {
  for (const image_size size :
       {image_size{1, 1}, {1, 500}, {500, 1}, {7, 5}, {64, 64}, {301, 207}})
    for (const image_size to : {image_size{1, 1}, {3, 8}, {64, 64}}) {
      const auto row = decoded(png_of(size, plain_pixels(size, red)), to);
      for (size_t i = 0; i < row.size() / 3; ++i)
        ASSERT_EQ((std::vector<int>{row[i], row[row.size() / 3 + i],
                                    row[2 * row.size() / 3 + i]}),
                  (std::vector<int>{red.red, red.green, red.blue}))
            << size.height << " x " << size.width << " to " << to.height
            << " x " << to.width;
    }
}

TEST(image_codec, has_no_moire_where_lines_are_finer_than_pixels) {
  const image_size size{64, 64};
  const auto row = decoded(
      png_of(size,
             pixels_of(size,
                       [](uint64_t, uint64_t x) {
                         return x % 2 == 0 ? colour{} : colour{254, 254, 254};
                       })),
      {4, 4});
  for (unsigned char value : row)
    EXPECT_NEAR(value, 127, 4);
}

TEST(image_codec, decodes_a_large_jpeg_at_a_fraction_as_if_it_were_whole) {
  const image_size size{1500, 2000};
  const auto at = [](uint64_t y, uint64_t x) {
    return colour{uint8_t(x * 255 / 1999), uint8_t(y * 255 / 1499), 99};
  };
  const std::string pixels = pixels_of(size, at);
  const auto fast = decoded(jpeg_of(size, pixels), {64, 64});
  const auto slow = decoded(png_of(size, pixels), {64, 64});
  for (size_t i = 0; i < fast.size(); ++i)
    EXPECT_NEAR(fast[i], slow[i], 4);
}

TEST(image_codec, says_what_a_file_is_that_is_no_image) {
  EXPECT_THAT(refusal_of_images(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of_images("<html>404</html>\n"),
              HasSubstr("is text, no image; expected JPEG or PNG"));
  EXPECT_THAT(refusal_of_images("GIF89a..."), HasSubstr("is a GIF image"));
  EXPECT_THAT(refusal_of_images("RIFF....WEBPVP8 "),
              HasSubstr("is a WebP image"));
  EXPECT_THAT(refusal_of_images(std::string("\x01\x02\x00\x03", 4)),
              HasSubstr("is no image"));
}

TEST(image_codec, refuses_a_torn_file_wherever_it_ends) {
  const image_size size{40, 40};
  const std::string pixels = pixels_of(size, [](uint64_t y, uint64_t x) {
    return colour{uint8_t(37 * x * y), uint8_t(91 * x + y), uint8_t(53 * y)};
  });
  for (const std::string& file : {png_of(size, pixels), jpeg_of(size, pixels)})
    for (size_t length = 8; length < file.size(); length += 61)
      EXPECT_THAT(refusal_of_images(file.substr(0, length)),
                  HasSubstr("is torn"))
          << length << " of " << file.size();
  const std::string png = png_of(size, pixels);
  EXPECT_THAT(refusal_of_images(png.substr(0, png.size() - 12)),
              HasSubstr("is torn"))
      << "without its last mark";
}

TEST(image_codec, refuses_damage_inside_a_png) {
  std::string file = png_of({4, 4}, plain_pixels({4, 4}, blue));
  file[file.size() - 20] ^= 1;
  EXPECT_THAT(refusal_of_images(file), HasSubstr("is torn or damaged"));
}

TEST(image_codec, survives_whatever_stands_in_a_file) {
  const image_size size{24, 31};
  const std::string pixels = pixels_of(size, [](uint64_t y, uint64_t x) {
    return colour{uint8_t(37 * x * y), uint8_t(91 * x + y), uint8_t(53 * y)};
  });
  uint64_t drawn = 0;
  const auto below = [&drawn](uint64_t bound) {
    return counter_random(3, 0).below(bound, drawn++);
  };
  for (const std::string& whole :
       {png_of(size, pixels), jpeg_of(size, pixels, TJPF_RGB, TJSAMP_420)})
    for (int round = 0; round < 500; ++round) {
      std::string file = whole;
      for (uint64_t changes = 1 + below(3); changes > 0; --changes)
        file[below(file.size())] = char(below(256));
      refusal_of_images(file); // or it is taken: a pixel may be any other
    }
}

TEST(image_codec, takes_no_tables_from_the_file_before) {
  const std::string whole = jpeg_of({8, 8}, plain_pixels({8, 8}, red));
  // Without its Huffman tables a file means nothing, after a good one, too.
  std::string bare = whole;
  for (size_t at; (at = bare.find("\xff\xc4")) != std::string::npos;)
    bare.erase(at,
               2 + size_t(uint8_t(bare[at + 2])) * 256 + uint8_t(bare[at + 3]));
  decoded(whole, {4, 4});
  const std::string first = refusal_of_images(bare);
  decoded(whole, {4, 4});
  EXPECT_EQ(refusal_of_images(bare), first);
}

/// The header says so; no pixel follows.
std::string png_that_claims(uint32_t width, uint32_t height) {
  std::string out = png_of({1, 1}, plain_pixels({1, 1}, red));
  out.replace(16, 8, big_endian(width) + big_endian(height));
  return out;
}

/// Changes height and width where the frame begins.
std::string jpeg_that_claims(uint16_t width, uint16_t height) {
  std::string out = jpeg_of({8, 8}, plain_pixels({8, 8}, red));
  const size_t at = out.find("\xff\xc0") + 5;
  out.replace(at, 4,
              {char(height >> 8), char(height), char(width >> 8), char(width)});
  return out;
}

TEST(image_codec, refuses_no_pixels_and_too_many_before_it_takes_memory) {
  EXPECT_THAT(refusal_of_images(png_that_claims(0, 4)),
              HasSubstr("has no pixels"));
  EXPECT_THAT(refusal_of_images(png_that_claims(4, 0)),
              HasSubstr("has no pixels"));
  EXPECT_THAT(refusal_of_images(jpeg_that_claims(8, 0)),
              HasSubstr("has no pixels"));
  EXPECT_THAT(refusal_of_images(png_that_claims(0x7fffffff, 0x7fffffff)),
              HasSubstr("claims 2147483647 x 2147483647 pixels, more than"));
  EXPECT_THAT(refusal_of_images(jpeg_that_claims(65000, 65000)),
              HasSubstr("claims 65000 x 65000 pixels, more than"));
}

TEST(image_codec, refuses_the_colours_of_print) {
  EXPECT_THAT(
      refusal_of_images(jpeg_of({8, 8}, std::string(256, '\x50'), TJPF_CMYK)),
      HasSubstr("CMYK"));
}

// -- sources ------------------------------------------------------------------

source_spec picture_source(source_format format, const std::string& uri,
                           std::vector<uint32_t> size) {
  source_spec out;
  out.format = format;
  out.uri = uri;
  out.size = std::move(size);
  return out;
}

class images : public ::testing::Test {
protected:
  std::string put(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder_ / name).parent_path());
    return folder_.write(name, bytes);
  }
  std::string put_square(const std::string& name, colour c) {
    const std::string pixels = plain_pixels({4, 4}, c);
    return put(name, name.ends_with("png") ? png_of({4, 4}, pixels)
                                           : jpeg_of({4, 4}, pixels));
  }
  /// Two classes with three images.
  void put_some() {
    put_square("set/cat/b.png", green);
    put_square("set/cat/a.png", red);
    put_square("set/apple/z.png", blue);
  }
  source_spec folder_source() const {
    return picture_source(source_format::images, (folder_ / "set").string(),
                          {2});
  }
  source_spec tar_source(const std::string& glob) const {
    return picture_source(source_format::webdataset, (folder_ / glob).string(),
                          {2});
  }
  std::string tar(const std::string& name, const tar_members& members) {
    return write_tar((folder_ / name).string(), members);
  }
  static std::string refusal(const source_spec& spec,
                             const source_request& request = {}) {
    try {
      read_source(spec, request);
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::invalid_data);
      return error.what();
    }
    return "taken";
  }
  /// Red of each row.
  static std::vector<int> reds(const source_table& table) {
    std::vector<int> out;
    for (size_t at = 0; at < table.features.size(); at += table.row.features)
      out.push_back(table.features[at]);
    return out;
  }

  temporary_folder folder_;
  const std::string square_ = png_of({4, 4}, plain_pixels({4, 4}, red));
};

TEST_F(images, are_rows_in_the_order_of_their_classes_and_names) {
  put_some();
  const source_table table = read_source(folder_source(), {});
  EXPECT_THAT(table.class_names, ElementsAre("apple", "cat"));
  EXPECT_THAT(table.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(reds(table), ElementsAre(blue.red, red.red, green.red));
  EXPECT_THAT(table.row.shape, ElementsAre(3u, 2u, 2u));
  EXPECT_EQ(table.row.stored, ledger::stored_type::uint8);
  EXPECT_EQ(table.row.features, 12u);
  EXPECT_EQ(table.rows, 3u);
  EXPECT_EQ(table.row.classes, 2u);
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST_F(images, are_told_by_their_bytes_not_by_their_names) {
  put_some();
  put("set/cat/c.JPG", square_);
  EXPECT_EQ(read_source(folder_source(), {}).rows, 4u);
}

TEST_F(images, tell_of_files_that_were_skipped) {
  put_some();
  put("set/cat/notes.txt", "what a cat");
  put("set/README", "cats");
  put("set/.DS_Store", "?");
  const source_table table = read_source(folder_source(), {});
  ASSERT_EQ(table.notes.size(), 1u);
  EXPECT_THAT(table.notes[0], HasSubstr("2 files"));
  EXPECT_THAT(table.notes[0], HasSubstr("the first is README"));
}

TEST_F(images, name_the_file_that_cannot_be_decoded) {
  put_some();
  put("set/cat/torn.jpg",
      jpeg_of({40, 40}, plain_pixels({40, 40}, red)).substr(0, 300));
  EXPECT_THAT(refusal(folder_source()),
              HasSubstr("set/cat/torn.jpg: is torn or damaged: "));
  put("set/cat/torn.jpg", "<html>404</html>");
  EXPECT_THAT(refusal(folder_source()),
              HasSubstr("set/cat/torn.jpg: is text, no image"));
}

TEST_F(images, that_cannot_be_decoded_are_left_out_where_the_job_says_so) {
  put_some();
  put("set/apple/a.jpg", "<html>404</html>");
  put("set/cat/a0.jpg", "no image");
  row_faults faults;
  source_request request;
  request.faults = &faults;
  const source_table table = read_source(folder_source(), request);
  EXPECT_THAT(table.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(reds(table), ElementsAre(blue.red, red.red, green.red));
  EXPECT_THAT(table.taken_rows, ElementsAre(1, 2, 4));
  EXPECT_EQ(faults.counts(), (ledger::rejected_rows{5, 2, 2}));
  EXPECT_THAT(faults.found().lines,
              HasSubstr("set/apple/a.jpg\",\"operator\":\"read\",\"reason\":"
                        "\"is text, no image"));
}

TEST_F(images, refuse_folders_that_are_no_classes) {
  EXPECT_THAT(refusal(folder_source()), HasSubstr("there is no such folder"));
  put_square("set/loose.png", red);
  EXPECT_THAT(refusal(folder_source()),
              HasSubstr("has no folders of classes, only images"));
  put_some();
  fs::create_directory(folder_ / "set/dog");
  EXPECT_THAT(refusal(folder_source()), HasSubstr("set/dog: has no images"));
  put_square("set/dog/puppies/one.png", red);
  EXPECT_THAT(refusal(folder_source()),
              HasSubstr("set/dog/puppies: is a folder inside that of a class"));
  EXPECT_THAT(
      refusal(picture_source(source_format::images, put("set.tar", "x"), {2})),
      HasSubstr("is no folder"));
}

TEST_F(images, refuse_a_link_that_leads_back_to_itself) {
  put_some();
  const std::string loop = (folder_ / "set/cat/loop.png").string();
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_THAT(refusal(folder_source()),
              HasSubstr("set/cat/loop.png: is a symbolic link that leads back "
                        "to itself"));
  fs::remove(loop);
  ASSERT_EQ(::symlink("nowhere.png", loop.c_str()), 0);
  EXPECT_THAT(refusal(folder_source()),
              HasSubstr("set/cat/loop.png: is a link that leads nowhere"));
  row_faults faults;
  source_request request;
  request.faults = &faults;
  const uint64_t whole = read_source(folder_source(), request).rows;
  EXPECT_EQ(faults.counts(), (ledger::rejected_rows{whole + 1, 1, 1}));
}

TEST_F(images, of_a_test_set_have_the_classes_of_the_training_set) {
  put_some();
  const source_table train = read_source(folder_source(), {});
  put_square("test/cat/one.png", red);
  source_request request;
  request.like = &train;
  request.pointer = "/data/test";
  source_spec test = folder_source();
  test.uri = (folder_ / "test").string();
  EXPECT_THAT(read_source(test, request).labels, ElementsAre(1))
      << "by its name, not by its place";
  put_square("test/dog/one.png", red);
  EXPECT_THAT(refusal(test, request),
              HasSubstr("test/dog: is none of the 2 classes"));
  fs::remove_all(folder_ / "test/dog");
  test.size = {3};
  EXPECT_THAT(refusal(test, request), HasSubstr("both must be alike"));
}

TEST_F(images, are_the_same_rows_for_any_number_of_threads) {
  const auto rows_by = [&](size_t threads, uint64_t room) {
    source_table table;
    source_request request;
    request.room = {room, folder_ / ("rows" + std::to_string(threads)),
                    refuse_write};
    image_rows rows(table, folder_source(), request, threads);
    for (int i = 0; i < 100; ++i)
      rows.add(
          [i] {
            const std::string file =
                png_of({3, 3}, plain_pixels({3, 3}, {uint8_t(i), 0, 0}));
            return std::vector<unsigned char>(file.begin(), file.end());
          },
          1000, "image");
    rows.finish();
    if (table.elsewhere == nullptr)
      return std::vector<unsigned char>(table.features.begin(),
                                        table.features.end());
    EXPECT_TRUE(table.features.empty());
    std::vector<unsigned char> out(table.rows * table.row.features);
    table.elsewhere->read(0, table.rows, out.data());
    return out;
  };
  const std::vector<unsigned char> once = rows_by(1, UINT64_MAX);
  ASSERT_EQ(once.size(), 1200u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(once[size_t(i) * 12], i);
  EXPECT_EQ(rows_by(7, UINT64_MAX), once);
  EXPECT_EQ(rows_by(3, 100), once) << "most of them in a file";
  EXPECT_EQ(rows_by(2, 0), once) << "all of them in a file";
}

// -- archives -----------------------------------------------------------------

TEST_F(images, come_out_of_archives_as_out_of_folders) {
  put_some();
  const auto file = [&](const std::string& name) {
    std::ifstream in(folder_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  tar("s-0.tar", {{"apple/", ""},
                  {"apple/z.png", file("set/apple/z.png")},
                  {"apple/z.cls", "0\n"},
                  {"cat/a.json", R"({"label": 1, "width": 4})"},
                  {"cat/a.png", file("set/cat/a.png")}});
  tar("s-1.tar.gz", {{"cat/b.cls", "1"},
                     {"cat/b.txt", "a caption"},
                     {"cat/b.png", file("set/cat/b.png")}});
  const source_table folders = read_source(folder_source(), {});
  const source_table shards = read_source(tar_source("s-*.tar*"), {});
  EXPECT_TRUE(shards.features == folders.features);
  EXPECT_EQ(shards.labels, folders.labels);
  ASSERT_EQ(shards.files.size(), 2u);
  EXPECT_EQ(shards.files[1].first_row, 2u);
  ASSERT_EQ(shards.notes.size(), 1u);
  EXPECT_THAT(shards.notes[0],
              HasSubstr("1 member that is neither image nor label was "
                        "skipped: "));
  EXPECT_THAT(shards.notes[0], HasSubstr("s-1.tar.gz: member cat/b.txt"));
}

TEST_F(images, of_archives_are_left_out_with_their_labels) {
  tar("s-0.tar", {{"a.png", square_},
                  {"a.cls", "0"},
                  {"b.png", "torn"},
                  {"b.cls", "1"},
                  {"c.png", square_},
                  {"c.cls", "0.5"}});
  tar("s-1.tar", {{"d.png", square_}, {"d.cls", "1"}});
  row_faults faults;
  source_request request;
  request.faults = &faults;
  const source_table table = read_source(tar_source("s-*.tar"), request);
  EXPECT_THAT(table.labels, ElementsAre(0, 1));
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 3));
  EXPECT_EQ(faults.counts(), (ledger::rejected_rows{4, 2, 2}));
  EXPECT_THAT(faults.found().last,
              HasSubstr("s-0.tar: member c.png: the label is no class"));
}

TEST_F(images, come_out_of_archives_that_were_put_together) {
  const auto bytes_of = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string one = tar("1.tar", {{"1.png", square_}, {"1.cls", "0"}});
  const std::string two = tar("2.tar", {{"2.png", square_}, {"2.cls", "1"}});
  folder_.write("both.tar", bytes_of(one) + bytes_of(two));
  EXPECT_THAT(read_source(tar_source("both.tar"), {}).labels,
              ElementsAre(0, 1));
}

TEST_F(images, of_an_archive_may_have_any_name_and_number) {
  tar("a.tar", {{"\xc3\xa4/\xe6\x97\xa5.1.png", "other"},
                {"\xc3\xa4/\xe6\x97\xa5.png", square_},
                {"\xc3\xa4/\xe6\x97\xa5.cls", "-2.5"},
                {"2.png", square_},
                {"2.json", R"({"cls": 1e3})"}});
  source_request request;
  request.label = label_kind::target;
  EXPECT_THAT(read_source(tar_source("a.tar"), request).targets,
              ElementsAre(-2.5f, 1000.f));
}

TEST_F(images, of_an_archive_name_it_and_the_member) {
  const struct {
    tar_members members;
    std::string says;
  } table[] = {
      {{{"7.jpg", "text"}, {"7.cls", "0"}},
       "a.tar: member 7.jpg: is text, no image"},
      {{{"7.jpg", square_}, {"8.cls", "0"}},
       "a.tar: member 7.jpg: has no label right beside it; expected 7.cls"},
      {{{"7.jpg", square_}, {"7.json", R"({"text": "a"})"}},
       "a.tar: member 7.json: has neither \"label\" nor \"cls\""},
      {{{"7.cls", "0"}}, "a.tar: member 7.cls: has no image right beside it"},
      {{{"7.jpg", square_}, {"7.png", square_}, {"7.cls", "0"}},
       "a.tar: member 7.png: is a second image of its key, beside 7.jpg"},
      {{{"7.jpg", square_}, {"7.cls", "cat"}},
       "a.tar: member 7.cls: expected the number of a class"},
      {{{"7.jpg", square_}, {"7.cls", "1.5"}},
       "a.tar: member 7.jpg: the label is no class"},
      {{{"7.jpg", square_}, {"7.json", "[1]"}},
       "a.tar: member 7.json: expected a JSON object"},
      {{{"7.jpg", square_}, {"7.json", R"({"label": "cat"})"}},
       "a.tar: member 7.json: expected a number as \"label\""},
      {{{"README", "x"}}, "a.tar: has no rows"},
  };
  for (const auto& row : table) {
    tar("a.tar", row.members);
    EXPECT_THAT(refusal(tar_source("a.tar")), HasSubstr(row.says));
  }
}

TEST_F(images, of_a_torn_archive_are_refused_wherever_it_ends) {
  tar_members members;
  for (int i = 0; i < 4; ++i) {
    members.emplace_back(std::to_string(i) + ".png", square_);
    members.emplace_back(std::to_string(i) + ".cls", std::to_string(i % 2));
  }
  for (const std::string name : {"a.tar", "b.tar.gz"}) {
    const std::string path = tar(name, members);
    std::ifstream in(path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(in), {});
    ASSERT_EQ(read_source(tar_source(name), {}).rows, 4u);
    // Of a plain one behind its last member there are only zeros.
    const size_t end = name == "a.tar" ? 8 * 1024 : whole.size();
    for (size_t length = 0; length < end; length += name == "a.tar" ? 256 : 7) {
      folder_.write(name, whole.substr(0, length));
      EXPECT_THAT(refusal(tar_source(name)), HasSubstr(name + ": "))
          << length << " of " << whole.size();
    }
  }
  put("a.tar", "this is no archive at all");
  EXPECT_THAT(refusal(tar_source("a.tar")), HasSubstr("no tar archive"));
}

// -- prepared sets ------------------------------------------------------------

TEST_F(images, are_prepared_once_and_again_when_one_changes) {
  put_some();
  put("set/cat/notes.txt", "x");
  job what = job_of(folder_source(), 2);
  std::vector<std::string> said;
  prepare_options options;
  options.warn = [&said](const std::string& one) { said.push_back(one); };
  const auto key = [&] {
    return prepare(what, folder_ / "cache", options)->about().content_id;
  };
  const auto first = prepare(what, folder_ / "cache", options);
  EXPECT_THAT(first->about().sources, ElementsAre((folder_ / "set").string()))
      << "one name for all files";
  EXPECT_THAT(said, ElementsAre(HasSubstr("1 file "),
                                HasSubstr("2 classes, numbered from 0: "
                                          "'apple', 'cat'")));
  EXPECT_EQ(key(), first->about().content_id);
  what.data.train.size = {2, 2};
  EXPECT_EQ(key(), first->about().content_id) << "the same size";
  what.data.train.size = {2, 3};
  EXPECT_NE(key(), first->about().content_id);
  what.data.train.size = {2};
  put_square("set/cat/b.png", blue);
  EXPECT_NE(key(), first->about().content_id) << "other bytes";
  fs::rename(folder_ / "set/cat/b.png", folder_ / "set/apple/b.png");
  put_square("set/cat/b.png", blue);
  EXPECT_NE(key(), first->about().content_id);
}

TEST_F(images, are_hashed_again_only_where_one_may_have_changed) {
  put_some();
  const auto long_ago =
      fs::file_time_type::clock::now() - std::chrono::hours(1);
  const auto age = [&] {
    for (const auto& one : fs::recursive_directory_iterator(folder_ / "set"))
      if (one.is_regular_file())
        fs::last_write_time(one.path(), long_ago);
  };
  prepare_cache cache(folder_ / "cache");
  const auto hash = [&] {
    return cache.hash_of(list_images(folder_source(), "/data/train", {}),
                         "/data/train/uri");
  };
  age();
  const std::string first = hash();
  // As no program writes: neither size nor time nor inode is another one.
  std::string other = square_;
  other[other.size() / 2] ^= 1;
  put("set/cat/a.png", other);
  age();
  EXPECT_EQ(hash(), first) << "not read again";
  fs::last_write_time(folder_ / "set/cat/a.png",
                      long_ago + std::chrono::seconds(1));
  EXPECT_NE(hash(), first);
}

TEST_F(images, larger_than_memory_give_the_same_set) {
  for (int i = 0; i < 40; ++i)
    put_square("set/" + std::to_string(i % 3) + "/" + std::to_string(i) +
                   ".png",
               {uint8_t(i), uint8_t(2 * i), 7});
  job what = job_of(folder_source(), 4);
  what.data.placement.kind = placement_kind::iid;
  const auto checksums = [&](uint64_t memory, const std::string& cache) {
    prepare_options options;
    options.rows_memory = memory;
    const auto set = prepare(what, folder_ / cache, options);
    EXPECT_EQ(set->about().row.stored, ledger::stored_type::uint8);
    std::vector<std::string> out;
    for (const ledger::chunk_info& one : set->about().train)
      out.push_back(one.checksum);
    return out;
  };
  const std::vector<std::string> all = checksums(UINT64_MAX, "a");
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(checksums(100, "b"), all);
  EXPECT_EQ(checksums(1, "c"), all);
}

} // namespace
} // namespace ballast::data
