// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/foreign_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "launcher/model_folder/model_files.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

// PBS and Grid Engine name a job's output "train.o1234" and "train.e1234".
bool is_numbered_output(const std::string& name) {
    const std::size_t at = name.find_last_not_of("0123456789");
    return at != std::string::npos && at > 0 && at + 1 < name.size() && name[at - 1] == '.' &&
           (name[at] == 'o' || name[at] == 'e');
}

// A batch script often makes the folder, and lies there with the job's output and settings.
bool is_of_a_launcher(const std::string& name) {
    constexpr std::array<std::string_view, 11> endings{".out",   ".err",  ".sh",  ".sbatch",
                                                       ".slurm", ".pbs",  ".job", ".pid",
                                                       ".cfg",   ".conf", ".ini"};
    constexpr std::array<std::string_view, 6> beginnings{".",     "slurm-", "nohup",
                                                         "core.", "log.",   "idle-piece-of-job-"};
    return name == "lost+found" || name.find(".log") != std::string::npos ||
           is_numbered_output(name) ||
           std::ranges::any_of(beginnings, [&](auto one) { return name.starts_with(one); }) ||
           std::ranges::any_of(endings, [&](auto one) { return name.ends_with(one); });
}

bool is_link_to_nothing(const fs::directory_entry& entry) {
    std::error_code unknown;
    return entry.is_symlink(unknown) && !fs::exists(entry.path(), unknown);
}

constexpr std::size_t max_named = 3;

// Looks for files that are neither a run's nor a launcher's, and ends when it has more than it
// names.
class Search {
public:
    Search(const std::string& folder, const std::vector<std::string>& words) {
        std::error_code unknown;
        for (const std::string& word : words) {
            const bool is_option = word.starts_with("--") && word.find('=') != std::string::npos;
            const std::string path = is_option ? word.substr(word.find('=') + 1) : word;
            if (fs::exists(path, unknown)) named_.push_back(fs::canonical(path, unknown));
        }
        look_into(folder, 0);
        std::sort(found_.begin(), found_.end());
    }

    const std::vector<std::string>& found() const { return found_; }

private:
    static constexpr int max_depth = 4;  // attempt_0/rank_0/stdout.log of --log-dir, in a folder

    // A folder may have millions of files, and a file server may be slow.
    bool has_seen_enough() const { return found_.size() > max_named; }

    static std::vector<fs::directory_entry> sorted_entries(const fs::path& folder) {
        std::vector<fs::directory_entry> entries;
        std::error_code closed;  // a folder that cannot be listed is told of elsewhere
        for (fs::directory_iterator at(folder, closed); !closed && at != fs::directory_iterator();
             at.increment(closed))
            entries.push_back(*at);
        std::sort(entries.begin(), entries.end());
        return entries;
    }

    // Logs lie in folders of their own.
    void look_into(const fs::path& folder, int depth) {
        for (const fs::directory_entry& entry : sorted_entries(folder)) {
            if (has_seen_enough()) return;
            const std::string name = entry.path().filename().string();
            if (is_of_a_launcher(name) || (depth == 0 && is_of_a_run(name)) || is_named(entry))
                continue;
            std::error_code unknown;
            const bool is_link = entry.is_symlink(unknown);
            if (!is_link && entry.is_directory(unknown) && depth < max_depth)
                look_into(entry.path(), depth + 1);
            else if (!is_link_to_nothing(entry))
                found_.push_back(entry.path().lexically_relative(root_of(folder, depth)));
        }
    }

    static fs::path root_of(fs::path folder, int depth) {
        for (; depth > 0; --depth) folder = folder.parent_path();
        return folder;
    }

    bool is_named(const fs::directory_entry& entry) const {
        std::error_code unknown;
        return std::ranges::find(named_, fs::canonical(entry.path(), unknown)) != named_.end();
    }

    std::vector<fs::path> named_;
    std::vector<std::string> found_;
};

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), max_named); ++i)
        text += (i == 0 ? "" : ", ") + shown(names[i]);
    return names.size() > max_named ? text + " and more" : text;
}

}  // namespace

void require_own_folder(const std::string& folder, const std::vector<std::string>& words) {
    if (holds_model(folder)) return;
    const std::vector<std::string> foreign = Search(folder, words).found();
    if (foreign.empty()) return;
    throw Error(ErrorKind::config, "-mf " + folder + ": has other files in it (" +
                                       list_of(foreign) +
                                       ") and no model; choose a new folder for the model");
}

}  // namespace lockstep::launcher
