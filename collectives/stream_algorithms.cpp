#include "collectives/stream_algorithms.hpp"

#include "collectives/add.hpp"
#include "collectives/fault_point.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ballast::collectives {

namespace {

/// Buffer for received bytes to be added; small enough to stay in the cache.
constexpr size_t scratch_bytes = size_t{256} << 10;
/// Above this size a broadcast is better pipelined through all ranks.
constexpr size_t chain_bytes_min = size_t{256} << 10;

enum stream_operation : uint32_t {
  op_ring = 1,
  op_doubling = 2,
  op_tree = 3,
  op_chain = 4,
  op_dissemination = 5,
};

/// One trip of the slices around the ring: an outgoing and an incoming stream
/// of `steps` slices each. Slice out(s) is sent in step s, in(s) = out(s + 1)
/// received: a byte may leave as soon as the same byte of the step before has
/// arrived and, in the first `adding` steps, has been added.
class ring_trip final : public byte_source {
public:
  ring_trip(char* data, size_t count, element_type type, int me, int ranks,
            int shift, int steps, int adding, std::span<char> scratch,
            int rank_for_faults)
      : data_(data), count_(count), type_(type), width_(size_of(type)), me_(me),
        ranks_(ranks), shift_(shift), steps_(steps), adding_(adding),
        scratch_(scratch), rank_(rank_for_faults) {
    skip_empty_out();
    skip_empty_in();
  }

  // -- outgoing ---------------------------------------------------------------
  bool done() const override { return out_step_ == steps_; }

  std::span<const char> ready() override {
    if (out_step_ > in_step_ + 1) {
      return {};
    }
    size_t end = bytes_of(out_step_);
    if (out_step_ == in_step_ + 1) {
      end = in_bytes_;
    }
    const char* slice = data_ + begin_of(out_step_);
    return {slice + out_bytes_, end - out_bytes_};
  }

  void taken(size_t bytes) override {
    out_bytes_ += bytes;
    if (out_bytes_ == bytes_of(out_step_)) {
      out_bytes_ = 0;
      ++out_step_;
      skip_empty_out();
    }
  }

  // -- incoming ---------------------------------------------------------------
  bool all_here() const { return in_step_ == steps_; }

  std::span<char> room() {
    size_t left = bytes_of(in_step_ + 1) - in_bytes_;
    if (in_step_ < adding_) {
      return scratch_.subspan(scratch_used_)
          .first(std::min(left, scratch_.size()) - scratch_used_);
    }
    return {data_ + begin_of(in_step_ + 1) + in_bytes_, left};
  }

  size_t coming() const {
    return all_here() ? 0 : bytes_of(in_step_ + 1) - in_bytes_ - scratch_used_;
  }

  void arrived(size_t bytes) {
    if (in_step_ < adding_) {
      scratch_used_ += bytes;
      size_t elements = scratch_used_ / width_;
      add_into(data_ + begin_of(in_step_ + 1) + in_bytes_, scratch_.data(),
               elements, type_);
      bytes = elements * width_;
      scratch_used_ -= bytes;
      std::memmove(scratch_.data(), scratch_.data() + bytes, scratch_used_);
    }
    in_bytes_ += bytes;
    if (in_bytes_ == bytes_of(in_step_ + 1)) {
      in_bytes_ = 0;
      ++in_step_;
      if (in_step_ == adding_) {
        reach(fault_point::between_phases, rank_);
      }
      skip_empty_in();
    }
  }

private:
  slice part(int step) const {
    int index = ((me_ - shift_ - step) % ranks_ + ranks_) % ranks_;
    return slice_of(count_, index, ranks_);
  }
  size_t begin_of(int step) const { return part(step).begin * width_; }
  size_t bytes_of(int step) const {
    slice s = part(step);
    return (s.end - s.begin) * width_;
  }
  void skip_empty_out() {
    while (out_step_ < steps_ && bytes_of(out_step_) == 0) {
      ++out_step_;
    }
  }
  void skip_empty_in() {
    while (in_step_ < steps_ && bytes_of(in_step_ + 1) == 0) {
      ++in_step_;
    }
  }

  char* data_;
  size_t count_;
  element_type type_;
  size_t width_;
  int me_, ranks_, shift_, steps_, adding_;
  std::span<char> scratch_;
  int rank_;
  int out_step_ = 0;
  size_t out_bytes_ = 0;
  int in_step_ = 0;
  size_t in_bytes_ = 0;
  size_t scratch_used_ = 0;
};

/// Forwards the bytes that arrive from one side to the other.
class relay final : public byte_source {
public:
  relay(char* data, size_t bytes) : data_(data), bytes_(bytes) {}
  bool done() const override { return sent_ == bytes_; }
  std::span<const char> ready() override {
    return {data_ + sent_, got_ - sent_};
  }
  void taken(size_t bytes) override { sent_ += bytes; }
  std::span<char> room() { return {data_ + got_, bytes_ - got_}; }
  void arrived(size_t bytes) { got_ += bytes; }
  size_t coming() const { return bytes_ - got_; }
  bool all_here() const { return got_ == bytes_; }

private:
  char* data_;
  size_t bytes_;
  size_t got_ = 0;
  size_t sent_ = 0;
};

/// Adds received bytes to `data`, in order, once it may be written: an element
/// may be added as soon as `allow` has reached its end. Bytes that must wait
/// stay in the ring buffer `scratch`, so that they never leave the cache.
class adding_sink : public byte_sink {
public:
  adding_sink(char* data, std::span<char> scratch, size_t count,
              element_type type)
      : data_(data), scratch_(scratch), bytes_(count * size_of(type)),
        type_(type) {}

  void allow(size_t end) {
    allowed_ = end;
    add();
  }

  bool done() const override { return got_ == bytes_; }
  std::span<char> room() override {
    const size_t at = got_ % scratch_.size();
    const size_t free = scratch_.size() - (got_ - added_);
    return {scratch_.data() + at,
            std::min({free, scratch_.size() - at, bytes_ - got_})};
  }
  void arrived(size_t bytes) override {
    got_ += bytes;
    add();
  }
  size_t coming() const override { return bytes_ - got_; }

private:
  void add() {
    const size_t width = size_of(type_);
    const size_t end = std::min(allowed_, got_) / width * width;
    // Not for every packet, but while it is in the cache.
    if (end - added_ < add_bytes_min && end != bytes_) {
      return;
    }
    while (added_ < end) {
      const size_t at = added_ % scratch_.size();
      const size_t part = std::min(end - added_, scratch_.size() - at);
      add_into(data_ + added_, scratch_.data() + at, part / width, type_);
      added_ += part;
    }
  }

  static constexpr size_t add_bytes_min = size_t{64} << 10;
  char* data_;
  std::span<char> scratch_;
  size_t bytes_;
  element_type type_;
  size_t allowed_ = 0;
  size_t got_ = 0;
  size_t added_ = 0;
};

/// Both partners send everything; data that was sent may be added to. They
/// cannot deadlock: a rank that cannot receive because it has sent too little
/// is more than a scratch buffer behind its partner, which cannot hold for
/// both.
class sent_before_added final : public byte_source {
public:
  sent_before_added(const char* data, size_t bytes, adding_sink& sink)
      : data_(data), bytes_(bytes), sink_(sink) {}
  bool done() const override { return sent_ == bytes_; }
  std::span<const char> ready() override {
    return {data_ + sent_, bytes_ - sent_};
  }
  void taken(size_t bytes) override {
    sent_ += bytes;
    sink_.allow(sent_);
  }

private:
  const char* data_;
  size_t bytes_;
  adding_sink& sink_;
  size_t sent_ = 0;
};

/// The receiving half of a trip or a relay.
template <class Both>
class arrivals_of final : public byte_sink {
public:
  explicit arrivals_of(Both& both) : both_(both) {}
  bool done() const override { return both_.all_here(); }
  std::span<char> room() override { return both_.room(); }
  void arrived(size_t bytes) override { both_.arrived(bytes); }
  size_t coming() const override { return both_.coming(); }

private:
  Both& both_;
};

} // namespace

stream_algorithms::stream_algorithms(stream_mesh& mesh, member_list members)
    : mesh_(mesh), members_(std::move(members)) {}

void stream_algorithms::all_reduce(void* data, size_t count, element_type type,
                                   reduce_way way, deadline until) {
  if (members_.count() == 1) {
    return;
  }
  if (way == reduce_way::doubling) {
    return doubling(static_cast<char*>(data), count, type, until);
  }
  ring_pass(pass::reduce, static_cast<char*>(data), count, type, until);
}

void stream_algorithms::reduce_scatter(void* data, size_t count,
                                       element_type type, deadline until) {
  ring_pass(pass::scatter, static_cast<char*>(data), count, type, until);
}

void stream_algorithms::all_gather(void* data, size_t count, element_type type,
                                   deadline until) {
  ring_pass(pass::gather, static_cast<char*>(data), count, type, until);
}

void stream_algorithms::ring_pass(pass which, char* data, size_t count,
                                  element_type type, deadline until) {
  const int n = members_.count();
  if (n == 1) {
    return;
  }
  if (which != pass::gather) {
    scratch_.resize(scratch_bytes);
  }
  // After adding, a rank holds the slice after its own; a shift by one makes
  // that its own.
  const int shift = which == pass::scatter ? 1 : 0;
  const int steps = which == pass::reduce ? 2 * (n - 1) : n - 1;
  const int adding = which == pass::gather ? 0 : n - 1;
  ring_trip trip(data, count, type, members_.me, n, shift, steps, adding,
                 scratch_, mesh_.rank());
  arrivals_of arrivals(trip);
  stream_label label{
      op_ring, static_cast<uint32_t>(which) << 8 | static_cast<uint32_t>(type),
      count * size_of(type)};
  mesh_.transfer(label, &trip, members_.around(1), &arrivals,
                 members_.around(-1), until);
}

/// Recursive doubling. Ranks beyond a power of two fold their data into a
/// partner first and get the result from it. a + b and b + a have the same
/// bits, so every rank computes the same tree.
void stream_algorithms::doubling(char* data, size_t count, element_type type,
                                 deadline until) {
  const int n = members_.count();
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const size_t bytes = count * size_of(type);
  const stream_label label{op_doubling, static_cast<uint32_t>(type), bytes};
  const int me = members_.me;
  auto rank_at = [&](int index) {
    return members_.ranks[static_cast<size_t>(index)];
  };
  scratch_.resize(scratch_bytes);
  if (me >= core) {
    buffer_source out(data, bytes);
    mesh_.transfer(label, &out, rank_at(me - core), nullptr, -1, until);
    buffer_sink in(data, bytes);
    mesh_.transfer(label, nullptr, -1, &in, rank_at(me - core), until);
    return;
  }
  if (me + core < n) {
    adding_sink in(data, scratch_, count, type);
    in.allow(bytes);
    mesh_.transfer(label, nullptr, -1, &in, rank_at(me + core), until);
  }
  for (int distance = 1; distance < core; distance *= 2) {
    const int partner = rank_at(me ^ distance);
    adding_sink in(data, scratch_, count, type);
    sent_before_added out(data, bytes, in);
    mesh_.transfer(label, &out, partner, &in, partner, until);
    reach(fault_point::between_phases, mesh_.rank());
  }
  if (me + core < n) {
    buffer_source out(data, bytes);
    mesh_.transfer(label, &out, rank_at(me + core), nullptr, -1, until);
  }
}

void stream_algorithms::broadcast(void* data, size_t bytes, int root,
                                  deadline until) {
  if (members_.count() == 1) {
    return;
  }
  if (bytes < chain_bytes_min) {
    return tree_broadcast(static_cast<char*>(data), bytes, root, until);
  }
  chain_broadcast(static_cast<char*>(data), bytes, root, until);
}

/// Binomial: the number of ranks with the data doubles in every round.
void stream_algorithms::tree_broadcast(char* data, size_t bytes, int root,
                                       deadline until) {
  const int n = members_.count();
  const int place = (members_.me - root + n) % n; // root is at place 0
  const stream_label label{op_tree, static_cast<uint32_t>(root), bytes};
  auto rank_at = [&](int p) {
    return members_.ranks[static_cast<size_t>((p + root) % n)];
  };
  int distance = 1;
  while (distance < n && (place & distance) == 0) {
    distance *= 2;
  }
  if (place != 0) {
    buffer_sink in(data, bytes);
    mesh_.transfer(label, nullptr, -1, &in, rank_at(place - distance), until);
  }
  for (distance /= 2; distance >= 1; distance /= 2) {
    if (place + distance < n) {
      buffer_source out(data, bytes);
      mesh_.transfer(label, &out, rank_at(place + distance), nullptr, -1,
                     until);
    }
  }
}

void stream_algorithms::chain_broadcast(char* data, size_t bytes, int root,
                                        deadline until) {
  const int n = members_.count();
  const int place = (members_.me - root + n) % n;
  const stream_label label{op_chain, static_cast<uint32_t>(root), bytes};
  relay through(data, bytes);
  arrivals_of arrivals(through);
  if (place == 0) {
    buffer_source out(data, bytes);
    mesh_.transfer(label, &out, members_.around(1), nullptr, -1, until);
  } else if (place == n - 1) {
    mesh_.transfer(label, nullptr, -1, &arrivals, members_.around(-1), until);
  } else {
    mesh_.transfer(label, &through, members_.around(1), &arrivals,
                   members_.around(-1), until);
  }
}

/// Dissemination: after round k a rank has heard of the 2^(k+1) before it.
void stream_algorithms::barrier(deadline until) {
  const int n = members_.count();
  for (int distance = 1; distance < n; distance *= 2) {
    buffer_source out(nullptr, 0);
    buffer_sink in(nullptr, 0);
    const stream_label label{op_dissemination, static_cast<uint32_t>(distance),
                             0};
    mesh_.transfer(label, &out, members_.around(distance), &in,
                   members_.around(-distance), until);
  }
}

} // namespace ballast::collectives
