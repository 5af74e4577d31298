// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm/sbatch_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

struct OwnOption {
    std::string_view names;  // sbatch's, separated by blanks
    const char* instead;
};

constexpr std::array own_options{
    OwnOption{"--nodes -N", "--nodes"},
    OwnOption{"--ntasks -n", "--nodes and --ntasks-per-node"},
    OwnOption{"--ntasks-per-node", "--ntasks-per-node"},
    OwnOption{"--cpus-per-task -c", "--cpus-per-task"},
    OwnOption{"--gpus-per-node", "--gpus-per-node"},
    OwnOption{"--mem", "--mem"},
    OwnOption{"--time -t", "--time"},
    OwnOption{"--job-name -J", "--job-name"},
    OwnOption{"--partition -p", "--partition"},
    OwnOption{"--account -A", "--account"},
    OwnOption{"--qos -q", "--qos"},
    OwnOption{"--constraint -C", "--constraint"},
    OwnOption{"--output -o", "--output"},
    OwnOption{"--signal", "--signal"},
    OwnOption{"--requeue --no-requeue", "--requeue true or false"},
    OwnOption{"--wrap", "the command behind --"},
    // The ranks need what the script exports, and srun hands down what sbatch is told.
    OwnOption{"--export --export-file", "--setup \"export NAME=VALUE\""},
};

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
    throw Error(ErrorKind::config, "--sbatch '" + shown(text) + "': " + what);
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

// Returns "--nodes" of --nodes=2, and "-N" of -N2.
std::string option_of(const std::string& word) {
    return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

void refuse_own(const std::string& text) {
    for (const std::string& word : words_of(text)) {
        if (!word.starts_with('-')) continue;
        for (const OwnOption& own : own_options) {
            const auto names = words_of(std::string(own.names));
            if (std::ranges::find(names, option_of(word)) != names.end())
                refuse(text, option_of(word) + " is submit's to write: give " + own.instead);
        }
    }
}

bool quotes_close(const std::string& text) {
    char open = 0;
    for (const char c : text) {
        if (open == 0 && (c == '"' || c == '\'')) {
            open = c;
        } else if (c == open) {
            open = 0;
        }
    }
    return open == 0;
}

std::optional<int> count_of(const std::string& text) {
    int count = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, count);
    return failure == std::errc() && stop == end && count > 0 ? std::optional(count) : std::nullopt;
}

// Reads "4", "a100:4" and "a100:2,v100:2", in which the number stands last.
std::optional<int> sum_of_counts(const std::string& list) {
    std::istringstream in(list);
    int sum = 0;
    for (std::string entry; std::getline(in, entry, ',');) {
        const auto count = count_of(entry.substr(entry.rfind(':') + 1));
        if (!count || *count > 4096) return std::nullopt;
        sum += *count;
    }
    return sum > 0 ? std::optional(sum) : std::nullopt;
}

// Returns the GPUs of "gpu", "gpu:4", "gpu:a100:4" and lists with other resources; empty: none.
std::string gpus_of_gres(const std::string& list) {
    std::istringstream in(list);
    std::string gpus;
    for (std::string entry; std::getline(in, entry, ',');) {
        entry = entry.substr(0, entry.find('('));  // the sockets of some of Slurm's texts
        if (entry.starts_with("gres/")) entry = entry.substr(5);
        if (entry != "gpu" && !entry.starts_with("gpu:")) continue;
        const bool counted =
            !entry.empty() && std::isdigit(static_cast<unsigned char>(entry.back()));
        const std::string last = entry.substr(entry.rfind(':') + 1);
        gpus += (gpus.empty() ? "" : ",") + (counted && count_of(last) ? last : std::string("1"));
    }
    return gpus;
}

// Holds how a job asks for GPUs, and for how many on each host.
struct Request {
    std::string how;
    std::optional<int> count;
};

void add_request(const std::string& line, int nodes, std::vector<Request>& requests) {
    const std::vector<std::string> words = words_of(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string option = option_of(words[i]);
        const bool attached = words[i].size() > option.size();
        std::string value = attached ? words[i].substr(option.size()) : "";
        if (value.starts_with('=')) value.erase(0, 1);
        if (!attached && i + 1 < words.size()) value = words[i + 1];
        std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
        if (option == "--gres" && !gpus_of_gres(value).empty())
            requests.push_back({"--sbatch --gres", sum_of_counts(gpus_of_gres(value))});
        if (option != "--gpus" && option != "-G") continue;
        const auto all = sum_of_counts(value);
        const bool even = all && *all % nodes == 0;
        requests.push_back({"--sbatch --gpus", even ? std::optional(*all / nodes) : std::nullopt});
    }
}

}  // namespace

std::string sbatch_line(const std::string& text) {
    const auto printable_byte = [](unsigned char c) { return c >= 0x20 && c != 0x7f; };
    if (!text.starts_with('-') || text.starts_with("-=") || text == "-" || text == "--")
        refuse(text, "is no option; write it as sbatch takes it, for example --gres=gpu:4");
    if (!std::ranges::all_of(text, printable_byte)) refuse(text, "give one line, without tabs");
    if (!quotes_close(text)) refuse(text, "the closing quote is missing");
    refuse_own(text);
    const auto equals = text.find('=');
    const bool quoted = text.find_first_of("\"'\\") != std::string::npos;
    const bool one_option = text.starts_with("--") && text.find(" -") == std::string::npos;
    const bool blank_in_value = equals != std::string::npos &&
                                text.find_first_of(" #", equals) != std::string::npos &&
                                text.find(' ') > equals;
    if (quoted || !one_option || !blank_in_value) return text;
    return text.substr(0, equals + 1) + '"' + text.substr(equals + 1) + '"';
}

std::optional<int> gpus_of_host(const SlurmJob& spec) {
    std::vector<Request> requests;
    if (!spec.gpus_per_node.empty())
        requests.push_back({"--gpus-per-node", sum_of_counts(spec.gpus_per_node)});
    for (const std::string& line : spec.sbatch_lines) add_request(line, spec.nodes, requests);
    if (requests.size() > 1)
        throw Error(ErrorKind::config, requests[0].how + " and " + requests[1].how +
                                           " both ask for GPUs: leave one out");
    return requests.empty() ? std::nullopt : requests.front().count;
}

}  // namespace lockstep::launcher
