// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/config_file.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/text_start.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

// Double quotes write these letters for characters that a line cannot hold.
constexpr std::array<std::pair<char, char>, 5> escapes{
    {{'"', '"'}, {'\\', '\\'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}}};

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Removes the comment after a bare value: `#` at the beginning or after a blank.
std::string bare(const std::string& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '#' && (at == 0 || blanks.find(text[at - 1]) != std::string::npos))
            return trimmed(text.substr(0, at));
    }
    return trimmed(text);
}

// Reads the value of one line, the text after its `=`.
class Value {
public:
    Value(const std::string& text, std::string where)
        : text_(trimmed(text)), where_(std::move(where)) {}

    std::string read() {
        if (text_.empty() || (text_.front() != '"' && text_.front() != '\'')) return bare(text_);
        std::string value = text_.front() == '"' ? escaped() : literal();
        const std::string behind = trimmed(text_.substr(at_));
        if (!behind.empty() && behind.front() != '#')
            wrong("'" + shown(behind) + "' behind the closing quote; a comment begins with #");
        return value;
    }

private:
    std::string escaped() {
        std::string value;
        for (at_ = 1; at_ < text_.size(); ++at_) {
            char c = text_[at_];
            if (c == '"') {
                ++at_;
                return value;
            }
            if (c == '\\') c = character_after_backslash();
            value += c;
        }
        wrong("the closing \" is missing");
    }

    char character_after_backslash() {
        const char letter = ++at_ < text_.size() ? text_[at_] : '\0';
        for (const auto& [written, meant] : escapes) {
            if (written == letter) return meant;
        }
        wrong(
            "in double quotes a backslash stands before \", \\, n, r or t; single quotes take "
            "it as it is");
    }

    std::string literal() {
        const std::size_t end = text_.find('\'', 1);
        if (end == std::string::npos) wrong("the closing ' is missing");
        at_ = end + 1;
        return text_.substr(1, end - 1);
    }

    [[noreturn]] void wrong(const std::string& what) const {
        throw Error(ErrorKind::config, where_ + what);
    }

    std::string text_, where_;
    std::size_t at_ = 0;
};

// Other files of settings have names with a colon, in quotes, in braces or behind a dash.
bool is_name(const std::string& name) {
    return !name.empty() && name.find_first_of(":{[\"") == std::string::npos;
}

std::string without_quotes(std::string text) {
    std::erase_if(text, [](char c) { return c == '"' || c == '\'' || c == ','; });
    return trimmed(text);
}

// Says how a line of another format is written here.
std::string hint(const std::string& text) {
    const std::string line = trimmed(text);
    const bool json = line.starts_with('{') || line.starts_with('"') || line.starts_with('}');
    const auto colon = line.find(':');
    const bool pair =
        colon != std::string::npos && colon > 0 && (json || line.find_first_of(" \t=") > colon);
    if (!json && !pair && line != "---" && !line.starts_with("- ")) return ", as `batchsize = 16`";
    std::string name = without_quotes(line.substr(0, colon));
    if (name.starts_with('{')) name = trimmed(name.substr(1));
    const std::string value =
        pair ? without_quotes(line.substr(colon + 1, line.find_first_of(",}#", colon) - colon - 1))
             : "";
    const bool whole = pair && !name.empty() && !value.empty() && value.front() != '{';
    return ", and looks like " + std::string(json ? "JSON" : "YAML") + ": write `" +
           (whole ? shown(name) + " = " + shown(value) : "batchsize = 16") + "`";
}

std::string quoted(const std::string& value) {
    std::string text = "\"";
    for (const char c : value) {
        const auto escape = std::find_if(escapes.begin(), escapes.end(),
                                         [c](const auto& pair) { return pair.second == c; });
        if (escape == escapes.end()) {
            text += c;
        } else {
            text += {'\\', escape->first};
        }
    }
    return text + '"';
}

bool needs_quotes(const std::string& value) {
    return value.empty() || value.find_first_of("\"'\\#\n\r\t\v\f") != std::string::npos ||
           trimmed(value) != value;
}

// A text of an old Mac is one line, and only its first option would be seen.
void require_one_line(std::string_view line, const std::string& where) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('\r') != std::string_view::npos)
        throw Error(ErrorKind::config,
                    where +
                        "a carriage return inside of the line; if lines end so, convert the "
                        "file with tr '\\r' '\\n'");
    if (line.find('\0') != std::string_view::npos)
        throw Error(ErrorKind::config, where + "a NUL byte; is this a text file?");
}

}  // namespace

std::vector<ConfigLine> read_config_lines(const std::string& text, const std::string& path) {
    constexpr std::size_t largest_bytes = std::size_t{4} << 20;
    if (text.size() > largest_bytes)
        throw Error(
            ErrorKind::config,
            path +
                ": is larger than 4 MiB, which is too much for lines `name = value`; is it the "
                "right file?");
    std::vector<ConfigLine> lines;
    const std::size_t end = text.find_last_not_of(end_of_dos_text) + 1;
    std::istringstream in(text.substr(0, end).erase(0, mark_bytes(text, path)));
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        const std::string where = path + ":" + std::to_string(number) + ": ";
        require_one_line(line, where);
        if (bare(line).empty()) continue;
        const std::size_t equals = line.find('=');
        std::string name = trimmed(line.substr(0, equals));
        if (equals == std::string::npos || !is_name(name))
            throw Error(ErrorKind::config, where + "'" + shown(trimmed(line)) +
                                               "' is not a line `name = value`" + hint(line));
        std::replace(name.begin(), name.end(), '_', '-');
        lines.push_back({number, name, Value(line.substr(equals + 1), where).read()});
    }
    return lines;
}

std::string config_line(const std::string& name, const std::string& value) {
    return name + " = " + (needs_quotes(value) ? quoted(value) : value) + "\n";
}

}  // namespace lockstep::launcher
