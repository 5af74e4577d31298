// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/post_processor.hpp"

#include "data/bpe/vocabulary.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

std::int32_t id_of(const JsonPart& part, const nlohmann::json& value) {
    const bool is_id = value.is_number_integer() && value >= 0 && value < id_limit;
    if (!is_id)
        part.refuse("the id of a special token is not a whole number from 0 to " +
                    std::to_string(id_limit - 1));
    return value.get<std::int32_t>();
}

// Reads ["</s>", 2].
std::int32_t id_of_pair(const JsonPart& part, const char* name) {
    const JsonPart pair = part.member(name);
    if (!pair.json().is_array() || pair.json().size() != 2)
        pair.refuse("it is not a token and its id");
    return id_of(pair, pair.json()[1]);
}

std::vector<std::int32_t> ids_of_special(const JsonPart& part, const std::string& name) {
    const JsonPart known = part.member("special_tokens");
    if (!known.json().is_object() || !known.json().contains(name))
        part.refuse("\"special_tokens\" does not have '" + shown(name) + "'");
    std::vector<std::int32_t> ids;
    for (const JsonPart& id : known.member(name.c_str()).list("ids"))
        ids.push_back(id_of(id, id.json()));
    return ids;
}

}  // namespace

PostProcessor::PostProcessor(const JsonPart& part) {
    if (!part.is_null()) read(part);
}

void PostProcessor::read(const JsonPart& part) {
    const std::string type = part.type();
    if (type == "ByteLevel") {
        part.allow(
            {"add_prefix_space", "trim_offsets", "use_regex"});  // They change offsets alone.
    } else if (type == "TemplateProcessing") {
        part.allow({"single", "pair", "special_tokens"});
        read_template(part);
    } else if (type == "RobertaProcessing") {
        part.allow({"sep", "cls", "trim_offsets", "add_prefix_space"});
        read_pair(part);
    } else if (type == "BertProcessing") {
        part.allow({"sep", "cls"});
        read_pair(part);
    } else if (type == "Sequence") {
        part.allow({"processors"});
        for (const JsonPart& step : part.list("processors")) {
            if (step.is_null()) step.refuse("it is null");
            read(step);
        }
    } else {
        part.refuse_type(
            "BertProcessing, ByteLevel, RobertaProcessing, Sequence and TemplateProcessing");
    }
}

void PostProcessor::read_pair(const JsonPart& part) {
    templates_.push_back({{id_of_pair(part, "cls")}, {id_of_pair(part, "sep")}});
}

void PostProcessor::read_template(const JsonPart& part) {
    Template found;
    bool text_came = false;
    for (const JsonPart& item : part.list("single")) {
        item.allow({"SpecialToken", "Sequence"});
        const JsonPart token = item.member("SpecialToken"), text = item.member("Sequence");
        if (token.is_null() == text.is_null())
            item.refuse("it is neither a \"SpecialToken\" nor a \"Sequence\"");
        if (token.is_null()) {
            if (text.needed_text("id") != "A" || text_came)
                item.refuse("a template for one text has the sequence A once and no other");
            text_came = true;
            continue;
        }
        auto& side = text_came ? found.behind : found.before;
        for (const std::int32_t id : ids_of_special(part, token.needed_text("id")))
            side.push_back(id);
    }
    if (!text_came) part.refuse("\"single\" has no sequence A");
    templates_.push_back(std::move(found));
}

void PostProcessor::add(std::size_t begin, std::vector<std::int32_t>& ids) const {
    for (const Template& around : templates_) {
        const auto place = ids.begin() + static_cast<std::ptrdiff_t>(begin);
        ids.insert(place, around.before.begin(), around.before.end());
        ids.insert(ids.end(), around.behind.begin(), around.behind.end());
    }
}

std::vector<std::int32_t> PostProcessor::added() const {
    std::vector<std::int32_t> ids;
    add(0, ids);
    return ids;
}

}  // namespace lockstep::data
