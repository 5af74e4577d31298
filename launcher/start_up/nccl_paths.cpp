// SPDX-License-Identifier: Apache-2.0
#include "launcher/start_up/nccl_paths.hpp"

#include <istream>
#include <optional>
#include <string_view>

namespace lockstep::launcher {

namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Returns the word after `mark`, up to the next blank or comma; empty without the mark.
std::string_view word_after(std::string_view line, std::string_view mark) {
    const auto at = line.find(mark);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + mark.size());
    return rest.substr(0, rest.find_first_of(" ,"));
}

// Parses a path such as "P2P/CUMEM/read", "SHM/direct/direct", "NET/IB/0/GDRDMA" or "NET/Socket/0".
// Only the graph tells whether GPUs reach each other over NVLink.
std::optional<NcclPath> path_of(std::string_view way, NcclPath between_gpus) {
    if (way.starts_with("P2P/MNNVL")) return NcclPath::fabric;
    if (way.starts_with("P2P/")) return between_gpus;
    if (way.starts_with("SHM")) return NcclPath::host_memory;
    if (way.starts_with("NET/IB/"))
        return contains(way, "/GDRDMA") ? NcclPath::infiniband_direct : NcclPath::infiniband;
    if (way.starts_with("NET/Socket/")) return NcclPath::socket;
    if (way.starts_with("NET/") || way.starts_with("COLLNET/")) return NcclPath::other_network;
    return std::nullopt;
}

class Words {
public:
    explicit Words(const NcclPaths& paths) : paths_(paths) {}

    void add(NcclPath path, const char* name) {
        if (paths_[static_cast<std::size_t>(path)] == 0) return;
        text_ += (text_.empty() ? "" : " and ") + std::string(name);
    }
    void add_networks() {
        add(NcclPath::fabric, "NVLink");
        add(NcclPath::infiniband_direct, "InfiniBand with GPUDirect");
        add(NcclPath::infiniband, "InfiniBand through the host's memory");
        add(NcclPath::socket, "TCP sockets");
        add(NcclPath::other_network, "a network plugin");
    }
    const std::string& text() const noexcept { return text_; }

private:
    const NcclPaths& paths_;
    std::string text_;
};

}  // namespace

NcclPaths read_nccl_log(std::istream& log) {
    NcclPaths paths{};
    NcclPath between_gpus = NcclPath::pcie;
    const auto count = [&](NcclPath path) { ++paths[static_cast<std::size_t>(path)]; };
    for (std::string line; std::getline(log, line);) {
        if (!contains(line, "NCCL INFO ")) continue;
        // The results of the search come before the channels.
        if (contains(line, "NCCL INFO Pattern ") && word_after(line, ", type ").starts_with("NV"))
            between_gpus = NcclPath::nvlink;
        if (contains(line, "NCCL INFO NVLS comm ")) count(NcclPath::nvls);
        if (!contains(line, "NCCL INFO Channel ") && !contains(line, "NCCL INFO CollNet "))
            continue;
        if (const auto path = path_of(word_after(line, " via "), between_gpus)) count(*path);
    }
    return paths;
}

std::string describe(const NcclPaths& paths, Hosts hosts) {
    Words within(paths), between(paths);
    within.add(NcclPath::nvlink, "NVLink");
    within.add(NcclPath::pcie, "PCIe from GPU to GPU");
    within.add(NcclPath::host_memory, "the host's memory");
    within.add(NcclPath::nvls, "NVLS");
    if (hosts == Hosts::one) within.add_networks();
    if (hosts == Hosts::several) between.add_networks();
    std::string text;
    if (!within.text().empty()) text = "within a host " + within.text();
    if (!between.text().empty())
        text += (text.empty() ? "" : ", ") + std::string("between hosts ") + between.text();
    return text;
}

}  // namespace lockstep::launcher
