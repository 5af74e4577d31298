// SPDX-License-Identifier: Apache-2.0
#include "data/storage/output_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "data/storage/shard_format.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/path_status.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw Error(ErrorKind::config, "--out " + path + ": " + why);
}

bool is_shard_name(std::string_view name) {
    for (const char* split : {format::train_split, format::valid_split, format::test_split}) {
        const std::string form = shard_file(split, 0, 0);
        const auto fits = [](char c, char pattern) {
            return pattern == '0' ? c >= '0' && c <= '9' : c == pattern;
        };
        if (std::equal(name.begin(), name.end(), form.begin(), form.end(), fits)) return true;
    }
    return false;
}

bool is_ours(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    std::error_code failure;
    if (entry.is_symlink(failure) || !entry.is_regular_file(failure)) return false;
    for (const char* known : {format::dataset_file, format::index_file, format::tokenizer_file,
                              format::dictionary_file, format::sentencepiece_file})
        if (name == known) return true;
    return is_shard_name(name);
}

// Names the files that --overwrite would delete although prepare did not write them.
std::string foreign_files(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path))
        if (!is_ours(entry)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    constexpr std::size_t max_named = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), max_named); ++i)
        text += (i ? ", " : "") + names[i];
    if (names.size() > max_named)
        text += " and " + std::to_string(names.size() - max_named) + " more";
    return text;
}

void check_free(const std::string& path, Existing existing) {
    std::error_code failure;
    if (!fs::exists(path, failure)) return;
    if (!fs::is_directory(path, failure)) refuse(path, "is a file; choose another name");
    if (fs::is_empty(path, failure)) return;
    if (!fs::exists(path + "/" + format::dataset_file, failure))
        refuse(path, "the folder has other files in it; choose a new one");
    if (existing == Existing::refuse)
        refuse(path, "there is a data set already; choose another folder or say --overwrite");
    if (const std::string foreign = foreign_files(path); !foreign.empty())
        refuse(path,
               "the data set's folder also has " + foreign +
                   ", which --overwrite would delete; move that away or choose another folder");
}

// Returns the target of a symbolic link: a rename to `path` would replace the link itself instead.
std::string followed(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    std::error_code failure;
    if (!fs::is_symlink(path, failure)) return path;
    if (!path_exists(path))
        refuse(path, "is a symbolic link to " + fs::read_symlink(path).string() +
                         ", which is not there; make that folder, or name another");
    return fs::canonical(path);
}

// Refuses a mount point before the work begins: it could not be renamed at the end.
void refuse_mount_point(const std::string& path) {
    struct stat own {
    }, parent{};
    if (::stat(path.c_str(), &own) != 0 || ::stat((path + "/..").c_str(), &parent) != 0) return;
    if (own.st_dev != parent.st_dev)
        refuse(path, "a disk is mounted there, which cannot be renamed; name a folder inside it");
}

void flush_to_disk(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || ::fsync(file.raw()) != 0) throw_errno("cannot flush to disk", path);
}

void rename_or_throw(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("cannot rename to " + to, from);
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& path, Existing existing)
    : path_(followed(path)), existing_(existing) {
    check_free(path_, existing_);
    refuse_mount_point(path_);
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
    check_free(path_, existing_);  // checked again: files may have appeared meanwhile
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
