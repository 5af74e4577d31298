// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::launcher::checkpoints {

// good: every byte is as it was written, each tensor is there once, and all values are finite.
// bad: something is not; see `findings`. gone: a run has removed the checkpoint meanwhile, because
// it keeps only the newest ones. skipped: a damaged one that was set aside before.
enum class Verdict { good, bad, gone, skipped };
const char* name(Verdict verdict) noexcept;

struct Verified {
    std::string path;
    Verdict verdict = Verdict::good;
    std::vector<std::string> findings;  // each names a file or a tensor and says what is wrong
    std::string note;                   // what could not be checked; empty: nothing
    std::uint64_t bytes = 0;            // that were read
    std::int64_t files = 0, tensors = 0;
};

// Reads all bytes of what `path` names and compares them with what was written: every checkpoint
// and the best weights of a model folder, a checkpoint, or a .safetensors file. Changes nothing and
// takes no lock. Calls `told` for each part when it is done. Returns false if a part is bad. Throws
// kind config if the path names none of these.
bool verify(const std::string& path, const std::function<void(const Verified&)>& told);

std::string text(const Verified& verified);
std::string json_text(const std::vector<Verified>& verified);

}  // namespace lockstep::launcher::checkpoints
