// SPDX-License-Identifier: Apache-2.0
#include "data/output_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "data/shard_format.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

void check_free(const std::string& path, Existing existing) {
    std::error_code failure;
    if (!fs::exists(path, failure)) return;
    if (!fs::is_directory(path, failure))
        throw Error(ErrorKind::config, "--out " + path + ": is a file; choose another name");
    if (fs::is_empty(path, failure)) return;
    if (!fs::exists(path + "/" + format::dataset_file, failure))
        throw Error(ErrorKind::config,
                    "--out " + path + ": the folder has other files in it; choose a new one");
    if (existing == Existing::refuse)
        throw Error(ErrorKind::config, "--out " + path +
                                           ": there is a data set already; choose another folder "
                                           "or say --overwrite");
}

void flush_to_disk(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || ::fsync(file.raw()) != 0) throw_errno("cannot flush to disk", path);
}

void rename_or_throw(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("cannot rename to " + to, from);
}

}  // namespace

OutputDirectory::OutputDirectory(std::string path, Existing existing) : path_(std::move(path)) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    check_free(path_, existing);
    partial_ = path_ + ".partial-" + std::to_string(::getpid());
    std::error_code failure;
    fs::create_directories(partial_, failure);
    if (failure)
        throw Error(ErrorKind::config, "--out " + path_ + ": cannot make this folder (" +
                                           failure.message() + "); choose one you can write to");
}

OutputDirectory::~OutputDirectory() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

void OutputDirectory::commit() {
    for (const auto& entry : fs::directory_iterator(partial_)) flush_to_disk(entry.path());
    flush_to_disk(partial_);
    const std::string old = partial_ + "-old";
    std::error_code failure;
    const bool replaces = fs::exists(path_, failure);
    if (replaces) rename_or_throw(path_, old);
    rename_or_throw(partial_, path_);
    partial_.clear();
    if (replaces) fs::remove_all(old, failure);
}

}  // namespace lockstep::data
