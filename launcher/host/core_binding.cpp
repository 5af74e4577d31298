// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/core_binding.hpp"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr int max_cores = CPU_SETSIZE;

// Returns -1 when the word is not the number of a core.
int core_of(const std::string& word) {
    int core = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), core);
    const bool whole = error == std::errc() && end == word.data() + word.size();
    return whole && core < max_cores ? core : -1;
}

}  // namespace

std::string kernel_address(std::string pci) {
    constexpr std::size_t length = 12;
    if (pci.size() > length) pci.erase(0, pci.size() - length);
    std::transform(pci.begin(), pci.end(), pci.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return pci;
}

std::vector<int> parse_cpu_list(const std::string& text) {
    std::vector<int> cores;
    std::istringstream words(text.substr(0, text.find('\n')));
    for (std::string word; std::getline(words, word, ',');) {
        const auto dash = word.find('-');
        const int first = core_of(word.substr(0, dash));
        const int last = dash == std::string::npos ? first : core_of(word.substr(dash + 1));
        if (first < 0 || last < first) return {};
        for (int core = first; core <= last; ++core) cores.push_back(core);
    }
    return cores;
}

std::vector<int> cores_near(const std::string& pci, const std::filesystem::path& sys) {
    const auto folder = sys / "bus/pci/devices" / kernel_address(pci);
    std::ifstream node_file(folder / "numa_node");
    int node = -1;
    node_file >> node;
    if (node < 0) return {};  // one node, or a virtual machine that hides them
    std::ifstream list(folder / "local_cpulist");
    std::string text;
    std::getline(list, text);
    return parse_cpu_list(text);
}

std::vector<int> cores_to_use(const std::vector<int>& allowed, const std::vector<int>& near) {
    std::vector<int> both;
    for (const int core : allowed)
        if (std::find(near.begin(), near.end(), core) != near.end()) both.push_back(core);
    return both.empty() ? allowed : both;
}

std::vector<int> bound_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

void bind_to_cores(const std::vector<int>& cores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) CPU_SET(core, &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0)
        throw_errno("cannot bind to cores", "sched_setaffinity");
}

}  // namespace lockstep::launcher
