#include "cli/node/identity.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <random>

namespace ballast::cli {

namespace {

struct build_id_search {
  const void* code;
  std::string found;
};

int look_for_build_id(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<build_id_search*>(data);
  auto address = reinterpret_cast<uintptr_t>(search.code);
  bool ours = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    ours = ours || (part.p_type == PT_LOAD && address >= begin &&
                    address < begin + part.p_memsz);
  }
  if (!ours)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE)
      continue;
    auto at = info->dlpi_addr + part.p_vaddr;
    auto end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      uintptr_t name = at + sizeof *note;
      uintptr_t bytes = name + ((note->n_namesz + 3u) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
          std::memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0) {
        const auto* id = reinterpret_cast<const unsigned char*>(bytes);
        for (uint32_t k = 0; k < note->n_descsz && k < 8; ++k) {
          char hex[3];
          std::snprintf(hex, sizeof hex, "%02x", id[k]);
          search.found += hex;
        }
        return 1;
      }
      at = bytes + ((note->n_descsz + 3u) & ~3u);
    }
  }
  return 1;
}

} // namespace

std::string build_id() {
  build_id_search search{reinterpret_cast<const void*>(&make_token), {}};
  dl_iterate_phdr(look_for_build_id, &search);
  return search.found.empty() ? "unknown" : search.found;
}

std::string make_token() {
  std::random_device device;
  std::string out;
  for (int i = 0; i < 4; ++i) {
    char part[9];
    std::snprintf(part, sizeof part, "%08x", device());
    out += part;
  }
  return out;
}

} // namespace ballast::cli
