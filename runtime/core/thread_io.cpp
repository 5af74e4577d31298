// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/thread_io.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <ios>

namespace lockstep {

namespace {

std::ifstream account(pid_t thread, const char* name) {
    return std::ifstream("/proc/self/task/" + std::to_string(thread) + "/" + name);
}

std::string path_of(std::uint64_t descriptor) {
    std::array<char, 4096> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    // Sockets and pipes have names without a slash.
    return length > 0 && path.front() == '/' ? std::string(path.data(), length) : "";
}

// The thread may go on meanwhile and free the text, so the kernel has to copy it.
std::string text_at(std::uint64_t address) {
    std::array<char, 1024> text{};
    iovec to{text.data(), text.size() - 1};
    iovec from{reinterpret_cast<void*>(address), text.size() - 1};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) <= 0) return "";
    return text.data();
}

bool takes_descriptor(long call) {
    constexpr std::array calls = {SYS_read,       SYS_write,     SYS_pread64, SYS_pwrite64,
                                  SYS_readv,      SYS_writev,    SYS_fsync,   SYS_fdatasync,
                                  SYS_ftruncate,  SYS_fallocate, SYS_fcntl,   SYS_flock,
                                  SYS_getdents64, SYS_close,     SYS_fstat,   SYS_sync_file_range};
    return std::ranges::find(calls, call) != calls.end();
}

bool takes_folder_and_path(long call) {
    constexpr std::array calls = {SYS_openat,  SYS_newfstatat, SYS_statx,
                                  SYS_mkdirat, SYS_unlinkat,   SYS_renameat2};
    return std::ranges::find(calls, call) != calls.end();
}

}  // namespace

std::uint64_t bytes_moved_by(pid_t thread) {
    std::ifstream file = account(thread, "io");
    std::uint64_t sum = 0, value = 0;
    for (std::string word; file >> word >> value;) {
        if (word == "rchar:" || word == "wchar:") sum += value;
    }
    return sum;
}

std::string file_awaited_by(pid_t thread) {
    std::ifstream file = account(thread, "syscall");
    long call = -1;
    std::uint64_t first = 0, second = 0;
    if (!(file >> call >> std::hex >> first >> second)) return "";  // "running"
    if (takes_descriptor(call)) return path_of(first);
    return takes_folder_and_path(call) ? text_at(second) : "";
}

}  // namespace lockstep
