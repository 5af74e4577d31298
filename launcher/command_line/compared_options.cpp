// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/compared_options.hpp"

#include <array>
#include <filesystem>

#include "launcher/command_line/option_table.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// Paths are separated by blanks, as the table shows them.
std::string absolute_of(const std::string& paths) {
    std::string text;
    for (std::size_t begin = 0; begin < paths.size();) {
        const std::size_t end = std::min(paths.find(' ', begin), paths.size());
        const std::string piece = paths.substr(begin, end - begin);
        // A path that holds blanks has pieces that may be empty. The current folder may be gone.
        std::error_code unknown;
        auto path = std::filesystem::absolute(piece, unknown).lexically_normal();
        if (piece.empty() || unknown) path = piece;
        if (!path.has_filename()) path = path.parent_path();
        text += (text.empty() ? "" : " ") + path.string();
        begin = end + 1;
    }
    return text;
}

bool equal(const ComparedValue& one, const ComparedValue& other) {
    return one.text == other.text || (!one.absolute.empty() && one.absolute == other.absolute);
}

}  // namespace

ComparedOptions compared_options(const std::vector<OptionTable>& tables,
                                 const std::set<std::string>& given) {
    ComparedOptions options;
    for (const OptionTable& table : tables)
        for (const Option& option : table.options()) {
            if (!option.per_rank.empty()) continue;
            const std::string& value = option.default_text;
            options[option.name] = {value, option.has(Trait::paths) ? absolute_of(value) : "",
                                    given.contains(option.name)};
        }
    return options;
}

// A value may hold any character of a command line, which are all but the zero byte.
std::string to_text(const ComparedOptions& options) {
    std::string text;
    for (const auto& [name, value] : options) {
        for (const std::string& part :
             {name, value.text, value.absolute, std::string(value.given ? "given" : "")}) {
            text += part;
            text += '\0';
        }
    }
    return text;
}

ComparedOptions compared_options_from(const std::string& text) {
    ComparedOptions options;
    std::array<std::string, 4> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        for (std::string& part : parts) {
            const std::size_t end = text.find('\0', begin);
            if (end == std::string::npos)
                throw Error(ErrorKind::peer, "rank 0 sent something else than its options");
            part = text.substr(begin, end - begin);
            begin = end + 1;
        }
        options[parts[0]] = {parts[1], parts[2], !parts[3].empty()};
    }
    return options;
}

std::optional<std::string> first_difference(const ComparedOptions& one,
                                            const ComparedOptions& other) {
    std::set<std::string> names;
    for (const auto& [name, value] : one) names.insert(name);
    for (const auto& [name, value] : other) names.insert(name);
    std::optional<std::string> first;
    for (const std::string& name : names) {
        const auto a = one.find(name), b = other.find(name);
        if (a == one.end() || b == other.end()) return name;
        if (equal(a->second, b->second)) continue;
        if (a->second.given || b->second.given) return name;
        if (!first) first = name;
    }
    return first;
}

}  // namespace lockstep::launcher
