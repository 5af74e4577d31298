// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher {

// Tells whether standard output is a pipe whose reader has ended, as in `lockstep ladder | head`.
// Under mpirun that is also so if the reader of mpirun's own output on this host has ended.
bool nobody_reads_output();

// Ends the process as a write to the pipe would, by the signal PIPE, as soon as nobody reads
// standard output any more, while it lives. It is for programs that make nothing else.
class EndWithReader {
public:
    EndWithReader();
    EndWithReader(const EndWithReader&) = delete;
    EndWithReader& operator=(const EndWithReader&) = delete;
    ~EndWithReader();

private:
    void watch() const;

    FileDescriptor stop_;
    std::thread thread_;
};

}  // namespace lockstep::launcher
