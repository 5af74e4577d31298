// SPDX-License-Identifier: Apache-2.0
#include "data/splits/equal_files.hpp"

#include <filesystem>
#include <string_view>

#include "data/text/input_file.hpp"

namespace lockstep::data {
namespace {

enum class Relation { other, beginning, same };

// The beginnings of files decide nearly always, so that each file is opened only once.
constexpr std::size_t head_bytes = 256, bytes_at_once = std::size_t{1} << 16;

struct Text {
    std::string path, head;
};

std::vector<Text> heads_of(const std::vector<std::string>& paths) {
    std::vector<Text> texts;
    for (const std::string& path : paths) {
        Text text{path, std::string(head_bytes, '\0')};
        std::string damage;
        text.head.resize(InputFile(path).read(text.head.data(), head_bytes, damage));
        texts.push_back(std::move(text));
    }
    return texts;
}

Relation compared_whole(const std::string& path, const std::string& other) {
    std::error_code failure;
    if (std::filesystem::equivalent(path, other, failure)) return Relation::same;
    InputFile left(path), right(other);
    std::string left_text(bytes_at_once, '\0'), right_text(bytes_at_once, '\0'), damage;
    for (;;) {
        const std::size_t got = left.read(left_text.data(), bytes_at_once, damage);
        const std::size_t had = right.read(right_text.data(), bytes_at_once, damage);
        if (!damage.empty()) return Relation::other;  // the reader will refuse the file
        if (!std::string_view(right_text)
                 .substr(0, had)
                 .starts_with(std::string_view(left_text).substr(0, got)))
            return Relation::other;
        if (got < bytes_at_once) return got == had ? Relation::same : Relation::beginning;
    }
}

Relation relation(const Text& text, const Text& other) {
    const bool whole_head = text.head.size() == head_bytes;
    const bool possible = !text.head.empty() && (whole_head ? text.head == other.head
                                                            : other.head.starts_with(text.head));
    return possible ? compared_whole(text.path, other.path) : Relation::other;
}

struct Named {
    const char* option;
    std::vector<Text> texts;
};

// Returns "--valid a.txt is the text of --input b.txt", or nothing.
std::string found_in(const Text& text, const char* option, const std::vector<const Named*>& known) {
    for (const Named* split : known) {
        for (const Text& other : split->texts) {
            const Relation found = relation(text, other);
            if (found == Relation::other) continue;
            return std::string(option) + " " + text.path +
                   (found == Relation::same ? " is the text of " : " is the beginning of ") +
                   split->option + " " + other.path;
        }
    }
    return "";
}

void compare(const Named& held_out, const std::vector<const Named*>& known, Log& log) {
    std::string first;
    std::size_t more = 0;
    for (const Text& text : held_out.texts) {
        const std::string found = found_in(text, held_out.option, known);
        if (found.empty()) continue;
        if (first.empty())
            first = found;
        else
            ++more;
    }
    if (first.empty()) return;
    const std::string others = more == 0 ? "" : " (and so for " + std::to_string(more) + " more)";
    log.info("warning: " + first + others +
             ": its scores say nothing about new text; hold out a part with --valid-fraction or "
             "--test-fraction");
}

}  // namespace

void warn_of_equal_files(const SplitFileNames& files, Log& log) {
    if (files.valid.empty() && files.test.empty()) return;
    const Named train{"--input", heads_of(files.train)}, valid{"--valid", heads_of(files.valid)},
        test{"--test", heads_of(files.test)};
    compare(valid, {&train}, log);
    compare(test, {&train, &valid}, log);
}

}  // namespace lockstep::data
