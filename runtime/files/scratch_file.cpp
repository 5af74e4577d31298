// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/scratch_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep {

namespace {

// Repeats a call that moved less than it was asked for. Returns 0, or the errno of a call; a file
// that ends early counts as EIO.
template <class Call>
int move_all(std::size_t bytes, const Call& call) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t moved = call(done, bytes - done);
        if (moved > 0)
            done += static_cast<std::size_t>(moved);
        else if (moved == 0)
            return EIO;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

off_t offset(std::uint64_t byte) { return static_cast<off_t>(byte); }

}  // namespace

ScratchFile::ScratchFile(const std::string& folder) { make(folder); }

ScratchFile::~ScratchFile() {
    for (const HostView<std::byte> mapping : mappings_) ::munmap(mapping.data(), mapping.size());
}

void ScratchFile::make(const std::string& folder) {
    path_ = folder + "/lockstep-state-XXXXXX";
    mapped_ = FileDescriptor(::mkostemp(path_.data(), O_CLOEXEC));
    if (mapped_.raw() < 0)
        throw Error(ErrorKind::config,
                    folder + ": no file can be made there: " + writing_failure_reason(errno));
    direct_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_DIRECT));
    ::unlink(path_.c_str());
}

// Some file systems open a file with O_DIRECT and refuse to read it.
void ScratchFile::probe() {
    if (!is_direct()) return;
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(block, block),
                                                             &std::free);
    if (::pread(direct_.raw(), memory.get(), block, 0) < 0) direct_ = FileDescriptor();
}

void ScratchFile::reserve(std::uint64_t bytes) {
    if (bytes <= room_) return;
    int code = EINTR;
    while (code == EINTR) code = ::posix_fallocate(mapped_.raw(), 0, offset(bytes));
    if (code != 0)
        throw Error(ErrorKind::config,
                    path_ + ": no room for " + std::to_string(bytes) +
                        " bytes (posix_fallocate): " + writing_failure_reason(code));
    if (room_ == 0) probe();
    room_ = bytes;
}

ScratchRange ScratchFile::extend(std::size_t values) {
    const std::size_t bytes = bytes_of(values);
    if (bytes == 0) return {size_, {}};
    reserve(size_ + bytes);
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapped_.raw(), offset(size_));
    if (at == MAP_FAILED) fail("mmap", errno);
    mappings_.emplace_back(static_cast<std::byte*>(at), bytes);
    const ScratchRange range{size_, {static_cast<float*>(at), values}};
    size_ += bytes;
    return range;
}

void ScratchFile::read(std::uint64_t first, HostView<float> to) {
    auto* const at = reinterpret_cast<char*>(to.data());
    const int code = move_all(to.size() * sizeof(float), [&](std::size_t done, std::size_t left) {
        return ::pread(descriptor(), at + done, left, offset(first + done));
    });
    if (code != 0) fail("pread", code);
}

void ScratchFile::write(std::uint64_t first, HostView<const float> from) {
    const auto* const at = reinterpret_cast<const char*>(from.data());
    const int code = move_all(from.size() * sizeof(float), [&](std::size_t done, std::size_t left) {
        return ::pwrite(descriptor(), at + done, left, offset(first + done));
    });
    if (code != 0) fail("pwrite", code);
}

void ScratchFile::flush() const {
    for (const HostView<std::byte> mapping : mappings_)
        if (::msync(mapping.data(), mapping.size(), MS_SYNC) != 0) fail("msync", errno);
}

void ScratchFile::check_readable() const {
    std::vector<char> piece(std::size_t{1} << 20);
    for (std::uint64_t first = 0; first < size_; first += piece.size()) {
        const std::size_t bytes = std::min<std::uint64_t>(piece.size(), size_ - first);
        const int code = move_all(bytes, [&](std::size_t done, std::size_t left) {
            return ::pread(mapped_.raw(), piece.data() + done, left, offset(first + done));
        });
        if (code != 0) fail("pread", code);
    }
}

void ScratchFile::fail(const char* call, int code) const {
    throw SystemFailure(path_ + ": " + call + ": " + writing_failure_reason(code), code);
}

}  // namespace lockstep
