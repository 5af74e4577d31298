// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <histedit.h>

#include <string>

#include "launcher/generate/line_reader.hpp"
#include "runtime/core/unique_handle.hpp"

namespace lockstep::launcher {

// Reads lines that are typed on a terminal and edited by libedit, which also reads ~/.editrc.
class LineEditor final : public LineReader {
public:
    explicit LineEditor(std::string prompt);

    bool next(std::string& line) override;

private:
    struct EditorTraits {
        using Raw = EditLine*;
        static Raw null() noexcept { return nullptr; }
        static void destroy(Raw raw) noexcept { el_end(raw); }
    };
    struct HistoryTraits {
        using Raw = History*;
        static Raw null() noexcept { return nullptr; }
        static void destroy(Raw raw) noexcept { history_end(raw); }
    };

    static char* prompt_of(EditLine* editor);
    void bind_keys();

    std::string prompt_;
    UniqueHandle<HistoryTraits> history_;
    UniqueHandle<EditorTraits> editor_;  // destroyed before history_
};

}  // namespace lockstep::launcher
