// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

namespace lockstep::failing_disk {

// Records what would survive a power cut, in the folder LOCKSTEP_DISK_JOURNAL: `journal` has one
// line for each event, and N is the content of a file at a sync.
//   root INODE              the folder under test
//   new INODE               a new file or folder got this inode number
//   gone INODE              its last name was removed
//   file INODE N            the file was synced with content N
//   folder INODE            the folder was synced with the entries that follow
//   entry INODE TYPE NAME   one of them; TYPE is d or f
// The first process records all that exists as synced.
class SyncJournal {
public:
    static SyncJournal& of_this_process();

    bool on() const noexcept { return !folder_.empty(); }
    void made(const std::string& path);
    void synced(int file);
    // Returns the inode of a file that has no other name, or of a folder; 0: none.
    unsigned long only_name_of(const std::string& path) const;
    void removed(unsigned long inode);

private:
    SyncJournal();
    void add(const std::string& line);
    void add_file(const std::string& path, unsigned long inode);
    void add_folder(const std::string& path, unsigned long inode);
    void add_all_below(const std::string& path);

    std::string folder_;
    int journal_ = -1, contents_ = 0;
    std::mutex mutex_;
};

}  // namespace lockstep::failing_disk
