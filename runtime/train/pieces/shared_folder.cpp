// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/shared_folder.hpp"

#include <filesystem>
#include <memory>

#include "runtime/comm/texts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::train {

namespace {

constexpr const char* label = "who sees the model folder";
constexpr const char* yes = "yes";

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

// Its name is that of a leftover of config.json, which the next run would remove.
std::unique_ptr<AtomicDirectory> make_probe(const std::string& model_folder) {
    try {
        return std::make_unique<AtomicDirectory>(absolute(model_folder) + "/config.json");
    } catch (const Error&) {
        return nullptr;  // saves will tell
    }
}

std::string file_of(const std::string& folder, int rank) {
    return folder + "/rank-" + std::to_string(rank);
}

void make_file(const std::string& folder, int rank) {
    try {
        write_atomically(file_of(folder, rank), "");
    } catch (const Error&) {  // rank 0 will not find it
    }
}

bool all_are_there(const std::string& folder, int writers) {
    for (int rank = 0; rank < writers; ++rank)
        if (!path_exists(file_of(folder, rank))) return false;
    return true;
}

// Says which file the path names, as far as that is the same on all hosts.
std::string file_text(const std::string& path) {
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path, failure);
    return failure ? "" : std::to_string(bytes);
}

}  // namespace

bool can_all_write(comm::Communicator& ranks, int writers, const std::string& model_folder) {
    const auto probe = ranks.rank() == 0 ? make_probe(model_folder) : nullptr;
    const std::string folder =
        comm::broadcast_text(ranks, probe == nullptr ? "" : probe->path(), 0, label);
    if (folder.empty()) return false;
    if (ranks.rank() < writers) make_file(folder, ranks.rank());
    ranks.barrier(label);
    ranks.finish();
    const bool found = probe != nullptr && all_are_there(folder, writers);
    return comm::broadcast_text(ranks, found ? yes : "", 0, label) == yes;
}

std::string seen_by_all(comm::Communicator& ranks, const std::string& path) {
    const bool is_first = ranks.rank() == 0;
    const std::string theirs =
        comm::broadcast_text(ranks, is_first && !path.empty() ? absolute(path) : "", 0, label);
    if (theirs.empty()) return "";
    const auto texts = comm::gather_texts(ranks, file_text(theirs), label);
    bool alike = is_first;
    for (const std::string& text : texts) alike = alike && !text.empty() && text == texts.front();
    return comm::broadcast_text(ranks, alike ? yes : "", 0, label) == yes ? theirs : "";
}

}  // namespace lockstep::train
