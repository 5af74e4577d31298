// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk/sync_journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/failing_disk/fault_plan.hpp"
#include "tests/support/failing_disk/open_path.hpp"

namespace lockstep::failing_disk {
namespace {

namespace fs = std::filesystem;

unsigned long inode_of(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

SyncJournal& SyncJournal::of_this_process() {
    static auto* const journal = new SyncJournal;  // also for calls after the end of main()
    return *journal;
}

SyncJournal::SyncJournal() : folder_(variable("LOCKSTEP_DISK_JOURNAL")) {
    if (!on()) return;
    const std::string path = folder_ + "/journal";
    const bool first = ::access(path.c_str(), F_OK) != 0;
    journal_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const std::string root = variable("LOCKSTEP_DISK_FOLDER");
    if (!first) return;
    add("root " + std::to_string(inode_of(root)));
    add_all_below(root);
}

void SyncJournal::add(const std::string& line) {
    const std::string text = line + "\n";
    (void)!::write(journal_, text.data(), text.size());
}

void SyncJournal::add_file(const std::string& path, unsigned long inode) {
    // Programs that follow one another in this process number share the folder.
    std::string name;
    do {
        name = std::to_string(::getpid()) + "-" + std::to_string(contents_++);
    } while (fs::exists(folder_ + "/" + name));
    std::error_code ignored;
    fs::copy_file(path, folder_ + "/" + name, ignored);
    add("file " + std::to_string(inode) + " " + name);
}

void SyncJournal::add_folder(const std::string& path, unsigned long inode) {
    std::string lines = "folder " + std::to_string(inode);
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
        lines += "\nentry " + std::to_string(inode_of(entry.path())) +
                 (entry.is_directory(ignored) ? " d " : " f ") + entry.path().filename().string();
    }
    add(lines);
}

void SyncJournal::add_all_below(const std::string& path) {
    add_folder(path, inode_of(path));
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
        if (entry.is_directory(ignored))
            add_all_below(entry.path());
        else
            add_file(entry.path(), inode_of(entry.path()));
    }
}

void SyncJournal::made(const std::string& path) {
    if (!on()) return;
    const std::lock_guard lock(mutex_);
    add("new " + std::to_string(inode_of(path)));
}

unsigned long SyncJournal::only_name_of(const std::string& path) const {
    struct stat status {};
    if (!on() || ::lstat(path.c_str(), &status) != 0) return 0;
    return S_ISDIR(status.st_mode) || status.st_nlink == 1 ? status.st_ino : 0;
}

void SyncJournal::removed(unsigned long inode) {
    if (!on() || inode == 0) return;
    const std::lock_guard lock(mutex_);
    add("gone " + std::to_string(inode));
}

void SyncJournal::synced(int file) {
    if (!on()) return;
    const std::lock_guard lock(mutex_);
    struct stat status {};
    if (::fstat(file, &status) != 0) return;
    // The link leads to the file even after it was renamed or removed.
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    if (S_ISDIR(status.st_mode))
        add_folder(path, status.st_ino);
    else
        add_file(path, status.st_ino);
}

}  // namespace lockstep::failing_disk
