// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// std::source_location is not visible to every compiler that builds us (clang 14), hence our own.
struct SourceLocation {
    const char* file;
    int line;

    static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                            int line = __builtin_LINE()) noexcept {
        return {file, line};
    }
};

}  // namespace lockstep
