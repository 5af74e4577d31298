// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/text_table.hpp"

#include <algorithm>

namespace lockstep::launcher {

std::vector<std::size_t> TextTable::widths() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    return widths;
}

std::string TextTable::text() const {
    const auto wide = widths();
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += "  " + row[i];
            line.append(wide[i] - row[i].size(), ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

// The last column is not padded because it may be long.
std::string TextTable::markdown() const {
    const auto wide = widths();
    std::string text;
    for (const auto& row : rows_) {
        text += "|";
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += " " + row[i];
            if (i + 1 < row.size()) text.append(wide[i] - row[i].size(), ' ');
            text += " |";
        }
        text += "\n";
        if (&row != &rows_.front()) continue;
        for (std::size_t i = 0; i < row.size(); ++i) text += "| --- ";
        text += "|\n";
    }
    return text;
}

}  // namespace lockstep::launcher
