// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/settings.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>

#include "tests/fuzz/engine/bytes.hpp"

namespace lockstep::fuzz {

namespace fs = std::filesystem;

Settings settings_of(int argc, char** argv) {
    Settings settings;
    settings.program = fs::path(argv[0]).filename();
    settings.failures = fs::current_path();
    const std::map<std::string_view, std::function<void(const std::string&)>> options{
        {"--seconds", [&](const std::string& value) { settings.seconds = std::stoi(value); }},
        {"--seed", [&](const std::string& value) { settings.seed = std::stoull(value); }},
        {"--max-bytes", [&](const std::string& value) { settings.max_bytes = std::stoull(value); }},
        {"--input-seconds",
         [&](const std::string& value) { settings.input_seconds = std::stoi(value); }},
        {"--words", [&](const std::string& value) { settings.words = fs::absolute(value); }},
        {"--kept", [&](const std::string& value) { settings.kept = fs::absolute(value); }},
        {"--failures", [&](const std::string& value) { settings.failures = fs::absolute(value); }}};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto option = options.find(word);
        if (option != options.end() && i + 1 < argc) {
            option->second(argv[++i]);
        } else if (word.starts_with("--")) {
            throw std::runtime_error(word + ": no such option, or its value is missing");
        } else {
            for (std::string& file : files_of(word)) settings.inputs.push_back(std::move(file));
        }
    }
    return settings;
}

}  // namespace lockstep::fuzz
