// How fast one thread makes JPEG files into what a step trains on: decoded as
// when a set is prepared, then a random part, mirrored or not, normalised, as
// when a batch is put together. For bench/data.py.
//
//   image_batches make FOLDER HEIGHT WIDTH COUNT   writes images of noise of
//                                                  every coarseness, quality 90
//   image_batches run FOLDER HEIGHT WIDTH CROP SECONDS
//                                                  to rows of height x width,
//                                                  and parts of CROP x CROP
//
// The last line of `run` is a JSON object: images a second of processor time,
// of both together and of each.
#include "data/augment/image_augment.hpp"
#include "data/source/image_codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <turbojpeg.h>
#include <vector>

namespace ballast::bench {
namespace {

namespace fs = std::filesystem;
using bytes = std::vector<unsigned char>;

/// Squares of this many pixels have one value each; between their middles it
/// changes evenly.
double noise_at(const counter_random& random, double pixel, double x,
                double y) {
  const double left = std::floor(x / pixel);
  const double above = std::floor(y / pixel);
  const auto value = [&](double column, double row) {
    return random.unit(uint64_t(row) * 100'003 + uint64_t(column)) - 0.5;
  };
  const double right = x / pixel - left;
  const double below = y / pixel - above;
  return (1 - below) * ((1 - right) * value(left, above) +
                        right * value(left + 1, above)) +
         below * ((1 - right) * value(left, above + 1) +
                  right * value(left + 1, above + 1));
}

/// Half as strong where it is half as coarse, about as in a photo.
bytes noise_image(int height, int width, uint64_t number) {
  bytes out;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (uint64_t channel = 0; channel < 3; ++channel) {
        double value = 128;
        double strength = 120;
        for (uint64_t octave = 0; octave < 8; ++octave, strength /= 1.35) {
          // Mostly grey: two of three parts are those of all channels.
          const counter_random all(number, octave);
          const counter_random own(number, 100 + 10 * channel + octave);
          const double pixel = 128.0 / double(uint64_t{1} << octave);
          value += strength *
                   (0.7 * noise_at(all, pixel, x, y) +
                    (octave < 4 ? 0.3 : 0.0) * noise_at(own, pixel, x, y));
        }
        out.push_back(
            static_cast<unsigned char>(std::clamp(value, 0.0, 255.0)));
      }
  return out;
}

void make(const fs::path& folder, int height, int width, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const bytes pixels = noise_image(height, width, i);
    tjhandle handle = tjInitCompress();
    unsigned char* made = nullptr;
    unsigned long length = 0;
    if (tjCompress2(handle, pixels.data(), width, 0, height, TJPF_RGB, &made,
                    &length, TJSAMP_420, 90, 0) != 0)
      throw std::runtime_error(tjGetErrorStr2(handle));
    std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(made), std::streamsize(length));
    tjFree(made);
    tjDestroy(handle);
  }
}

std::vector<bytes> files_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<bytes> out;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in),
                     std::istreambuf_iterator<char>());
  }
  return out;
}

data::image_augment parts_of(data::image_size size, uint32_t crop) {
  using augment::op;
  using numbers = std::vector<double>;
  ledger::row_shape row;
  row.shape = {3, uint32_t(size.height), uint32_t(size.width)};
  row.features = uint32_t(3 * size.height * size.width);
  row.stored = ledger::stored_type::uint8;
  row.scale = 1.0 / 255;
  return {{{op::crop, {{"size", std::vector<uint32_t>{crop}}}},
           {op::flip, {}},
           {op::normalise,
            {{"mean", numbers{0.485, 0.456, 0.406}},
             {"std", numbers{0.229, 0.224, 0.225}}}}},
          1,
          row};
}

/// Of processor time, of which others take none.
double now_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void run(const fs::path& folder, data::image_size size, uint32_t crop,
         double seconds) {
  const std::vector<bytes> files = files_of(folder);
  const data::image_augment how = parts_of(size, crop);
  bytes row(how.stored().features);
  std::vector<float> out(how.seen().features);
  data::augment_room room;
  double decoding = 0;
  uint64_t images = 0;
  double sum = 0; // so that nothing is left out
  const double begin = now_s();
  while (now_s() - begin < seconds)
    for (const bytes& file : files) {
      const double before = now_s();
      data::decode_image(file, size, row.data());
      decoding += now_s() - before;
      how.train(row.data(), epoch_number{1}, images++, room, out.data());
      sum += double(out[0]);
    }
  const double took = now_s() - begin;
  std::printf("{\"images_per_s\": %.1f, \"decoded_per_s\": %.1f, "
              "\"augmented_per_s\": %.1f, \"images\": %llu, \"sum\": %.3f}\n",
              double(images) / took, double(images) / decoding,
              double(images) / (took - decoding),
              static_cast<unsigned long long>(images), sum);
}

int usage() {
  std::fprintf(stderr,
               "usage: image_batches make FOLDER HEIGHT WIDTH COUNT\n"
               "       image_batches run FOLDER HEIGHT WIDTH CROP SECONDS\n");
  return 2;
}

} // namespace
} // namespace ballast::bench

int main(int argc, char** argv) {
  using namespace ballast::bench;
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 5 && words[0] == "make")
      make(words[1], std::stoi(words[2]), std::stoi(words[3]),
           std::stoull(words[4]));
    else if (words.size() == 6 && words[0] == "run")
      run(words[1], {std::stoull(words[2]), std::stoull(words[3])},
          uint32_t(std::stoul(words[4])), std::stod(words[5]));
    else
      return usage();
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "image_batches: %s\n", problem.what());
    return 1;
  }
}
