// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/output_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/core/error.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::size_t looked_at_bytes = 256;

bool replaceable(const std::string& path, std::string_view first_key) {
    std::ifstream file(path, std::ios::binary);
    std::string head(looked_at_bytes, ' ');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    if (file.bad() || !file.is_open()) throw_errno("cannot be read", path);
    head.resize(static_cast<std::size_t>(file.gcount()));
    const bool empty = head.empty();
    std::erase_if(head, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
    return empty || head.starts_with("{\"" + std::string(first_key) + "\":");
}

[[noreturn]] void refuse(const std::string& option, const std::string& path,
                         const std::string& what) {
    throw Error(ErrorKind::config, option + " " + path + ": " + what);
}

}  // namespace

void require_file_name(const std::string& option, const std::string& path) {
    if (path.empty()) return;
    const std::string name = std::filesystem::path(path).filename();
    if (is_folder(path)) refuse(option, path, "is a folder; name a file");
    if (name.empty() || name == "." || name == "..")
        refuse(option, path, "names a folder; name a file");
}

void require_place(const std::string& option, const std::string& path) {
    require_file_name(option, path);
    if (path.empty() || path_exists(path)) return;
    const std::filesystem::path folder = std::filesystem::path(followed_path(path)).parent_path();
    if (!folder.empty() && !is_folder(folder))
        refuse(option, path,
               "there is no folder " + folder.string() + "; make it, or name another file");
}

void require_output_file(const std::string& option, const std::string& path,
                         std::string_view first_key) {
    if (path.empty()) return;
    require_place(option, path);
    const bool there = path_exists(path);
    if (there && !is_file(path)) refuse(option, path, "is not a regular file; name another");
    const std::string parent = std::filesystem::absolute(path).parent_path();
    const std::string opened = there ? path : parent;
    if (::access(opened.c_str(), W_OK) != 0) throw_errno(option + " cannot be written", path);
    if (there && !replaceable(path, first_key))
        refuse(option, path, "holds something else, which would be lost; name another file");
}

void require_different_files(const std::string& option, const std::string& path,
                             const std::string& other_option, const std::string& other_path) {
    namespace fs = std::filesystem;
    if (path.empty() || other_path.empty() ||
        fs::absolute(path).lexically_normal() != fs::absolute(other_path).lexically_normal())
        return;
    throw Error(ErrorKind::config, option + " and " + other_option + " " + other_path +
                                       ": are the same file; name two");
}

}  // namespace lockstep::launcher
