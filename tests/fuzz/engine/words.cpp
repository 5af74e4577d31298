// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/words.hpp"

#include <fstream>
#include <stdexcept>

namespace lockstep::fuzz {
namespace {

// Reads what stands between the first and the last quotation mark of a line.
Bytes word_of(const std::string& line, const std::string& where) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (begin == end) throw std::runtime_error(where + ": not a word in quotation marks");
    const std::string text = line.substr(begin + 1, end - begin - 1);
    Bytes word;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escaped = text[i] == '\\' && i + 1 < text.size();
        if (escaped && text[i + 1] == 'x' && i + 3 < text.size()) {
            word.push_back(
                static_cast<std::uint8_t>(std::stoi(text.substr(i + 2, 2), nullptr, 16)));
            i += 3;
        } else {
            i += escaped ? 1 : 0;
            word.push_back(static_cast<std::uint8_t>(text[i]));
        }
    }
    return word;
}

}  // namespace

std::vector<Bytes> read_words(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    std::vector<Bytes> words;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
        if (!line.empty() && line[0] != '#')
            words.push_back(word_of(line, path + ":" + std::to_string(number)));
    return words;
}

}  // namespace lockstep::fuzz
