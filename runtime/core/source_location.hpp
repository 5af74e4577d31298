// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// Replaces std::source_location, which clang 14 (a supported compiler) does not have.
struct SourceLocation {
    const char* file;
    int line;

    static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                            int line = __builtin_LINE()) noexcept {
        return {file, line};
    }
};

}  // namespace lockstep
