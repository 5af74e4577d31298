// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/value.hpp"

namespace lockstep::data::jinja {

const Value* Dict::find(std::string_view name) const {
    const auto found = places.find(name);
    return found == places.end() ? nullptr : &members[found->second].second;
}

void Dict::set(const TextPointer& name, Value value) {
    depth = std::max(depth, 1 + depth_of(value));
    const auto [place, added] = places.try_emplace(name->bytes(), members.size());
    if (added)
        members.emplace_back(name, std::move(value));
    else
        members[place->second].second = std::move(value);
}

const Value* Namespace::find(std::string_view name) const {
    for (const auto& [known, value] : members)
        if (known == name) return &value;
    return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
    for (auto& [known, old] : members) {
        if (known != name) continue;
        old = std::move(value);
        return;
    }
    members.emplace_back(name, std::move(value));
}

int depth_of(const Value& value) noexcept {
    if (const auto* list = get<ListPointer>(value)) return (*list)->depth;
    if (const auto* dict = get<DictPointer>(value)) return (*dict)->depth;
    if (const auto* loop = get<LoopPointer>(value)) return (*loop)->depth;
    if (const auto* function = get<FunctionPointer>(value)) return (*function)->depth;
    return 0;
}

const Text* text_in(const Value& value) noexcept {
    const auto* text = get<TextPointer>(value);
    return text == nullptr ? nullptr : text->get();
}

const List* list_in(const Value& value) noexcept {
    const auto* list = get<ListPointer>(value);
    return list == nullptr ? nullptr : list->get();
}

const Dict* dict_in(const Value& value) noexcept {
    const auto* dict = get<DictPointer>(value);
    return dict == nullptr ? nullptr : dict->get();
}

std::optional<std::int64_t> whole_in(const Value& value) noexcept {
    if (const auto* whole = get<std::int64_t>(value)) return *whole;
    if (const auto* flag = get<bool>(value)) return *flag ? 1 : 0;
    return std::nullopt;
}

std::optional<double> number_in(const Value& value) noexcept {
    if (const auto* real = get<double>(value)) return *real;
    if (const auto whole = whole_in(value)) return static_cast<double>(*whole);
    return std::nullopt;
}

bool is_undefined(const Value& value) noexcept { return get<Undefined>(value) != nullptr; }

bool truth(const Value& value) noexcept {
    if (is_undefined(value) || get<None>(value) != nullptr) return false;
    if (const auto number = number_in(value)) return *number != 0;
    if (const Text* text = text_in(value)) return !text->empty();
    if (const List* list = list_in(value))
        return list->kind == List::Kind::iterator || !list->items.empty();
    if (const Dict* dict = dict_in(value)) return !dict->members.empty();
    return true;
}

std::string type_name(const Value& value) {
    if (is_undefined(value)) return "Undefined";
    if (get<None>(value) != nullptr) return "NoneType";
    if (get<bool>(value) != nullptr) return "bool";
    if (get<std::int64_t>(value) != nullptr) return "int";
    if (get<double>(value) != nullptr) return "float";
    if (text_in(value) != nullptr) return "str";
    if (dict_in(value) != nullptr) return "dict";
    if (get<Namespace*>(value) != nullptr) return "namespace";
    if (get<LoopPointer>(value) != nullptr) return "loop";
    const List* list = list_in(value);
    if (list == nullptr) return "function";
    return list->kind == List::Kind::list    ? "list"
           : list->kind == List::Kind::tuple ? "tuple"
                                             : "iterator";
}

}  // namespace lockstep::data::jinja
