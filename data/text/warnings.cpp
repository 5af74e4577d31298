// SPDX-License-Identifier: Apache-2.0
#include "data/text/warnings.hpp"

#include "data/text/fields.hpp"
#include "data/text/text_chunks.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

constexpr int most_names = 20;
// The kind that holds what has none of the first names.
constexpr std::string_view other_names = "\n";

std::string shown_name(std::string_view name) {
    return name == other_names ? "(other names)" : printable(name);
}

void replace(std::string& text, char place, const std::string& value) {
    const std::size_t at = text.find(place);
    if (at != std::string::npos) text.replace(at, 1, value);
}

}  // namespace

void Warnings::add(std::string_view what, const SourceLine& source_line, std::string_view name) {
    add({.kind = {what, name.empty() ? "" : in_quotes(name)},
         .path = *source_line.path,
         .line = source_line.line,
         .count = 1},
        Names::all);
}

void Warnings::note_form(std::string_view form, const SourceLine& source_line) {
    const auto& [known, added] =
        forms_.try_emplace(*source_line.path, Form{form, source_line.line});
    if (added || known->second.name == form) return;
    throw_bad_text(source_line, "a line of the form " + std::string(form) +
                                    " in a file whose line " + std::to_string(known->second.line) +
                                    " has " + std::string(known->second.name) +
                                    "; put lines of different forms in files of their own");
}

void Warnings::append(const Warnings& later) {
    for (const auto& [path, form] : later.forms_) note_form(form.name, {&path, form.line});
    for (const Warning& warning : later.warnings_) add(warning, Names::first);
    conversations_ += later.conversations_;
}

void Warnings::add(Warning warning, Names names) {
    const auto known = index_.find(warning.kind);
    if (known != index_.end()) {
        warnings_[known->second].count += warning.count;
        return;
    }
    if (names == Names::first && !warning.kind.name.empty() &&
        ++names_[warning.kind.what] > most_names) {
        warning.kind.name = other_names;
        return add(std::move(warning), Names::all);
    }
    index_.emplace(warning.kind, warnings_.size());
    warnings_.push_back(std::move(warning));
}

std::string Warnings::text_of(const Warning& warning) const {
    std::string text(warning.kind.what);
    const bool share = text.find('#') != std::string::npos;
    replace(
        text, '#',
        std::to_string(warning.count) + " of " + std::to_string(conversations_) + " conversations");
    replace(text, '@', shown_name(warning.kind.name));
    if (share) return text;
    return text + " (" + (warning.count == 1 ? "once" : std::to_string(warning.count) + " times") +
           ")";
}

void Warnings::write(Log& log) const {
    for (const Warning& warning : warnings_)
        log.info("warning: " + warning.path + ":" + std::to_string(warning.line) + ": " +
                 text_of(warning));
}

}  // namespace lockstep::data
