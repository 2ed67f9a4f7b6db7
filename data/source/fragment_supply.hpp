/// Where a source's reader gets files that others read for it. Owned by whoever
/// prepares a set; used by the thread that reads the source. What is wrong with
/// a file is never said here: the reader reads such a file itself, in its turn,
/// and finds the first mistake in the order of the rows.
#pragma once

#include "data/source/file_system.hpp"
#include "data/source/fragment_file.hpp"
#include "runtime/messages/fragments.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace ballast::data {

class fragment_supply {
public:
  virtual ~fragment_supply() = default;
  /// These are read from now on, apart from each other, as the files before
  /// them say. May decide that they are not worth it. At most once.
  virtual void begin(std::vector<stored_file> files,
                     const fragment_choice& choice) = 0;
  /// Waits for file `number` of these. Null: the caller is to read it.
  virtual std::unique_ptr<fragment_file> take(size_t number) = 0;
};

/// One file, read apart from the others of its source, or some files of a
/// folder of images. For a table or images; `request` without `like` and
/// without a supply. Errors as read_source() throws them, but for those that
/// only all files together show.
table_fragment read_fragment(const source_spec& spec,
                             const source_request& request,
                             const stored_file& file,
                             const fragment_choice& choice);

/// The files of a folder of images, in the parts that are read apart.
std::vector<stored_file> parts_of_images(const source_spec& spec,
                                         const std::string& pointer,
                                         const store::work_watch& stop);

/// Whether the files of a source of this format can be read apart.
bool has_fragments(source_format format);
/// How many files at once keep the cores of a machine busy, or, `remote`, the
/// line to the store that has them.
size_t fragments_at_once(source_format format, bool remote);

} // namespace ballast::data
