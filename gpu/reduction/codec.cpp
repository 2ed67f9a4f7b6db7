#include "gpu/reduction/codec.hpp"

#include "runtime/base/errors.hpp"

namespace ballast::gpu {

std::unique_ptr<codec> make_codec(const train_spec& how, uint64_t seed,
                                  const compressed_parts& parts) {
  switch (how.compression) {
  case compression_kind::bf16:
    return make_bfloat16_codec();
  case compression_kind::int8:
  case compression_kind::automatic:
    return make_int8_codec();
  case compression_kind::topk:
    return make_topk_codec(how.compression_ratio, how.compression_warmup_steps);
  case compression_kind::powersgd:
    return make_powersgd_codec(seed, parts);
  case compression_kind::none:
    break;
  }
  throw ballast_error(errc::internal, "a codec of no compression");
}

} // namespace ballast::gpu
