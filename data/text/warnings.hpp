// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/log.hpp"

namespace lockstep::data {

struct SourceLine;

// Counts what is odd in a text, each kind with the line where it was first seen. The parts of a
// text can be read by several threads, each with its own object: append() puts them together in the
// order of the text, so the result does not depend on the threads.
class Warnings {
public:
    // `what` is the warning, a text that outlives the object. An @ in it stands for `name`, in
    // quotes, and each name is a kind of its own. A # stands for "N of M conversations".
    void add(std::string_view what, const SourceLine& source_line, std::string_view name = {});
    void count_conversation() noexcept { ++conversations_; }
    // Notes the form of a line, a text that outlives the object. Throws a data error with the line
    // if an earlier line of the same file has another form; so does append().
    void note_form(std::string_view form, const SourceLine& source_line);
    // Adds the warnings of the text that follows.
    void append(const Warnings& later);
    // Writes a line for each kind, with the number of times. Of many names of the same warning the
    // first are written, and the others counted.
    void write(Log& log) const;

private:
    struct Kind {
        std::string_view what;
        std::string name;
        auto operator<=>(const Kind&) const = default;
    };
    struct Warning {
        Kind kind;
        std::string path;  // where it was first seen
        std::uint64_t line = 0, count = 0;
    };

    struct Form {
        std::string_view name;
        std::uint64_t line = 0;  // the first one
    };

    enum class Names { all, first };  // whether many names of a warning are kept
    void add(Warning warning, Names names);
    std::string text_of(const Warning& warning) const;

    std::vector<Warning> warnings_;  // in the order of the text
    std::map<Kind, std::size_t> index_;
    std::map<std::string_view, int> names_;  // number of names of a warning
    std::uint64_t conversations_ = 0;
    std::map<std::string, Form> forms_;  // by path
};

}  // namespace lockstep::data
