// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/transformers_tensors.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::train {

namespace {

[[noreturn]] void refuse_tensors(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::config, path + ": " + what + "; save the model again");
}

// Puts the rows of the parts one after the other. `tensor` is the first of them.
TensorInfo joined(const std::string& path, std::string name, std::vector<TensorInfo> parts) {
    TensorInfo whole = parts.front();
    whole.name = std::move(name);
    whole.count = 0;
    whole.shape.front() = 0;
    constexpr std::int64_t most_rows = std::int64_t{1} << 40;  // their sum does not overflow
    for (const TensorInfo& part : parts) {
        if (part.shape.front() > most_rows)
            refuse_tensors(path, "tensor " + shown(part.name) + " has too many rows");
        if (part.shape.size() != whole.shape.size() ||
            !std::equal(part.shape.begin() + 1, part.shape.end(), whole.shape.begin() + 1))
            refuse_tensors(path, "tensor " + shown(part.name) + " of shape " +
                                     shape_text(part.shape) + " has other columns than " +
                                     parts.front().name);
        whole.shape.front() += part.shape.front();
        whole.count += part.count;
    }
    whole.rows = std::move(parts);
    return whole;
}

// Collects the parts of tensors that Lockstep keeps as one.
class Parts {
public:
    void add(const KnownTensor& known, TensorInfo tensor) {
        auto& parts = found_[known.name];
        parts.resize(static_cast<std::size_t>(known.parts));
        parts[static_cast<std::size_t>(known.part)] = std::move(tensor);
    }
    void move_to(std::vector<TensorInfo>& tensors, const std::string& path) {
        for (auto& [name, parts] : found_) {
            const auto there = [](const TensorInfo& part) { return !part.shape.empty(); };
            const auto one = std::ranges::find_if(parts, there);
            if (!std::ranges::all_of(parts, there))
                refuse_tensors(path, "it lacks a tensor that belongs to " + shown(one->name));
            tensors.push_back(joined(path, name, std::move(parts)));
        }
    }

private:
    std::map<std::string, std::vector<TensorInfo>> found_;
};

}  // namespace

NamesOf names_of(const std::vector<TensorInfo>& tensors) noexcept {
    const auto any = [&](auto is) { return std::ranges::any_of(tensors, is, &TensorInfo::name); };
    for (const TensorInfo& tensor : tensors) {
        const NamesOf names = names_of(tensor.name);
        if (names == NamesOf::lockstep) continue;
        if (names == NamesOf::bart && any(is_norm_of_blenderbot)) return NamesOf::blenderbot;
        return names == NamesOf::llama && any(is_matrix_of_phi3) ? NamesOf::phi3 : names;
    }
    return NamesOf::lockstep;
}

namespace {

constexpr std::array<std::string_view, 3> wrappers{"module.", "_orig_mod.", "model."};

bool are_of_a_model(const std::vector<TensorInfo>& tensors) noexcept {
    return names_of(tensors) != NamesOf::lockstep ||
           std::ranges::find(tensors, "embeddings.weight", &TensorInfo::name) != tensors.end();
}

}  // namespace

// A wrapper may hold another one.
void drop_wrappers(std::vector<TensorInfo>& tensors) {
    if (tensors.empty()) return;
    std::vector<TensorInfo> bare = tensors;
    while (!are_of_a_model(bare)) {
        const auto wrapper = std::ranges::find_if(wrappers, [&](std::string_view prefix) {
            return std::ranges::all_of(
                bare, [&](const TensorInfo& tensor) { return tensor.name.starts_with(prefix); });
        });
        if (wrapper == wrappers.end()) return;
        for (TensorInfo& tensor : bare) tensor.name.erase(0, wrapper->size());
    }
    tensors = std::move(bare);
}

std::vector<std::string> take_buffers(std::vector<TensorInfo>& tensors) {
    std::vector<std::string> buffers;
    for (const TensorInfo& tensor : tensors)
        if (is_buffer(tensor.name)) buffers.push_back(tensor.name);
    std::erase_if(tensors, [](const TensorInfo& tensor) { return is_buffer(tensor.name); });
    return buffers;
}

namespace {

template <class Chosen>
std::vector<TensorInfo> take(std::vector<TensorInfo>& tensors, Chosen chosen) {
    const auto rest =
        std::stable_partition(tensors.begin(), tensors.end(),
                              [&](const TensorInfo& tensor) { return !chosen(tensor.name); });
    std::vector<TensorInfo> taken(std::make_move_iterator(rest),
                                  std::make_move_iterator(tensors.end()));
    tensors.erase(rest, tensors.end());
    return taken;
}

}  // namespace

std::vector<TensorInfo> take_copies_of_shared(std::vector<TensorInfo>& tensors) {
    std::vector<TensorInfo> tables = take(tensors, is_table_of_stacks);
    const auto shared = std::ranges::find_if(
        tables, [](const TensorInfo& table) { return table.name.ends_with("shared.weight"); });
    if (shared != tables.end()) std::iter_swap(tables.begin(), shared);
    TensorInfo& table = tables.front();
    table.name = "shared.weight";
    tensors.push_back(std::move(table));
    tables.erase(tables.begin());
    for (TensorInfo& bias : take(tensors, is_logits_bias)) tables.push_back(std::move(bias));
    return tables;
}

std::vector<TensorInfo> with_own_names(const std::string& path, std::vector<TensorInfo> tensors) {
    std::vector<TensorInfo> own;
    Parts parts;
    std::set<std::string, std::less<>> names;
    for (TensorInfo& tensor : tensors) {
        auto known = of_transformers(tensor.name);
        if (!known) known = of_peft(tensor.name);
        const std::string name =
            known ? known->name + "/" + std::to_string(known->part) : tensor.name;
        if (!names.insert(name).second)
            refuse_tensors(path, "holds " + shown(known ? known->name : tensor.name) +
                                     " twice, with and without a prefix of its name");
        if (known && known->parts > 1 && !tensor.shape.empty()) {
            parts.add(*known, std::move(tensor));
            continue;
        }
        if (known) {
            tensor.name = known->name;
            tensor.turned = known->turned && tensor.shape.size() == 2;
            if (tensor.turned) std::swap(tensor.shape[0], tensor.shape[1]);
        }
        own.push_back(std::move(tensor));
    }
    parts.move_to(own, path);
    return own;
}

}  // namespace lockstep::train
