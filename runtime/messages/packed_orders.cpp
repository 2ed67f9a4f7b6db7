#include "runtime/messages/packed_orders.hpp"

#include <cstddef>
#include <cstring>

namespace ballast {

namespace {

class packer {
public:
  void put(uint64_t number) {
    if (number < 0x80) { // as most cursors
      out_.push_back(char(number));
      return;
    }
    while (number >= 0x80) {
      out_.push_back(char(number | 0x80));
      number >>= 7;
    }
    out_.push_back(char(number));
  }
  /// All of its bits count alike: a varint would only be longer.
  void put_hash(uint64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out_.append(bytes, sizeof bytes);
  }
  void put(const std::string& text) {
    put(text.size());
    out_ += text;
  }
  std::string take() { return std::move(out_); }

private:
  std::string out_;
};

class unpacker {
public:
  explicit unpacker(const std::string& bytes) : in_(bytes) {}

  uint64_t number() {
    uint64_t out = 0;
    if (at_ < in_.size() && static_cast<unsigned char>(in_[at_]) < 0x80)
      return static_cast<unsigned char>(in_[at_++]); // as most cursors
    for (int shift = 0; shift < 64 && at_ < in_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(in_[at_++]);
      out |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return out;
    }
    good_ = false;
    return 0;
  }
  uint32_t small() {
    const uint64_t out = number();
    good_ = good_ && out <= UINT32_MAX;
    return uint32_t(out);
  }
  uint64_t hash() {
    uint64_t out = 0;
    if (in_.size() - at_ < sizeof out) {
      good_ = false;
      return 0;
    }
    std::memcpy(&out, in_.data() + at_, sizeof out);
    at_ += sizeof out;
    return out;
  }
  std::string text() {
    const uint64_t size = number();
    if (!good_ || size > in_.size() - at_) {
      good_ = false;
      return {};
    }
    std::string out = in_.substr(at_, size);
    at_ += size;
    return out;
  }
  /// Of things that take a byte each at least: a claim beyond the rest of the
  /// bytes is none.
  size_t count() {
    const uint64_t out = number();
    good_ = good_ && out <= in_.size() - at_;
    return good_ ? size_t(out) : 0;
  }
  bool good() const { return good_; }
  bool ended() const { return good_ && at_ == in_.size(); }
  void refuse() { good_ = false; }

private:
  const std::string& in_;
  size_t at_ = 0;
  bool good_ = true;
};

void put_intervals(packer& out, const std::vector<ledger::interval>& list) {
  size_t runs = 0;
  for (size_t i = 0; i < list.size(); ++i)
    runs += i == 0 || !goes_on(list[i - 1], list[i]);
  out.put(runs);
  uint64_t last = 0; // sorted: differences are small
  for (size_t i = 0; i < list.size();) {
    size_t end = i + 1;
    while (end < list.size() && goes_on(list[end - 1], list[end]))
      ++end;
    // Two's complement: also a list that is not sorted comes out as it was.
    out.put((uint64_t(value(list[i].chunk)) - last) & UINT32_MAX);
    out.put(end - i);
    out.put(list[i].begin);
    out.put(uint32_t(list[i].end - list[i].begin));
    last = value(list[end - 1].chunk);
    i = end;
  }
}

void take_intervals(unpacker& in, std::vector<ledger::interval>& out) {
  const size_t runs = in.count();
  uint32_t last = 0;
  for (size_t i = 0; i < runs && in.good(); ++i) {
    const uint32_t first = last + in.small();
    const uint64_t count = in.number();
    const uint32_t begin = in.small();
    const uint32_t length = in.small();
    if (count == 0 || count > ledger::intervals_read_max ||
        out.size() + count > ledger::intervals_read_max)
      return in.refuse();
    const size_t known = out.size();
    if (in.good())
      out.resize(known + count);
    for (uint64_t k = 0; k < count && in.good(); ++k)
      out[known + k] = {chunk_id(uint32_t(first + k)), begin, begin + length};
    last = uint32_t(first + count - 1);
  }
}

void put_kept(packer& out, const ledger::kept_leaves& what) {
  out.put(value(what.step));
  out.put(what.by_rank.size());
  for (const ledger::leaf_ranges& own : what.by_rank) {
    out.put(own.size());
    for (ledger::leaf_range one : own) {
      out.put(one.begin);
      out.put(one.end);
    }
  }
}

void take_kept(unpacker& in, ledger::kept_leaves& out) {
  out.step = step_number{in.number()};
  out.by_rank.resize(in.count());
  for (ledger::leaf_ranges& own : out.by_rank) {
    own.resize(in.count());
    for (ledger::leaf_range& one : own) {
      one.begin = in.small();
      one.end = in.small();
    }
  }
}

} // namespace

std::string pack(const ledger::plan& what) {
  packer out;
  out.put(value(what.number));
  out.put(value(what.generation));
  out.put(what.shares.size());
  for (const ledger::share& one : what.shares) {
    out.put(value(one.worker));
    out.put(value(one.since));
    out.put(one.batch_weight);
    out.put(one.stream);
    put_intervals(out, one.intervals);
  }
  put_kept(out, what.kept);
  return out.take();
}

bool unpack(const std::string& bytes, ledger::plan& out) {
  unpacker in(bytes);
  out.number = plan_number{in.number()};
  out.generation = generation{in.number()};
  out.shares.resize(in.count());
  for (ledger::share& one : out.shares) {
    one.worker = worker_id{decltype(value(one.worker))(in.number())};
    one.since = plan_number{in.number()};
    one.batch_weight = in.number();
    one.stream = in.small();
    std::vector<ledger::interval> intervals;
    take_intervals(in, intervals);
    one.intervals = std::move(intervals);
  }
  take_kept(in, out.kept);
  return in.ended();
}

std::string pack(const std::vector<ledger::worker_cursor>& what) {
  packer out;
  out.put(what.size());
  for (const ledger::worker_cursor& one : what) {
    out.put(value(one.worker));
    out.put(one.draws);
    out.put_hash(one.digest);
    out.put(one.cursors.size());
    for (uint32_t cursor : one.cursors)
      out.put(cursor);
  }
  return out.take();
}

bool unpack(const std::string& bytes, std::vector<ledger::worker_cursor>& out) {
  unpacker in(bytes);
  out.resize(in.count());
  for (ledger::worker_cursor& one : out) {
    one.worker = worker_id{decltype(value(one.worker))(in.number())};
    one.draws = in.number();
    one.digest = in.hash();
    one.cursors.resize(in.count());
    for (uint32_t& cursor : one.cursors)
      cursor = in.small();
  }
  return in.ended();
}

std::string pack(const std::vector<std::string>& what) {
  packer out;
  out.put(what.size());
  for (const std::string& one : what)
    out.put(one);
  return out.take();
}

bool unpack(const std::string& bytes, std::vector<std::string>& out) {
  unpacker in(bytes);
  out.resize(in.count());
  for (std::string& one : out)
    one = in.text();
  return in.ended();
}

} // namespace ballast
