// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/folder_lock.hpp"

#include <unistd.h>

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/folder/lock_file.hpp"
#include "runtime/train/folder/lock_leftovers.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string lock_of(const std::string& folder) { return folder + "/" + lock_name; }

std::string seconds_text(milliseconds time) { return std::to_string(time.count() / 1'000) + " s"; }

[[noreturn]] void refuse(const std::string& folder, const LockContent& held) {
    const std::string who = held.owner
                                ? name(*held.owner) + " trains there since " + held.owner->since
                                : "another run writes its lock, " + lock_of(folder);
    throw Error(
        ErrorKind::config,
        folder + ": " + who + "; stop it or wait for its end, or choose another --model-file");
}

[[noreturn]] void refuse_lost(const std::string& path) {
    const LockContent held = read_lock(path);
    const std::string by = held.owner ? name(*held.owner) + " has taken the folder over"
                           : held.there
                               ? "another process has changed this run's lock of the folder"
                               : "this run's lock of the folder was removed";
    throw Error(ErrorKind::io, path + ": " + by + "; this run ends and saves nothing more there");
}

// Gets the lock of one folder for one run.
class Acquisition {
public:
    Acquisition(const std::string& folder, const LockOwner& self, const LockWaiting& waiting,
                const LockTimes& times)
        : folder_(folder), self_(self), waiting_(waiting), times_(times) {}

    void acquire(const std::string& path) {
        while (!create_lock(path, self_)) {
            const LockContent held = read_lock(path);
            if (!held.there) {
                wait_for_server(path);
                continue;
            }
            waits_ = 0;
            if (held.is_of(self_)) return;
            const std::string why = why_gone(path, held);
            if (!why.empty() && replace(path, held))
                waiting_.say(folder_ + ": takes the folder over from " + described(held) + ", " +
                             why);
        }
    }

private:
    // The lock went meanwhile, or a file server shows an old state of the folder for some seconds:
    // the name is taken, and nothing has it.
    void wait_for_server(const std::string& path) {
        constexpr int max_waits = 600;
        if (++waits_ > max_waits)
            throw Error(ErrorKind::io, path +
                                           ": cannot be made, because the name is taken, and "
                                           "cannot be read, because nothing is there; look at the "
                                           "file server, or choose another --model-file");
        std::this_thread::sleep_for(std::min(times_.look, milliseconds(100)));
    }

    static std::string described(const LockContent& held) {
        return held.owner ? name(*held.owner) + ", there since " + held.owner->since
                          : "a run that its lock does not name";
    }

    // Returns why the lock may be taken over, or an empty text if it has changed meanwhile. Throws
    // kind config if the owner lives.
    std::string why_gone(const std::string& path, const LockContent& held) {
        switch (held.owner ? state_of(*held.owner, self_) : OwnerState::cannot_be_asked) {
            case OwnerState::gone:
                return "which has ended";
            case OwnerState::alive:
                refuse(folder_, held);
            case OwnerState::requeued:
                return watch(path, held, times_.silent_requeued, times_.silent);
            case OwnerState::cannot_be_asked:
                break;
        }
        return watch(path, held, times_.silent, milliseconds(0));
    }

    // Looks at the lock until it has not changed for `silent`. It may still change during the first
    // `patience`; a change after that throws. Looks are counted instead of time, because a machine
    // that was suspended has not looked.
    std::string watch(const std::string& path, const LockContent& held, milliseconds silent,
                      milliseconds patience) {
        waiting_.say(folder_ + ": " + described(held) +
                     ", cannot be asked from here; waiting until its lock has not changed for " +
                     seconds_text(silent));
        LockContent last = held;
        milliseconds watched(0), unchanged(0);
        while (unchanged < silent) {
            if (waiting_.stopped())
                throw Error(ErrorKind::config, folder_ + ": stopped while waiting for " +
                                                   described(held) + "; nothing was changed");
            std::this_thread::sleep_for(times_.look);
            watched += times_.look;
            unchanged += times_.look;
            LockContent now = read_lock(path);
            if (!now.there || now.owner.has_value() != held.owner.has_value()) return "";
            if (held.owner && !now.is_of(*held.owner)) return "";
            if (now.text == last.text) continue;
            if (watched > patience) refuse(folder_, now);
            unchanged = milliseconds(0);
            last = std::move(now);
        }
        return "whose lock has not changed for " + seconds_text(silent);
    }

    // Several processes may try to replace the lock at once. Each first takes the lock that is
    // named after the old text, and then looks again. Returns false if another process was faster.
    bool replace(const std::string& path, const LockContent& old) {
        const std::string turn =
            path + ".after-" + (old.owner ? old.owner->run : hex(hash64(old.text)));
        acquire(turn);
        const LockContent now = read_lock(path);
        const bool same = old.owner ? now.is_of(*old.owner) : now.there && now.text == old.text;
        if (same) replace_lock(path, self_);
        ::unlink(turn.c_str());
        return same;
    }

    const std::string& folder_;
    const LockOwner& self_;
    const LockWaiting& waiting_;
    const LockTimes& times_;
    int waits_ = 0;  // in a row
};

fs::path without_slash(const std::string& folder) {
    const fs::path path(folder);
    return path.has_filename() ? path : path.parent_path();
}

// Returns how many folders it made.
int make_model_folder(const std::string& folder) {
    int missing = 0;
    std::error_code ignored;
    for (fs::path path = without_slash(folder);
         !path.empty() && fs::status(path, ignored).type() == fs::file_type::not_found;
         path = path.parent_path())
        ++missing;
    make_folders(folder);
    return missing;
}

void remove_if_empty(const std::string& folder, int folders) noexcept {
    for (fs::path path = without_slash(folder); folders > 0 && ::rmdir(path.c_str()) == 0;
         path = path.parent_path())
        --folders;
}

void remove_own(const std::string& path, const LockOwner& self) noexcept {
    try {
        if (read_lock(path).is_of(self)) ::unlink(path.c_str());
    } catch (const std::exception&) {
        // The next run finds that this process is gone.
    }
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const LockOwner& self, const LockWaiting& waiting,
                       const LockTimes& times)
    : folder_(folder),
      path_(lock_of(folder)),
      self_(self),
      times_(times),
      made_folders_(make_model_folder(folder)) {
    try {
        Acquisition(folder_, self_, waiting, times_).acquire(path_);
        remove_lock_leftovers(path_, self_);
        heart_ = std::jthread([this](std::stop_token stop) { beat_until(std::move(stop)); });
    } catch (...) {
        remove_own(path_, self_);
        remove_if_empty(folder_, made_folders_);
        throw;
    }
}

FolderLock::~FolderLock() {
    heart_ = std::jthread();  // stops it
    remove_own(path_, self_);
    remove_if_empty(folder_, made_folders_);
}

// A beat that fails is not the end of the run: a file server may not answer for a while.
void FolderLock::beat_until(std::stop_token stop) {
    LockOwner self = self_;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, times_.beat, [&] { return stop.stop_requested(); })) {
        ++self.beats;
        if (write_beat(path_, self) != Beat::lost) continue;
        lost_ = true;
        return;
    }
}

void FolderLock::confirm() const {
    if (!read_lock(path_).is_of(self_)) refuse_lost(path_);
}

void FolderLock::require_kept() const {
    if (lost_) refuse_lost(path_);
}

}  // namespace lockstep::train
