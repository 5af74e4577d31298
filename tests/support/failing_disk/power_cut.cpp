// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk/power_cut.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "tests/support/files.hpp"

namespace lockstep::tests {
namespace {

namespace fs = std::filesystem;

struct Entry {
    int object;
    char type;
    std::string name;
};

// Files and folders have numbers of their own, because the disk uses an inode again after a
// removal.
class Journal {
public:
    explicit Journal(const std::string& folder) : folder_(folder) {
        std::istringstream lines(read_text(folder + "/journal"));
        for (std::string line; std::getline(lines, line);) read(line);
    }

    int root() const { return root_; }
    int object(unsigned long inode) {
        const auto [found, made] = objects_.try_emplace(inode, next_);
        next_ += made;
        return found->second;
    }
    bool is_gone(int object) const { return gone_.contains(object); }
    const std::vector<Entry>& entries(int object) { return folders_[object]; }
    std::string content(int object) const {
        const auto found = contents_.find(object);
        return found == contents_.end() ? "" : read_text(folder_ + "/" + found->second);
    }

private:
    void read(const std::string& line) {
        std::istringstream words(line);
        std::string event, rest;
        unsigned long inode = 0;
        char type = 0;
        words >> event >> inode;
        if (event == "new") objects_.erase(inode);
        const int number = object(inode);
        if (event == "root") root_ = number;
        if (event == "gone") gone_.insert(number);
        if (event == "file" && words >> rest) contents_[number] = rest;
        if (event == "folder") folders_[listed_ = number].clear();
        if (event == "entry" && words >> type && std::getline(words >> std::ws, rest))
            folders_[listed_].push_back({number, type, rest});
    }

    std::string folder_;
    std::map<unsigned long, int> objects_;
    std::map<int, std::string> contents_;
    std::map<int, std::vector<Entry>> folders_;
    std::set<int> gone_;
    int next_ = 0, root_ = 0, listed_ = 0;
};

enum class Removed { stays, is_gone };

void add_entries(Journal& journal, Removed removed, int folder, const std::string& path,
                 FolderTree& tree) {
    for (const Entry& entry : journal.entries(folder)) {
        if (removed == Removed::is_gone && journal.is_gone(entry.object)) continue;
        if (entry.type == 'd') {
            tree[path + entry.name] = std::nullopt;
            add_entries(journal, removed, entry.object, path + entry.name + "/", tree);
        } else {
            tree[path + entry.name] = journal.content(entry.object);
        }
    }
}

FolderTree synced(const std::string& journal_folder, Removed removed) {
    Journal journal(journal_folder);
    FolderTree tree;
    add_entries(journal, removed, journal.root(), "", tree);
    return tree;
}

}  // namespace

FolderTree synced_names(const std::string& journal_folder) {
    return synced(journal_folder, Removed::stays);
}

FolderTree synced_names_without_removed(const std::string& journal_folder) {
    return synced(journal_folder, Removed::is_gone);
}

FolderTree latest_names(const std::string& journal_folder, const std::string& folder) {
    Journal journal(journal_folder);
    FolderTree tree;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string path = fs::relative(entry.path(), folder);
        struct stat status {};
        ::lstat(entry.path().c_str(), &status);
        if (entry.is_directory())
            tree[path] = std::nullopt;
        else
            tree[path] = journal.content(journal.object(status.st_ino));
    }
    return tree;
}

}  // namespace lockstep::tests
