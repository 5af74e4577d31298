// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/bytes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace lockstep::fuzz {

namespace fs = std::filesystem;

Bytes read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    Bytes bytes(static_cast<std::size_t>(file.tellg()));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error(path + ": cannot be read");
    return bytes;
}

void write_bytes(const std::string& path, const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

std::vector<std::string> files_of(const std::string& path) {
    if (!fs::is_directory(path)) return {fs::absolute(path)};
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(fs::absolute(path)))
        if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

std::string name_of(const Bytes& bytes) {
    std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
    for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3u;
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

}  // namespace lockstep::fuzz
