// SPDX-License-Identifier: Apache-2.0
#include "data/text/git_lfs.hpp"

#include <fstream>

#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view beginning = "version https://git-lfs.github.com/spec/";

}  // namespace

bool is_lfs_pointer(std::string_view text) noexcept { return text.starts_with(beginning); }

void refuse_lfs_pointer(const std::string& path, std::string_view text) {
    if (!is_lfs_pointer(text)) return;
    throw Error(ErrorKind::data, path +
                                     ": is only Git LFS's pointer to the file; fetch the file "
                                     "itself with: git lfs pull");
}

void refuse_lfs_pointer(const std::string& path) {
    if (!is_file(path)) return;  // Opening a pipe waits for somebody who writes.
    std::string text(beginning.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    if (file.read(text.data(), static_cast<std::streamsize>(text.size())))
        refuse_lfs_pointer(path, text);
}

}  // namespace lockstep::data
