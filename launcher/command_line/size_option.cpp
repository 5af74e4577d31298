// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/size_option.hpp"

#include <array>
#include <utility>

#include "launcher/command_line/option_table.hpp"

namespace lockstep::launcher {

std::int64_t parse_bytes(const std::string& option, const std::string& word,
                         std::int64_t smallest) {
    constexpr std::array<std::pair<const char*, double>, 12> units{{{"KiB", 0x1p10},
                                                                    {"MiB", 0x1p20},
                                                                    {"GiB", 0x1p30},
                                                                    {"TiB", 0x1p40},
                                                                    {"KB", 1e3},
                                                                    {"MB", 1e6},
                                                                    {"GB", 1e9},
                                                                    {"TB", 1e12},
                                                                    {"K", 0x1p10},
                                                                    {"M", 0x1p20},
                                                                    {"G", 0x1p30},
                                                                    {"T", 0x1p40}}};
    for (const auto& [unit, bytes] : units) {
        if (!word.ends_with(unit)) continue;
        std::string number = word.substr(0, word.size() - std::string(unit).size());
        if (number.ends_with(' ')) number.pop_back();
        const double size = parse_number(option, number) * bytes;
        if (size >= static_cast<double>(smallest) && size < 0x1p60)
            return static_cast<std::int64_t>(size);
    }
    OptionTable::reject(option, word, "a size such as 80GiB, 80GB or 512MiB");
}

}  // namespace lockstep::launcher
