// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/line_editor.hpp"

#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr int remembered_lines = 1000;

// Treats text as UTF-8, even when the environment sets no language.
void use_utf8() {
    const char* named = std::setlocale(LC_CTYPE, "");
    if (named == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

// Terminals send these sequences for keys that libedit does not bind.
struct Key {
    const char* sent;
    const char* command;
};
constexpr std::array keys{
    Key{"\\e[1~", "ed-move-to-beg"},      Key{"\\e[4~", "ed-move-to-end"},
    Key{"\\e[H", "ed-move-to-beg"},       Key{"\\e[F", "ed-move-to-end"},
    Key{"\\e[3~", "ed-delete-next-char"}, Key{"\\e[1;5C", "em-next-word"},
    Key{"\\e[1;5D", "ed-prev-word"},      Key{"^R", "em-inc-search-prev"},
};

}  // namespace

LineEditor::LineEditor(std::string prompt) : prompt_(std::move(prompt)) {
    use_utf8();
    history_ = UniqueHandle<HistoryTraits>(history_init());
    editor_ = UniqueHandle<EditorTraits>(el_init("lockstep", stdin, stdout, stderr));
    if (!history_ || !editor_) throw Error(ErrorKind::io, "the terminal cannot be set up");
    HistEvent event{};
    history(history_.raw(), &event, H_SETSIZE, remembered_lines);
    el_set(editor_.raw(), EL_CLIENTDATA, this);
    el_set(editor_.raw(), EL_PROMPT, &LineEditor::prompt_of);
    el_set(editor_.raw(), EL_HIST, history, history_.raw());
    el_set(editor_.raw(), EL_SIGNAL, 1);  // Ctrl-C restores the terminal
    bind_keys();
    el_source(editor_.raw(), nullptr);
}

void LineEditor::bind_keys() {
    el_set(editor_.raw(), EL_EDITOR, "emacs");
    for (const auto& [sent, command] : keys) {
        el_set(editor_.raw(), EL_BIND, sent, command, nullptr);
    }
}

bool LineEditor::next(std::string& line) {
    int count = 0;
    const char* typed = el_gets(editor_.raw(), &count);
    if (typed == nullptr || count <= 0) return false;
    std::string_view text(typed, static_cast<std::size_t>(count));
    if (text.ends_with('\n')) text.remove_suffix(1);
    line = text;
    HistEvent event{};
    if (!line.empty()) history(history_.raw(), &event, H_ENTER, line.c_str());
    return true;
}

char* LineEditor::prompt_of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return static_cast<LineEditor*>(self)->prompt_.data();
}

}  // namespace lockstep::launcher
