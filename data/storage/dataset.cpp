// SPDX-License-Identifier: Apache-2.0
#include "data/storage/dataset.hpp"

#include <filesystem>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

constexpr const char* how_to_prepare = "make one with 'lockstep prepare --input FILE --out DIR'";

void check_directory(const std::string& directory, const std::string& option) {
    const std::string named = "--" + option + " " + directory;
    if (!path_exists(directory))
        throw Error(ErrorKind::config, named + ": no such folder; " + how_to_prepare);
    if (!is_folder(directory))
        throw Error(ErrorKind::config, named + ": not a folder; " + how_to_prepare);
    if (std::filesystem::absolute(directory).string().find('\n') != std::string::npos)
        throw Error(ErrorKind::config,
                    named +
                        ": has a line feed in its name, which separates the names of data sets "
                        "in a model's config.json; rename the folder");
    if (!path_exists(directory + "/" + format::dataset_file))
        throw Error(ErrorKind::config, named + ": not a prepared data set (no " +
                                           format::dataset_file + "); " + how_to_prepare);
}

}  // namespace

Dataset::Dataset(std::string directory, DatasetInfo info)
    : directory_(std::move(directory)), info_(std::move(info)) {}

Dataset Dataset::open(const std::string& directory, const std::string& option) {
    check_directory(directory, option);
    return Dataset(directory, read_dataset_info(directory));
}

bool Dataset::has_split(std::string_view name) const noexcept {
    return info_.find(name) != nullptr;
}

const SplitInfo& Dataset::split(std::string_view name) const {
    if (const SplitInfo* found = info_.find(name)) return *found;
    std::string known;
    for (const SplitInfo& split : info_.splits) known += (known.empty() ? "" : ", ") + split.name;
    throw Error(ErrorKind::config, directory_ + ": no split '" + shown(name) +
                                       "' in this data set, which has: " + known);
}

std::string Dataset::shard_path(const ShardInfo& shard) const {
    return directory_ + "/" + shard.file;
}

}  // namespace lockstep::data
