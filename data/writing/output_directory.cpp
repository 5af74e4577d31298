// SPDX-License-Identifier: Apache-2.0
#include "data/writing/output_directory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "data/storage/foreign_tokenizer.hpp"
#include "data/storage/shard_format.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"

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
    for (const char* known :
         {format::dataset_file, format::index_file, format::tokenizer_file, format::dictionary_file,
          format::sentencepiece_file, format::foreign_tokenizer_file})
        if (name == known) return true;
    for (const char* known : format::foreign_tokenizer_files)
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
std::string followed(const std::string& given) {
    std::string path = named_folder(given);
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

std::string prepared(const std::string& given, Existing existing) {
    std::string path = followed(given);
    remove_partial_folders(path);
    check_free(path, existing);
    refuse_mount_point(path);
    return path;
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& path, Existing existing)
    : path_(prepared(path, existing)), partial_(path_), existing_(existing) {}

void OutputDirectory::commit() {
    check_free(path_, existing_);  // checked again before the long sync: files may have appeared
    // A file of the work that stays would be one that --overwrite refuses to delete.
    for (const auto& entry : fs::directory_iterator(partial_.path()))
        if (!is_ours(entry)) fs::remove(entry.path());
    for (const auto& entry : fs::directory_iterator(partial_.path())) sync_file(entry.path());
    if (existing_ == Existing::overwrite) {
        partial_.put_in_place(path_);
    } else if (partial_.put_in_free_place(path_) == Placed::name_is_taken) {
        check_free(path_, existing_);  // says what is there
        refuse(path_, "another program used that name meanwhile; choose another");
    }
}

}  // namespace lockstep::data
