// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/settings.hpp"

#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "tests/fuzz/engine/bytes.hpp"

namespace lockstep::fuzz {

namespace fs = std::filesystem;

namespace {

struct Range {
    std::uint64_t least = 0, largest = 1'000'000'000;
};

std::uint64_t number(const std::string& option, const std::string& value, const Range& range) {
    std::uint64_t parsed = 0;
    const char* const end = value.data() + value.size();
    const auto result = std::from_chars(value.data(), end, parsed);
    if (result.ec != std::errc() || result.ptr != end || parsed < range.least ||
        parsed > range.largest)
        throw std::runtime_error(option + " " + value + ": give a whole number from " +
                                 std::to_string(range.least) + " to " +
                                 std::to_string(range.largest));
    return parsed;
}

void require_file(const std::string& path) {
    if (!fs::is_regular_file(path)) throw std::runtime_error(path + ": there is no such file");
}

}  // namespace

Settings settings_of(int argc, char** argv) {
    Settings settings;
    settings.program = fs::path(argv[0]).filename();
    settings.failures = fs::current_path();
    const std::map<std::string_view, std::function<void(const std::string&)>> options{
        {"--seconds",
         [&](const std::string& value) {
             settings.seconds = static_cast<int>(number("--seconds", value, {}));
         }},
        {"--seed",
         [&](const std::string& value) {
             settings.seed = number("--seed", value, {0, UINT64_MAX});
         }},
        {"--max-bytes",
         [&](const std::string& value) { settings.max_bytes = number("--max-bytes", value, {}); }},
        {"--input-seconds",
         [&](const std::string& value) {
             settings.input_seconds =
                 static_cast<int>(number("--input-seconds", value, {.least = 1}));
         }},
        {"--words", [&](const std::string& value) { settings.words = fs::absolute(value); }},
        {"--kept", [&](const std::string& value) { settings.kept = fs::absolute(value); }},
        {"--failures", [&](const std::string& value) { settings.failures = fs::absolute(value); }}};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto option = options.find(word);
        if (option != options.end() && i + 1 < argc) {
            option->second(argv[++i]);
        } else if (word.starts_with("--")) {
            throw std::runtime_error(word +
                                     ": no such option, or its value is missing; the options are "
                                     "--seconds N, --seed N, --input-seconds N, --max-bytes N, "
                                     "--words FILE, --kept DIR and --failures DIR");
        } else {
            for (std::string& file : files_of(word)) settings.inputs.push_back(std::move(file));
        }
    }
    for (const std::string& input : settings.inputs) require_file(input);
    if (!settings.words.empty()) require_file(settings.words);
    return settings;
}

}  // namespace lockstep::fuzz
