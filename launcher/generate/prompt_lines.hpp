// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

#include "data/text/json_array.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Gives the lines of a text one after the other. A text of `jsonl` may be one JSON array: then a
// line is an element.
class PromptLines {
public:
    // `in` must outlive the object.
    PromptLines(std::istream& in, std::string origin, PromptFormat format)
        : in_(in), origin_(std::move(origin)), format_(format) {}

    // Returns false at the end. Throws a data error "origin:line: ..." for a line that is longer
    // than read_line allows, and for an array that does not end.
    bool next(std::string& line);
    // Returns the last line's number, which counts from 1.
    std::uint64_t number() const noexcept { return number_; }
    const std::string& origin() const noexcept { return origin_; }

private:
    void take_start();
    void look_for_array();
    bool next_element(std::string& line);
    bool read_more();
    void require_short(const std::string& line) const;

    std::istream& in_;
    const std::string origin_;
    const PromptFormat format_;
    std::uint64_t number_ = 0;
    std::string start_;  // the first bytes, if they were looked at and belong to the first line
    std::optional<data::ArrayLines> array_;
    std::string elements_;  // lines of the array that were not given yet
};

}  // namespace lockstep::launcher
