/// A model as a folder that explains itself, `model/` of a run: the parameters,
/// all that new rows need on their way to them, and a card (model_card.hpp).
/// `ballast predict` takes it in place of the run, wherever it is moved to.
///
///   model.safetensors  a hard link, where that is possible
///   job.json           architecture, pipeline and graph
///   set.json           columns, label, names of classes, shape of a row
///   preprocessing/     what fitted nodes have learned; if there are any
///   card.json, README.md
///
/// Errors: ballast_error{run_dir_unusable, disk_full} with the path;
/// {invalid_data} of a damaged file.
#pragma once

#include "store/atomic_file.hpp"

#include <filesystem>

namespace ballast::data {

inline constexpr const char* model_folder_name = "model";

/// From the files of the run, or of such a folder, in `run`; into `place`,
/// which is empty, and which its maker publishes.
void write_model_folder(const std::filesystem::path& run,
                        const std::filesystem::path& place,
                        store::outlives durability);
/// RUN/model, in the place of that of an earlier life.
void publish_model_folder(const std::filesystem::path& run,
                          const std::filesystem::path& staged);

} // namespace ballast::data
