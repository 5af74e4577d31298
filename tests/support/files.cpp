// SPDX-License-Identifier: Apache-2.0
#include "tests/support/files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lockstep::tests {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder()
    : path_((fs::temp_directory_path() / "lockstep-test-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no scratch folder");
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::set<std::string> ScratchFolder::names(const std::string& below) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(*this / below)) {
        found.insert(entry.path().filename().string());
    }
    return found;
}

std::string read_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();  // iterators would throw if a read fails
    return std::move(text).str();
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

void write_text(const std::string& path, std::string_view text) {
    std::error_code ignored;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    std::ofstream(path, std::ios::binary) << text;
}

void copy_head(const std::string& from, const std::string& to, int lines) {
    std::ifstream in(from, std::ios::binary);
    std::ofstream out(to, std::ios::binary);
    std::string line;
    for (int i = 0; i < lines && std::getline(in, line); ++i) out << line << '\n';
}

}  // namespace lockstep::tests
