// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/table_json.hpp"

#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"

namespace lockstep::launcher::ladder {

namespace {

using Json = nlohmann::ordered_json;

const char* name(Verdict verdict) {
    switch (verdict) {
        case Verdict::kept:
            return "kept";
        case Verdict::slower:
            return "slower";
        case Verdict::failed:
            return "failed";
        case Verdict::absent:
            return "absent";
        case Verdict::for_memory:
            return "for memory";
    }
    return "";
}

Json json_of(const Outcome& outcome, const Work& work) {
    Json json{{"name", outcome.rung.name}, {"verdict", name(outcome.verdict)}};
    if (!outcome.failure.empty()) json["why"] = outcome.failure;
    if (!outcome.measured) return json;
    const Measurement& m = *outcome.measured;
    json["train_s"] = m.train_s(work);
    json["valid_s"] = m.valid_s(work);
    json["total_s"] = m.total_s(work);
    json["speed_up"] = outcome.speed_up;
    json["measured_train_rows"] = m.train_rows;
    json["measured_valid_rows"] = m.valid_rows;
    if (m.ppl) json["ppl"] = *m.ppl;
    if (m.memory_bytes > 0) json["memory_bytes"] = m.memory_bytes;
    return json;
}

}  // namespace

std::string table_json(const Subject& subject, const Climb& climb, const Work& work,
                       const std::vector<std::string>& command) {
    Json rungs = Json::array();
    for (const Outcome& outcome : climb.outcomes) rungs.push_back(json_of(outcome, work));
    const Json json{{"model", subject.model},
                    {"parameters", subject.parameters},
                    {"gpus", subject.host.gpus},
                    {"cores", subject.host.cores},
                    {"train_rows", work.train_rows},
                    {"valid_rows", work.valid_rows},
                    {"rungs", std::move(rungs)},
                    {"fastest", {{"speed_up", climb.speed_up}, {"command", command}}}};
    return dump_json(json, 2) + "\n";
}

}  // namespace lockstep::launcher::ladder
