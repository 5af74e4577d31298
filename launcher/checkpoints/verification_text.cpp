// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "launcher/checkpoints/verification.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

using Json = nlohmann::ordered_json;

std::string counts_text(const Verified& verified) {
    return counted(verified.files, "file", "files") + ", " +
           bytes_text(static_cast<std::int64_t>(verified.bytes)) + ", " +
           counted(verified.tensors, "tensor", "tensors");
}

}  // namespace

std::string text(const Verified& verified) {
    std::string text;
    switch (verified.verdict) {
        case Verdict::good:
            text = "good     " + printable(verified.path);
            if (verified.tensors > 0) text += " (" + counts_text(verified) + ")";
            return text + (verified.note.empty() ? "" : ": " + verified.note) + "\n";
        case Verdict::gone:
            return "gone     " + printable(verified.path) +
                   ": it was removed meanwhile, as by a run that keeps the newest (--keep)\n";
        case Verdict::skipped:
            return "skipped  " + printable(verified.path) +
                   ": it was set aside as damaged before\n";
        case Verdict::bad:
            break;
    }
    for (const std::string& finding : verified.findings)
        text += "BAD      " + printable(finding) + "\n";
    return text;
}

std::string json_text(const std::vector<Verified>& all) {
    Json json = Json::array();
    for (const Verified& one : all)
        json.push_back({{"path", one.path},
                        {"verdict", name(one.verdict)},
                        {"findings", one.findings},
                        {"note", one.note},
                        {"files", one.files},
                        {"bytes", one.bytes},
                        {"tensors", one.tensors}});
    // Paths are bytes, but JSON is UTF-8.
    return dump_json(json, 2) + "\n";
}

}  // namespace lockstep::launcher::checkpoints
