// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/train/checkpoint/save_thread.hpp"
#include "runtime/train/folder/atomic_file.hpp"
#include "runtime/train/pieces/owned_files.hpp"

namespace lockstep::train {

// Lets ranks write files into one folder, each on its own thread, and tells rank 0 how it went.
class PieceWriters {
public:
    using Files = std::map<std::string, WrittenFile>;
    // Writes this rank's files into a folder. It may throw SystemFailure.
    using Write = std::function<Files(const std::string& folder)>;
    struct Outcome {
        Files files;  // of all ranks
        std::optional<SystemFailure> failure;
    };

    // `host` names this rank's host in failures. The references must outlive the object, and the
    // thread must end before it.
    PieceWriters(comm::Communicator& ranks, const Writer& writer, std::string host,
                 SaveThread& thread)
        : ranks_(ranks), writer_(writer), host_(std::move(host)), thread_(thread) {}

    // Begins to write. A rank that is no writer has written at once.
    void begin(const std::string& folder, Write write);
    // Writes the same again.
    void again();
    bool is_written() const { return !thread_.busy(); }
    // Waits for all ranks, and returns the outcome on rank 0; on the others it is empty.
    // Collective.
    Outcome finish();

private:
    std::string outcome_text() const;

    comm::Communicator& ranks_;
    const Writer writer_;
    const std::string host_;
    SaveThread& thread_;
    std::string folder_;
    Write write_;
    Outcome own_;  // the thread writes it
};

}  // namespace lockstep::train
