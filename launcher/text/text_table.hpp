// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

// Formats rows of text cells. Each column is as wide as its widest cell. The first row is the
// heading.
class TextTable {
public:
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    std::string text() const;
    std::string markdown() const;

private:
    std::vector<std::size_t> widths() const;

    std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep::launcher
