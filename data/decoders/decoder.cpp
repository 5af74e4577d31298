// SPDX-License-Identifier: Apache-2.0
#include "data/decoders/decoder.hpp"

#include <algorithm>
#include <utility>

#include "data/decoders/byte_decoders.hpp"
#include "data/decoders/text_decoders.hpp"

namespace lockstep::data {
namespace {

class DecoderSequence final : public Decoder {
public:
    explicit DecoderSequence(std::vector<DecoderPart> steps) : steps_(std::move(steps)) {}
    void decode(std::vector<std::string>& pieces) const override {
        for (const DecoderPart& step : steps_) step.decoder->decode(pieces);
    }

private:
    std::vector<DecoderPart> steps_;
};

DecoderPart make_sequence(const JsonPart& part) {
    part.allow({"decoders"});
    if (part.list("decoders").empty()) part.refuse("\"decoders\" has no steps");
    std::vector<DecoderPart> steps;
    for (const JsonPart& step : part.list("decoders")) {
        if (step.is_null()) step.refuse("it is null");
        steps.push_back(make_decoder(step));
    }
    Streaming streaming = Streaming::byte_fallback;
    for (const DecoderPart& step : steps)
        if (step.streaming != Streaming::byte_fallback) streaming = Streaming::at_the_end;
    if (steps.size() == 1) streaming = steps[0].streaming;
    // What is replaced in the joined text may reach over the border of two tokens.
    const auto& names = part.json()["decoders"];
    const auto has_type = [](const char* type) {
        return [type](const nlohmann::json& step) { return step["type"] == type; };
    };
    const auto fuse = std::find_if(names.begin(), names.end(), has_type("Fuse"));
    if (std::any_of(fuse, names.end(), has_type("Replace"))) streaming = Streaming::at_the_end;
    return {std::make_unique<DecoderSequence>(std::move(steps)), streaming};
}

}  // namespace

DecoderPart make_decoder(const JsonPart& part) {
    if (part.is_null()) return {};
    const std::string type = part.type();
    if (type == "BPEDecoder") return make_suffix_decoder(part);
    if (type == "ByteFallback") return make_byte_fallback_decoder(part);
    if (type == "ByteLevel") return make_byte_level_decoder(part);
    if (type == "Fuse") return make_fuse_decoder(part);
    if (type == "Metaspace") return make_metaspace_decoder(part);
    if (type == "Replace") return make_replace_decoder(part);
    if (type == "Sequence") return make_sequence(part);
    if (type == "Strip") return make_strip_decoder(part);
    part.refuse_type(
        "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence and Strip");
}

}  // namespace lockstep::data
